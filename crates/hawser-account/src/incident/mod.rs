//! Why a service was away, from the logs of the heads alone: nobody planned it, no client was watched.
//!
//! The account is the one of a drill (`outage`): the same marks, phases and precedence. What a drill knows beside the
//! logs is missing here, and is not guessed: when the fault was made, when clients noticed, what the BMC did. An outage
//! begins with the last sign of the service (the token that was awaited in vain, the order to stop it, the check that
//! found it dead) and ends when Pacemaker has started all of it again. `docs/outage.md` has the rules.

mod asked;
mod case;
mod clocks;
mod covers;
mod flapping;
mod head;
mod heard;
mod lines;
mod links;
mod said;
mod services;
mod shown;
mod spans;
mod syslog;
mod trigger;
mod windows;
mod zones;

use std::cmp::Reverse;

use hawser_model::drill::{Moment, PoolFacts};
use hawser_model::names::HostName;
use hawser_model::output::incident::{IncidentReport, IncidentsReport, ServiceOutage};

use crate::outage::found;
use crate::outage::log_lines::Mark;
use crate::outage::timeline::At;
use crate::outage::view::DrillView;
use case::{Heads, within};
use said::Said;
use windows::{Incident, Window};

pub use asked::{Asked, AskedTime, last};
pub use hawser_model::output::incident::LogKind;
pub use lines::{LogFile, local, moment};
pub use links::Names;
pub use services::together;
pub use shown::proof;
pub use syslog::Syslog;

/// Services that are told of: logs of a head that lies may name any number.
const SERVICES: usize = 1000;

/// Incidents that are told of, the newest.
const INCIDENTS: usize = 1000;

/// Lines that all accounts of one answer may be made from together, each account's own few hundred in any case.
const LINES: usize = 2_000_000;
const LINES_AT_LEAST: usize = 100;

/// The logs, and the incidents that they tell of.
struct Told {
    heads: Heads,
    /// What was too much, in words.
    left_out: Vec<String>,
    services: Vec<PoolFacts>,
    /// All marks, in the order of time.
    marks: Vec<At>,
    incidents: Vec<Incident>,
}

impl Told {
    fn by(files: &[LogFile], services: &[PoolFacts], names: &Names, recorded: u64) -> Self {
        let heads = Heads::new(files, names, recorded);
        let marks = heads.marks();
        let mut services = match services {
            [] => services::named(&heads, &marks),
            given => given.to_vec(),
        };
        let mut left_out = Vec::new();
        if let Some(more) = services
            .len()
            .checked_sub(SERVICES)
            .filter(|more| *more > 0)
        {
            services.truncate(SERVICES);
            left_out.push(format!(
                "{more} of the services that are named are left out"
            ));
        }
        let incidents = windows::incidents(&services, &marks);
        let incidents = links::with_links(incidents, links::downs(&heads, names));
        let (incidents, more) = newest(incidents, INCIDENTS);
        if more > 0 {
            left_out.push(format!(
                "{more} incidents are left out: those of links alone first, then the oldest"
            ));
        }
        Self {
            incidents,
            left_out,
            heads,
            services,
            marks,
        }
    }
}

/// The newest, and how many more there are: links alone push out no head and no service.
fn newest(mut incidents: Vec<Incident>, most: usize) -> (Vec<Incident>, usize) {
    let more = incidents.len().saturating_sub(most);
    let mut surplus = more;
    incidents.retain(|one| {
        let goes = surplus > 0 && one.links_alone;
        surplus -= usize::from(goes);
        !goes
    });
    incidents.drain(..surplus);
    (incidents, more)
}

/// Everything the logs say. `services` are what Pacemaker runs together, from its CIB; where there are none, they are
/// taken from the names in the logs; `names` are those of Corosync's numbers. `recorded`, seconds since 1970 UTC, tells the
/// year of the stamps.
pub fn incidents(
    files: &[LogFile],
    services: &[PoolFacts],
    names: &Names,
    recorded: u64,
) -> IncidentsReport {
    tell(&Told::by(files, services, names, recorded), names, LINES)
}

/// What the logs tell, with accounts of so many lines together.
fn tell(told: &Told, names: &Names, mut lines: usize) -> IncidentsReport {
    let said = told.heads.said();
    let mut left_out = told.left_out.clone();
    // The newest first: they are looked at first.
    let incidents = told.incidents.iter().rev();
    let mut incidents: Vec<IncidentReport> = incidents
        .map(|one| report(one, told, names, &said, &mut lines, &mut left_out))
        .collect();
    incidents.reverse();
    let mut gaps = told.heads.gaps();
    let mut resources = told.services.iter().flat_map(|service| &service.resources);
    if resources.any(|resource| resource.agent.is_empty()) {
        gaps.push(services::UNKNOWN.to_owned());
    }
    gaps.extend(left_out);
    IncidentsReport {
        heads: told.heads.read(),
        clock_error_s: told.heads.clock_error_s(),
        incidents,
        gaps,
        read_at: None,
    }
}

/// The lines of an incident, to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    /// The incident's name.
    pub id: String,
    /// Of corosync.log.
    pub corosync: Vec<String>,
    /// Of pacemaker.log.
    pub pacemaker: Vec<String>,
    /// Nothing but heartbeat links was down.
    pub links_alone: bool,
}

/// The lines about each incident that one head's logs tell of: from a minute before it to two after. The account of them
/// and of the other heads' is the same as of the whole logs.
pub fn lines(files: &[LogFile], services: &[PoolFacts], recorded: u64) -> Vec<Lines> {
    let told = Told::by(files, services, &Names::default(), recorded);
    told.incidents
        .iter()
        .map(|incident| {
            let [corosync, pacemaker] = told.heads.lines(incident);
            Lines {
                id: lines::digits(&lines::local(incident.from)),
                corosync,
                pacemaker,
                links_alone: incident.links_alone,
            }
        })
        .collect()
}

/// One incident; `lines` is how many the accounts may still be made from.
fn report(
    incident: &Incident,
    told: &Told,
    names: &Names,
    said: &[(Moment, HostName, Said)],
    lines: &mut usize,
    left_out: &mut Vec<String>,
) -> IncidentReport {
    let began = lines::local(incident.from);
    let links = links::outages(incident, names);
    let (shown, lines_left_out) = shown::shown(incident, &told.heads);
    let of_links = IncidentReport {
        id: lines::digits(&began),
        began: began.clone(),
        lasted_s: incident.to.since(incident.from),
        trigger: links::trigger(&links),
        cause: None,
        fenced: Vec::new(),
        outage_s: None,
        services: Vec::new(),
        links,
        promises: Vec::new(),
        lines: shown,
        lines_left_out,
        readings: Vec::new(),
    };
    if incident.links_alone {
        return of_links;
    }
    let mut windows: Vec<&Window> = incident.windows.iter().collect();
    // The longest first: of those there is an account in any case.
    windows.sort_by_key(|window| Reverse(window.to.0.saturating_sub(window.from.0)));
    let (mut away, mut without) = (Vec::new(), 0);
    for window in windows {
        let mut services = told.services.iter();
        let Some(service) = services.find(|service| service.name == window.service) else {
            continue;
        };
        let needs = within(&told.marks, |mark| mark.at, &(window.from..=window.to)).len();
        let left = lines.checked_sub(needs.max(LINES_AT_LEAST));
        match (left, away.is_empty() && *lines > 0) {
            (None, false) => without += 1,
            (left, _) => {
                *lines = left.unwrap_or(0);
                away.push(outage(incident, window, service, &told.heads));
            }
        }
    }
    if without > 0 {
        left_out.push(format!(
            "incident {}: {without} outages of services without an account: the logs are too long",
            lines::digits(&began)
        ));
    }
    away.sort_by(|a, b| b.outage_s.total_cmp(&a.outage_s));
    let mut fenced: Vec<HostName> = Vec::new();
    let inside = incident.from..=incident.until;
    for mark in within(&told.marks, |mark| mark.at, &inside) {
        if let Mark::FenceEnded { target, ok: true } = &mark.mark {
            if !fenced.contains(target) {
                fenced.push(target.clone());
            }
        }
    }
    let since = incident.since;
    let until = Moment(incident.from.0.saturating_add(trigger::AFTER_US)).max(incident.to);
    let (marks, said) = (
        within(&told.marks, |mark| mark.at, &(since..=incident.to)),
        within(said, |(at, ..)| *at, &(since..=until)),
    );
    let begun = trigger::trigger(incident, marks, said);
    IncidentReport {
        trigger: begun.what,
        cause: begun.why,
        fenced,
        outage_s: Some(away.first().map_or(0.0, |longest| longest.outage_s)),
        services: away,
        ..of_links
    }
}

/// The account of one service.
fn outage(
    incident: &Incident,
    window: &Window,
    service: &PoolFacts,
    heads: &Heads,
) -> ServiceOutage {
    let case = heads.case(window, service);
    let view = DrillView::new(&case);
    ServiceOutage {
        service: window.service.clone(),
        on: window.on.clone(),
        start_s: view.outage.from.since(incident.from),
        outage_s: view.outage.seconds(),
        over: view.outage.over,
        at_least: window.at_least,
        phases: view.phases(),
        unattributed_s: view.account.unattributed_us as f64 / 1e6,
        findings: found(&view, |find| find.in_logs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(lines: &[String]) -> [LogFile; 1] {
        let stamped = lines.iter().enumerate().map(|(n, line)| {
            let (minute, second, ms) = (n / 60_000, n / 1000 % 60, n % 1000);
            format!("Nov 25 00:{minute:02}:{second:02}.{ms:03} head1 pacemaker-controld [1] (x) notice: {line}\n")
        });
        [LogFile {
            kind: LogKind::Pacemaker,
            folder: "head1".into(),
            text: stamped.collect(),
        }]
    }

    fn away(service: usize) -> Vec<String> {
        vec![
            format!("Initiating stop operation r{service}_stop_0 on head1"),
            format!("Initiating start operation r{service}_start_0 on head1"),
            format!("Transition 1 action 2 (r{service}_start_0 on head1) confirmed: ok"),
        ]
    }

    #[test]
    fn links_alone_are_left_out_before_any_head() {
        let at = |n: u64, links_alone| Incident {
            links_alone,
            ..Incident::new(Moment(n), Moment(n))
        };
        let all = [
            (1, false),
            (2, true),
            (3, false),
            (4, true),
            (5, false),
            (6, true),
        ];
        let left = |most| {
            let all = all.map(|(n, links_alone)| at(n, links_alone));
            let (left, more) = newest(all.into(), most);
            (left.iter().map(|one| one.from.0).collect::<Vec<_>>(), more)
        };
        assert_eq!(left(6), (vec![1, 2, 3, 4, 5, 6], 0));
        assert_eq!(left(4), (vec![1, 3, 5, 6], 2));
        assert_eq!(left(2), (vec![3, 5], 4));
    }

    #[test]
    fn services_beyond_any_cluster_are_left_out_and_that_is_said() {
        let named = |n| format!("Initiating start operation r{n}_start_0 on head1");
        let lines: Vec<String> = (0..SERVICES + 7).map(named).collect();
        let told = Told::by(&log(&lines), &[], &Names::default(), 1_795_600_000);
        assert_eq!(told.services.len(), SERVICES);
        assert_eq!(
            told.left_out,
            ["7 of the services that are named are left out"]
        );
    }

    #[test]
    fn accounts_of_too_many_lines_are_left_out_and_that_is_said() {
        let lines: Vec<String> = (0..20).flat_map(away).collect();
        let told = Told::by(&log(&lines), &[], &Names::default(), 1_795_600_000);
        let whole = tell(&told, &Names::default(), LINES);
        assert_eq!(whole.incidents[0].services.len(), 20);
        assert!(!whole.gaps.iter().any(|gap| gap.contains("too long")));
        let cut = tell(&told, &Names::default(), 3 * LINES_AT_LEAST);
        assert_eq!(cut.incidents[0].services.len(), 3);
        let last = cut.gaps.last().map(String::as_str);
        let said = "incident 20261125-000000: 17 outages of services without an account: the logs are too long";
        assert_eq!(last, Some(said));
    }
}
