//! A cluster of which no head is left.

use std::collections::BTreeSet;

use hawser_model::drill::{Moment, PowerState};
use hawser_model::names::HostName;

use super::{Facts, Span};
use crate::outage::phase::Phase;

/// From the moment in which the last head lost its power until the first one that boots says something.
pub(crate) fn spans(facts: &Facts<'_>) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut off = BTreeSet::new();
    for event in &facts.case.power {
        match event.what {
            PowerState::Off => off.insert(&event.host),
            PowerState::On => off.remove(&event.host),
            PowerState::OffOrdered | PowerState::OnOrdered => false,
        };
        let mut nodes = facts.case.cluster.nodes.iter();
        let seen = spans.last().is_some_and(|last| event.at < last.to);
        if event.what != PowerState::Off || seen || !nodes.all(|node| off.contains(node)) {
            continue;
        }
        let mut marks = facts.marks.iter();
        let spoke = marks.find(|mark| mark.at > event.at);
        spans.push(Span {
            phase: Phase::NoHead,
            host: event.host.clone(),
            from: event.at,
            to: spoke.map_or(facts.outage.to, |mark| mark.at),
        });
        // Who speaks has power, also where nobody recorded when it came back.
        if let Some(spoke) = spoke {
            off.remove(&spoke.host);
        }
    }
    spans
}

/// When this head lost its power, if it did so between these two moments: what it was at has ended then.
pub(crate) fn lost(
    facts: &Facts<'_>,
    host: &HostName,
    after: Moment,
    before: Moment,
) -> Option<Moment> {
    let events = facts.case.power.iter();
    let off = events.filter(|event| event.host == *host && event.what == PowerState::Off);
    off.map(|event| event.at)
        .find(|at| *at > after && *at < before)
}
