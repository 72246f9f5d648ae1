//! A cluster that can be reached: what is known of it, and what is done to it. Its nodes are behind
//! [`Host`], so everything here is tried without a network.

mod apply;
mod device;
mod effects;
mod failures;
mod fence_questions;
mod gather;
mod guard;
mod judged;
mod links;
mod operate;
mod orders;
mod power;
mod restart;
mod secrets;
mod settle;
mod status;
mod takeover;
mod takers;
mod truth;
mod undo;
mod views;

use std::sync::Mutex;

use hawser_host::{Ask, Host, HostError, Hosts, on_all};
use hawser_model::names::HostName;

use crate::host::questions::Simulate;
use crate::simulate::{Answer as Simulated, Event, SimulateError, Simulator};

pub use apply::{Applied, ApplyError, Options, apply, plan_live};
pub use fence_questions::{FenceAsk, fence_asks};
pub use gather::{Slow, gather};
pub use judged::{JUDGE_PATIENTLY, JUDGE_PROMPTLY, judged};
pub use links::{grew, links_said};
pub use operate::{Manner, Operated, move_pool, set_standby};
pub use orders::{LeftOrder, OrderKind, left_orders};
pub use power::{Switch, cannot_switch, switches};
pub use restart::{cannot_restart, restart_engine};
pub use secrets::{SecretError, Secrets};
pub use settle::Waiting;
pub use status::{Judged, Mark, Said, Sign, judgement, status};
pub use truth::{Stand, Startup, Truth, has_quorum};
pub(crate) use views::live_cib;
pub use views::{Ahead, StatusFacts, observe, observe_again, observe_alone};

/// Why something cannot be said of a cluster or done to it.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// A node could not do what it was told.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A secret cannot be had.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// What a node said cannot be read.
    #[error(transparent)]
    Xml(#[from] crate::xml::XmlError),
    /// Pacemaker's simulator could not be asked.
    #[error(transparent)]
    Simulate(#[from] SimulateError),
    /// Pacemaker runs on none of the nodes.
    #[error("the cluster does not run on any node that was reached; `hawser apply` starts it")]
    NotRunning,
    /// Something is not there.
    #[error("there is no {kind} \"{found}\"; {kind}s: {}", known.join(", "))]
    NoSuch {
        /// `node`, `pool`.
        kind: &'static str,
        /// The name.
        found: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// What was ordered did not come about.
    #[error("{0}")]
    Failed(String),
}

/// The way to a node.
pub(crate) fn head<'a>(
    heads: &'a mut Hosts,
    node: &HostName,
) -> Result<&'a mut Box<dyn Host>, LiveError> {
    let known: Vec<String> = heads.keys().map(HostName::to_string).collect();
    heads.get_mut(node).ok_or_else(|| LiveError::NoSuch {
        kind: "node",
        found: node.to_string(),
        known,
    })
}

/// Asks one node.
pub(crate) fn ask<A: Ask>(
    heads: &mut Hosts,
    node: &HostName,
    question: &A,
) -> Result<A::Answer, LiveError> {
    Ok(head(heads, node)?.ask(question)?)
}

/// Asks these nodes, all at the same time, for something that has no answer.
pub(crate) fn tell<A: Ask<Answer = ()> + Sync>(
    heads: &mut Hosts,
    nodes: &[HostName],
    question: &A,
) -> Result<(), LiveError> {
    on_all(heads, |name, head| match nodes.contains(name) {
        true => head.ask(question),
        false => Ok(()),
    })?;
    Ok(())
}

/// The `crm_simulate` of a node: the very version that decides there.
pub struct OnHead<'a>(Mutex<&'a mut dyn Host>);

impl<'a> OnHead<'a> {
    /// Asks on this node.
    pub fn new(head: &'a mut dyn Host) -> Self {
        Self(Mutex::new(head))
    }
}

impl Simulator for OnHead<'_> {
    fn simulate(&self, cib: &str, events: &[Event]) -> Result<Simulated, SimulateError> {
        let question = Simulate {
            cib: cib.to_owned(),
            events: events.to_vec(),
        };
        let mut head = self.0.lock().unwrap_or_else(|e| e.into_inner());
        Ok(head.ask(&question)?)
    }
}
