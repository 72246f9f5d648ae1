//! What is done to a cluster, and what must hold meanwhile.

mod network;
mod power;
mod processes;
mod random;
mod storage;

use std::time::Duration;

use hawser_cluster::plan::fenced;
use hawser_cluster::timing::EngineTiming;
use hawser_model::cluster_file::{ClusterFile, NodeEntry, Role};
use hawser_model::drill::{Promises, Scenario as Described, ServicePromise};
use hawser_model::names::LinkName;
use hawser_model::toml_file::Period;

use crate::context::DrillContext;
use crate::error::DrillError;
use crate::fault::Fault;

pub use random::drawn;

/// A scenario of the list.
pub struct Scenario {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub about: &'static str,
    /// How the cluster is expected to answer, so that it is known what is waited for.
    pub reaction: Reaction,
    /// Whether real heads can bear it, and it can be taken back there: the others exist only in a lab.
    pub real: bool,
    plan: fn(&DrillContext<'_>) -> DrillPlan,
}

/// How the cluster answers a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// The pool goes to another head.
    Moves,
    /// One head fences another, in the time that the file gives them; the pool goes to another head or stays.
    Fences,
    /// Nothing need move; what comes of it shows itself within so long.
    Within(Duration),
}

/// A scenario for a certain cluster.
pub struct DrillPlan {
    /// What goes wrong, in order.
    pub faults: Vec<Box<dyn Fault>>,
    /// What must hold.
    pub promises: Promises,
}

/// All scenarios, the most telling ones first.
pub fn all() -> impl Iterator<Item = &'static Scenario> {
    [
        power::ALL,
        processes::ALL,
        network::ALL,
        storage::ALL,
        random::ALL,
    ]
    .into_iter()
    .flatten()
}

impl Scenario {
    /// The scenario of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        all().find(|scenario| scenario.name == name)
    }

    /// What it does to this cluster.
    pub fn plan(&self, context: &DrillContext<'_>) -> DrillPlan {
        (self.plan)(context)
    }

    /// Why it cannot be run on this cluster; nothing if it can.
    ///
    /// # Errors
    /// It cannot be known.
    pub fn unfit(&self, context: &DrillContext<'_>) -> Result<Option<String>, DrillError> {
        for fault in self.plan(context).faults {
            if let Some(why) = fault.unfit(context)? {
                return Ok(Some(format!("{} cannot be made here: {why}", self.name)));
            }
        }
        Ok(None)
    }

    /// As it is recorded.
    pub fn described(&self, promises: Promises) -> Described {
        Described {
            name: self.name.to_owned(),
            about: self.about.to_owned(),
            promises,
        }
    }
}

impl DrillPlan {
    fn of(fault: impl Fault + 'static, promises: Promises) -> Self {
        Self {
            faults: vec![Box::new(fault)],
            promises,
        }
    }

    /// Lets clients wait so long, where it is said how long they may. Of hosts whose seconds mean nothing the scenario's
    /// own budget is no promise.
    pub fn allow(&mut self, budget: Option<Duration>, slowness: u32) {
        let millis = |budget: Duration| u64::try_from(budget.as_millis()).unwrap_or(u64::MAX);
        let own = self.promises.outage_ms.take();
        self.promises.outage_ms = match (own, budget) {
            (Some(_), Some(budget)) => Some(millis(budget)),
            (Some(_), None) if slowness > 1 => None,
            (own, _) => own,
        };
    }

    /// Whether the client is to write again before anything is healed.
    pub fn survives(&self) -> bool {
        self.promises.service == ServicePromise::Survives
    }
}

/// The head that has the pool is fenced, nobody else, and clients wait no longer than this after it is off.
fn active_is_fenced(context: &DrillContext<'_>, then_ms: u64) -> Promises {
    Promises {
        must_be_fenced: vec![context.active.clone()],
        ..may_be_fenced(context, then_ms)
    }
}

/// The same where it need not be fenced, because the program may be started again before.
fn may_be_fenced(context: &DrillContext<'_>, then_ms: u64) -> Promises {
    Promises {
        outage_ms: Some(off(context) + then_ms),
        may_be_fenced: vec![context.active.clone()],
        ..Promises::default()
    }
}

/// After how much silence the head that has the pool is off by the file's times, in milliseconds, as `hawser plan` says
/// it: how soon it is lost, and what holds the shot back, is the file's to choose.
fn off(context: &DrillContext<'_>) -> u64 {
    let file = context.file;
    off_by(file, file.node(context.active.as_str())).as_millis()
}

/// The same of a node; of one that nothing fences, when it is lost.
fn off_by(file: &ClusterFile, node: Option<&NodeEntry>) -> Period {
    let off = node.and_then(|node| fenced(file, node));
    off.unwrap_or_else(|| EngineTiming::of(file).declared_lost(file.nodes.len()))
}

/// After how much silence of all a cluster's heads the last of them that is to be fenced is off, by the file's times.
pub(crate) fn all_off(file: &ClusterFile) -> Duration {
    let nodes = file.nodes.iter();
    let off = nodes.map(|node| off_by(file, Some(node)).as_millis()).max();
    Duration::from_millis(off.unwrap_or_default())
}

/// Nobody is fenced, and clients wait no longer than this.
fn nobody_is_fenced(outage_ms: u64) -> Promises {
    Promises {
        outage_ms: Some(outage_ms),
        ..Promises::default()
    }
}

fn links(context: &DrillContext<'_>, role: Role) -> Vec<LinkName> {
    let links = context.file.links_with(role);
    links.map(|link| link.name.get().clone()).collect()
}

#[cfg(test)]
mod tests {
    use hawser_model::cluster_file::parse_complete;

    use super::*;

    #[test]
    fn heads_have_as_long_to_fence_each_other_as_their_file_gives_them() {
        let read = |name: &str| {
            let path = format!("../../examples/{name}/hawser.toml");
            let text = std::fs::read_to_string(&path).unwrap();
            parse_complete(&text, &path).unwrap_or_else(|e| panic!("{e}"))
        };
        // A head of the original is lost after ten seconds, and the shot at head1 is held back by ten more.
        let (lab, original) = (all_off(&read("lab")), all_off(&read("zfs-appliance")));
        assert!(lab < Duration::from_secs(12), "{lab:?}");
        assert!(original > Duration::from_secs(20), "{original:?}");
    }

    #[test]
    fn of_slow_hosts_only_a_budget_that_was_asked_for_is_a_promise() {
        let allowed = |own, budget, slowness| {
            let promises = Promises {
                outage_ms: own,
                ..Promises::default()
            };
            let mut plan = DrillPlan {
                faults: Vec::new(),
                promises,
            };
            plan.allow(budget, slowness);
            plan.promises.outage_ms
        };
        let minute = Some(Duration::from_secs(60));
        assert_eq!(allowed(Some(6000), None, 1), Some(6000));
        assert_eq!(allowed(Some(6000), None, 5), None);
        assert_eq!(allowed(Some(6000), minute, 5), Some(60_000));
        assert_eq!(allowed(None, minute, 1), None);
    }
}
