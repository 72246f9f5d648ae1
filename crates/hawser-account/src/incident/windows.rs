//! When which service was away, and which of these times are one incident.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::drill::{Moment, PoolFacts};
use hawser_model::names::HostName;

use super::links::Down;
use crate::outage::log_lines::{Mark, Operation};
use crate::outage::timeline::At;

/// After so long without a step and without an open fencing, what was begun has ended.
const QUIET_US: u64 = 30_000_000;

/// Before the beginning of an incident: an order is written before the first stop.
const BEFORE_MS: u64 = 10_000;

const SECOND_US: u64 = 1_000_000;

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
    /// When all that was done about it was done, if it is still away then.
    busy_until: Option<Moment>,
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
    /// What began it is looked for from here on: 10 s before it, but not before the end of the incident before.
    pub(super) since: Moment,
    pub(super) from: Moment,
    pub(super) to: Moment,
    /// When all that was done about it was done: what comes later is another one, also while a service is still away.
    pub(super) until: Moment,
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
            until: to,
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

    /// Whether another one belongs to it. A head that is lost when all that was away stood again is none of it. Incidents are
    /// named by the second.
    fn goes_on_with(&self, next: &Self) -> bool {
        let over = !self.windows.is_empty() && self.windows.iter().all(|window| window.started);
        let apart = next.loss && over && next.from.0 > self.until.0 + SECOND_US;
        next.from.0 <= self.until.0 + ONE_US && !apart
    }

    fn add(&mut self, next: Self) {
        self.to = self.to.max(next.to);
        self.until = self.until.max(next.until);
        self.loss |= next.loss && next.from == self.from;
        self.windows.extend(next.windows);
    }
}

/// All incidents of heads and services, in the order of time.
pub(super) fn incidents(services: &[PoolFacts], marks: &[At]) -> Vec<Incident> {
    let mut all: Vec<Incident> = losses(marks);
    for service in services {
        all.extend(windows(service, marks).into_iter().map(|window| {
            let only = Incident::new(window.from, window.to);
            Incident {
                until: window.busy_until.unwrap_or(window.to),
                windows: vec![window],
                ..only
            }
        }));
    }
    all.sort_by_key(|incident| (incident.from, incident.to));
    let mut joined: Vec<Incident> = Vec::new();
    for incident in all {
        match joined.last_mut() {
            Some(last) if last.goes_on_with(&incident) => last.add(incident),
            last => {
                let over = last.map_or(Moment(0), |last| last.until);
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
                awaited
                    .entry(host)
                    .or_insert_with(|| before(*at, *token_ms));
            }
            // The token came back, and nobody was missing.
            Mark::Joined | Mark::Formed => {
                awaited.remove(host);
            }
            Mark::Left => {
                // Without a token that was awaited it left in good order.
                losses.push(match awaited.remove(host) {
                    Some(from) => Incident::loss(from, *at),
                    None => Incident::new(*at, *at),
                });
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

/// The first sign that a head is lost.
struct Sign<'a> {
    from: Moment,
    /// It is no more than a token that this head awaits: it may come back.
    awaited_by: Option<&'a HostName>,
}

impl<'a> Sign<'a> {
    /// Takes another one: the first tells since when, and any may tell that it is so.
    fn add(sign: &mut Option<Self>, from: Moment, awaited_by: Option<&'a HostName>) {
        let first = sign.get_or_insert(Self { from, awaited_by });
        if awaited_by.is_none() {
            first.awaited_by = None;
        }
    }

    fn came_back(sign: &mut Option<Self>, host: &HostName) {
        sign.take_if(|sign| sign.awaited_by == Some(host));
    }
}

/// A window that is not over yet.
struct Open<'a> {
    window: Window,
    /// What must be started for the service to stand again.
    needed: BTreeSet<&'a str>,
    started: BTreeSet<&'a str>,
    /// When it stood again.
    stood: Option<Moment>,
    /// That a head is lost since then.
    lost: Option<Sign<'a>>,
    /// Heads that were to be fenced since then.
    fenced: BTreeSet<&'a HostName>,
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

    /// A head may be lost. What does not stand yet may have to be started as a whole now.
    fn suspects(&mut self, all: &BTreeSet<&'a str>, from: Moment, by: Option<&'a HostName>) {
        match self.stood {
            Some(_) => Sign::add(&mut self.lost, from, by),
            None => self.needed.clone_from(all),
        }
    }

    /// When it stood again before a head was lost.
    fn stood_before_loss(&self) -> Option<(Moment, Moment)> {
        let lost = self.lost.as_ref()?;
        Some((self.stood?, lost.from))
    }

    /// The same where it is started on this host without having been stopped: its own head was the one.
    fn lost_again(&self, on: &HostName) -> Option<(Moment, Moment)> {
        let elsewhere = self.window.on.as_ref() != Some(on) || self.fenced.contains(on);
        self.stood_before_loss().filter(|_| elsewhere)
    }
}

/// One service, mark by mark.
struct Followed<'a> {
    service: &'a PoolFacts,
    names: BTreeSet<&'a str>,
    windows: Vec<Window>,
    open: Option<Open<'a>>,
    /// A head that may have been the service's.
    suspect: Option<Sign<'a>>,
    /// Where each resource was last started or checked.
    stood: BTreeMap<&'a str, &'a HostName>,
}

impl<'a> Followed<'a> {
    fn begin(&self, from: Moment, at_least: bool, needed: BTreeSet<&'a str>) -> Open<'a> {
        Open {
            window: Window {
                service: self.service.name.clone(),
                from,
                to: from,
                busy_until: None,
                at_least,
                started: false,
                on: None,
            },
            needed,
            started: BTreeSet::new(),
            stood: None,
            lost: None,
            fenced: BTreeSet::new(),
        }
    }

    /// Ends a window whose service has been started again. What came after a head was lost is no part of one that stood.
    fn over(&mut self, to: Moment) {
        if let Some(open) = self.open.take_if(|open| open.window.started) {
            let to = open.stood_before_loss().map_or(to, |(stood, _)| stood);
            self.windows.push(Window { to, ..open.window });
        }
    }

    /// Nothing more happens for a while.
    fn quiet(&mut self, last: Moment) {
        self.suspect = None;
        self.over(last);
        if let Some(open) = &mut self.open {
            open.window.busy_until.get_or_insert(last);
        }
    }

    fn suspects(&mut self, from: Moment, awaited_by: Option<&'a HostName>) {
        Sign::add(&mut self.suspect, from, awaited_by);
        if let Some(open) = &mut self.open {
            open.suspects(&self.names, from, awaited_by);
        }
    }

    /// A token that this host awaited is back, with all members.
    fn came_back(&mut self, host: &HostName) {
        Sign::came_back(&mut self.suspect, host);
        if let Some(open) = &mut self.open {
            Sign::came_back(&mut open.lost, host);
        }
    }

    /// It is stopped, or was found dead.
    fn stops(&mut self, resource: &'a str, at: Moment, at_least: bool) {
        self.over(at);
        let begun = self.begin(at, at_least, BTreeSet::new());
        self.open.get_or_insert(begun).stops(resource);
    }

    /// It is started. What has not been stopped is lost with its head, or was not there before.
    fn starts(&mut self, on: &HostName) {
        let again = self.open.as_ref().and_then(|open| open.lost_again(on));
        if let Some((stood, _)) = again {
            self.over(stood);
        }
        let suspect = self.suspect.as_ref().map(|sign| sign.from);
        let from = again.map(|(_, lost)| lost).or(suspect);
        if let (None, Some(from)) = (&self.open, from) {
            self.open = Some(self.begin(from, false, self.names.clone()));
        }
    }
}

/// The times in which one service was away.
fn windows(service: &PoolFacts, marks: &[At]) -> Vec<Window> {
    let names = service.resources.iter().map(|own| own.name.as_str());
    let mut followed = Followed {
        service,
        names: names.collect(),
        windows: Vec::new(),
        open: None,
        suspect: None,
        stood: BTreeMap::new(),
    };
    let mut fencing: BTreeSet<&HostName> = BTreeSet::new();
    let mut last = Moment(0);
    for At { at, mark, host } in marks {
        if fencing.is_empty() && at.0.saturating_sub(last.0) > QUIET_US {
            followed.quiet(last);
        }
        last = *at;
        let own = |resource: &str| followed.names.contains(resource);
        match mark {
            Mark::TokenLost { token_ms } => followed.suspects(before(*at, *token_ms), Some(host)),
            Mark::Joined | Mark::Formed => followed.came_back(host),
            // One that was told to stop leaves too.
            Mark::Left => match &followed.suspect {
                Some(_) => followed.suspects(*at, None),
                None => Sign::add(&mut followed.suspect, *at, None),
            },
            Mark::FenceAsked(target) => {
                followed.suspects(*at, None);
                if let Some(open) = &mut followed.open {
                    open.fenced.insert(target);
                }
                fencing.insert(target);
            }
            Mark::FenceEnded { target, ok: true } | Mark::ConfirmedByHand(target) => {
                fencing.remove(target);
            }
            Mark::OperationBegun(operation) if own(&operation.resource) => {
                match operation.task.as_str() {
                    "stop" => followed.stops(&operation.resource, *at, false),
                    "start" => followed.starts(&operation.host),
                    _ => {}
                }
            }
            Mark::OperationEnded(operation, ok) if own(&operation.resource) => {
                if *ok && (operation.task == "start" || operation.recurs) {
                    let (resource, host) = (&operation.resource, &operation.host);
                    followed.stood.insert(resource, host);
                }
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
            Mark::ProbeFailed(Operation { resource, host, .. })
                if followed.stood.get(resource.as_str()) == Some(&host) =>
            {
                followed.stops(resource, *at, true);
            }
            _ => {}
        }
    }
    followed.over(last);
    let Followed { windows, open, .. } = followed;
    let open = open.map(|Open { window, .. }| Window { to: last, ..window });
    windows.into_iter().chain(open).collect()
}

/// When it was so many milliseconds earlier.
pub(super) fn before(at: Moment, ms: u64) -> Moment {
    Moment(at.0.saturating_sub(ms * 1000))
}
