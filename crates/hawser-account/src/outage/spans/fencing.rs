//! Fencing: the delay, the agent, the BMC, the wait after the power was cut; and a person, where
//! it failed.

use std::collections::BTreeMap;

use hawser_model::drill::{FenceDeviceFacts, Moment, PowerState};
use hawser_model::names::HostName;

use super::operations::own_pool;
use super::{Facts, Span};
use crate::outage::log_lines::Mark;
use crate::outage::phase::Phase;

/// Within so many microseconds Pacemaker orders again what has failed (a transition, seen to take less than a second).
const AT_ONCE_US: u64 = 5_000_000;

/// Attempts that failed.
struct Failed {
    first: Moment,
    count: usize,
}

/// A fencing under way.
struct Shot {
    begun: Moment,
    asked: Moment,
    delayed: Option<(Moment, u64)>,
    host: HostName,
}

/// The spans of every fencing.
pub(crate) fn spans(facts: &Facts<'_>) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut shots: BTreeMap<&HostName, Shot> = BTreeMap::new();
    let mut failed: BTreeMap<&HostName, Failed> = BTreeMap::new();
    for mark in facts.marks {
        match &mark.mark {
            Mark::FenceAsked(target) => {
                shots.entry(target).or_insert(Shot {
                    begun: mark.at,
                    asked: mark.at,
                    delayed: None,
                    host: mark.host.clone(),
                });
            }
            Mark::FenceDelayed { target, us } => {
                if let Some(shot) = shots.get_mut(target) {
                    shot.delayed = Some((mark.at, *us));
                    shot.host = mark.host.clone();
                }
            }
            Mark::FenceAgentEnded { target, .. } => {
                if let Some(shot) = shots.get_mut(target) {
                    shot.host = mark.host.clone();
                    spans.extend(agent(facts, target, shot, mark.at));
                    // Another device or another attempt may follow at once.
                    shot.asked = mark.at;
                    shot.delayed = None;
                }
            }
            Mark::FenceEnded { target, ok: true } | Mark::ConfirmedByHand(target) => {
                let shot = shots.remove(target);
                let before = failed.remove(target);
                let by_hand = matches!(mark.mark, Mark::ConfirmedByHand(_));
                let waited =
                    before.filter(|it| by_hand || waited(facts, it, shot.as_ref(), mark.at));
                spans.extend(waited.map(|it| human(facts, mark.host.clone(), it.first, mark.at)));
            }
            Mark::FenceEnded { target, ok: false } => {
                if let Some(shot) = shots.remove(target) {
                    let first = Failed {
                        first: mark.at,
                        count: 0,
                    };
                    failed.entry(target).or_insert(first).count += 1;
                    // The attempt was fencing too, whatever its device said.
                    spans.push(Span {
                        phase: Phase::FenceAgent,
                        host: shot.host,
                        from: shot.asked,
                        to: mark.at,
                    });
                }
            }
            _ => {}
        }
    }
    for from in failed.into_values().map(|it| it.first) {
        let host = facts.marks.first().map(|mark| mark.host.clone());
        let to = goes_on(facts, from).unwrap_or(facts.outage.to);
        spans.extend(host.map(|host| human(facts, host, from, to)));
    }
    spans
}

/// Whether a success waited for somebody to mend what had failed: a fault was healed meanwhile, or it is more than one failure that
/// Pacemaker's own second attempt, at once, has made good.
fn waited(facts: &Facts<'_>, failed: &Failed, shot: Option<&Shot>, over: Moment) -> bool {
    let mut healed = facts.case.faults.iter().filter_map(|it| it.heal_ordered);
    let healed = healed.any(|at| failed.first <= at && at <= over);
    let at_once = |shot: &Shot| shot.begun.0.saturating_sub(failed.first.0) <= AT_ONCE_US;
    healed || failed.count > 1 || !shot.is_some_and(at_once)
}

/// When the client's pool is started although the fencing has failed: the node came back by itself.
fn goes_on(facts: &Facts<'_>, since: Moment) -> Option<Moment> {
    let own = &own_pool(facts)?.resources;
    let mut marks = facts.marks.iter().filter(|mark| mark.at >= since);
    let start = marks.find(|mark| match &mark.mark {
        Mark::OperationBegun(operation) => {
            operation.task == "start" && own.iter().any(|own| own.name == operation.resource)
        }
        _ => false,
    });
    start.map(|mark| mark.at)
}

/// From the first failure until somebody healed what made it fail, or said that the node is off.
fn human(facts: &Facts<'_>, host: HostName, from: Moment, to: Moment) -> Span {
    let healings = facts.case.faults.iter().filter_map(|f| f.heal_ordered);
    let healed = healings.filter(|at| *at >= from).min();
    Span {
        phase: Phase::Human,
        host,
        from,
        to: healed.map_or(to, |at| at.min(to)),
    }
}

/// One run of an agent, delay and all.
fn agent(facts: &Facts<'_>, target: &HostName, shot: &Shot, ended: Moment) -> Vec<Span> {
    let span = |phase, from, to| Span {
        phase,
        host: shot.host.clone(),
        from,
        to,
    };
    let mut spans = Vec::new();
    let mut began = shot.asked;
    if let Some((from, us)) = shot.delayed {
        began = Moment(from.0 + us).min(ended);
        spans.push(span(Phase::FenceDelay, from, began));
    }
    spans.push(span(Phase::FenceAgent, began, ended));
    let within = |state| {
        let events = facts.case.power.iter();
        let mut of_target = events.filter(|e| e.host == *target && e.what == state);
        of_target
            .find(|e| e.at >= began && e.at <= ended)
            .map(|e| e.at)
    };
    let (ordered, off) = (within(PowerState::OffOrdered), within(PowerState::Off));
    if let (Some(ordered), Some(off)) = (ordered, off) {
        spans.push(span(Phase::Bmc, ordered, off));
    }
    let waits = power_wait_us(&facts.case.cluster.fence_devices, target);
    if let Some(off) = off.or(ordered).filter(|_| waits > 0) {
        let to = Moment(off.0 + waits).min(ended);
        spans.push(span(Phase::PowerWait, off, to));
    }
    spans
}

/// How long the agent waits after it has cut the power, in microseconds.
pub(crate) fn power_wait_us(devices: &[FenceDeviceFacts], target: &HostName) -> u64 {
    let device = devices
        .iter()
        .find(|device| device.targets.contains(target));
    device.map_or(0, |device| {
        let given = device.parameters.get("power_wait");
        match given.and_then(|text| super::super::seconds(text)) {
            Some(seconds) => (seconds * 1e6) as u64,
            // `fence_ipmilan --help`, and the agents that are the same program.
            None if hawser_model::cluster_file::is_ipmi_agent(&device.agent) => 2_000_000,
            None => 0,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outage::stall::Outage;
    use crate::outage::timeline::At;

    const CASE: &str =
        include_str!("../../causes/monitor_interval/cases/drill/target-killed/case.json");

    /// Whether somebody is said to have mended the fencing, by when it was asked for, and how it ended, in milliseconds.
    fn waits(shots: &[(u64, u64, bool)]) -> bool {
        let mut case: hawser_model::drill::DrillCase = serde_json::from_str(CASE).unwrap();
        case.faults.clear();
        let at = |ms: u64, mark| At {
            at: Moment(ms * 1000),
            host: "head2".into(),
            mark,
        };
        let marks = shots.iter().flat_map(|(asked, ended, ok)| {
            let (target, ok) = (HostName::from("head1"), *ok);
            let asked = at(*asked, Mark::FenceAsked(target.clone()));
            [asked, at(*ended, Mark::FenceEnded { target, ok })]
        });
        let marks: Vec<At> = marks.collect();
        let facts = Facts {
            case: &case,
            marks: &marks,
            outage: Outage {
                from: Moment(0),
                to: Moment(60_000_000),
                over: true,
                writer: 0,
            },
        };
        spans(&facts).iter().any(|span| span.phase == Phase::Human)
    }

    #[test]
    fn a_second_attempt_at_once_that_works_waited_for_nobody() {
        assert!(!waits(&[(1_000, 2_000, true)]));
        assert!(!waits(&[(1_000, 2_000, false), (2_200, 4_000, true)]));
        assert!(waits(&[(1_000, 2_000, false), (30_000, 32_000, true)]));
        let twice = [
            (1_000, 2_000, false),
            (2_200, 4_000, false),
            (4_200, 6_000, true),
        ];
        assert!(waits(&twice));
        assert!(waits(&[(1_000, 2_000, false)]));
    }
}
