//! Heads that do not see the same cluster: who is believed, and what is said of the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::*;
use crate::scheduler::Scheduler;
use hawser_cluster::host::questions::Simulate;
use hawser_cluster::live::{Stand, Startup, Truth, judged};
use hawser_cluster::simulate::Answer as Simulated;
use hawser_host::sim::{self, Wire};
use hawser_host::{Answers, Declined, Entry, Host, Hosts, Stop};
use hawser_model::output::cluster::{NodeCondition, ServiceState};

/// What a fencer remembers of five shots at head1 that missed.
const MISSED: &str = r#"<pacemaker-result>
    <fence_event action="off" target="head1" status="pending" origin="head2"/>
    <fence_event action="off" target="head1" status="failed" delegate="head2" completed="2026-01-02 03:04:05Z"
        exit-reason="Chassis Power Control: Failed"/>
    <fence_event action="off" target="head1" status="failed" delegate="head2" completed="2026-01-02 03:03:05Z"/>
    </pacemaker-result>"#;

/// The CIB of the survivor of a head that fell silent, before anything was done about it.
fn silent_head1(golden: &Golden) -> String {
    let mut cib = well(golden);
    let states = cib.first_or_new("status");
    let state = states
        .children
        .iter_mut()
        .find(|state| state.get("uname") == Some("head1"));
    let state = state.expect("head1 has a state");
    for (name, value) in [
        ("in_ccm", "false"),
        ("crmd", "offline"),
        ("join", "down"),
        ("expected", "member"),
    ] {
        state.set(name, value);
    }
    cib.to_text()
}

fn condition(now: &ClusterStatus, head: &str) -> NodeCondition {
    now.nodes
        .iter()
        .find(|node| node.name.as_str() == head)
        .unwrap()
        .state
}

#[test]
fn a_frozen_head_is_not_believed_and_what_the_survivor_says_of_it_is() {
    let golden = Golden::named("lab");
    let facts = with_history(healthy(&golden), 2, MISSED);
    let facts = but(facts, 2, |view| {
        view.cib = Some(Told::Said(silent_head1(&golden)));
        view.quorum = quorum(2, &[2]);
    });
    // head1's Pacemaker goes on, with the CIB that it had.
    let facts = but(facts, 1, |view| view.quorum = Some(Told::Silent(5)));
    let now = golden_status(&golden, "frozen-head", &facts);
    assert_eq!(now.view_of, Some(name(2)));
    assert_eq!(condition(&now, "head1"), NodeCondition::Unclean);
    let text = said(&now);
    assert!(
        now.degraded[0].contains("head1 is being fenced: \"off\" is under way"),
        "{text}"
    );
    assert!(
        now.degraded[1].contains("the last attempt to fence head1 failed"),
        "{text}"
    );
    assert!(
        now.degraded[1].contains("Chassis Power Control: Failed), 2 failed in a row"),
        "{text}"
    );
    assert!(
        text.contains("Corosync on head1 runs and does not answer (no answer within 5 s)"),
        "{text}"
    );
    // It answers, so it has power: whoever confirmed that it is off would destroy its pools.
    assert!(!text.contains("--confirm"), "{text}");
    assert!(text.contains("it has power"), "{text}");
}

#[test]
fn only_a_dead_head_that_could_not_be_switched_off_is_to_be_confirmed_and_only_when_its_power_is_proven_off()
 {
    let golden = Golden::named("lab");
    let alone = |history: &str, quorate: bool| {
        let mut facts = with_history(healthy(&golden), 2, history);
        facts.views.remove("head1");
        facts.unreached.insert(name(1), "no answer".into());
        let facts = but(facts, 2, |view| {
            view.cib = Some(Told::Said(silent_head1(&golden)));
            view.quorum = quorum(2, &[2]);
            if let (false, Some(Told::Said(quorum))) = (quorate, &mut view.quorum) {
                quorum.quorate = false;
            }
        });
        status(&golden.file, &facts, &Scheduler).unwrap()
    };
    let missed = said(&alone(MISSED, true));
    let advice = "Cut its power by hand and see that it is off, at its BMC or at the plug; only then run \
                  `stonith_admin --confirm=head1` on head2. Run while head1 has power, that destroys its pools";
    assert!(missed.contains(advice), "{missed}");
    let dead = alone(MISSED, true);
    assert_eq!(dead.state, ServiceState::Down);
    assert_eq!(
        dead.reason.as_deref(),
        Some("vmpool01 was on head1, which is lost, and is not taken over yet")
    );
    for (history, quorate) in [(NOBODY, true), (MISSED, false)] {
        let text = said(&alone(history, quorate));
        assert!(!text.contains("--confirm"), "{text}");
        assert!(text.contains("head1 is lost"), "{text}");
    }
}

#[test]
fn a_head_that_joins_decides_nothing_and_is_starting() {
    let golden = Golden::named("lab");
    let survivor = after(&well(&golden), &[Event::NodeFail("head1".into())]);
    // Its own CIB is what it had on its disk: nobody decides, and its peer seems lost.
    let mut empty = well(&golden);
    empty.attributes.retain(|(name, _)| name != "dc-uuid");
    empty.first_or_new("status").children.clear();
    let empty = empty.to_text();
    let join = |change: &dyn Fn(&mut HeadView)| {
        let facts = but(both(&golden, &survivor), 1, |view| {
            view.up_s = Some(20);
            view.pools.clear();
            view.controller = Some(Told::Said("S_PENDING".into()));
            view.cib = Some(Told::Said(empty.clone()));
            change(view);
        });
        // The head that serves has both pools.
        but(facts, 2, |view| {
            let here = view.pools["vmpool02"].clone();
            view.pools.insert("vmpool01".into(), here);
        })
    };
    let refused = || {
        Told::Failed("Could not connect to the CIB: Transport endpoint is not connected".to_owned())
    };
    type Stage<'a> = (&'a str, &'a dyn Fn(&mut HeadView));
    let stages: [Stage<'_>; 4] = [
        ("joining-with-an-old-cib", &|_| {}),
        ("joining-without-a-fencer", &|view| {
            view.cib = Some(refused());
            view.controller = Some(refused());
            view.fencer = Some(Told::Failed("Could not connect to fencer".into()));
        }),
        ("joining-without-corosync", &|view| {
            (view.corosync, view.pacemaker) = (false, false);
            (view.quorum, view.controller, view.cib, view.fencer) = (None, None, None, None);
        }),
        ("joining-before-pacemaker", &|view| {
            view.pacemaker = false;
            (view.controller, view.cib, view.fencer) = (None, None, None);
        }),
    ];
    for (stage, change) in stages {
        let facts = join(change);
        let now = golden_status(&golden, stage, &facts);
        assert_eq!(now.view_of, Some(name(2)), "{stage}");
        assert_eq!(condition(&now, "head1"), NodeCondition::Starting, "{stage}");
        assert_eq!(condition(&now, "head2"), NodeCondition::Online, "{stage}");
        assert_eq!(
            now.state,
            ServiceState::NotRedundant,
            "{stage}: {:?}",
            now.reason
        );
        let text = said(&now);
        assert!(text.contains("head1 is starting"), "{stage}: {text}");
        for lie in ["--confirm", "lost", "standby", "active nowhere"] {
            assert!(!text.contains(lie), "{stage} says {lie}: {text}");
        }
    }
}

#[test]
fn heads_that_both_have_quorum_and_do_not_see_each_other_are_named_first_and_neither_is_confirmed()
{
    let golden = Golden::named("lab");
    let facts = with_history(healthy(&golden), 2, MISSED);
    let facts = but(facts, 2, |view| {
        view.cib = Some(Told::Said(silent_head1(&golden)));
        view.quorum = quorum(2, &[2]);
    });
    let facts = but(facts, 1, |view| view.quorum = quorum(1, &[1]));
    let now = golden_status(&golden, "split", &facts);
    let text = said(&now);
    assert!(
        text.contains("both hold themselves for the cluster"),
        "{text}"
    );
    assert!(!text.contains("--confirm"), "{text}");
}

#[test]
fn the_part_without_quorum_is_not_believed() {
    let golden = Golden::named("lab");
    let minority = replaced(
        &well(&golden).to_text(),
        "have-quorum=\"1\"",
        "have-quorum=\"0\"",
    );
    let cut_off = |view: &mut HeadView| {
        view.cib = Some(Told::Said(minority.clone()));
        view.quorum = Some(Told::Said(Quorum {
            quorate: false,
            ring: "1.b".into(),
            local: 1,
            members: [1].into(),
        }));
    };
    let now = golden_status(&golden, "cut-off", &but(healthy(&golden), 1, cut_off));
    assert_eq!(now.view_of, Some(name(2)));
    assert!(
        said(&now).contains("head1 has no quorum and sees only head1"),
        "{}",
        said(&now)
    );

    let nobody = but(healthy(&golden), 1, cut_off);
    let nobody = but(nobody, 2, |view| {
        cut_off(view);
        if let Some(Told::Said(quorum)) = &mut view.quorum {
            (quorum.local, quorum.members) = (2, [2].into());
        }
    });
    let now = golden_status(&golden, "no-quorum", &nobody);
    assert!(
        !now.quorate && said(&now).contains("there is no quorum"),
        "{}",
        said(&now)
    );
}

#[test]
fn a_member_that_is_not_reached_is_not_taken_for_ready() {
    let golden = Golden::named("lab");
    let mut facts = healthy(&golden);
    facts.views.remove("head1");
    facts
        .unreached
        .insert(name(1), "Connection timed out".into());
    let now = golden_status(&golden, "unreached", &facts);
    assert!(!now.redundant);
    assert!(
        said(&now).contains("head1 is a member but was not reached"),
        "{}",
        said(&now)
    );
}

#[test]
fn a_controller_that_hangs_is_named_and_the_other_heads_view_is_taken() {
    let golden = Golden::named("lab");
    let facts = but(healthy(&golden), 2, |view| {
        view.controller = Some(Told::Silent(5))
    });
    let now = golden_status(&golden, "hung-controller", &facts);
    assert_eq!(now.view_of, Some(name(1)));
    assert!(
        said(&now).contains("controller on head2 does not answer within 5 s"),
        "{}",
        said(&now)
    );
}

#[test]
fn a_cluster_that_starts_is_starting_and_not_down() {
    let golden = Golden::named("lab");
    let boots = |up: u64| HeadView {
        up_s: Some(up),
        ..HeadView::default()
    };
    let facts = |up| StatusFacts {
        views: [1, 2].map(|head| (name(head), boots(up))).into(),
        ..StatusFacts::default()
    };
    let state = |up| status(&golden.file, &facts(up), &Scheduler).unwrap().state;
    assert_eq!(state(20), ServiceState::Starting);
    assert_eq!(state(86_400), ServiceState::Down);
}

#[test]
fn how_each_head_stands_is_told_from_its_own_daemons() {
    let golden = Golden::named("lab");
    let stand = |change: &dyn Fn(&mut HeadView)| {
        let facts = but(healthy(&golden), 1, change);
        Truth::of(&facts.views).stands[&name(1)].clone()
    };
    assert_eq!(stand(&|_| {}), Stand::Member);
    assert!(matches!(
        stand(&|v| v.quorum = Some(Told::Silent(5))),
        Stand::Frozen(_)
    ));
    assert!(matches!(
        stand(&|v| v.cib = Some(Told::Silent(5))),
        Stand::Mute(_)
    ));
    assert_eq!(stand(&|v| v.pacemaker = false), Stand::Down("Pacemaker"));
    assert_eq!(
        stand(&|v| v.controller = Some(Told::Said("S_PENDING".into()))),
        Stand::Starting(Startup::Joins)
    );
    // An older crmadmin that cannot say it in XML says nothing against its head.
    assert_eq!(
        stand(&|v| v.controller = Some(Told::Failed("unknown option".into()))),
        Stand::Member
    );
}

/// A head that is asked to simulate, and dies of it or hangs.
struct Asked {
    hangs: bool,
    asked: Arc<AtomicUsize>,
}

impl Answers<Asked> for Simulate {
    fn answer(self, head: &mut Asked, _: &Stop) -> Result<Simulated, Declined> {
        head.asked.fetch_add(1, Ordering::SeqCst);
        if head.hangs {
            loop {
                std::thread::park();
            }
        }
        Err("the connection ended".into())
    }
}

/// Heads of which none simulates.
fn mute(hangs: bool, asked: &Arc<AtomicUsize>) -> Hosts {
    const QUESTIONS: &[Entry<Asked>] = &[Entry::of::<Simulate>()];
    let head = |name: &str| -> (HostName, Box<dyn Host>) {
        let asked = asked.clone();
        let head = Asked { hangs, asked };
        let host = sim::Simulated::new(name.into(), head, QUESTIONS, &Wire::default());
        (name.into(), Box::new(host))
    };
    [head("head1"), head("head2")].into()
}

#[test]
fn a_head_that_dies_while_it_simulates_does_not_end_the_status() {
    let golden = Golden::named("lab");
    let facts = healthy(&golden);
    let asked = Arc::new(AtomicUsize::new(0));
    for hangs in [false, true] {
        let mut heads = mute(hangs, &asked);
        let limit = Duration::from_millis(if hangs { 20 } else { 60_000 });
        let now = judged(&golden.file, &facts, &mut heads, limit).unwrap();
        assert!(now.status.redundant, "{}", said(&now.status));
        // One that hangs is not waited for, and not asked again.
        assert_eq!(heads.len(), if hangs { 0 } else { 2 });
    }
    assert_eq!(asked.load(Ordering::SeqCst), 4, "both, each time");
}

#[test]
fn if_nobody_simulates_the_head_that_was_asked_first_is_named() {
    let golden = Golden::named("lab");
    let mut cib = well(&golden);
    // A schema that no crm_simulate of this machine knows.
    cib.set("validate-with", "pacemaker-99.0");
    let facts = both(&golden, &cib.to_text());
    let asked = Arc::new(AtomicUsize::new(0));
    for (hangs, said) in [
        (true, "crm_simulate on head2 has not answered within 1 s"),
        (false, "head2: the connection ended"),
    ] {
        let mut heads = mute(hangs, &asked);
        let judged = judged(&golden.file, &facts, &mut heads, Duration::from_secs(1));
        let why = judged.map(|now| now.status).unwrap_err();
        assert_eq!(why.to_string(), said);
    }
}
