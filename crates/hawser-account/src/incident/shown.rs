//! The lines that prove an account: those that mark its steps, beside which a reader can look for more.

use hawser_model::drill::Moment;
use hawser_model::output::drill::OutagePhase;
use hawser_model::output::incident::{IncidentLine, IncidentReport, LogKind, ServiceOutage};

use super::case::Heads;
use super::heard::{Heard, heard};
use super::lines::Line;
use super::said::{Said, said};
use super::syslog::wrote;
use super::windows::Incident;
use crate::outage::log_lines;

/// Before the beginning: an order is written before the first stop.
const BEFORE_US: i64 = 10_000_000;

/// After the end: who stood still says so when it runs again.
const AFTER_US: i64 = 120_000_000;

/// Lines of one incident; a takeover has some fifty.
const MOST: usize = 500;

/// The lines of an incident in the order of time, and how many more there are.
pub(super) fn shown(incident: &Incident, heads: &Heads) -> (Vec<IncidentLine>, u64) {
    let time = incident.from.shifted(-BEFORE_US)..=incident.to.shifted(AFTER_US);
    let tells = |at: Moment, kind, line: &Line| {
        let link = || {
            matches!(
                heard(line.rest()),
                Some(Heard::Link { .. } | Heard::NoLink(_))
            )
        };
        let link = kind == LogKind::Corosync && link();
        if incident.links_alone {
            return link && at <= incident.to;
        }
        let marks = match kind {
            LogKind::Corosync => log_lines::corosync(line.rest()).is_some(),
            LogKind::Pacemaker => log_lines::pacemaker(line.rest()).is_some(),
        };
        match said(line.rest()) {
            Some(Said::Paused(_)) => true,
            said => at <= incident.to && (marks || link || said.is_some()),
        }
    };
    let mut lines: Vec<_> = heads
        .within(&time)
        .filter(|(at, _, kind, line)| tells(*at, *kind, line))
        .collect();
    lines.sort_by_key(|(at, ..)| *at);
    let left_out = lines.len().saturating_sub(MOST);
    lines.truncate(MOST);
    let lines = lines.into_iter().map(|(at, host, log, line)| IncidentLine {
        at_s: at.since(incident.from),
        host: host.clone(),
        log,
        syslog: wrote(line.rest().trim_start()).is_some(),
        text: line.text.clone(),
    });
    (lines.collect(), left_out as u64)
}

/// Stamps have milliseconds; a moment in seconds is as good as a float.
const SAME_S: f64 = 0.000_5;

/// The lines that are written when a part of an outage begins, and when it ends. Where there are none, a rule of
/// `docs/outage.md` says when: a token was awaited before a line says so.
pub fn proof<'a>(
    incident: &'a IncidentReport,
    outage: &ServiceOutage,
    phase: &OutagePhase,
) -> [Vec<&'a IncidentLine>; 2] {
    let begins = outage.start_s + phase.start_s;
    [begins, begins + phase.seconds].map(|at_s| {
        let lines = incident.lines.iter();
        lines
            .filter(|line| (line.at_s - at_s).abs() < SAME_S)
            .collect()
    })
}
