//! A head that runs another cluster, such as the example that Debian's packages start on a system disk that was replaced.

use super::*;
use hawser_cluster::live::{Sign, Stand, Truth, judgement};
use hawser_model::output::cluster::{NodeCondition, ServiceState};

/// The heads, of which some run the example.
fn with_example(golden: &Golden, heads: &[u32]) -> StatusFacts {
    let survivor = after(&well(golden), &[Event::NodeFail("head1".into())]);
    let mut facts = on_head2(both(golden, &survivor));
    facts = but(facts, 2, |view| view.quorum = quorum(2, &[2]));
    for head in heads {
        facts = but(facts, *head, |view| {
            view.quorum = quorum(1, &[1]);
            view.cib = Some(Told::Said(EXAMPLE.into()));
            view.controller = Some(Told::Silent(5));
            view.fencer = Some(Told::Failed("no device".into()));
        });
    }
    facts
}

#[test]
fn a_head_that_runs_another_cluster_is_no_part_of_a_split_and_not_believed() {
    let golden = Golden::named("lab");
    let now = golden_status(&golden, "another-cluster", &with_example(&golden, &[1]));
    assert_eq!(now.view_of, Some(name(2)));
    assert_eq!(now.state, ServiceState::NotRedundant, "{:?}", now.reason);
    assert_eq!(now.nodes[0].state, NodeCondition::Offline);
    let text = said(&now);
    assert!(
        text.contains(
            "head1 runs another cluster, debian by its CIB, which names no other node of the file: if nobody needs that, \
             `systemctl stop pacemaker corosync` there ends it"
        ),
        "{text}"
    );
    for lie in [
        "both hold themselves",
        "power",
        "controller",
        "not a member",
    ] {
        assert!(!text.contains(lie), "{lie}: {text}");
    }
    let judged = judgement(&golden.file, &with_example(&golden, &[1]), &Scheduler).unwrap();
    let mut signs = judged.said.iter().map(|said| &said.mark);
    assert!(signs.any(|mark| *mark == Sign::HeadElsewhere.on(&name(1))));
}

/// With a CIB that would rank before the cluster's own.
#[test]
fn where_only_heads_of_other_clusters_answer_none_is_believed() {
    let golden = Golden::named("lab");
    let mut facts = with_example(&golden, &[1, 2]);
    let now = status(&golden.file, &facts, &Scheduler).unwrap();
    assert_eq!(now.view_of, None);
    assert_eq!(now.state, ServiceState::Down);
    assert_eq!(
        now.reason.as_deref(),
        Some("lab runs on no node that was reached")
    );
    assert!(
        said(&now).contains("head2 runs another cluster, debian"),
        "{}",
        said(&now)
    );
    facts.views.remove(&name(2));
    facts.unreached.insert(name(2), "no answer".into());
    let now = status(&golden.file, &facts, &Scheduler).unwrap();
    assert_eq!(now.state, ServiceState::Unknown, "head2 may serve");
}

#[test]
fn what_starts_and_what_a_file_without_nodes_has_is_not_taken_for_another_cluster() {
    let golden = Golden::named("lab");
    let facts = with_example(&golden, &[1]);
    let joins = but(facts.clone(), 1, |view| {
        view.controller = Some(Told::Said("S_PENDING".into()));
    });
    let truth = Truth::of_cluster(&golden.file, &joins.views);
    assert!(truth.starts(&name(1)).is_some(), "{truth:?}");
    assert_eq!(truth.from, Some(name(2)));

    let mut file = golden.file;
    file.nodes.clear();
    let truth = Truth::of_cluster(&file, &facts.views);
    assert_eq!(truth, Truth::of(&facts.views));
    assert_eq!(truth.stands[&name(1)], Stand::Member);
}
