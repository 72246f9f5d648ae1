//! When which service was away, and which of these times are one incident.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::drill::{Moment, PoolFacts};
use hawser_model::names::HostName;

use super::links::Down;
use crate::outage::marks::Mark;
use crate::outage::timeline::At;

/// After so long without a step and without an open fencing, what was begun has ended.
const QUIET_US: u64 = 30_000_000;

/// Incidents this close to each other are one.
pub(super) const ONE_US: u64 = 10_000_000;

/// A time in which a service was away, with what follows until its next one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Window {
    pub(super) service: String,
    /// The last sign of it.
    pub(super) from: Moment,
    /// The end of what belongs to it; it may stand earlier.
    pub(super) to: Moment,
    /// It was found dead: it may have been so before.
    pub(super) at_least: bool,
    /// The last of its starts has worked.
    pub(super) started: bool,
    /// Where.
    pub(super) on: Option<HostName>,
}

/// Something that happened to the cluster.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Incident {
    pub(super) from: Moment,
    pub(super) to: Moment,
    pub(super) windows: Vec<Window>,
    /// Links that were down.
    pub(super) links: Vec<Down>,
    /// No head was lost and no service away.
    pub(super) links_alone: bool,
}

impl Incident {
    pub(super) fn new(from: Moment, to: Moment) -> Self {
        Self {
            from,
            to,
            windows: Vec::new(),
            links: Vec::new(),
            links_alone: false,
        }
    }
}

/// All incidents of heads and services, in the order of time.
pub(super) fn incidents(services: &[PoolFacts], marks: &[At]) -> Vec<Incident> {
    let mut all: Vec<Incident> = losses(marks);
    for service in services {
        all.extend(windows(service, marks).into_iter().map(|window| {
            let only = Incident::new(window.from, window.to);
            Incident {
                windows: vec![window],
                ..only
            }
        }));
    }
    all.sort_by_key(|incident| (incident.from, incident.to));
    let mut joined: Vec<Incident> = Vec::new();
    for incident in all {
        match joined.last_mut() {
            Some(last) if incident.from.0 <= last.to.0 + ONE_US => {
                last.to = last.to.max(incident.to);
                last.windows.extend(incident.windows);
            }
            _ => joined.push(incident),
        }
    }
    joined
}

/// Members that were lost and fencings, whether a service was away for it or not.
fn losses(marks: &[At]) -> Vec<Incident> {
    let mut losses = Vec::new();
    let mut awaited: BTreeMap<&HostName, Moment> = BTreeMap::new();
    let mut asked: Option<(Moment, &HostName)> = None;
    for At { at, mark, host } in marks {
        match mark {
            Mark::TokenLost { token_ms } => {
                awaited.insert(host, before(*at, *token_ms));
            }
            // The token came back, and nobody was missing.
            Mark::Joined | Mark::Formed => {
                awaited.remove(host);
            }
            Mark::Left => {
                let from = awaited.remove(host).unwrap_or(*at);
                losses.push(Incident::new(from, *at));
            }
            Mark::FenceAsked(target) => {
                asked.get_or_insert((*at, target));
            }
            Mark::FenceEnded { target, ok: true } | Mark::ConfirmedByHand(target) => {
                if let Some((from, _)) = asked.take_if(|(_, of)| *of == target) {
                    losses.push(Incident::new(from, *at));
                }
            }
            _ => {}
        }
    }
    losses.extend(asked.map(|(from, _)| Incident::new(from, from)));
    losses
}

/// The times in which one service was away.
fn windows(service: &PoolFacts, marks: &[At]) -> Vec<Window> {
    let names = service.resources.iter().map(|own| own.name.as_str());
    let names: BTreeSet<&str> = names.collect();
    let own = |resource: &str| names.contains(resource);
    let mut windows: Vec<Window> = Vec::new();
    let mut open: Option<Window> = None;
    // The last sign of a head that may have been the service's.
    let mut suspect: Option<Moment> = None;
    let mut fencing: BTreeSet<&HostName> = BTreeSet::new();
    let mut last = Moment(0);
    let begin = |from, at_least| Window {
        service: service.name.clone(),
        from,
        to: from,
        at_least,
        started: false,
        on: None,
    };
    for At { at, mark, .. } in marks {
        if fencing.is_empty() && at.0.saturating_sub(last.0) > QUIET_US {
            suspect = None;
            if let Some(window) = open.take_if(|window| window.started) {
                windows.push(Window { to: last, ..window });
            }
        }
        last = *at;
        let mut away = |from, at_least| {
            if let Some(window) = open.take_if(|window| window.started) {
                windows.push(Window { to: *at, ..window });
            }
            open.get_or_insert_with(|| begin(from, at_least));
        };
        match mark {
            Mark::TokenLost { token_ms } => {
                suspect.get_or_insert(before(*at, *token_ms));
            }
            Mark::Left => {
                suspect.get_or_insert(*at);
            }
            Mark::FenceAsked(target) => {
                suspect.get_or_insert(*at);
                fencing.insert(target);
            }
            Mark::FenceEnded { target, ok: true } | Mark::ConfirmedByHand(target) => {
                fencing.remove(target);
            }
            Mark::OperationEnded(operation, false)
                if operation.task == "monitor" && own(&operation.resource) =>
            {
                away(*at, true);
            }
            Mark::OperationBegun(operation)
                if operation.task == "stop" && own(&operation.resource) =>
            {
                away(*at, false);
            }
            Mark::OperationBegun(operation)
                if operation.task == "start" && own(&operation.resource) =>
            {
                // It has not been stopped: what had it is lost, or it was not there before.
                if let (None, Some(from)) = (&open, suspect) {
                    open = Some(begin(from, false));
                }
            }
            Mark::OperationEnded(operation, ok)
                if operation.task == "start" && own(&operation.resource) =>
            {
                if let Some(window) = &mut open {
                    window.started = *ok;
                    window.on = ok.then(|| operation.host.clone());
                }
            }
            _ => {}
        }
    }
    windows.extend(open.map(|window| Window { to: last, ..window }));
    windows
}

/// When it was so many milliseconds earlier.
pub(super) fn before(at: Moment, ms: u64) -> Moment {
    Moment(at.0.saturating_sub(ms * 1000))
}
