//! A watch over simulated hours: what it asks, and when its alarms begin and end.

use std::sync::Arc;
use std::time::Duration;

use crate::watched::{AllWell, Head, QUESTIONS, file};
use hawser_agent::questions::Pulse;
use hawser_cluster::host::view::{PoolView, Told};
use hawser_host::Clock;
use hawser_host::sim::{Simulated, Wire};
use hawser_model::drops::{DropRecord, DropScope, DropSubject, DropTotals};
use hawser_model::units::Packets;
use hawser_watch::changes::Change;
use hawser_watch::metrics;
use hawser_watch::resident::Resident;
use hawser_watch::run::{EVERY, Look, Watch};

pub(crate) struct Ran {
    /// Second, `+`, `!` or `-`, code, times.
    pub(crate) told: Vec<(u64, char, String, u64)>,
    programs: u64,
    views: u64,
    devices: u64,
    pub(crate) watch: Watch,
}

fn run(seconds: u64, cuts: &[(u64, u64)], carrier: bool) -> Ran {
    run_with(seconds, cuts, carrier, AllWell::default())
}

pub(crate) fn run_with(seconds: u64, cuts: &[(u64, u64)], carrier: bool, look: AllWell) -> Ran {
    let wire = Wire::default();
    run_head(seconds, &wire, head(&wire, cuts, carrier), look)
}

pub(crate) fn head(wire: &Wire, cuts: &[(u64, u64)], carrier: bool) -> Head {
    Head {
        own: 0,
        clock: wire.clock(),
        cuts: cuts.to_vec(),
        carrier,
        full: 0..0,
        damages: 0..0,
        loses: 0..0,
        paths: Vec::new(),
        kept: Arc::default(),
        alarms: Arc::default(),
        away: 0..0,
    }
}

pub(crate) fn run_head(seconds: u64, wire: &Wire, head: Head, mut look: AllWell) -> Ran {
    let clock = wire.clock();
    let mut host = Simulated::new("head1".into(), head, QUESTIONS, wire);
    let mut watch = Watch::new(file(), "head1".into());
    let mut told = Vec::new();
    for _ in 0..seconds {
        let second = clock.now().as_secs();
        for change in watch.tick(&mut host, &mut look, &clock) {
            let (sign, alarm) = match change {
                Change::Began(alarm) => ('+', alarm),
                Change::Worse(alarm) => ('!', alarm),
                Change::Ended(alarm) => ('-', alarm),
            };
            told.push((second, sign, alarm.code, alarm.times));
        }
        clock.sleep(EVERY);
    }
    let asked = wire.asked();
    let programs = asked
        .iter()
        .filter(|(_, name)| *name == "corosync's statistics");
    Ran {
        told,
        programs: programs.count() as u64,
        views: look.begun,
        devices: look.devices,
        watch,
    }
}

#[test]
fn a_clean_day_has_no_alarm_and_starts_few_programs() {
    let day = 24 * 3600;
    let ran = run(day, &[], true);
    assert_eq!(ran.told, []);
    assert!(ran.programs <= day / 10 + 10, "{}", ran.programs);
    assert!(ran.views <= day / 300 + 2, "{}", ran.views);
}

#[test]
fn a_bad_cable_is_one_alarm_by_what_the_card_counts() {
    let wire = Wire::default();
    let head = Head {
        damages: 1000..1600,
        ..head(&wire, &[], true)
    };
    let told = run_head(2000, &wire, head, AllWell::default()).told;
    let [(began, '+', code, 1), (ended, '-', same, 1)] = &told[..] else {
        panic!("{told:?}");
    };
    assert_eq!((code.as_str(), same.as_str()), ("nic-errors", "nic-errors"));
    // The host is read each 30 s, and judged by the last 60.
    assert!((1003..1035).contains(began), "{began}");
    assert!((1640..1700).contains(ended), "{ended}");
}

#[test]
fn segments_that_a_switch_loses_are_one_alarm_of_that_link() {
    let wire = Wire::default();
    let head = Head {
        loses: 1000..1600,
        ..head(&wire, &[], true)
    };
    let ran = run_head(1200, &wire, head, AllWell::default());
    let [(began, '+', code, 1)] = &ran.told[..] else {
        panic!("{:?}", ran.told);
    };
    assert_eq!(code, "storage-segments-resent");
    // One is lost a second: ten take as long, and the host is read each 30 s.
    assert!((1010..1045).contains(began), "{began}");
    let alarm = &ran.watch.shown().0.reading.alarms[0];
    assert_eq!(alarm.place.to_string(), "head1 on san01 (eth2)");
    assert!(alarm.text.contains("60 of them (5 %)"), "{}", alarm.text);
    assert!(alarm.text.contains("10.72.2.31"), "{}", alarm.text);
    let (shown, health) = ran.watch.shown();
    let metrics = hawser_watch::metrics::text(&shown, health);
    for (name, least) in [("sent", 23_000), ("resent", 170), ("resent_needlessly", 0)] {
        let name = format!("hawser_storage_segments_{name}_total{{link=\"san01\"}} ");
        let value = metrics.lines().find_map(|line| line.strip_prefix(&name));
        let value: u64 = value
            .unwrap_or_else(|| panic!("{name}: {metrics}"))
            .parse()
            .unwrap();
        assert!(value >= least, "{name}: {value}");
    }
}

#[test]
fn the_alarm_of_lost_segments_ends_a_minute_after_the_last_one() {
    let wire = Wire::default();
    let head = Head {
        loses: 1000..1600,
        ..head(&wire, &[], true)
    };
    let told = run_head(2000, &wire, head, AllWell::default()).told;
    let [(_, '+', ..), (ended, '-', code, 1)] = &told[..] else {
        panic!("{told:?}");
    };
    assert_eq!(code, "storage-segments-resent");
    assert!((1640..1700).contains(ended), "{ended}");
}

#[test]
fn fence_devices_are_asked_when_all_is_quiet_and_not_when_something_happens() {
    let quiet = run(1000, &[], true);
    assert_eq!((quiet.views, quiet.devices), (4, 4));
    // A head that waits to be fenced is often what has changed: its device has other work then.
    let cut = run(290, &[(30, 60), (100, 140)], true);
    assert!(cut.views > 4, "{}", cut.views);
    assert_eq!(cut.devices, 1);
}

#[test]
fn what_changes_during_a_look_is_looked_at_after_it() {
    let slow = || AllWell {
        takes: 8,
        ..AllWell::default()
    };
    // The link is cut at 30, and is back at 34 while the look at that lasts until 38.
    let cut = run_with(280, &[(30, 34)], true, slow());
    assert_eq!((run_with(280, &[], true, slow()).views, cut.views), (1, 3));
}

#[test]
fn a_look_that_fails_is_made_again_each_half_minute() {
    let failing = AllWell {
        fails: true,
        ..AllWell::default()
    };
    let ran = run_with(290, &[], true, failing);
    assert_eq!(ran.views, 10);
    assert!(ran.watch.problem().is_some());
    // So is one in which Corosync did not answer in time, or was not ready yet: it would be unknown for 5 minutes.
    for quorum in [
        Told::Silent(15),
        Told::Failed("Cannot initialize QUORUM service".into()),
    ] {
        let unknown = AllWell {
            quorum: Some(quorum),
            ..AllWell::default()
        };
        let ran = run_with(290, &[], true, unknown);
        assert_eq!((ran.views, ran.watch.problem()), (10, None));
    }
    // The half minute begins when such a look has ended: a head that is short of processors has a rest.
    let slow = AllWell {
        quorum: Some(Told::Silent(15)),
        takes: 40,
        ..AllWell::default()
    };
    assert_eq!(run_with(290, &[], true, slow).views, 5);
}

#[test]
fn a_look_that_lasts_when_fence_devices_are_due_delays_them_and_nothing_else() {
    let slow = AllWell {
        takes: 2,
        ..AllWell::default()
    };
    // A cut at 298 is looked at until 301, and the devices are due at 300.
    let ran = run_with(900, &[(298, 310)], true, slow);
    assert!((3..=4).contains(&ran.devices), "{}", ran.devices);
    assert!(ran.views < 15, "{}", ran.views);
}

#[test]
fn an_event_of_which_pacemaker_alerts_is_read_at_once_and_a_storm_of_them_each_three_seconds() {
    let mut resident = Resident::new(file(), "head1".into());
    let mut view = |second: u64, woken: Option<u64>| {
        let pulse = Pulse {
            woken,
            ..Pulse::default()
        };
        let wants = resident.pulse(Duration::from_secs(second), second, pulse);
        (wants.view, wants.devices)
    };
    assert_eq!(view(0, Some(5)), (true, true));
    let quiet = (1..60).filter(|second| view(*second, Some(5)).0);
    assert_eq!(quiet.count(), 0);
    assert_eq!(view(60, Some(6)), (true, false));
    let storm: Vec<u64> = (61..70)
        .filter(|second| view(*second, Some(*second)).0)
        .collect();
    assert_eq!(storm, [63, 66, 69]);
    // The watch that listened is gone with its file.
    assert_eq!(view(80, None), (false, false));
}

#[test]
fn newly_lost_pings_are_read_at_once_and_change_nothing_in_the_cluster() {
    let mut resident = Resident::new(file(), "head1".into());
    let mut wants = |second: u64, pings_lost: u64| {
        let pulse = Pulse {
            corosync: Some(7),
            pings_lost,
            ..Pulse::default()
        };
        resident.pulse(Duration::from_secs(second), second, pulse)
    };
    // What begins is read each second for a while.
    let begins: Vec<u64> = (0..60).filter(|second| wants(*second, 0).links).collect();
    assert_eq!(begins, [0, 1, 2, 3, 4, 5, 6, 7, 17, 27, 37, 47, 57]);
    let lost = wants(60, 1);
    assert!(lost.links && !lost.view);
    let after: Vec<u64> = (61..90).filter(|second| wants(*second, 1).links).collect();
    assert_eq!(after, [61, 62, 63, 64, 65, 66, 67, 77, 87]);
    let views = (90..100).filter(|second| wants(*second, *second).view);
    assert_eq!(views.count(), 0);
}

#[test]
fn a_disk_that_stops_is_looked_at_in_that_second_and_one_that_flaps_each_three_seconds() {
    let mut resident = Resident::new(file(), "head1".into());
    let mut looks = |second: u64, state: &str| {
        let mut pulse = Pulse::default();
        pulse.storage.there = 2;
        if state != "running" {
            pulse.storage.unwell.insert("sda".into(), state.into());
        }
        let wants = resident.pulse(Duration::from_secs(second), second, pulse);
        (wants.standing, wants.view)
    };
    assert_eq!(looks(0, "running"), (true, true));
    let quiet = (1..30).filter(|second| looks(*second, "running") != (false, false));
    assert_eq!(quiet.count(), 0);
    assert_eq!(looks(40, "blocked"), (true, true));
    let storm: Vec<u64> = (41..50)
        .filter(|second| {
            let state = ["running", "blocked"][usize::from(second % 2 == 0)];
            looks(*second, state).0
        })
        .collect();
    assert_eq!(storm, [43, 46, 49]);
}

#[test]
fn a_port_without_carrier_is_told_in_that_second_and_takes_its_heartbeat_link_with_it() {
    let ran = run(120, &[(30, 60)], true);
    assert_eq!(
        ran.told,
        [
            (30, '+', "link-down".into(), 1),
            (66, '-', "link-down".into(), 1),
        ]
    );
}

#[test]
fn a_link_that_only_corosync_sees_down_is_told_when_its_log_grows() {
    let ran = run(120, &[(30, 60)], false);
    assert_eq!(
        ran.told,
        [
            (32, '+', "heartbeat-link-down".into(), 1),
            (65, '-', "heartbeat-link-down".into(), 1),
        ]
    );
}

#[test]
fn a_flapping_link_is_one_alarm() {
    let cuts: Vec<(u64, u64)> = (0..10).map(|n| (30 + 6 * n, 33 + 6 * n)).collect();
    let ran = run(300, &cuts, false);
    assert_eq!(ran.told.len(), 2, "{:?}", ran.told);
    assert_eq!(ran.told[0], (32, '+', "heartbeat-link-down".into(), 1));
    let (second, sign, _, times) = &ran.told[1];
    assert_eq!((*sign, *times), ('-', 10));
    assert!((140..170).contains(second), "{second}");
}

#[test]
fn metrics_are_what_was_read_and_nothing_that_a_head_says_breaks_their_lines() {
    let ran = run(60, &[(30, 60)], true);
    let (mut shown, health) = ran.watch.shown();
    let text = metrics::text(&shown, health);
    for line in [
        "hawser_build_info{version=\"0.1.0\"} 1",
        "hawser_corosync_up 1.0",
        "hawser_heartbeat_link_up{link=\"ring0\",peer=\"head2\"} 1.0",
        "hawser_heartbeat_link_up{link=\"ring1\",peer=\"head2\"} 0.0",
        "hawser_heartbeat_link_latency_seconds{link=\"ring0\",peer=\"head2\"} 0.000312",
        "hawser_interface_carrier{interface=\"eth1\"} 0.0",
        "hawser_watch_readings_total 60",
        "# EOF",
    ] {
        assert!(text.lines().any(|l| l == line), "{line}\n{text}");
    }
    assert!(text.contains("hawser_alarm_active{code=\"link-down\",severity=\"error\","));
    assert!(!text.contains("hawser_quorate"), "it was never read");
    let planted = "eth0\"} 1\nhawser_corosync_up 0\n\u{1b}[2J\\";
    let ports = &mut shown.heads.get_mut("head1").unwrap().interfaces;
    let port = ports["eth0"].clone();
    ports.insert(planted.into(), port);
    shown.reading.alarms[0].place.object = Some(planted.into());
    let drop = DropRecord {
        reason: planted.into(),
        location: planted.into(),
        scope: DropScope::ThisHost,
        interface: Some(planted.into()),
        subject: DropSubject::Other,
        packets: Packets(1),
    };
    shown.heads.get_mut("head1").unwrap().drops = Some(DropTotals::Counted {
        drops: vec![drop],
        missed: 0,
    });
    let text = metrics::text(&shown, health);
    assert!(!text.contains('\u{1b}'));
    assert!(!text.lines().any(|l| l.starts_with("hawser_corosync_up 0")));
    let quoted = text
        .lines()
        .filter(|line| line.contains("eth0\\\"} 1"))
        .count();
    assert!(quoted > 1, "{text}");
    let mut names = text.lines().filter(|line| !line.starts_with('#'));
    assert!(names.all(|line| line.starts_with("hawser_")), "{text}");
}

#[test]
fn a_head_that_does_not_answer_leaves_what_was_known() {
    let ran = run(40, &[(30, 60)], true);
    let wire = Wire::default();
    wire.lose("head1".into());
    let head = head(&wire, &[], true);
    let mut gone = Simulated::new("head1".into(), head, QUESTIONS, &wire);
    let mut watch = ran.watch;
    let clock = Clock::simulated();
    clock.sleep(Duration::from_secs(100));
    assert_eq!(watch.tick(&mut gone, &mut AllWell::default(), &clock), []);
    let (shown, health) = watch.shown();
    assert_eq!((shown.reading.alarms.len(), health.failures), (1, 1));
}

#[test]
fn the_ports_of_the_pools_portals_are_asked_for_once_they_are_known() {
    let mut resident = Resident::new(file(), "head1".into());
    assert!(resident.standing_question().ports.is_empty());
    let mut look = AllWell::default();
    assert!(look.begin(true));
    let (mut facts, judged) = look.ended().unwrap().unwrap();
    for (head, port) in [("head1", 3261), ("head2", 3262)] {
        let pool = PoolView::Here {
            file: Told::Said(None),
            offered: Told::Said(Some(Vec::new())),
            room: Told::Said(None),
            disks: Told::Said(None),
            ports: [port].into(),
            encrypted: Told::Said(Vec::new()),
        };
        let view = facts.views.get_mut(head).unwrap();
        view.pools.insert("vmpool01".into(), pool);
    }
    resident.view(facts, judged);
    assert_eq!(resident.standing_question().ports, [3261].into());
}
