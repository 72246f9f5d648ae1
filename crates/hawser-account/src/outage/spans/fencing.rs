//! Fencing: the delay, the agent, the BMC, the wait after the power was cut; and a person, where
//! it failed.

use std::collections::BTreeMap;

use hawser_model::drill::{FenceDeviceFacts, Moment, PowerState};
use hawser_model::names::HostName;

use super::operations::own_pool;
use super::{Facts, Span};
use crate::outage::log_lines::Mark;
use crate::outage::phase::Phase;

/// A fencing under way.
struct Shot {
    asked: Moment,
    delayed: Option<(Moment, u64)>,
    host: HostName,
}

/// The spans of every fencing.
pub(crate) fn spans(facts: &Facts<'_>) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut shots: BTreeMap<&HostName, Shot> = BTreeMap::new();
    let mut failed: BTreeMap<&HostName, Moment> = BTreeMap::new();
    for mark in facts.marks {
        match &mark.mark {
            Mark::FenceAsked(target) => {
                shots.entry(target).or_insert(Shot {
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
                shots.remove(target);
                if let Some(from) = failed.remove(target) {
                    spans.push(human(facts, mark.host.clone(), from, mark.at));
                }
            }
            Mark::FenceEnded { target, ok: false } => {
                if let Some(shot) = shots.remove(target) {
                    failed.entry(target).or_insert(mark.at);
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
    for from in failed.into_values() {
        let host = facts.marks.first().map(|mark| mark.host.clone());
        let to = goes_on(facts, from).unwrap_or(facts.outage.to);
        spans.extend(host.map(|host| human(facts, host, from, to)));
    }
    spans
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
