//! A head whose Corosync or Pacemaker runs and does not answer, where no other is asked.

use super::*;
use hawser_cluster::live::{Sign, judgement};
use hawser_model::output::cluster::{NodeCondition, ServiceState};

/// What a watch knows that asks its own head alone.
fn alone(golden: &Golden, change: impl Fn(&mut HeadView)) -> StatusFacts {
    let mut facts = but(healthy(golden), 1, change);
    facts.views.remove("head2");
    StatusFacts {
        alone: Some(name(1)),
        ..facts
    }
}

fn signs(golden: &Golden, facts: &StatusFacts) -> Vec<Sign> {
    let now = judgement(&golden.file, facts, &Scheduler).unwrap();
    now.said.into_iter().map(|said| said.mark.sign).collect()
}

#[test]
fn a_pacemaker_that_does_not_answer_is_not_said_to_run_nowhere() {
    let golden = Golden::named("lab");
    let mute = alone(&golden, |view| view.cib = Some(Told::Silent(15)));
    assert_eq!(signs(&golden, &mute), [Sign::PacemakerMute]);
    let now = status(&golden.file, &mute, &Scheduler).unwrap();
    let why = now.reason.unwrap();
    assert!(!why.contains("runs on no node"), "{why}");
    assert!(!mute.cluster_was_seen());
    // What another head tells is the cluster's.
    let other = but(healthy(&golden), 1, |view| {
        view.cib = Some(Told::Silent(15))
    });
    assert!(other.cluster_was_seen());
    let stopped = alone(&golden, |view| {
        view.pacemaker = false;
        (view.controller, view.cib, view.fencer) = (None, None, None);
    });
    assert!(signs(&golden, &stopped).contains(&Sign::NothingRuns));
    assert!(stopped.cluster_was_seen());
}

#[test]
fn a_corosync_that_does_not_answer_says_nothing_of_quorum() {
    let golden = Golden::named("lab");
    let silent = alone(&golden, |view| view.quorum = Some(Told::Silent(15)));
    let said = signs(&golden, &silent);
    assert!(said.contains(&Sign::CorosyncHangs), "{said:?}");
    assert!(!said.contains(&Sign::NoQuorum), "{said:?}");
    assert!(!silent.cluster_was_seen());
    let lost = alone(&golden, |view| {
        if let Some(Told::Said(quorum)) = &mut view.quorum {
            quorum.quorate = false;
        }
    });
    assert!(signs(&golden, &lost).contains(&Sign::NoQuorum));
}

#[test]
fn a_cluster_of_which_no_head_tells_is_not_known_and_not_down() {
    let golden = Golden::named("lab");
    let stopped = |view: &mut HeadView| *view = HeadView::default();
    let mute = |view: &mut HeadView| view.cib = Some(Told::Silent(15));
    let both_stopped = but(but(healthy(&golden), 1, stopped), 2, stopped);
    let other_not_reached = |mut facts: StatusFacts| {
        facts.views.remove("head2");
        facts.unreached.insert(name(2), "no answer".into());
        facts
    };
    let one_stopped = other_not_reached(but(healthy(&golden), 1, stopped));
    let both_mute = but(but(healthy(&golden), 1, mute), 2, mute);
    let mut nobody = one_stopped.clone();
    nobody.views.clear();
    let (off, hidden) = (NodeCondition::Offline, NodeCondition::Unknown);
    for (facts, state, heads) in [
        (both_stopped, ServiceState::Down, [off, off]),
        (one_stopped, ServiceState::Unknown, [off, hidden]),
        (both_mute, ServiceState::Unknown, [hidden, hidden]),
        (nobody, ServiceState::Unknown, [hidden, hidden]),
    ] {
        let now = status(&golden.file, &facts, &Scheduler).unwrap();
        let conditions: Vec<NodeCondition> = now.nodes.iter().map(|node| node.state).collect();
        assert_eq!((now.state, &conditions[..]), (state, &heads[..]));
    }
}
