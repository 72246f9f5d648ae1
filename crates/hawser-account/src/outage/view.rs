//! A drill as promises and causes look at it.

use hawser_model::drill::{DrillCase, Moment, PoolFacts};
use hawser_model::names::HostName;

use super::marks::Mark;
use super::phase::Phase;
use super::phases::{self, Account};
use super::spans::{self, Facts, Span};
use super::stall::{self, Outage};
use super::timeline::{self, At};

/// A drill and its account.
pub(super) struct DrillView<'a> {
    /// The facts.
    pub(super) case: &'a DrillCase,
    /// All marks, in the order of time.
    pub(super) marks: Vec<At>,
    /// The client's outage.
    pub(super) outage: Outage,
    /// What it was made of.
    pub(super) account: Account,
    /// Who was fenced since the first fault, in order, each once.
    pub(super) fenced: Vec<HostName>,
}

impl<'a> DrillView<'a> {
    /// Looks at a drill.
    pub(super) fn new(case: &'a DrillCase) -> Self {
        let marks = timeline::timeline(case);
        let outage = stall::outage(case);
        let facts = Facts {
            case,
            marks: &marks,
            outage,
        };
        let account = phases::account(&outage, &spans::spans(&facts));
        let fenced = fenced(case, &marks);
        Self {
            case,
            marks,
            outage,
            account,
            fenced,
        }
    }

    /// The same as the spans see it.
    pub(super) fn facts(&self) -> Facts<'_> {
        Facts {
            case: self.case,
            marks: &self.marks,
            outage: self.outage,
        }
    }

    /// The parts of the outage of this kind.
    pub(super) fn of(&self, phase: Phase) -> impl Iterator<Item = &Span> {
        self.account
            .phases
            .iter()
            .filter(move |span| span.phase == phase)
    }

    /// How long they were together, in milliseconds.
    pub(super) fn ms(&self, phase: Phase) -> u64 {
        let us: u64 = self.of(phase).map(|span| span.to.0 - span.from.0).sum();
        us / 1000
    }

    /// The pool the client writes to.
    pub(super) fn own_pool(&self) -> Option<&'a PoolFacts> {
        let pools = &self.case.cluster.pools;
        pools.iter().find(|pool| pool.name == self.case.client.pool)
    }

    /// When the first fault was ordered.
    pub(super) fn fault(&self) -> Option<Moment> {
        Some(self.case.faults.first()?.ordered)
    }
}

/// From the fencer's log and, where a log is missing, from its history.
fn fenced(case: &DrillCase, marks: &[At]) -> Vec<HostName> {
    let first = case.faults.first().map_or(Moment(0), |fault| fault.ordered);
    let logged = marks.iter().filter_map(|mark| match &mark.mark {
        Mark::FenceEnded { target, ok: true } => Some((mark.at, target)),
        _ => None,
    });
    // The history has whole seconds: what it says of the fault's own second may be from before.
    let kept = case.fencing.iter().filter(|event| event.succeeded);
    let kept = kept.map(|event| (event.completed, &event.target));
    let mut all: Vec<_> = logged.chain(kept).filter(|(at, _)| *at >= first).collect();
    all.sort();
    let mut hosts: Vec<HostName> = Vec::new();
    for (_, host) in all {
        if !hosts.contains(host) {
            hosts.push(host.clone());
        }
    }
    hosts
}
