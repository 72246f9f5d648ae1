//! A drill as promises and causes look at it.

use hawser_model::drill::{DrillCase, Moment, PoolFacts, PowerState};
use hawser_model::names::HostName;
use hawser_model::output::drill::OutagePhase;

use super::log_lines::Mark;
use super::millis::Millis;
use super::phase::Phase;
use super::phases::{self, Account};
use super::spans::{self, Facts, Span};
use super::stall::{self, Outage};
use super::timeline::{self, At};

/// A drill and its account.
pub(crate) struct DrillView<'a> {
    /// The facts.
    pub(crate) case: &'a DrillCase,
    /// All marks, in the order of time.
    pub(crate) marks: Vec<At>,
    /// The client's outage.
    pub(crate) outage: Outage,
    /// What it was made of.
    pub(crate) account: Account,
    /// Who was fenced since the first fault, in order, each once.
    pub(crate) fenced: Vec<HostName>,
}

impl<'a> DrillView<'a> {
    /// Looks at a drill.
    pub(crate) fn new(case: &'a DrillCase) -> Self {
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
    pub(crate) fn facts(&self) -> Facts<'_> {
        Facts {
            case: self.case,
            marks: &self.marks,
            outage: self.outage,
        }
    }

    /// All parts of the outage, as they are reported.
    pub(crate) fn phases(&self) -> Vec<OutagePhase> {
        let spans = self.account.phases.iter();
        spans
            .map(|span| phases::reported(&self.outage, span))
            .collect()
    }

    /// The parts of the outage of this kind.
    pub(crate) fn of(&self, phase: Phase) -> impl Iterator<Item = &Span> {
        self.account
            .phases
            .iter()
            .filter(move |span| span.phase == phase)
    }

    /// How long they were together.
    pub(crate) fn ms(&self, phase: Phase) -> Millis {
        Millis::together(self.of(phase))
    }

    /// The whole outage, which every finding is set against.
    pub(crate) fn outage_ms(&self) -> Millis {
        Millis::between(self.outage.from, self.outage.to)
    }

    /// The pool the client writes to.
    pub(crate) fn own_pool(&self) -> Option<&'a PoolFacts> {
        let pools = &self.case.cluster.pools;
        pools.iter().find(|pool| pool.name == self.case.client.pool)
    }

    /// When the first fault was ordered.
    pub(crate) fn fault(&self) -> Option<Moment> {
        Some(self.case.faults.first()?.ordered)
    }
}

/// From the fencer's log and, where a log is missing, from its history. Of heads that shot each other neither lived to
/// write down what came of it; that a BMC cut the power as it was told, it knows.
fn fenced(case: &DrillCase, marks: &[At]) -> Vec<HostName> {
    let first = case.faults.first().map_or(Moment(0), |fault| fault.ordered);
    let logged = marks.iter().filter_map(|mark| match &mark.mark {
        Mark::FenceEnded { target, ok: true } => Some((mark.at, target)),
        _ => None,
    });
    // The history has whole seconds: what it says of the fault's own second may be from before.
    let shots = case.fencing.iter().filter(|event| event.is_shot());
    let kept = shots.filter(|event| event.succeeded);
    let kept = kept.map(|event| (event.completed, &event.target));
    let cut = case.power.iter().filter_map(|ordered| {
        let mut after = case.power.iter().filter(|event| event.host == ordered.host);
        let off = after.find(|event| event.what == PowerState::Off && event.at >= ordered.at);
        (ordered.what == PowerState::OffOrdered).then_some(())?;
        off.map(|off| (off.at, &off.host))
    });
    let mut all: Vec<_> = logged
        .chain(kept)
        .chain(cut)
        .filter(|(at, _)| *at >= first)
        .collect();
    all.sort();
    let mut hosts: Vec<HostName> = Vec::new();
    for (_, host) in all {
        if !hosts.contains(host) {
            hosts.push(host.clone());
        }
    }
    hosts
}
