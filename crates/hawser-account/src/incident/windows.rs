//! When which service was away, and which of these times are one incident.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::drill::{Moment, PoolFacts};
use hawser_model::names::HostName;

use super::links::Down;
use crate::outage::marks::Mark;
use crate::outage::timeline::At;

/// After so long without a step and without an open fencing, what was begun has ended.
const QUIET_US: u64 = 30_000_000;

/// Before the beginning of an incident: an order is written before the first stop.
const BEFORE_MS: u64 = 10_000;

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
    /// What may have begun it is since then: no longer ago than the end of the incident before it.
    pub(super) since: Moment,
    pub(super) from: Moment,
    pub(super) to: Moment,
    pub(super) windows: Vec<Window>,
    /// Links that were down.
    pub(super) links: Vec<Down>,
    /// No head was lost and no service away.
    pub(super) links_alone: bool,
    /// It begins with a head that is lost, or is to be fenced.
    pub(super) loss: bool,
}

impl Incident {
    pub(super) fn new(from: Moment, to: Moment) -> Self {
        Self {
            since: before(from, BEFORE_MS),
            from,
            to,
            windows: Vec::new(),
            links: Vec::new(),
            links_alone: false,
            loss: false,
        }
    }

    fn loss(from: Moment, to: Moment) -> Self {
        Self {
            loss: true,
            ..Self::new(from, to)
        }
    }

    /// Whether another one belongs to it. A head that is lost when all that was away stood again is none of it.
    fn goes_on_with(&self, next: &Self) -> bool {
        let over = !self.windows.is_empty() && self.windows.iter().all(|window| window.started);
        let apart = next.loss && over && next.from > self.to;
        next.from.0 <= self.to.0 + ONE_US && !apart
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
            Some(last) if last.goes_on_with(&incident) => {
                last.to = last.to.max(incident.to);
                last.loss |= incident.loss && incident.from == last.from;
                last.windows.extend(incident.windows);
            }
            last => {
                let over = last.map_or(Moment(0), |last| last.to);
                let since = incident.since.max(over);
                joined.push(Incident { since, ..incident });
            }
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
                losses.push(Incident::loss(from, *at));
            }
            Mark::FenceAsked(target) => {
                asked.get_or_insert((*at, target));
            }
            Mark::FenceEnded { target, ok: true } | Mark::ConfirmedByHand(target) => {
                if let Some((from, _)) = asked.take_if(|(_, of)| *of == target) {
                    losses.push(Incident::loss(from, *at));
                }
            }
            _ => {}
        }
    }
    losses.extend(asked.map(|(from, _)| Incident::loss(from, from)));
    losses
}

/// A window that is not over yet.
struct Open<'a> {
    window: Window,
    /// What must be started for the service to stand again; all of it, when its head was lost.
    needed: BTreeSet<&'a str>,
    started: BTreeSet<&'a str>,
    /// When it stood again.
    stood: Option<Moment>,
    /// The first sign of a head that is lost since then.
    suspect: Option<Moment>,
}

impl<'a> Open<'a> {
    fn stops(&mut self, resource: &'a str) {
        self.needed.insert(resource);
        self.started.remove(resource);
        self.stood = None;
    }

    fn ends_start(&mut self, resource: &'a str, on: Option<&HostName>, at: Moment) {
        self.window.started = on.is_some();
        self.window.on = on.cloned();
        if on.is_some() {
            self.started.insert(resource);
        }
        let stands = self.window.started && self.needed.is_subset(&self.started);
        self.stood = stands.then(|| self.stood.unwrap_or(at));
    }

    fn suspects(&mut self, from: Moment) {
        if self.stood.is_some() {
            self.suspect.get_or_insert(from);
        }
    }

    /// When it stood again, and since when it is away anew, if it is started without having been stopped.
    fn lost_again(&self) -> Option<(Moment, Moment)> {
        self.stood.zip(self.suspect)
    }
}

/// One service, mark by mark.
struct Followed<'a> {
    service: &'a PoolFacts,
    windows: Vec<Window>,
    open: Option<Open<'a>>,
    /// The last sign of a head that may have been the service's.
    suspect: Option<Moment>,
}

impl<'a> Followed<'a> {
    fn has(&self, resource: &str) -> bool {
        let mut own = self.service.resources.iter();
        own.any(|own| own.name == resource)
    }

    fn begin(&self, from: Moment, at_least: bool, needed: BTreeSet<&'a str>) -> Open<'a> {
        Open {
            window: Window {
                service: self.service.name.clone(),
                from,
                to: from,
                at_least,
                started: false,
                on: None,
            },
            needed,
            started: BTreeSet::new(),
            stood: None,
            suspect: None,
        }
    }

    /// Ends a window whose service has been started again.
    fn over(&mut self, to: Moment) {
        if let Some(Open { window, .. }) = self.open.take_if(|open| open.window.started) {
            self.windows.push(Window { to, ..window });
        }
    }

    fn suspects(&mut self, from: Moment) {
        self.suspect.get_or_insert(from);
        if let Some(open) = &mut self.open {
            open.suspects(from);
        }
    }

    /// It is stopped, or was found dead.
    fn stops(&mut self, resource: &'a str, at: Moment, at_least: bool) {
        self.over(at);
        let begun = self.begin(at, at_least, BTreeSet::new());
        self.open.get_or_insert(begun).stops(resource);
    }

    /// It is started. What has not been stopped is lost with its head, or was not there before.
    fn starts(&mut self) {
        let again = self.open.as_ref().and_then(Open::lost_again);
        if let Some((stood, _)) = again {
            self.over(stood);
        }
        let from = again.map_or(self.suspect, |(_, from)| Some(from));
        if let (None, Some(from)) = (&self.open, from) {
            let all = self.service.resources.iter();
            let all = all.map(|own| own.name.as_str()).collect();
            self.open = Some(self.begin(from, false, all));
        }
    }
}

/// The times in which one service was away.
fn windows(service: &PoolFacts, marks: &[At]) -> Vec<Window> {
    let mut followed = Followed {
        service,
        windows: Vec::new(),
        open: None,
        suspect: None,
    };
    let mut fencing: BTreeSet<&HostName> = BTreeSet::new();
    let mut last = Moment(0);
    for At { at, mark, .. } in marks {
        if fencing.is_empty() && at.0.saturating_sub(last.0) > QUIET_US {
            followed.suspect = None;
            followed.over(last);
        }
        last = *at;
        match mark {
            Mark::TokenLost { token_ms } => followed.suspects(before(*at, *token_ms)),
            Mark::Left => followed.suspects(*at),
            Mark::FenceAsked(target) => {
                followed.suspects(*at);
                fencing.insert(target);
            }
            Mark::FenceEnded { target, ok: true } | Mark::ConfirmedByHand(target) => {
                fencing.remove(target);
            }
            Mark::OperationBegun(operation) if followed.has(&operation.resource) => {
                match operation.task.as_str() {
                    "stop" => followed.stops(&operation.resource, *at, false),
                    "start" => followed.starts(),
                    _ => {}
                }
            }
            Mark::OperationEnded(operation, ok) if followed.has(&operation.resource) => {
                match (operation.task.as_str(), ok) {
                    ("monitor", false) => followed.stops(&operation.resource, *at, true),
                    ("start", ok) => {
                        if let Some(open) = &mut followed.open {
                            let on = ok.then_some(&operation.host);
                            open.ends_start(&operation.resource, on, *at);
                        }
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
    let Followed { windows, open, .. } = followed;
    let open = open.map(|Open { window, .. }| Window { to: last, ..window });
    windows.into_iter().chain(open).collect()
}

/// When it was so many milliseconds earlier.
pub(super) fn before(at: Moment, ms: u64) -> Moment {
    Moment(at.0.saturating_sub(ms * 1000))
}
