//! A watch of a simulated head on which a program does not answer for a while: the cluster's engine, multipathd, ZFS.

use std::time::Duration;

use crate::simulated::run_with;
use crate::watched::{AllWell, Hides, file};
use hawser_agent::questions::{Pulse, Standing};
use hawser_model::finding::{Place, Severity};
use hawser_model::output::watch::Alarm;
use hawser_model::storage::{MultipathFacts, PathFacts, StorageFacts, ZpoolFacts, ZpoolMember};
use hawser_watch::resident::Resident;

#[test]
fn what_was_seen_of_the_cluster_is_not_over_because_its_engine_does_not_answer() {
    for (hides, code) in [
        (Hides::Corosync, "corosync-hangs"),
        (Hides::Pacemaker, "pacemaker-mute"),
    ] {
        // The second look, at 300 s, is made again half a minute later.
        let look = AllWell {
            hides: Some((2, hides)),
            ..AllWell::default()
        };
        let told = run_with(600, &[], true, look).told;
        let said = |second, sign, code: &str| (second, sign, code.to_owned(), 1);
        let expected = [
            said(1, '+', "head-away"),
            said(301, '+', code),
            said(335, '-', code),
        ];
        assert_eq!(told, expected);
    }
}

#[test]
fn what_stood_before_a_restart_is_not_over_because_the_disks_are_not_told_of_yet() {
    let alarm = |code: &str, object: &str| Alarm {
        code: code.into(),
        severity: Severity::Error,
        place: Place::of(object, Some(&"head1".into())),
        parts: Vec::new(),
        since: Some(1),
        times: 1,
        text: code.into(),
        fix: None,
    };
    let storage = |told: bool| {
        let path = PathFacts {
            used: None,
            checked: told.then(|| "ready".to_owned()),
        };
        let map = MultipathFacts {
            name: "mpatha".into(),
            paths: [("sda".to_owned(), path)].into(),
        };
        let pool = ZpoolFacts {
            state: "ONLINE".into(),
            devices: told.then(ZpoolMember::default).into_iter().collect(),
            ..ZpoolFacts::default()
        };
        StorageFacts {
            multipath: [("36001405aa".to_owned(), map)].into(),
            zpools: [("tank".to_owned(), pool)].into(),
            ..StorageFacts::default()
        }
    };
    let mut resident = Resident::new(file(), "head1".into());
    let before = [
        alarm("multipath-path-lost", "mpatha"),
        alarm("zpool-degraded", "tank"),
        alarm("zpool-degraded", "exported"),
    ];
    resident.resume(Duration::ZERO, 1, before.to_vec());
    let mut standing = |seconds: std::ops::Range<u64>, told: bool| {
        for second in seconds {
            let now = Duration::from_secs(second);
            let pulse = Pulse {
                interfaces: Some([].into()),
                ..Pulse::default()
            };
            resident.pulse(now, second, pulse);
            let mut standing = Standing::default();
            standing.facts.storage = Some(storage(told));
            resident.standing(standing);
            resident.judge(now, None);
        }
        let objects = resident.alarms().into_iter();
        let objects = objects.filter_map(|it| it.place.object);
        objects.collect::<Vec<_>>()
    };
    assert_eq!(standing(0..20, false), ["mpatha", "tank"]);
    assert_eq!(standing(20..40, true), [""; 0]);
}
