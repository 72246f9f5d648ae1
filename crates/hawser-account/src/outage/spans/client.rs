//! The client's own part.

use hawser_model::drill::{Moment, PathChange};
use hawser_model::names::HostName;

use super::{Facts, Span, last_deed};
use crate::outage::log_lines::Mark;
use crate::outage::phase::Phase;
use crate::outage::timeline::on_drills_clock;

/// What a writer may have between two writes without anything being wrong, beside its slowest
/// usual answer, in microseconds.
const PACE_US: u64 = 50_000;

/// How long a writer may have nothing to show without anything being wrong, in microseconds.
fn pace(facts: &Facts<'_>) -> u64 {
    let client = &facts.case.client;
    let usual = match facts.beside_creator() {
        None => client.p99_us,
        // The time to create a file: the shortest of the stalls that are kept from before the fault.
        Some(_) => {
            let fault = facts.case.faults.first().map(|fault| fault.ordered);
            let own = client
                .stalls
                .iter()
                .filter(|stall| stall.writer == facts.outage.writer);
            let before = own.filter(|stall| Some(on_drills_clock(stall.to, client.clock)) < fault);
            let before = before.map(|stall| stall.to.0.saturating_sub(stall.from.0));
            before.min().unwrap_or(client.p99_us)
        }
    };
    PACE_US.saturating_add(usual)
}

/// How it began, and how it ended once the service was there; where the cluster did nothing, how
/// the client found another path.
pub(crate) fn spans(facts: &Facts<'_>, ready: Option<Moment>) -> Vec<Span> {
    let outage = facts.outage;
    let client = &facts.case.client;
    let here = client
        .host
        .clone()
        .unwrap_or_else(|| HostName::from("client"));
    let span = |phase, from, to| Span {
        phase,
        host: here.clone(),
        from,
        to,
    };
    let mut spans = Vec::new();
    let fault = facts
        .case
        .faults
        .iter()
        .map(|fault| fault.ordered)
        .find(|at| *at >= outage.from);
    let paces = fault.filter(|at| at.0.saturating_sub(outage.from.0) <= pace(facts));
    spans.extend(paces.map(|at| span(Phase::ClientPace, outage.from, at)));
    // No outage at all: no log says anything, and a writer may have nothing to show for so long.
    if outage.over && outage.to.0.saturating_sub(outage.from.0) <= pace(facts) && quiet(facts) {
        spans.push(span(Phase::ClientPace, outage.from, outage.to));
    }
    let own = client
        .paths
        .iter()
        .filter(|event| event.writer == outage.writer);
    let last = |what: PathChange| {
        let events = own.clone().filter(|event| event.what == what);
        let moments = events.map(|event| on_drills_clock(event.at, client.clock));
        moments
            .filter(|at| *at >= outage.from && *at <= outage.to)
            .max()
    };
    let up = last(PathChange::Up);
    if let (Some(up), true) = (up, outage.over) {
        let since = ready.map_or(up, |ready| ready.max(up));
        spans.push(span(Phase::FirstWrite, since.min(outage.to), outage.to));
    }
    match (ready, up) {
        // It may be back before the operation that made its address has reported.
        (Some(ready), _) if ready < outage.to => {
            let to = match (up.filter(|up| *up > ready), facts.beside_creator()) {
                (Some(up), _) => up,
                (None, None) => outage.to,
                // From then on a client that creates files waits for something else.
                (None, Some(_)) => facts.answered().unwrap_or(ready),
            };
            // An outage that is not over may have any reason.
            if outage.over {
                spans.push(span(Phase::ClientReconnect, ready, to));
            }
        }
        (None, Some(up)) if quiet(facts) => {
            let lost = last(PathChange::Lost).filter(|lost| *lost <= up);
            let since =
                last_deed(facts.case, outage.to).map_or(outage.from, |at| at.max(outage.from));
            let noticed: Moment = lost.unwrap_or(up);
            spans.push(span(Phase::ClientTimeout, since, noticed));
            spans.push(span(Phase::ClientReconnect, noticed, up));
        }
        // Its session outlived the fault, and goes on when TCP tries again.
        (None, None) if outage.over && quiet(facts) && last(PathChange::Lost).is_none() => {
            let healed = facts.case.faults.iter().filter_map(|fault| fault.healed);
            let healed = healed.filter(|at| *at >= outage.from && *at <= outage.to);
            let healed = healed.max();
            spans.extend(healed.map(|at| span(Phase::PathRecovery, at, outage.to)));
        }
        _ => {}
    }
    spans
}

/// Whether it is known that the cluster did nothing within the outage: a log that could not be
/// read tells nothing.
fn quiet(facts: &Facts<'_>) -> bool {
    let outage = facts.outage;
    let mut logs = facts.case.logs.values();
    let mut marks = facts.marks.iter();
    logs.any(|logs| logs.problem.is_none())
        && !marks.any(|mark| {
            // Observations, not deeds: that the processors are busy, that a port has no carrier, that there is nothing to do
            // about it. What a transition does has marks of its own.
            let seen = matches!(
                mark.mark,
                Mark::Throttled
                    | Mark::PortLost { .. }
                    | Mark::TransitionBegun(_)
                    | Mark::TransitionEnded { .. }
            );
            mark.at >= outage.from && mark.at <= outage.to && !seen
        })
}
