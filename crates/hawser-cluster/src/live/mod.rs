//! A cluster that can be reached: what is known of it, and what is done to it. Its nodes are behind
//! one narrow trait, so everything here is tried without a network.

mod apply;
mod asks;
mod device;
mod failures;
mod gather;
mod guard;
mod judged;
mod links;
mod operate;
mod orders;
mod power;
mod secrets;
mod settle;
mod status;
mod takeover;
mod truth;
mod undo;
mod views;

use std::collections::BTreeMap;
use std::sync::Mutex;

use hawser_model::host::CorosyncFacts;
use hawser_model::names::HostName;

use crate::host::{Answer, Order};
use crate::simulate::{Answer as Simulated, Event, SimulateError, Simulator};

pub use apply::{Applied, ApplyError, Options, Progress, apply, plan_live};
pub use asks::{FenceAsk, fence_asks};
pub use gather::{Ask, gather};
pub use judged::judged;
pub use operate::{Manner, Operated, move_pool, set_standby};
pub use orders::{LeftOrder, OrderKind, left_orders};
pub use power::{Switch, cannot_switch, switches};
pub use secrets::{SecretError, Secrets};
pub use settle::Waiting;
pub use status::status;
pub use takeover::fence_events;
pub use truth::{Stand, Startup, Truth};
pub(crate) use views::live_cib;
pub use views::{Ahead, StatusFacts, observe};

/// A node of the cluster, as a plan reaches it.
pub trait Head: Send {
    /// Has an order obeyed there.
    ///
    /// # Errors
    /// The node, the order and the words of what failed.
    fn order(&mut self, order: &Order) -> Result<Answer, HeadError>;

    /// What its Corosync says of itself, if one runs.
    ///
    /// # Errors
    /// As [`Self::order`].
    fn corosync(&mut self) -> Result<Option<CorosyncFacts>, HeadError>;
}

/// The nodes of a cluster.
pub type Heads = BTreeMap<HostName, Box<dyn Head>>;

/// A node could not do what it was told.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct HeadError(
    /// The node, the order and what was said.
    pub String,
);

/// Why something cannot be said of a cluster or done to it.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// A node could not do what it was told.
    #[error(transparent)]
    Head(#[from] HeadError),
    /// A secret cannot be had.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// A node answered something else.
    #[error("{node} answered {order} with something else")]
    Answer {
        /// The node.
        node: String,
        /// The order.
        order: &'static str,
    },
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

/// Runs `work` on every node at the same time.
pub(crate) fn on_all<T: Send>(
    heads: &mut Heads,
    work: impl Fn(&HostName, &mut dyn Head) -> Result<T, LiveError> + Sync,
) -> Result<BTreeMap<HostName, T>, LiveError> {
    let work = &work;
    std::thread::scope(|scope| {
        let started: Vec<_> = heads
            .iter_mut()
            .map(|(name, head)| (name, scope.spawn(move || work(name, head.as_mut()))))
            .collect();
        let mut done = BTreeMap::new();
        for (name, thread) in started {
            let result = thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            done.insert(name.clone(), result);
        }
        Ok(done)
    })
}

/// The way to a node.
pub(crate) fn head<'a>(
    heads: &'a mut Heads,
    node: &HostName,
) -> Result<&'a mut Box<dyn Head>, LiveError> {
    let known: Vec<String> = heads.keys().map(HostName::to_string).collect();
    heads.get_mut(node).ok_or_else(|| LiveError::NoSuch {
        kind: "node",
        found: node.to_string(),
        known,
    })
}

/// Has one node obey an order.
pub(crate) fn order(
    heads: &mut Heads,
    node: &HostName,
    order: &Order,
) -> Result<Answer, LiveError> {
    Ok(head(heads, node)?.order(order)?)
}

/// The `crm_simulate` of a node: the very version that decides there.
pub struct OnHead<'a>(Mutex<&'a mut dyn Head>);

impl<'a> OnHead<'a> {
    /// Asks on this node.
    pub fn new(head: &'a mut dyn Head) -> Self {
        Self(Mutex::new(head))
    }
}

impl Simulator for OnHead<'_> {
    fn simulate(&self, cib: &str, events: &[Event]) -> Result<Simulated, SimulateError> {
        let order = Order::Simulate {
            cib: cib.to_owned(),
            events: events.to_vec(),
        };
        let refused = |said: String| SimulateError::Refused {
            command: "crm_simulate".into(),
            said,
        };
        let mut head = self.0.lock().unwrap_or_else(|e| e.into_inner());
        match head.order(&order) {
            Ok(Answer::Simulated(answer)) => Ok(answer),
            Ok(_) => Err(refused("the node answered something else".into())),
            Err(e) => Err(refused(e.to_string())),
        }
    }
}
