//! What was going on when: each mark's interval, and how closely it says what the client waited for.

mod client;
mod engine;
mod fault;
mod fencing;
mod grace;
mod operations;
mod power;
mod restart;

use hawser_model::drill::{DrillCase, Moment};
use hawser_model::names::HostName;

pub(crate) use fencing::power_wait_us;
pub(crate) use operations::{Part, Ran, own_pool, part, ran, ready, started};

use super::stall::{self, Outage};
use super::timeline::At;
use crate::outage::phase::Phase;

/// Something that went on, marked at both ends.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Span {
    /// What.
    pub(crate) phase: Phase,
    /// Where.
    pub(crate) host: HostName,
    /// Since when.
    pub(crate) from: Moment,
    /// Till when.
    pub(crate) to: Moment,
}

/// What the spans are made of.
pub(crate) struct Facts<'a> {
    /// The case.
    pub(crate) case: &'a DrillCase,
    /// All marks.
    pub(crate) marks: &'a [At],
    /// The outage.
    pub(crate) outage: Outage,
}

impl Facts<'_> {
    /// How many writers have a file open beside the client that creates files, if the outage is that client's.
    pub(crate) fn beside_creator(&self) -> Option<u8> {
        let load = self.case.client.load?;
        (load.creates && self.outage.writer == load.writers).then_some(load.writers)
    }

    /// When the last of these writers was answered again. None: the outage is a writer's, or one of them has had no answer.
    fn answered(&self) -> Option<Moment> {
        let waited = stall::meanwhile(self.case, self.outage, self.beside_creator()?);
        let last = waited.iter().map(|stall| stall.to).max();
        let are_over = waited.iter().all(|stall| stall.over);
        are_over.then(|| last.unwrap_or(self.outage.from))
    }
}

/// All spans that reach into the outage. They may overlap.
pub(crate) fn spans(facts: &Facts<'_>) -> Vec<Span> {
    let ready = operations::ready(facts);
    let mut cluster = engine::spans(facts);
    cluster.extend(fencing::spans(facts));
    cluster.extend(operations::spans(facts));
    cluster.extend(restart::spans(facts));
    // What the cluster still does once the service is back is not what the client waits for.
    if let Some(ready) = ready {
        for span in &mut cluster {
            span.to = span.to.min(ready);
        }
    }
    cluster.extend(fault::spans(facts));
    cluster.extend(power::spans(facts));
    cluster.extend(client::spans(facts, ready));
    cluster.extend(grace::spans(facts, ready));
    let outage = facts.outage;
    for span in &mut cluster {
        // A file may say that it ended before it began.
        let inside = |at: Moment| at.min(outage.to).max(outage.from);
        (span.from, span.to) = (inside(span.from), inside(span.to));
    }
    cluster.retain(|span| span.from < span.to);
    cluster
}

/// The last thing that was done to the cluster before a moment: a fault or its healing.
fn last_deed(case: &DrillCase, before: Moment) -> Option<Moment> {
    let faults = case.faults.iter();
    let deeds = faults.flat_map(|fault| [Some(fault.ordered), fault.heal_ordered]);
    deeds.flatten().filter(|at| *at <= before).max()
}
