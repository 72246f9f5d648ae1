//! Logs of one cluster whose stamps are of several zones and years, and that tell one event in several files.

use hawser_account::incident::{LogFile, LogKind, Names, Syslog, incidents};
use hawser_model::output::incident::IncidentsReport;

/// 2026-11-22 12:00 UTC.
const RECORDED: u64 = 1_795_348_800;

/// Each text is a file of its own.
fn syslogs(texts: &[String]) -> Vec<LogFile> {
    let mut syslog = Syslog::default();
    for text in texts {
        for line in text.lines() {
            syslog.line(line);
        }
        syslog.file_ends();
    }
    syslog.logs().0
}

/// What a head says when head3 is lost, each line with what stands before its clock's seconds and behind.
fn lost(head: &str, before: &str, behind: &str) -> String {
    [
        ("14", "corosync[1]:   [TOTEM ] A processor failed, forming new configuration: token timed out (1000ms), waiting 1200ms for consensus."),
        ("15", "corosync[1]:   [TOTEM ] A new membership (2.16) was formed. Members left: 3"),
        ("16", "pacemaker-controld[4]:  notice: Requesting fencing (off) of node head3"),
        ("19", "pacemaker-fenced[3]:  notice: Operation 'off' targeting head3 by head1 for pacemaker-controld.4@head1: OK"),
    ]
    .map(|(second, said)| format!("{before}:{second}{behind} {head} {said}\n"))
    .concat()
}

/// corosync.log of a head that tells the same.
fn own(head: &str, before: &str) -> LogFile {
    LogFile {
        kind: LogKind::Corosync,
        folder: head.to_owned(),
        text: format!(
            "{before}:14.100 [1] {head} corosync notice  [TOTEM ] A processor failed, forming new configuration: token timed out (1000ms), waiting 1200ms for consensus.\n\
             {before}:15.100 [1] {head} corosync notice  [TOTEM ] A new membership (2.16) was formed. Members left: 3\n"
        ),
    }
}

fn told(files: &[LogFile]) -> (IncidentsReport, String) {
    let report = incidents(files, &[], &Names::default(), RECORDED);
    let gaps = report.gaps.join("\n");
    (report, gaps)
}

#[test]
fn heads_of_different_zones_that_are_said_have_no_wrong_clocks() {
    let files = syslogs(&[
        lost("head1", "2026-11-22T11:14", ".100000+01:00"),
        lost("head2", "2026-11-22T10:14", ".110000+00:00"),
    ]);
    let (report, gaps) = told(&files);
    assert_eq!(report.incidents.len(), 1, "{report:#?}");
    assert_eq!(report.incidents[0].began, "2026-11-22 10:14:13.100");
    assert!(
        gaps.contains("of several zones: all times are told in +00:00"),
        "{gaps}"
    );
    assert!(
        !gaps.contains("the clock of") && !gaps.contains("as if"),
        "{gaps}"
    );
    let ahead: Vec<_> = report.heads.iter().map(|head| head.ahead_s).collect();
    assert_eq!(ahead, [Some(0.0), Some(0.0)]);
}

#[test]
fn a_clock_that_is_an_hour_ahead_by_a_zone_that_is_said_is_wrong() {
    let files = syslogs(&[
        lost("head1", "2026-11-22T11:14", ".100000+01:00"),
        lost("head2", "2026-11-22T12:14", ".100000+01:00"),
    ]);
    let (_, gaps) = told(&files);
    assert!(
        gaps.contains("the clock of head2 is 3600000 ms ahead of"),
        "{gaps}"
    );
}

#[test]
fn heads_whose_zones_nothing_says_have_no_wrong_clocks() {
    let files = syslogs(&[
        lost("head1", "Nov 22 11:14", ""),
        lost("head2", "Nov 22 10:14", ""),
    ]);
    let (report, gaps) = told(&files);
    assert_eq!(report.incidents.len(), 1, "{report:#?}");
    assert!(
        gaps.contains("the stamps of head2 are 60 minutes behind"),
        "{gaps}"
    );
    assert!(!gaps.contains("the clock of"), "{gaps}");
    assert_eq!(report.heads[1].ahead_s, None);
}

#[test]
fn one_head_s_logs_of_two_zones_tell_an_event_once() {
    let mut files = syslogs(&[lost("head1", "2026-11-22T10:14", ".100000+00:00")]);
    files.push(own("head1", "Nov 22 11:14"));
    let (report, gaps) = told(&files);
    let [incident] = report.incidents.as_slice() else {
        panic!("{report:#?}");
    };
    assert_eq!(incident.began, "2026-11-22 11:14:13.100");
    assert_eq!(incident.fenced, ["head3".into()]);
    let said = "head1: logs with stamps of different zones (not said; +00:00) tell the same 60 minutes apart";
    assert!(gaps.contains(said), "{gaps}");
    // In one zone they tell nothing of it.
    let mut files = syslogs(&[lost("head1", "2026-11-22T11:14", ".100000+01:00")]);
    files.push(own("head1", "Nov 22 11:14"));
    let (report, gaps) = told(&files);
    assert_eq!(report.incidents.len(), 1, "{report:#?}");
    assert!(!gaps.contains("zone"), "{gaps}");
}

#[test]
fn logs_of_one_head_that_share_nothing_are_of_zones_that_are_not_known() {
    let mut files = syslogs(&[lost("head1", "2026-11-22T10:14", ".100000+00:00")]);
    let mut log = own("head1", "Nov 20 11:14");
    log.text = log.text.replace("(2.16)", "(2.a)");
    files.push(log);
    let (_, gaps) = told(&files);
    assert!(
        gaps.contains("whether their times are of one zone is not known"),
        "{gaps}"
    );
}

#[test]
fn a_year_that_is_said_is_believed_and_a_line_of_another_one_is_left_out() {
    let of = |year: &str| lost("head1", &format!("{year}-11-22T11:14"), ".100000+01:00");
    let (report, gaps) = told(&syslogs(&[of("2024")]));
    assert_eq!(report.incidents[0].began, "2024-11-22 11:14:13.100");
    assert!(!gaps.contains("year"), "{gaps}");
    let (report, gaps) = told(&syslogs(&[of("2024"), of("2026")]));
    assert_eq!(report.incidents.len(), 1, "{report:#?}");
    assert_eq!(report.incidents[0].began, "2026-11-22 11:14:13.100");
    assert!(
        gaps.contains("4 lines are left out, the newest of 2024-11-22"),
        "{gaps}"
    );
}

#[test]
fn an_event_that_two_syslogs_tell_is_told_once_and_by_the_better_one() {
    let journal = lost("head1", "2026-11-22T11:14", ".400000+01:00");
    let coarse = lost("head1", "2026-11-22T11:14", "+01:00");
    let (alone, gaps) = told(&syslogs(std::slice::from_ref(&journal)));
    let (both, both_gaps) = told(&syslogs(&[coarse, journal]));
    assert_eq!(both.incidents, alone.incidents);
    assert_eq!(both_gaps, gaps);
    assert!(!gaps.contains("whole seconds"), "{gaps}");
}

#[test]
fn a_syslog_that_lacks_lines_of_its_time_hides_none_of_another_one() {
    let whole = lost("head1", "2026-11-22T11:14", "+01:00");
    let (alone, _) = told(&syslogs(std::slice::from_ref(&whole)));
    // Another host's copy, finer and without the middle.
    let copy = lost("head1", "2026-11-22T11:14", ".400000+01:00");
    let copy: Vec<&str> = copy.lines().collect();
    let copy = [copy[0], copy[3]].join("\n");
    let (both, _) = told(&syslogs(&[copy, whole]));
    assert_eq!(both.incidents.len(), alone.incidents.len());
    assert_eq!(both.incidents[0].fenced, ["head3".into()]);
    let lines = |report: &IncidentsReport| report.incidents[0].lines.len();
    assert_eq!(lines(&both), lines(&alone), "{both:#?}");
}

#[test]
fn a_head_under_its_long_name_is_the_same_head() {
    let mut files = syslogs(&[lost("head1.example.com", "Nov 22 11:14", "")]);
    files.push(own("head1", "Nov 22 11:14"));
    let (report, _) = told(&files);
    let names: Vec<&str> = report.heads.iter().map(|head| head.host.as_str()).collect();
    assert_eq!(names, ["head1"]);
    // Of which of two it is the short name nobody knows.
    files.extend(syslogs(&[lost("head1.example.org", "Nov 22 11:14", "")]));
    assert_eq!(told(&files).0.heads.len(), 3);
}

#[test]
fn what_syslog_lacks_is_said_only_of_what_is_taken_from_it() {
    let notices = "syslog has of Pacemaker only what it calls a notice";
    let corosync = lost("head1", "2026-11-22T11:14", ".100000+01:00");
    let corosync: Vec<&str> = corosync.lines().take(2).collect();
    let (_, gaps) = told(&syslogs(&[corosync.join("\n")]));
    assert!(!gaps.contains(notices), "{gaps}");
    // A coarse log of its own beside a precise syslog of Pacemaker.
    let mut files = syslogs(&[lost("head1", "2026-11-22T11:14", ".100000+01:00")]);
    let mut log = own("head1", "Nov 22 11:14");
    log.text = log.text.replace(".100", "");
    files.push(log);
    let (_, gaps) = told(&files);
    assert!(
        gaps.contains(notices) && gaps.contains("`timestamp: hires`"),
        "{gaps}"
    );
    assert!(!gaps.contains("syslog, whose stamps"), "{gaps}");
}
