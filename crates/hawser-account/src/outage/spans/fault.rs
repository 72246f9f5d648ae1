//! What lasts although the cluster does nothing: a fault until it is healed, and the boot of a head after it.

use hawser_model::drill::{FaultRecord, Moment, PowerState};
use hawser_model::names::HostName;

use super::{Facts, Span};
use crate::outage::log_lines::Mark;
use crate::outage::phase::Phase;

/// The spans of every fault that was healed before the service came back.
pub(crate) fn spans(facts: &Facts<'_>) -> Vec<Span> {
    let faults = facts.case.faults.iter();
    faults
        .filter_map(|fault| Some((fault, fault.heal_ordered?)))
        // An outage that ended by itself did not wait for the healing.
        .filter(|(_, ordered)| *ordered < facts.outage.to)
        .flat_map(|(fault, ordered)| of_fault(facts, fault, ordered))
        .collect()
}

fn of_fault(facts: &Facts<'_>, fault: &FaultRecord, ordered: Moment) -> Vec<Span> {
    let healed = fault.healed.unwrap_or(ordered);
    let lasts = |host: &HostName| Span {
        phase: Phase::Fault,
        host: host.clone(),
        from: fault.ordered,
        to: healed,
    };
    // A switch is no host; it is the client that sees it.
    let host = fault.hosts.first().or(facts.case.client.host.as_ref());
    let mut spans: Vec<Span> = host.map(lasts).into_iter().collect();
    for host in &fault.hosts {
        let mut power = facts.case.power.iter();
        let was_off = power.any(|event| {
            event.host == *host && event.what == PowerState::Off && event.at <= healed
        });
        let mut marks = facts.marks.iter();
        let first = marks.find(|mark| mark.host == *host && mark.at > healed);
        // A boot that still goes on when the service is back is not what was waited for.
        let first = first.filter(|mark| mark.at < facts.outage.to);
        if let (true, Some(first)) = (was_off, first) {
            let span = |phase, from, to| Span {
                phase,
                host: host.clone(),
                from,
                to,
            };
            spans.push(span(Phase::Boot, healed, first.at));
            // Alone it joins itself; what counts is that another head sees it.
            let joined = marks.find(|mark| mark.host != *host && mark.mark == Mark::Joined);
            spans.extend(joined.map(|joined| span(Phase::Join, first.at, joined.at)));
        }
    }
    spans
}
