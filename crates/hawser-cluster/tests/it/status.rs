//! What is said of a cluster at a bad moment, from facts as they would be recorded then.

use std::collections::BTreeMap;

use crate::golden::{Golden, compare, folder};
use crate::plan::{by_hand, running};
use hawser_cluster::cib::edit::with_standby;
use hawser_cluster::live::{StatusFacts, status};
use hawser_cluster::simulate::{CrmSimulate, Event, Simulator};
use hawser_cluster::xml::Element;
use hawser_model::cluster_file::parse_complete;
use hawser_model::host::CorosyncFacts;
use hawser_model::names::HostName;
use hawser_model::output::cluster::ClusterStatus;

/// The Corosync of both heads, with the second heartbeat link up or down.
fn corosync(second_link: &str) -> BTreeMap<HostName, CorosyncFacts> {
    let of = |other: u8| CorosyncFacts {
        pid: 1,
        token: None,
        stats: [("0", "1"), ("1", second_link)]
            .map(|(link, up)| {
                let key = format!("stats.knet.node{other}.link{link}.connected");
                (key, up.to_owned())
            })
            .into(),
    };
    [("head1".into(), of(2)), ("head2".into(), of(1))].into()
}

fn healthy(golden: &Golden) -> StatusFacts {
    StatusFacts {
        cib: Some(running(golden).to_text()),
        corosync: corosync("1"),
        ..StatusFacts::default()
    }
}

fn after(cib: &Element, events: &[Event]) -> String {
    CrmSimulate
        .simulate(&cib.to_text(), events)
        .unwrap()
        .cib_after
}

fn operation_fails(operation: &str, node: &str) -> Event {
    Event::OpFails {
        resource: "vmpool01".into(),
        operation: operation.into(),
        node: node.into(),
    }
}

/// The same text with something replaced that must be there.
#[track_caller]
fn replaced(text: &str, from: &str, to: &str) -> Option<String> {
    assert!(text.contains(from), "no {from}");
    Some(text.replace(from, to))
}

fn golden_status(golden: &Golden, name: &str, facts: &StatusFacts) -> ClusterStatus {
    let mut now = status(&golden.file, facts, &CrmSimulate).unwrap();
    // crm_simulate stamps what it plays with the time of day.
    if let Some(takeover) = &mut now.last_takeover {
        takeover.at = 0;
    }
    let text = serde_json::to_string_pretty(&now).unwrap() + "\n";
    compare(&folder("status").join(format!("{name}.json")), &text);
    now
}

#[test]
fn a_cluster_that_is_well_is_redundant() {
    let golden = Golden::named("lab");
    let now = golden_status(&golden, "healthy", &healthy(&golden));
    assert!(now.redundant && now.quorate && now.degraded.is_empty());
}

#[test]
fn each_thing_that_is_wrong_is_named_and_costs_the_redundancy() {
    let golden = Golden::named("lab");
    let well = running(&golden);
    let text = well.to_text();
    let node_lost = [Event::NodeFail("head1".into())];
    let missed = r#"<pacemaker-result><fence_event action="off" target="head1" status="failed"
        completed="2026-01-02 03:04:05Z" exit-reason="No route to host"/></pacemaker-result>"#;
    let hit = missed.replace("failed", "success");
    let unanswered = BTreeMap::from([("fence-head2".to_owned(), Some("Login failed".to_owned()))]);
    let with = |cib: Option<String>| StatusFacts {
        cib,
        ..healthy(&golden)
    };
    let unmanaged = by_hand(
        &well,
        "crm_resource",
        &[
            "--resource",
            "vmpool01-exports",
            "--meta",
            "--set-parameter",
            "is-managed",
            "--parameter-value",
            "false",
        ],
    );
    let stopped = by_hand(
        &well,
        "crm_resource",
        &[
            "--resource",
            "vmpool01",
            "--meta",
            "--set-parameter",
            "target-role",
            "--parameter-value",
            "Stopped",
        ],
    );
    let cases: Vec<(&str, StatusFacts, &str)> = vec![
        (
            "link-down",
            StatusFacts {
                corosync: corosync("0"),
                ..healthy(&golden)
            },
            "heartbeat link ring1 between head1 and head2 is down",
        ),
        (
            "standby",
            with(Some(after(&with_standby(&well, "head1", true), &[]))),
            "head1 is in standby",
        ),
        (
            "no-quorum",
            with(replaced(&text, "have-quorum=\"1\"", "have-quorum=\"0\"")),
            "there is no quorum",
        ),
        (
            "maintenance",
            with(replaced(
                &text,
                "name=\"maintenance-mode\" value=\"false\"",
                "name=\"maintenance-mode\" value=\"true\"",
            )),
            "maintenance mode",
        ),
        (
            "unmanaged",
            with(Some(unmanaged.to_text())),
            "vmpool01-exports is not managed",
        ),
        (
            "bmc-does-not-answer",
            StatusFacts {
                fence_status: unanswered,
                ..healthy(&golden)
            },
            "fence device fence-head2 does not answer (Login failed): head2 could not be switched off",
        ),
        (
            "pool-stop-fails",
            with(Some(after(
                &with_standby(&well, "head1", true),
                &[operation_fails("stop", "head1")],
            ))),
            "the last operation of vmpool01 failed",
        ),
        (
            "pool-start-fails",
            with(Some(after(
                &with_standby(&well, "head1", true),
                &[operation_fails("start", "head2")],
            ))),
            "the last operation of vmpool01 failed",
        ),
        (
            "pool-nowhere",
            with(Some(after(&stopped, &[]))),
            "pool vmpool01 is active nowhere",
        ),
        (
            "head-dead",
            StatusFacts {
                fence_history: Some(hit),
                ..with(Some(after(&well, &node_lost)))
            },
            "head1 is not a member of the cluster",
        ),
    ];
    for (name, facts, says) in cases {
        let now = golden_status(&golden, name, &facts);
        let said = now.degraded.join("\n");
        assert!(said.contains(says), "{name}: {said}");
        assert!(!now.redundant, "{name}");
    }
    // It has missed, and the node may be well again: worth knowing, and no loss of redundancy.
    let facts = StatusFacts {
        fence_history: Some(missed.into()),
        ..healthy(&golden)
    };
    let now = golden_status(&golden, "fencing-failed", &facts);
    assert_eq!(now.degraded.len(), 1, "{:?}", now.degraded);
    assert!(now.degraded[0].contains("the last attempt to fence head1 failed"));
}

#[test]
fn two_heads_without_the_vote_of_their_quorum_device_are_not_redundant() {
    let golden = Golden::named("lab");
    let text = include_str!("../../../../examples/lab/hawser.toml");
    let device = "[quorum]\ndevice = { host = \"arbiter\", tls = \"off\" }\n\n[fencing]";
    let file = parse_complete(&text.replace("[fencing]", device), "hawser.toml").unwrap();
    let said = |why: Option<&str>| {
        let of = |node: &str| (node.into(), why.map(str::to_owned));
        let facts = StatusFacts {
            device: BTreeMap::from([of("head1"), of("head2")]),
            ..healthy(&golden)
        };
        status(&file, &facts, &CrmSimulate).unwrap()
    };
    let votes = said(None);
    assert!(votes.redundant && votes.degraded.is_empty());
    assert!(votes.quorum_device.unwrap().votes);

    let silent = said(Some("corosync-qdevice does not run there"));
    assert!(!silent.redundant && silent.quorate);
    assert_eq!(
        silent.degraded[0],
        "the quorum device on arbiter does not vote on head1: corosync-qdevice does not run there"
    );
    assert!(
        silent.if_lost["head1"][0].contains("have no quorum"),
        "{:?}",
        silent.if_lost
    );
    assert!(!silent.quorum_device.unwrap().votes);
}
