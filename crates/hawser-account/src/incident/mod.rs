//! Why a service was away, from the logs of the heads alone: nobody planned it, no client was watched.
//!
//! The account is the one of a drill (`outage`): the same marks, phases and precedence. What a drill knows beside the
//! logs is missing here, and is not guessed: when the fault was made, when clients noticed, what the BMC did. An outage
//! begins with the last sign of the service (the token that was awaited in vain, the order to stop it, the check that
//! found it dead) and ends when Pacemaker has started all of it again. `docs/outage.md` has the rules.

mod case;
mod clocks;
mod lines;
mod said;
mod services;
mod shown;
mod trigger;
mod windows;

use hawser_model::drill::{Moment, PoolFacts};
use hawser_model::names::HostName;
use hawser_model::output::incident::{IncidentReport, IncidentsReport, ServiceOutage};

use crate::outage::found;
use crate::outage::marks::Mark;
use crate::outage::timeline::At;
use crate::outage::view::DrillView;
use case::Heads;
use said::Said;
use windows::{Incident, Window};

pub use hawser_model::output::incident::LogKind;
pub use lines::{LogFile, local, moment};
pub use services::together;
pub use shown::proof;

/// The findings of a drill that hold without a client and without the cluster's settings.
const HOLD: [&str; 7] = [
    "fencing-duel",
    "slow-import",
    "serial-exports",
    "engine-throttled",
    "failed-start-kept",
    "takeover-waited-for-human",
    "unattributed-outage",
];

/// The logs, and the incidents that they tell of.
struct Told {
    heads: Heads,
    services: Vec<PoolFacts>,
    /// All marks, in the order of time.
    marks: Vec<At>,
    incidents: Vec<Incident>,
}

impl Told {
    fn by(files: &[LogFile], services: &[PoolFacts], recorded: u64) -> Self {
        let heads = Heads::new(files, recorded);
        let marks = heads.marks();
        let services = match services {
            [] => services::named(&heads, &marks),
            given => given.to_vec(),
        };
        Self {
            incidents: windows::incidents(&services, &marks),
            heads,
            services,
            marks,
        }
    }
}

/// Everything the logs say. `services` are what Pacemaker runs together, from its CIB; where there are none, they are
/// taken from the names in the logs. `recorded`, seconds since 1970 UTC, tells the year of the stamps.
pub fn incidents(files: &[LogFile], services: &[PoolFacts], recorded: u64) -> IncidentsReport {
    let told = Told::by(files, services, recorded);
    let said = told.heads.said();
    let incidents = told.incidents.iter();
    IncidentsReport {
        heads: told.heads.read(),
        clock_error_s: told.heads.clock_error_s(),
        incidents: incidents.map(|one| report(one, &told, &said)).collect(),
        gaps: told.heads.gaps(),
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
}

/// The lines about each incident that one head's logs tell of: from a minute before it to two after. The account of them
/// and of the other heads' is the same as of the whole logs.
pub fn lines(files: &[LogFile], services: &[PoolFacts], recorded: u64) -> Vec<Lines> {
    let told = Told::by(files, services, recorded);
    told.incidents
        .iter()
        .map(|incident| {
            let [corosync, pacemaker] = told.heads.lines(incident.from, incident.to);
            Lines {
                id: lines::digits(&lines::local(incident.from)),
                corosync,
                pacemaker,
            }
        })
        .collect()
}

fn report(incident: &Incident, told: &Told, said: &[(Moment, HostName, Said)]) -> IncidentReport {
    let mut away: Vec<ServiceOutage> = incident
        .windows
        .iter()
        .filter_map(|window| {
            let mut services = told.services.iter();
            let service = services.find(|service| service.name == window.service)?;
            Some(outage(incident, window, service, &told.heads))
        })
        .collect();
    away.sort_by(|a, b| b.outage_s.total_cmp(&a.outage_s));
    let began = lines::local(incident.from);
    let mut fenced: Vec<HostName> = Vec::new();
    let inside = incident.from..=incident.to;
    for mark in told.marks.iter().filter(|mark| inside.contains(&mark.at)) {
        if let Mark::FenceEnded { target, ok: true } = &mark.mark {
            if !fenced.contains(target) {
                fenced.push(target.clone());
            }
        }
    }
    let begun = trigger::trigger(incident, &told.marks, said);
    let (lines, lines_left_out) = shown::shown(incident, &told.heads);
    IncidentReport {
        id: lines::digits(&began),
        began,
        lasted_s: incident.to.since(incident.from),
        trigger: begun.what,
        cause: begun.why,
        fenced,
        outage_s: away.first().map_or(0.0, |longest| longest.outage_s),
        services: away,
        lines,
        lines_left_out,
        readings: Vec::new(),
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
        findings: found(&view, |code| HOLD.contains(&code)),
    }
}
