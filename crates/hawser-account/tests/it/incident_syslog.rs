//! What the logs of recorded drills tell when they are read from syslog: the same incidents and outages to the second, and
//! what is missing is said. The recorded lines are written again as rsyslog and the journal have them. What is expected lies
//! in `cases/incident/syslog-*.json`; `UPDATE_CASES=1 cargo test -p hawser-account --test it incident_syslog::` writes that again.

use crate::support::logs::{drill, of_drill, told};
use crate::support::saved::hold_incident;
use hawser_account::incident::{LogFile, LogKind, Names, Syslog, incidents};
use hawser_model::drill::DrillCase;
use hawser_model::output::incident::IncidentsReport;
use proptest::prelude::*;

const RECORDED: [&str; 4] = ["power-cut", "switchover", "target-killed", "hang"];

/// How a syslog stamps its lines.
#[derive(Clone, Copy, Debug)]
enum Stamp {
    /// `Nov 27 03:12:01`, rsyslog's own format.
    Seconds,
    /// `2026-11-27T03:12:01.123000+01:00`, Debian's since 12.
    Rfc3339,
    /// `Fri 2026-11-27 03:12:01 CET`, `journalctl -o short-full`.
    ShortFull,
}

/// A line of corosync.log or pacemaker.log as syslog has it. Pacemaker writes there what is a notice at least, without the
/// name of the function and without what stands behind ` | `.
fn line(kind: LogKind, line: &str, stamp: Stamp) -> Option<String> {
    let (at, rest) = (line.get(..19)?, line.get(20..)?);
    let (host, program, message) = match kind {
        LogKind::Corosync => {
            let (pid, rest) = rest.strip_prefix('[')?.split_once("] ")?;
            let (host, rest) = rest.split_once(" corosync ")?;
            let (_level, said) = rest.split_once('[')?;
            (host, format!("corosync[{pid}]"), format!("  [{said}"))
        }
        LogKind::Pacemaker => {
            let (host, rest) = rest.split_once(' ')?;
            let (program, rest) = rest.split_once('[')?;
            let (pid, rest) = rest.split_once(']')?;
            let (_function, said) = rest.split_once('\t')?;
            if said.starts_with("info: ") {
                return None;
            }
            let said = said.split(" | ").next()?;
            (
                host,
                format!("{}[{pid}]", program.trim_end()),
                format!(" {said}"),
            )
        }
    };
    let (day, clock) = (at.get(4..6)?.replace(' ', "0"), at.get(7..15)?);
    let stamp = match stamp {
        Stamp::Seconds => at.get(..15)?.to_owned(),
        Stamp::Rfc3339 => format!("2026-11-{day}T{}000+01:00", at.get(7..)?),
        Stamp::ShortFull => format!("Sun 2026-11-{day} {clock} CET"),
    };
    Some(format!("{stamp} {host} {program}: {message}"))
}

/// One file of all heads, in the order of time, with lines of others between them.
fn central(case: &DrillCase, stamp: Stamp) -> String {
    let mut lines = Vec::new();
    for logs in case.logs.values() {
        for (kind, of) in [
            (LogKind::Corosync, &logs.corosync),
            (LogKind::Pacemaker, &logs.pacemaker),
        ] {
            lines.extend(of.iter().filter_map(|own| {
                let rewritten = line(kind, own, stamp)?;
                Some((own.get(..19)?.to_owned(), rewritten))
            }));
        }
    }
    lines.sort_by_key(|(at, _)| at.clone());
    let lines = lines.into_iter().map(|(_, line)| {
        format!("{line}\nNov 22 11:00:00 head1 sshd[7]: pacemaker-controld[1]: notice: Requesting fencing (off) of node x\n")
    });
    lines.collect()
}

fn files(text: &str) -> Vec<LogFile> {
    let mut syslog = Syslog::default();
    for line in text.lines() {
        syslog.line(line);
    }
    syslog.logs().0
}

#[test]
fn a_central_syslog_of_each_recorded_drill_tells_what_is_expected() {
    for name in RECORDED {
        let case = drill(name);
        let report = told(&case, &files(&central(&case, Stamp::Seconds)));
        hold_incident(&format!("syslog-{name}"), &report);
    }
}

/// What the heads' own logs tell, to the resolution of the stamps.
#[test]
fn syslog_tells_the_same_incidents_and_outages_as_the_logs_themselves() {
    for name in RECORDED {
        let case = drill(name);
        let whole = told(&case, &of_drill(&case));
        for (stamp, within_s) in [
            (Stamp::Rfc3339, 0.2),
            (Stamp::Seconds, 1.2),
            (Stamp::ShortFull, 1.2),
        ] {
            let syslog = told(&case, &files(&central(&case, stamp)));
            assert_eq!(
                syslog.incidents.len(),
                whole.incidents.len(),
                "{name}, {stamp:?}"
            );
            for (one, other) in syslog.incidents.iter().zip(&whole.incidents) {
                assert_eq!(one.fenced, other.fenced, "{name}, {stamp:?}");
                let mut both = [one, other].map(|incident| {
                    let services = incident.services.iter();
                    let services =
                        services.map(|s| (&s.service, s.on.as_ref(), s.over, s.outage_s));
                    services.collect::<Vec<_>>()
                });
                for services in &mut both {
                    services.sort_by_key(|(service, ..)| *service);
                }
                let [one, other] = both;
                assert_eq!(one.len(), other.len(), "{name}, {stamp:?}");
                for (one, other) in one.into_iter().zip(other) {
                    assert_eq!((one.0, one.1, one.2), (other.0, other.1, other.2), "{name}");
                    let apart = (one.3 - other.3).abs();
                    assert!(apart <= within_s, "{name}, {stamp:?}: {one:?}, {other:?}");
                }
            }
        }
    }
}

/// Without a CIB syslog does not say what a resource is: parts are told by Hawser's names, and no outage is another one.
#[test]
fn without_agents_the_outages_are_the_same_and_that_is_a_gap() {
    for name in RECORDED {
        let case = drill(name);
        let files = files(&central(&case, Stamp::Rfc3339));
        let by_cib = told(&case, &files);
        let by_name = incidents(&files, &[], &Names::default(), case.recorded);
        let gaps = by_name.gaps.join("\n");
        assert!(
            gaps.contains("no line says what each resource is"),
            "{gaps}"
        );
        let away = |report: &IncidentsReport| {
            let incidents = report.incidents.iter();
            let services = incidents.flat_map(|incident| &incident.services);
            let mut services: Vec<_> = services
                .map(|one| {
                    let names = one.phases.iter().map(|phase| phase.name.clone());
                    (
                        one.service.clone(),
                        one.outage_s.to_string(),
                        names.collect::<Vec<_>>(),
                    )
                })
                .collect();
            services.sort();
            services
        };
        assert_eq!(away(&by_name), away(&by_cib), "{name}");
    }
}

/// Names that say nothing: a group's, and a fence device that is called otherwise.
#[test]
fn a_resource_of_which_nothing_is_known_is_no_pool_and_a_fence_device_is_no_service() {
    let text = "\
Nov 22 11:14:13 head2 corosync[1]:   [TOTEM ] A processor failed, forming new configuration: token timed out (1000ms), waiting 1200ms for consensus.
Nov 22 11:14:15 head2 corosync[1]:   [TOTEM ] A new membership (2.16) was formed. Members left: 1
Nov 22 11:14:15 head2 pacemaker-controld[4]:  notice: Requesting fencing (off) of node head1
Nov 22 11:14:15 head2 pacemaker-fenced[3]:  notice: Delaying 'off' action targeting head1 using ipmi1 for 1s
Nov 22 11:14:17 head2 pacemaker-fenced[3]:  notice: Operation 'off' [99] targeting head1 using ipmi1 returned 0
Nov 22 11:14:17 head2 pacemaker-fenced[3]:  notice: Operation 'off' targeting head1 by head2 for pacemaker-controld.4@head2: OK
Nov 22 11:14:17 head2 pacemaker-controld[4]:  notice: Initiating start operation ipmi1_start_0 locally on head2
Nov 22 11:14:17 head2 pacemaker-controld[4]:  notice: Result of start operation for ipmi1 on head2: ok
Nov 22 11:14:17 head2 pacemaker-controld[4]:  notice: Initiating start operation web_start_0 locally on head2
Nov 22 11:14:18 head2 pacemaker-controld[4]:  notice: Result of start operation for web on head2: ok
Nov 22 11:14:18 head2 pacemaker-controld[4]:  notice: Initiating start operation web-a_start_0 locally on head2
Nov 22 11:14:19 head2 pacemaker-controld[4]:  notice: Result of start operation for web-a on head2: ok
Nov 22 11:14:19 head2 pacemaker-controld[4]:  notice: Initiating start operation web-b_start_0 locally on head2
Nov 22 11:14:21 head2 pacemaker-controld[4]:  notice: Result of start operation for web-b on head2: ok
Nov 22 11:14:21 head2 pacemaker-controld[4]:  notice: Transition 3 (Complete=5, Pending=0, Fired=0, Skipped=0, Incomplete=0, Source=x): Complete
";
    let report = incidents(&files(text), &[], &Names::default(), 1_795_346_100);
    let [incident] = report.incidents.as_slice() else {
        panic!("{report:#?}");
    };
    assert_eq!(incident.fenced, ["head1".into()]);
    let [web] = incident.services.as_slice() else {
        panic!("{incident:#?}");
    };
    assert_eq!((web.service.as_str(), web.outage_s), ("web", 9.0));
    let phases: Vec<&str> = web.phases.iter().map(|phase| &*phase.name).collect();
    assert!(phases.contains(&"resource start"), "{phases:?}");
    assert!(!phases.contains(&"pool"), "{phases:?}");
}

#[test]
fn what_a_log_of_its_own_tells_is_not_told_again_by_syslog() {
    for name in RECORDED {
        let case = drill(name);
        let whole = told(&case, &of_drill(&case));
        for stamp in [Stamp::Seconds, Stamp::Rfc3339, Stamp::ShortFull] {
            let syslog = files(&central(&case, stamp));
            let both: Vec<LogFile> = syslog.into_iter().chain(of_drill(&case)).collect();
            let both = told(&case, &both);
            assert_eq!(both.incidents, whole.incidents, "{name}, {stamp:?}");
            assert_eq!(both.gaps, whole.gaps, "{name}, {stamp:?}");
        }
        // Of one head there is its log, of the other one syslog alone.
        let first = case.logs.keys().next().unwrap().to_string();
        let mixed = of_drill(&case)
            .into_iter()
            .filter(|log| log.folder == first);
        let syslog = files(&central(&case, Stamp::Seconds));
        let mixed = told(&case, &mixed.chain(syslog).collect::<Vec<_>>());
        assert_eq!(mixed.incidents.len(), whole.incidents.len(), "{name}");
        for head in &mixed.heads {
            let own = head.host.as_str() == first;
            assert_eq!(head.corosync + head.pacemaker > 0, own, "{name}");
            let said = mixed.gaps.iter();
            let said = said.filter(|gap| gap.starts_with(&format!("{}: syslog", head.host)));
            assert_eq!(said.count() > 0, !own, "{name}: {:?}", mixed.gaps);
        }
    }
}

/// Two heads write one line each of the same moment, on both sides of the turn of a second.
#[test]
fn stamps_of_whole_seconds_are_no_difference_of_clocks() {
    let formed = "[TOTEM ] A new membership (2.16) was formed. Members left: 3";
    let text = format!(
        "Nov 22 11:14:15 head1 corosync[1]:   {formed}\nNov 22 11:14:16 head2 corosync[1]:   {formed}\n"
    );
    let report = incidents(&files(&text), &[], &Names::default(), 1_795_346_100);
    let gaps = report.gaps.join("\n");
    assert!(!gaps.contains("the clock of"), "{gaps}");
    assert!(gaps.contains("stamps here are of whole seconds"), "{gaps}");
}

proptest! {
    #[test]
    fn any_text_is_read_without_a_panic(
        text in "(Nov 22 11:14:1[0-9] |2026-11-2[0-9]T11:14:1[0-9](\\.[0-9]{1,7})?\\+01:00 |Sun 2026-11-22 11:14:1[0-9] CET |head[0-9] |corosync\\[[0-9]{1,12}\\]: |pacemaker-[a-z]{0,9}\\[4\\]:  notice: |Result of (start|probe|monitor) operation for v on head2: (ok|error)|A new membership \\(2\\.[0-9]\\) was formed\\. Members left: 1|Requesting fencing \\(off\\) of node head1|Initiating start operation v_start_0 on head2|[ -~\\n]|\\PC){0,60}"
    ) {
        let _ = incidents(&files(&text), &[], &Names::default(), 1_795_346_000);
    }
}
