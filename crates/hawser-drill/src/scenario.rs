//! What is done to a cluster, and what must hold meanwhile.

use std::time::Duration;

use hawser_model::drill::{Promises, Scenario as Described, ServicePromise};

use crate::fault::{Fault, PowerCut, Switchover};
use crate::stage::Stage;

/// A scenario of the list.
pub struct Scenario {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub about: &'static str,
    /// How the cluster is expected to answer, so that it is known what is waited for.
    pub reaction: Reaction,
    plan: fn(&Stage<'_>) -> Plan,
}

/// How the cluster answers a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// The pool goes to another head.
    Moves,
    /// Everything stays where it is, for so long.
    Stays(Duration),
}

/// A scenario for a certain cluster.
pub struct Plan {
    /// What goes wrong, in order.
    pub faults: Vec<Box<dyn Fault>>,
    /// What must hold.
    pub promises: Promises,
}

/// All scenarios, the most telling ones first.
pub const ALL: [Scenario; 2] = [
    Scenario {
        name: "power-cut",
        about: "the head that has the pool loses its power",
        reaction: Reaction::Moves,
        plan: |stage| Plan {
            faults: vec![Box::new(PowerCut { head: stage.active.clone() })],
            promises: Promises {
                outage_ms: Some(6000),
                may_be_fenced: vec![stage.active.clone()],
                must_be_fenced: vec![stage.active.clone()],
                ..Promises::default()
            },
        },
    },
    Scenario {
        name: "switchover",
        about: "the head that has the pool is put in standby, as for maintenance",
        reaction: Reaction::Moves,
        plan: |stage| Plan {
            faults: vec![Box::new(Switchover { head: stage.active.clone() })],
            promises: Promises {
                outage_ms: Some(3000),
                ..Promises::default()
            },
        },
    },
];

impl Scenario {
    /// The scenario of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|scenario| scenario.name == name)
    }

    /// What it does to this cluster.
    pub fn plan(&self, stage: &Stage<'_>) -> Plan {
        (self.plan)(stage)
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

impl Plan {
    /// Whether the client is to write again before anything is healed.
    pub fn survives(&self) -> bool {
        self.promises.service == ServicePromise::Survives
    }
}
