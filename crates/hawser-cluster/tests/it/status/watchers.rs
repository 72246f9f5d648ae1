//! A watcher of a SAN port that does not watch: pools would stay on a head that has lost its clients.

use super::*;
use crate::golden::ports;
use crate::plan::by_hand;
use crate::scheduler::Scheduler;
use hawser_cluster::host::view::Port;

const WATCHER: &str = "watch-head1-san01";

/// Both heads say the same, and each which interfaces are its ports.
fn with_ports(golden: &Golden, cib: &str) -> StatusFacts {
    let mut facts = both(golden, cib);
    for (head, ports) in ports(&golden.file) {
        let view = facts.views.get_mut(&head).unwrap();
        for port in ports.values() {
            let interface = port.interface.clone();
            let there = Port {
                interface: Some(interface.clone()),
                carrier: true,
                blind: None,
            };
            if interface.starts_with("san") {
                view.ports.insert(interface, there);
            }
        }
    }
    facts
}

fn resource(cib: &Element, arguments: &[&str]) -> Element {
    by_hand(
        cib,
        "crm_resource",
        &[&["--resource", WATCHER], arguments].concat(),
    )
}

fn stopped(cib: &Element) -> Element {
    let stop = ["--meta", "--set-parameter", "target-role"];
    let stopped = resource(
        cib,
        &[&stop[..], &["--parameter-value", "Stopped"]].concat(),
    );
    Element::parse(&after(&stopped, &[]), "the CIB").unwrap()
}

#[test]
fn watchers_that_watch_are_not_spoken_of() {
    let golden = Golden::named("lab");
    let facts = with_ports(&golden, &well(&golden).to_text());
    let now = golden_status(&golden, "ports-watched", &facts);
    assert!(now.redundant && now.degraded.is_empty(), "{}", said(&now));
    assert_eq!(now.notes, [""; 0]);
}

#[test]
fn a_watcher_that_does_not_watch_is_named_with_what_ends_it() {
    let golden = Golden::named("lab");
    let well = well(&golden);
    let parts = [
        "//rsc_location[@rsc='watch-head1-san01']",
        "//primitive[@id='watch-head1-san01']",
    ];
    let deleted = parts.iter().fold(well.clone(), |cib, path| {
        by_hand(&cib, "cibadmin", &["--delete", "--xpath", path])
    });
    let start = ["--meta", "--delete-parameter", "target-role"];
    let fails = Event::OpFails {
        resource: WATCHER.into(),
        operation: "start".into(),
        node: "head1".into(),
    };
    let failed = after(&resource(&stopped(&well), &start), &[fails]);
    let banned = resource(&well, &["--ban", "--node", "head1"]);
    let cases: [(&str, String, &[&str]); 4] = [
        (
            "watcher-deleted",
            decided(&deleted.to_text()),
            &[
                "watch-head1-san01 is missing: when head1 loses san01, nobody sees it and pools stay there; \
                 `hawser apply` puts it back",
            ],
        ),
        (
            "watcher-stopped",
            stopped(&well).to_text(),
            &[
                "watch-head1-san01 does not run since somebody stopped it",
                "`crm_resource --resource watch-head1-san01 --meta --delete-parameter target-role` starts it",
            ],
        ),
        (
            "watcher-failed",
            failed,
            &[
                "watch-head1-san01 does not run (start of watch-head1-san01 failed on head1",
                "`crm_resource --cleanup --resource watch-head1-san01`",
            ],
        ),
        (
            "watcher-banned",
            after(&banned, &[]),
            &[
                "watch-head1-san01 does not run, since watch-head1-san01 is ordered away from head1",
                "`crm_resource --clear --resource watch-head1-san01` ends that",
            ],
        ),
    ];
    for (name, cib, says) in cases {
        let now = golden_status(&golden, name, &with_ports(&golden, &cib));
        for words in says {
            assert!(said(&now).contains(words), "{name}: {}", said(&now));
        }
        assert!(!now.redundant, "{name}");
    }
}

#[test]
fn a_watcher_that_pacemaker_starts_has_not_failed() {
    let golden = Golden::named("lab");
    let start = ["--meta", "--delete-parameter", "target-role"];
    let starts = resource(&stopped(&well(&golden)), &start);
    let facts = with_ports(&golden, &starts.to_text());
    let now = status(&golden.file, &facts, &Scheduler).unwrap();
    assert_eq!(
        now.degraded,
        [
            "watch-head1-san01 does not run yet: when head1 loses san01, nobody sees it and pools stay there; \
             Pacemaker is about to start it"
        ]
    );
}

#[test]
fn a_port_that_nobody_can_watch_is_worth_a_note() {
    let golden = Golden::named("lab");
    let facts = with_ports(&golden, &well(&golden).to_text());
    let facts = but(facts, 1, |view| {
        let port = view.ports.get_mut("san01").unwrap();
        port.blind = Some("its state is \"unknown\", not \"up\"".into());
    });
    let now = status(&golden.file, &facts, &Scheduler).unwrap();
    let notes = now.notes.join("\n");
    assert!(
        notes.contains("the port of head1 to san01 is not watched")
            && notes.contains("\"unknown\""),
        "{notes}"
    );
}
