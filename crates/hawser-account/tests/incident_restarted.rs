//! What the logs of a lab tell whose Pacemaker and Corosync were stopped in good order and started again (`cases/restarted`).
//! What is expected lies in `cases/incident/`; `UPDATE_CASES=1 cargo test -p hawser-account --test incident_restarted` writes that again.

mod support;

use hawser_account::incident::{LogFile, LogKind, incidents};
use hawser_model::output::incident::IncidentReport;
use support::logs::{lab, logs};
use support::saved::hold_incident;

/// When they were recorded.
const RECORDED: u64 = 1_795_841_100;

const ALL: [&str; 2] = ["all-heads", "one-head"];

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
        "Pacemaker was stopped on head1 and head2, in good order"
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
    let trigger = "Pacemaker was stopped on head2, in good order";
    assert_eq!(one(&files).trigger, trigger);
    // The other head's log alone has it too.
    let alone: Vec<LogFile> = files
        .into_iter()
        .filter(|file| file.folder == "head1")
        .collect();
    let told = one(&alone);
    assert_eq!(told.trigger, trigger);
    let phases = told.services.iter().flat_map(|one| &one.phases);
    let mut names = phases.map(|phase| phase.name.as_str());
    assert!(!names.any(|name| ["no pacemaker", "pacemaker start"].contains(&name)));
}
