//! Corosync's part, and the controller's.

use hawser_model::drill::Moment;
use hawser_model::names::HostName;

use super::operations::own_pool;
use super::{Facts, Span, last_deed, power};
use crate::outage::log_lines::Mark;
use crate::outage::phase::Phase;
use crate::outage::timeline::At;

/// Ports to SANs that a watch has found without carrier, and of which nothing has come yet.
struct LostPorts {
    /// The fault that took them.
    deed: Moment,
    /// When the first one was found.
    noticed: Moment,
    /// When the scheduler hears of them.
    written: Moment,
}

/// What is decided later than this after the scheduler has heard of lost ports has another reason.
const ANSWERED_US: u64 = 10_000_000;

/// Token loss, consensus, decisions, and the steps of a transition.
pub(crate) fn spans(facts: &Facts<'_>) -> Vec<Span> {
    let mut spans = Vec::new();
    let Some(decider) = decider(facts) else {
        return spans;
    };
    let said = facts.marks.iter().filter(|mark| mark.host == decider.host);
    let own: Vec<&str> = own_pool(facts)
        .into_iter()
        .flat_map(|pool| pool.resources.iter().map(|resource| resource.name.as_str()))
        .collect();
    let mut token_lost: Option<Moment> = None;
    // Since when a decision is due, and the transition that runs.
    let ordered = planned(facts);
    let mut due: Option<Moment> = ordered;
    let mut running: Option<(u64, Moment)> = None;
    // The fault whose effect a monitor operation has found.
    let mut noticed: Option<Moment> = None;
    // The same of a resource of the client's pool.
    let mut noticed_own: Option<Moment> = None;
    let mut ports: Option<LostPorts> = None;
    for At { at, host, mark } in said {
        let mut span = |phase, from| {
            spans.push(Span {
                phase,
                host: host.clone(),
                from,
                to: *at,
            });
        };
        match mark {
            Mark::TokenLost { token_ms } => {
                let token = Moment(at.0.saturating_sub(token_ms * 1000));
                // The token may have gone round for a moment after the order was given.
                let deed =
                    last_deed(facts.case, *at).filter(|deed| at.0 - deed.0 <= 2 * token_ms * 1000);
                span(Phase::TokenLoss, deed.map_or(token, |deed| deed.min(token)));
                token_lost = Some(*at);
            }
            Mark::Left => {
                if let Some(from) = token_lost.take() {
                    span(Phase::Consensus, from);
                }
                due.get_or_insert(*at);
            }
            Mark::OperationEnded(operation, false) => {
                let deed = last_deed(facts.case, *at);
                // What is found dead later adds nothing to what was noticed first. But what the client uses is
                // repaired only when it is found dead itself, whatever else the fault has hit.
                let monitor = operation.task == "monitor";
                let first = monitor && due.is_none() && deed > noticed;
                let own =
                    monitor && own.contains(&operation.resource.as_str()) && deed > noticed_own;
                if let Some(deed) = deed.filter(|_| first || own) {
                    span(Phase::Monitor, deed);
                    noticed = Some(deed);
                    if own {
                        noticed_own = Some(deed);
                    }
                }
                due.get_or_insert(*at);
            }
            // It ends no service, but the scheduler is asked again.
            Mark::ProbeFailed(_) => {
                due.get_or_insert(*at);
            }
            // The first one starts the clock; what is lost while it runs is written with it.
            Mark::PortLost { dampening_ms, .. } => {
                ports = match ports {
                    Some(lost) if *at <= lost.written => Some(lost),
                    _ => last_deed(facts.case, *at).map(|deed| LostPorts {
                        deed,
                        noticed: *at,
                        written: Moment(at.0 + dampening_ms * 1000),
                    }),
                };
            }
            // A controller that is busy with a transition finishes it first.
            Mark::Joined if running.is_none() => {
                due.get_or_insert(*at);
            }
            Mark::StartForgiven(_) => {
                due.get_or_insert(*at);
            }
            // Asking for a fencing, or ordering an operation, is what a decision leads to. A
            // transition that does nothing of the kind decided nothing.
            Mark::FenceAsked(_) | Mark::OperationBegun(_) => {
                // Ports that are lost lead to nothing while another head has lost its own, or this one has another.
                let lost = ports
                    .take()
                    .filter(|lost| at.0 <= lost.written.0 + ANSWERED_US);
                match (due.take(), lost, &mark) {
                    (Some(from), ..) => span(Phase::Decision, from),
                    (None, Some(lost), Mark::OperationBegun(_)) => {
                        let written = lost.written.min(*at);
                        let ends = [lost.deed, lost.noticed, written, *at];
                        let phases = [Phase::Monitor, Phase::Dampening, Phase::Decision];
                        spans.extend(phases.into_iter().zip(ends.windows(2)).map(
                            |(phase, ends)| Span {
                                phase,
                                host: host.clone(),
                                from: ends[0],
                                to: ends[1],
                            },
                        ));
                    }
                    _ => {}
                }
            }
            Mark::TransitionBegun(number) => {
                if let Some((_, from)) = running.replace((*number, *at)) {
                    span(Phase::Controller, from);
                }
            }
            // A head that boots is at nothing any more; when that ended, only its power tells.
            Mark::Started => {
                let off = |(_, from)| Some((from, power::lost(facts, host, from, *at)?));
                if let Some((from, off)) = running.take().and_then(off) {
                    spans.push(controller(host, from, off));
                }
                (due, token_lost) = (None, None);
            }
            Mark::TransitionEnded { number, whole } => {
                if let Some((_, from)) = running.take_if(|(n, _)| n == number) {
                    span(Phase::Controller, from);
                    // It was decided that nothing is to be done; of an order that was given, that is not yet known.
                    due = due.filter(|due| !whole || *due > from || Some(*due) == ordered);
                }
            }
            _ => {}
        }
    }
    if let Some((_, from)) = running {
        let off = power::lost(facts, &decider.host, from, facts.outage.to);
        spans.push(controller(
            &decider.host,
            from,
            off.unwrap_or(facts.outage.to),
        ));
    }
    spans
}

fn controller(host: &HostName, from: Moment, to: Moment) -> Span {
    Span {
        phase: Phase::Controller,
        host: host.clone(),
        from,
        to,
    }
}

/// The node whose controller decided: the first to order something within the outage; where none
/// did, the first whose Corosync noticed something.
fn decider<'a>(facts: &Facts<'a>) -> Option<&'a At> {
    let inside = |mark: &&At| mark.at >= facts.outage.from && mark.at <= facts.outage.to;
    let orders = |mark: &&At| {
        matches!(
            mark.mark,
            Mark::FenceAsked(_) | Mark::OperationBegun(_) | Mark::TransitionBegun(_)
        )
    };
    let marks = || facts.marks.iter().filter(inside);
    let corosync = |mark: &&At| mark.mark.is_corosyncs();
    let orders = marks().find(orders);
    orders.or_else(|| marks().find(corosync).or_else(|| marks().next()))
}

/// A planned switchover is due when it is ordered: nothing has to be noticed.
fn planned(facts: &Facts<'_>) -> Option<Moment> {
    let first = facts.case.faults.first()?;
    (first.name == SWITCHOVER).then_some(first.ordered)
}

/// The name of the fault that is none: an operator moves everything away from a node.
const SWITCHOVER: &str = "switchover";
