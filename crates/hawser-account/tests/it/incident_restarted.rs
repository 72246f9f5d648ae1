//! What the logs of a lab tell whose Pacemaker and Corosync were stopped in good order and started again (`cases/restarted`).
//! What is expected lies in `cases/incident/`; `UPDATE_CASES=1 cargo test -p hawser-account --test it incident_restarted::` writes that again.

use crate::support::logs::{lab, logs};
use crate::support::saved::hold_incident;
use hawser_account::incident::{LogFile, LogKind, incidents};
use hawser_model::output::incident::IncidentReport;

/// When they were recorded.
const RECORDED: u64 = 1_795_841_100;

const ALL: [&str; 3] = ["all-heads", "one-head", "then-lost"];

#[track_caller]
fn one(files: &[LogFile]) -> IncidentReport {
    let report = incidents(files, &[], &lab(), RECORDED);
    let [incident] = report.incidents.as_slice() else {
        panic!("{report:#?}");
    };
    incident.clone()
}

#[test]
fn the_logs_of_each_restart_tell_what_is_expected() {
    for name in ALL {
        let report = incidents(&logs(&format!("restarted/{name}")), &[], &lab(), RECORDED);
        hold_incident(&format!("restarted-{name}"), &report);
    }
}

/// `apply` started Corosync anew on both heads, which stops every pool.
#[test]
fn while_nobody_decides_the_account_says_so() {
    let files = logs("restarted/all-heads");
    let told = one(&files);
    assert_eq!(
        told.trigger,
        "Pacemaker was told to stop on head1 and head2"
    );
    for service in &told.services {
        let seconds = |name: &str| {
            let phases = service.phases.iter().filter(|phase| phase.name == name);
            phases.map(|phase| phase.seconds).sum::<f64>()
        };
        // head1 had stopped at 11.699, head2 starts at 13.163.
        assert!(
            (seconds("no pacemaker") - 1.464).abs() < 0.01,
            "{service:#?}"
        );
        // Until its first transition.
        assert!(seconds("pacemaker start") > 3.0, "{service:#?}");
        assert!(service.unattributed_s < 0.1, "{service:#?}");
    }
    // Where the end of one is not known, that nobody decided is not either.
    let mut without = files;
    for file in &mut without {
        if file.folder == "head2" && matches!(file.kind, LogKind::Pacemaker) {
            let told = |line: &&str| !line.contains("Shutdown complete");
            file.text = file
                .text
                .lines()
                .filter(told)
                .collect::<Vec<_>>()
                .join("\n");
        }
    }
    let phases = one(&without)
        .services
        .into_iter()
        .flat_map(|one| one.phases);
    assert!(!phases.into_iter().any(|phase| phase.name == "no pacemaker"));
}

#[test]
fn a_head_that_was_shut_down_did_not_just_leave() {
    let files = logs("restarted/one-head");
    let trigger = "Pacemaker was told to stop on head2";
    assert_eq!(one(&files).trigger, trigger);
    // Of both together, and of each log alone: nobody said of the other head that its Pacemaker had ended.
    let nobody_decided = |files: &[LogFile]| {
        let services = incidents(files, &[], &lab(), RECORDED)
            .incidents
            .into_iter();
        let phases = services
            .flat_map(|one| one.services)
            .flat_map(|one| one.phases);
        let mut names = phases.map(|phase| phase.name);
        names.any(|name| ["no pacemaker", "pacemaker start"].contains(&name.as_str()))
    };
    assert!(!nobody_decided(&files));
    for head in ["head1", "head2"] {
        let own: Vec<LogFile> = files
            .iter()
            .filter(|file| file.folder == head)
            .cloned()
            .collect();
        assert!(!nobody_decided(&own), "{head}");
    }
    // The other head's log alone has it too.
    let alone: Vec<LogFile> = files
        .into_iter()
        .filter(|file| file.folder == "head1")
        .collect();
    let told = one(&alone);
    assert_eq!(told.trigger, trigger);
}

/// Lines of pacemaker.log and corosync.log of head1 and head2, each with its second of 10:00.
fn made(lines: &[(&str, f64, &str)]) -> Vec<LogFile> {
    let log = |head: &str, kind: LogKind| LogFile {
        kind,
        folder: head.to_owned(),
        text: lines
            .iter()
            .filter(|(of, _, said)| {
                *of == head && said.starts_with('[') == matches!(kind, LogKind::Corosync)
            })
            .map(|(head, at, said)| match said.strip_prefix('[') {
                Some(said) => {
                    format!("Nov 28 10:00:{at:06.3} [14] {head} corosync notice  [{said}\n")
                }
                None => format!("Nov 28 10:00:{at:06.3} {head} {said}\n"),
            })
            .collect(),
    };
    let heads = ["head1", "head2"];
    let all = heads.map(|head| [log(head, LogKind::Corosync), log(head, LogKind::Pacemaker)]);
    all.into_iter().flatten().collect()
}

const BOTH: &str = "[TOTEM ] A new membership (1.9) was formed. Members joined: 1 2";
const STOP_2: &str =
    "pacemaker-attrd [44] (x) \tnotice: Setting shutdown[head2]: (unset) -> 1795840809";
const SHUT: &str = "pacemakerd [34] (x) \tnotice: Shutdown complete";
const STARTS: &str = "pacemakerd [34] (x) \tnotice: Starting Pacemaker 2.1.5 | build";
const GRAPH: &str = "pacemaker-controld [46] (x) \tinfo: Processing graph 6 (ref=x)";
const STOP_SAN: &str = "pacemaker-controld [46] (x) \tnotice: Initiating stop operation p-san01_stop_0 locally on head1 | a";
const STOPPED_SAN: &str = "pacemaker-controld [46] (x) \tinfo: Transition 6 action 1 (p-san01_stop_0 on head1) confirmed: ok | x";
const START_SAN: &str = "pacemaker-controld [46] (x) \tnotice: Initiating start operation p-san01_start_0 locally on head1 | a";
const STARTED_SAN: &str = "pacemaker-controld [46] (x) \tinfo: Transition 6 action 2 (p-san01_start_0 on head1) confirmed: ok | x";

/// head2, which had nothing, was told to stop some seconds before something else happened to head1's service.
#[test]
fn a_stop_beside_another_cause_is_not_the_cause() {
    let failed = "pacemaker-controld [46] (x) \tnotice: Transition 5 action 7 (p-san01_monitor_10000 on head1): expected 'ok' but got 'error' | x";
    let changed = "pacemaker-controld [46] (abort_transition_graph) \tinfo: Transition 2 aborted by p-meta-target-role doing modify target-role=Stopped: Configuration change | cib=0.12.0";
    let lost = "[TOTEM ] A processor failed, forming new configuration: token timed out (3000ms), waiting 1200ms for consensus.";
    for (said, at, trigger) in [
        (failed, 37.0, "a check of p-san01 on head1 failed"),
        (
            changed,
            37.0,
            "the configuration was changed (target-role=Stopped), as head1 saw it",
        ),
        // It is noticed 3 s later than it was.
        (
            lost,
            32.0,
            "a member was lost: head1 waited 3000 ms for the token in vain",
        ),
    ] {
        let lines = [
            ("head1", 20.0, BOTH),
            ("head2", 20.0, BOTH),
            ("head1", 30.0, STOP_2),
            ("head1", at, said),
            ("head1", 38.0, GRAPH),
            ("head1", 38.1, STOP_SAN),
            ("head1", 38.5, STOPPED_SAN),
            ("head1", 39.0, START_SAN),
            ("head1", 39.5, STARTED_SAN),
        ];
        assert_eq!(one(&made(&lines)).trigger, trigger);
    }
}

fn phases(lines: &[(&str, f64, &str)]) -> Vec<String> {
    let services = one(&made(lines)).services.into_iter();
    let phases = services.flat_map(|one| one.phases);
    let named = phases.map(|phase| phase.name);
    named.filter(|name| name.contains("pacemaker")).collect()
}

#[test]
fn nobody_decides_only_where_each_head_has_said_that_it_stopped() {
    let restart = |meanwhile: &[(&'static str, f64, &'static str)]| {
        let mut lines = vec![
            ("head1", 20.0, BOTH),
            ("head2", 20.0, BOTH),
            ("head1", 30.0, STOP_SAN),
            ("head1", 30.5, STOPPED_SAN),
            ("head2", 31.0, SHUT),
            ("head1", 32.0, SHUT),
            ("head1", 42.0, STARTS),
            ("head2", 43.0, STARTS),
            ("head1", 45.0, GRAPH),
            ("head1", 45.1, START_SAN),
            ("head1", 45.5, STARTED_SAN),
        ];
        lines.extend_from_slice(meanwhile);
        lines.sort_by(|a, b| a.1.total_cmp(&b.1));
        phases(&lines)
    };
    assert_eq!(restart(&[]), ["no pacemaker", "pacemaker start"]);
    // Another head is there, whose log is not.
    let third = "[TOTEM ] A new membership (1.d) was formed. Members joined: 3";
    assert_eq!(restart(&[("head1", 25.0, third)]), [""; 0]);
    // One that said so goes on.
    assert_eq!(restart(&[("head2", 35.0, GRAPH)]), [""; 0]);
    // One that had started has died and starts again: what it waited for is not known.
    assert_eq!(restart(&[("head1", 44.0, STARTS)]), ["no pacemaker"]);
}

/// Of each incident its trigger, and how long vmpool01 and vmpool02 were away.
fn told(files: &[LogFile]) -> Vec<(String, Vec<(String, f64)>)> {
    let report = incidents(files, &[], &lab(), RECORDED);
    let told = report.incidents.into_iter().map(|incident| {
        let services = incident.services.into_iter();
        let pools = services.filter(|one| one.service.starts_with("vmpool"));
        let pools = pools.map(|one| (one.service, one.outage_s));
        (incident.trigger, pools.collect())
    });
    told.collect()
}

fn away(pools: &[(&str, f64)]) -> Vec<(String, f64)> {
    let pools = pools.iter();
    pools
        .map(|(pool, seconds)| ((*pool).to_owned(), *seconds))
        .collect()
}

/// The same logs with each line of that kind changed, or left out.
fn with(kind: LogKind, change: impl Fn(&str) -> Option<String>) -> Vec<LogFile> {
    let mut files = logs("restarted/then-lost");
    for file in files.iter_mut().filter(|file| file.kind == kind) {
        let lines: Vec<String> = file.text.lines().filter_map(&change).collect();
        file.text = lines.join("\n");
    }
    files
}

const CHANGED: &str = "the configuration was changed (nic=stor0), as head2 saw it";
const LOST: &str = "head1 was lost: head2 waited 1000 ms for the token in vain";

/// `apply` gave an address another interface, and 7 s later its head lost its power: the pool stood in between.
#[test]
fn a_head_that_is_lost_when_all_stood_again_is_another_incident() {
    let lost = (
        LOST.to_owned(),
        away(&[("vmpool01", 5.396), ("vmpool02", 0.248)]),
    );
    let whole = logs("restarted/then-lost");
    let changed = (CHANGED.to_owned(), away(&[("vmpool01", 0.2)]));
    assert_eq!(told(&whole), [changed, lost.clone()]);
    // So it is when a pool of the head that lives was interrupted.
    let other = with(LogKind::Pacemaker, |line| {
        Some(match line.contains(" 10:09:55.") {
            true => line
                .replace("vmpool01-san01_", "vmpool02-san01_")
                .replace(" on head1", " on head2"),
            false => line.to_owned(),
        })
    });
    let changed = (CHANGED.to_owned(), away(&[("vmpool02", 0.2)]));
    assert_eq!(told(&other), [changed, lost]);
}

#[test]
fn a_second_loss_before_all_stands_is_the_same_outage() {
    let twice = with(LogKind::Corosync, |line| {
        let formed = line.contains(" 10:10:04.");
        let again = line.replace(" 10:10:04.", " 10:10:07.");
        Some(match formed {
            true => format!("{line}\n{again}"),
            false => line.to_owned(),
        })
    });
    let report = incidents(&twice, &[], &lab(), RECORDED);
    let pool = |one: &IncidentReport| {
        let services = one.services.iter();
        services.filter(|it| it.service == "vmpool01").count()
    };
    assert_eq!(report.incidents.iter().map(pool).sum::<usize>(), 2);
}

#[test]
fn a_change_that_stopped_nothing_took_no_token_away() {
    let unstopped = with(LogKind::Pacemaker, |line| {
        let done = line.contains(" 10:09:55.") && !line.contains("nic=stor0");
        (!done).then(|| line.to_owned())
    });
    let lost = (
        LOST.to_owned(),
        away(&[("vmpool01", 5.396), ("vmpool02", 0.248)]),
    );
    assert_eq!(told(&unstopped), [lost]);
}
