//! Pacemaker has stopped on all heads, and starts again: nobody decides anything then.

use std::collections::BTreeSet;

use hawser_model::drill::Moment;
use hawser_model::names::HostName;

use super::{Facts, Span};
use crate::outage::log_lines::Mark;
use crate::outage::phase::Phase;
use crate::outage::timeline::{At, clock_error_us};

/// What takes longer than this from the first start to the first decision waits for something else too. Pacemaker's
/// `dc-deadtime` is 20 s.
const STARTS_US: u64 = 120_000_000;

/// A Pacemaker that started where none ran.
struct First<'a> {
    at: Moment,
    host: &'a HostName,
    /// It, and those that have started since.
    all: BTreeSet<&'a HostName>,
}

/// From the end of the last Pacemaker to the beginning of the first, and from there until a controller begins to execute what
/// the scheduler decided. Each node that anything names must have said itself that its Pacemaker has ended: of one that was fenced,
/// or whose log is missing, it is not known.
pub(crate) fn spans(facts: &Facts<'_>) -> Vec<Span> {
    let error_us = clock_error_us(facts.case);
    let mut nodes: BTreeSet<&HostName> = facts.case.cluster.nodes.iter().collect();
    nodes.extend(facts.marks.iter().flat_map(named));
    let mut spans = Vec::new();
    let mut ended: BTreeSet<&HostName> = BTreeSet::new();
    let mut nobody: Option<(Moment, &HostName)> = None;
    let mut first: Option<First<'_>> = None;
    for At { at, host, mark } in facts.marks.iter().filter(|it| !it.mark.is_corosyncs()) {
        let mut span = |phase, from, host: &HostName| {
            spans.push(Span {
                phase,
                host: host.clone(),
                from,
                to: *at,
            });
        };
        // Whoever says anything else runs.
        let comes_or_goes = matches!(mark, Mark::EngineStarts | Mark::EngineStopped);
        if !comes_or_goes && ended.remove(host) {
            nobody = None;
        }
        match mark {
            Mark::EngineStopped => {
                first = None;
                ended.insert(host);
                // One head's log alone does not tell of a cluster.
                if nodes.len() > 1 && ended.len() == nodes.len() {
                    nobody = Some((*at, host));
                }
            }
            Mark::EngineStarts => {
                ended.remove(host);
                let since = nobody.take();
                let since = since.filter(|(since, _)| since.0.saturating_add(error_us) <= at.0);
                if let Some((since, last)) = since {
                    span(Phase::NoPacemaker, since, last);
                    first = Some(First {
                        at: *at,
                        host,
                        all: [host].into(),
                    });
                } else if first.as_mut().is_some_and(|open| !open.all.insert(host)) {
                    // One that starts again has died meanwhile.
                    first = None;
                }
            }
            Mark::TransitionBegun(_) => {
                let begun = first.take();
                let begun = begun.filter(|open| at.0.saturating_sub(open.at.0) <= STARTS_US);
                if let Some(open) = begun {
                    span(Phase::PacemakerStart, open.at, open.host);
                }
            }
            Mark::FenceAsked(_) | Mark::OperationBegun(_) => first = None,
            _ => {}
        }
    }
    spans
}

/// The nodes that a mark is of.
fn named(at: &At) -> [&HostName; 2] {
    let of = match &at.mark {
        Mark::FenceAsked(host)
        | Mark::FenceDelayed { target: host, .. }
        | Mark::FenceAgentEnded { target: host, .. }
        | Mark::FenceEnded { target: host, .. }
        | Mark::ConfirmedByHand(host)
        | Mark::PortLost { host, .. }
        | Mark::EngineStops(host) => host,
        Mark::OperationBegun(operation)
        | Mark::OperationEnded(operation, _)
        | Mark::ProbeFailed(operation) => &operation.host,
        Mark::StartForgiven(forgiven) => &forgiven.host,
        _ => &at.host,
    };
    [&at.host, of]
}
