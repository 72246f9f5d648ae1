//! What the logs of recorded drills tell alone: without the client, the faults, the BMC. What is expected lies in
//! `cases/incident/`; `UPDATE_CASES=1 cargo test -p hawser-account --test it incident::` writes that again, for a person to read
//! the difference.

use crate::support::logs::{self, drill, of_drill};
use crate::support::saved::hold_incident;
use hawser_account::incident::{LogFile, LogKind, Names, incidents};
use hawser_model::drill::DrillCase;
use hawser_model::output::drill::OutagePhase;
use hawser_model::output::incident::IncidentsReport;
use proptest::prelude::*;

const RECORDED: [&str; 11] = [
    "power-cut",
    "stock-power-cut",
    "switchover",
    "target-killed",
    "bmc-unreachable",
    "hang",
    "wrong-password",
    "failed-start",
    "sans-unplugged",
    "boot-awaited",
    "duel",
];

fn told(case: &DrillCase) -> IncidentsReport {
    logs::told(case, &of_drill(case))
}

#[test]
fn the_logs_of_each_recorded_drill_tell_what_is_expected() {
    for name in RECORDED {
        hold_incident(name, &told(&drill(name)));
    }
}

#[test]
fn a_head_that_is_lost_or_boots_has_its_links_with_it() {
    for name in RECORDED {
        for incident in told(&drill(name)).incidents {
            assert_eq!(incident.links, [], "{name}: {}", incident.trigger);
            assert!(incident.outage_s.is_some(), "{name}: {}", incident.trigger);
        }
    }
}

/// The logs cannot know when the fault was made and when the client was back: what they tell lies within the client's outage,
/// and each part that a drill and the logs both name is as long.
#[test]
fn what_the_logs_tell_is_within_what_the_client_waited() {
    for name in ["power-cut", "stock-power-cut", "switchover", "hang"] {
        let case = drill(name);
        let drill = hawser_account::outage::explain_drill(&case);
        let report = told(&case);
        let own = report
            .incidents
            .iter()
            .flat_map(|incident| &incident.services)
            .find(|service| service.service == case.client.pool)
            .unwrap_or_else(|| panic!("{name}: {report:#?}"));
        assert!(own.over, "{name}");
        assert!(own.outage_s <= drill.outage_s + 0.25, "{name}: {own:#?}");
        for phase in ["consensus", "fence delay", "pool", "exports", "addresses"] {
            let seconds = |phases: &[OutagePhase]| -> f64 {
                phases
                    .iter()
                    .filter(|p| p.name == phase)
                    .map(|p| p.seconds)
                    .sum()
            };
            let (logs, whole) = (seconds(&own.phases), seconds(&drill.phases));
            assert!(
                (logs - whole).abs() < 0.002,
                "{name}, {phase}: {logs} of {whole}"
            );
        }
    }
}

#[test]
fn names_alone_tell_which_resources_are_one_service() {
    let case = drill("power-cut");
    let with = told(&case);
    let without = incidents(&of_drill(&case), &[], &Names::default(), case.recorded);
    assert_eq!(with, without);
}

#[test]
fn a_clock_that_is_ahead_changes_no_length() {
    let case = drill("failed-start");
    let mut ahead = of_drill(&case);
    // head1 writes an hour more.
    for file in ahead.iter_mut().filter(|file| file.folder == "head1") {
        file.text = file.text.replace("Nov 22 14:", "Nov 22 15:");
    }
    let lengths = |report: &IncidentsReport| {
        let services = report
            .incidents
            .iter()
            .flat_map(|incident| &incident.services);
        services
            .map(|one| (one.service.clone(), one.outage_s))
            .collect::<Vec<_>>()
    };
    let (plain, ahead) = (
        told(&case),
        incidents(
            &ahead,
            &case.cluster.pools,
            &Names::default(),
            case.recorded,
        ),
    );
    assert_eq!(lengths(&plain), lengths(&ahead));
    // A whole hour may be a zone, of which these stamps say nothing.
    let said = "the stamps of head2 are 60 minutes behind the first head's";
    assert!(
        ahead.gaps.iter().any(|gap| gap.contains(said)),
        "{:?}",
        ahead.gaps
    );
}

/// A lost head that stood still says so when it runs again: that is no fault of the network.
#[test]
fn a_pause_that_the_lost_head_tells_is_the_cause() {
    let case = drill("hang");
    let mut files = of_drill(&case);
    let log = files
        .iter_mut()
        .find(|f| f.folder == "head2" && f.kind == LogKind::Corosync);
    log.unwrap().text += "\nNov 22 09:33:14.000 [79] head2 corosync warning [MAIN  ] Corosync main process was not scheduled \
        for 5210.1234 ms (threshold is 800.0000 ms). Consider token timeout increase.\n";
    let report = incidents(
        &files,
        &case.cluster.pools,
        &Names::default(),
        case.recorded,
    );
    let cause = report.incidents[0].cause.as_deref().unwrap_or_default();
    assert!(
        cause.starts_with("Corosync of head2 did not run for 5210 ms"),
        "{cause}"
    );
    assert_eq!(told(&case).incidents[0].cause, None);
}

/// Three days of the log of head2, which decides. The service is started on head1 and moved on the last day; `said` is what
/// comes at 03:12 of the second.
fn three_days(said: &str) -> Vec<LogFile> {
    let daemon = "head2 pacemaker-controld  [38] (x) \t";
    let text = format!(
        "Nov 20 10:00:00.000 {daemon}notice: Initiating start operation nfs_start_0 on head1 | action 1\n\
         Nov 20 10:00:02.000 {daemon}info: Transition 1 action 1 (nfs_start_0 on head1) confirmed: ok | rc=0\n\
         Nov 21 03:12:00.000 {daemon}notice: {said} | rc=5\n\
         Nov 22 12:00:00.000 {daemon}notice: Initiating stop operation nfs_stop_0 on head1 | action 1\n\
         Nov 22 12:00:01.000 {daemon}info: Transition 9 action 1 (nfs_stop_0 on head1) confirmed: ok | rc=0\n\
         Nov 22 12:00:01.000 {daemon}notice: Initiating start operation nfs_start_0 locally on head2 | action 2\n\
         Nov 22 12:00:03.000 {daemon}info: Transition 9 action 2 (nfs_start_0 on head2) confirmed: ok | rc=0\n"
    );
    let folder = "head2".to_owned();
    vec![LogFile {
        kind: LogKind::Pacemaker,
        folder,
        text,
    }]
}

/// A probe asks every head, also those that never had the service or lack its program.
#[test]
fn a_probe_on_another_head_ends_no_service() {
    let outages = |expected: &str, got: &str, host: &str| {
        let said = format!(
            "Transition 5 action 7 (nfs_monitor_0 on {host}): expected '{expected}' but got '{got}'"
        );
        let report = incidents(
            &three_days(&said),
            &[],
            &Names::default(),
            drill("power-cut").recorded,
        );
        let services = report.incidents.iter().flat_map(|it| &it.services);
        services.map(|it| it.outage_s).collect::<Vec<_>>()
    };
    for got in ["not installed", "error", "ok", "promoted"] {
        assert_eq!(outages("not running", got, "head2"), [3.0], "{got}");
    }
    // Where it stood, or was to stand, it is gone.
    let days = 32.0 * 3600.0 + 48.0 * 60.0 + 3.0;
    for (expected, got, host) in [
        ("not running", "error", "head1"),
        ("ok", "not running", "head1"),
        ("ok", "not running", "head2"),
    ] {
        assert_eq!(outages(expected, got, host), [days], "{expected}, {host}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_without_a_panic(
        text in "(Nov 22 11:14:1[0-9]\\.[0-9]{3} |(link|rx|host): host: [0-9]{1,11} (link: [0-9]{1,3} is (up|down)|has no active links)|\\[KNET  \\] |Corosync Cluster Engine 3 starting up|Unloading all Corosync service engines|2026-11-2[0-9]T11:14:1[0-9](\\.[0-9]{1,6})?\\+01:00 |head2 pacemaker-controld  |\\[17\\] head2 corosync notice |A new membership \\(2\\.[0-9]\\) was formed\\. Members left: 1|token timed out \\([0-9]{1,20}ms\\)|Requesting fencing \\(off\\) of node head1 |Initiating start operation v_start_0 on head2|Transition [0-9]{1,20} action 1 \\(v_start_0 on head2\\) confirmed: ok|[ -~\\n]|\\PC){0,80}"
    ) {
        for kind in [LogKind::Corosync, LogKind::Pacemaker] {
            let folder = "x".to_owned();
            let _ = incidents(&[LogFile { kind, folder, text: text.clone() }], &[], &Names::default(), 1_795_346_000);
        }
    }
}
