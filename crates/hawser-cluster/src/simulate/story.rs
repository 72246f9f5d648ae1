//! What happens, step by step, in terms of pools and nodes instead of resources and operations.

use std::collections::{BTreeMap, BTreeSet};

use super::directory::{Directory, Part, Verb};
use super::report::{Executed, NodeState, Report};

/// What happens and where everything is afterwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Story {
    /// What happens, in order.
    pub steps: Vec<StoryStep>,
    /// Each pool before and after.
    pub pools: BTreeMap<String, PoolMove>,
    /// The nodes afterwards.
    pub nodes: BTreeMap<String, NodeState>,
}

/// A step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoryStep {
    /// A node is fenced.
    Fence {
        /// The node.
        node: String,
        /// `off`, `reboot`.
        operation: String,
        /// Pacemaker's reason.
        reason: Option<String>,
        /// How long fencing is delayed by, if it is.
        delay: Option<String>,
    },
    /// A pool's storage starts or stops.
    Storage {
        /// The pool.
        pool: String,
        /// What the storage is.
        verb: Verb,
        /// Start, or stop.
        start: bool,
        /// Where.
        node: String,
    },
    /// A pool is offered, or no longer.
    Exports {
        /// The pool.
        pool: String,
        /// Start, or stop.
        start: bool,
        /// Where.
        node: String,
    },
    /// A pool's addresses appear or disappear.
    Addresses {
        /// The pool.
        pool: String,
        /// The addresses.
        addresses: Vec<String>,
        /// Start, or stop.
        start: bool,
        /// Where.
        node: String,
    },
    /// A resource that belongs to no pool starts or stops.
    Other {
        /// The resource.
        resource: String,
        /// `start`, `stop`, …
        operation: String,
        /// Where.
        node: String,
    },
}

/// A pool before and after.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolMove {
    /// The node its storage was on.
    pub before: Option<String>,
    /// The node its storage is on.
    pub after: Option<String>,
    /// Parts of it that do not run afterwards.
    pub missing: BTreeSet<String>,
    /// Parts of it that are stopped and started again on the same node.
    pub restarted: BTreeSet<String>,
    /// Parts of it that Pacemaker will not touch.
    pub blocked: BTreeSet<String>,
}

impl Story {
    /// The story of a report about a cluster with these resources.
    pub fn of(report: &Report, directory: &Directory) -> Self {
        Self::between(report, directory, directory)
    }

    /// The story of a cluster whose resources change in it: what stops is as it was, what starts as it is to be.
    pub fn between(report: &Report, before: &Directory, directory: &Directory) -> Self {
        let mut steps: Vec<StoryStep> = Vec::new();
        for executed in &report.executed {
            let stops = matches!(executed, Executed::Resource { resource, operation, .. }
                if operation == "stop" && before.resources.contains_key(resource));
            let Some(step) = step(executed, if stops { before } else { directory }) else {
                continue;
            };
            match (steps.last_mut(), step) {
                // Addresses of one pool come and go side by side: one step.
                (
                    Some(StoryStep::Addresses {
                        pool,
                        addresses,
                        start,
                        node,
                    }),
                    StoryStep::Addresses {
                        pool: p,
                        addresses: more,
                        start: s,
                        node: n,
                    },
                ) if *pool == p && *start == s && *node == n => addresses.extend(more),
                // So do several ways of offering it.
                (Some(last @ StoryStep::Exports { .. }), step) if *last == step => {}
                (_, step) => steps.push(step),
            }
        }
        let pools = directory.pools().map(|pool| {
            let parts: Vec<&str> = directory.of_pool(pool).map(|(id, _)| id).collect();
            let of = |set: &BTreeSet<String>| -> BTreeSet<String> {
                parts
                    .iter()
                    .filter(|id| set.contains(**id))
                    .map(|id| (*id).to_owned())
                    .collect()
            };
            let after = report.after.runs_on(pool).map(str::to_owned);
            // Hooks that were taken out are not missed, and what waits for a hook is told by itself.
            let hook = |id: &str| {
                directory
                    .resources
                    .get(id)
                    .is_some_and(|it| it.part.is_hook())
            };
            let missing = parts
                .iter()
                .filter(|id| !hook(id))
                .filter(|id| {
                    report.after.runs_on(id).map(str::to_owned) != after || after.is_none()
                })
                .map(|id| (*id).to_owned());
            let restarted = parts.iter().filter(|id| {
                let did = |what: &str| {
                    report.executed.iter().any(|executed| {
                        matches!(executed, Executed::Resource { resource, operation, node }
                            if resource == *id && operation == what && Some(node) == after.as_ref())
                    })
                };
                did("stop") && did("start")
            });
            let place = PoolMove {
                restarted: restarted.map(|id| (*id).to_owned()).collect(),
                before: report.before.runs_on(pool).map(str::to_owned),
                missing: missing.collect(),
                blocked: of(&report.after.blocked),
                after,
            };
            (pool.to_owned(), place)
        });
        Self {
            steps,
            pools: pools.collect(),
            nodes: report.after.nodes.clone(),
        }
    }

    /// This story and what follows when Pacemaker decides again, as one.
    pub(super) fn then(mut self, later: Self) -> Self {
        self.steps.extend(later.steps);
        for (pool, place) in later.pools {
            let whole = self.pools.entry(pool).or_default();
            let before = whole.before.take();
            *whole = PoolMove { before, ..place };
        }
        self.nodes = later.nodes;
        self
    }

    /// Whether a pool that ran on this node runs nowhere afterwards.
    pub(super) fn loses_a_pool_of(&self, node: &str) -> bool {
        let lost =
            |place: &PoolMove| place.before.as_deref() == Some(node) && place.after.is_none();
        self.pools.values().any(lost)
    }
}

fn step(executed: &Executed, directory: &Directory) -> Option<StoryStep> {
    let (id, operation, node) = match executed {
        Executed::Fence {
            node,
            operation,
            reason,
        } => {
            // Only a shot is held back, not the letting in again.
            let delay = directory
                .delays
                .get(node)
                .filter(|_| operation != "on")
                .cloned();
            let (node, operation, reason) = (node.clone(), operation.clone(), reason.clone());
            return Some(StoryStep::Fence {
                node,
                operation,
                reason,
                delay,
            });
        }
        Executed::Resource {
            resource,
            operation,
            node,
        } => (resource, operation, node.clone()),
    };
    let start = match operation.as_str() {
        "start" => true,
        "stop" => false,
        // Pacemaker's own housekeeping: it forgets a resource that is gone, and ends a monitor that is to be another.
        "delete" | "cancel" => return None,
        _ => {
            let (resource, operation) = (id.clone(), operation.clone());
            return Some(StoryStep::Other {
                resource,
                operation,
                node,
            });
        }
    };
    let resource = directory.resources.get(id)?;
    match (&resource.part, resource.pool.clone()) {
        (Part::Storage(verb), Some(pool)) => Some(StoryStep::Storage {
            pool,
            verb: *verb,
            start,
            node,
        }),
        (Part::Exports, Some(pool)) => Some(StoryStep::Exports { pool, start, node }),
        (Part::Address(address), Some(pool)) => Some(StoryStep::Addresses {
            pool,
            addresses: vec![address.clone()],
            start,
            node,
        }),
        // Where the fencer happens to watch a device from is of no interest to anybody, nor is who looks at a port.
        (Part::Fence | Part::Watch, _) => None,
        _ => Some(StoryStep::Other {
            resource: id.clone(),
            operation: operation.clone(),
            node,
        }),
    }
}
