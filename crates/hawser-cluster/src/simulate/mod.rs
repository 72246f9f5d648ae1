//! What Pacemaker would do, asked of Pacemaker: `crm_simulate` on a copy of the CIB.
//!
//! The question and the answer are values; only the [`Simulator`] runs something. What the answer
//! means in words is made from it without asking again.

mod carrier;
mod crm_simulate;
mod directory;
mod graph;
mod prediction;
mod report;
mod scenario;
mod service;
mod story;
mod words;

pub(crate) use scenario::millis;
pub(crate) use service::{lost, services};
pub(crate) use words::{place_in_words, step_in_words};

pub use carrier::CutOff;
pub use crm_simulate::CrmSimulate;
pub use directory::{Directory, Part, Resource, Verb};
pub(crate) use directory::{parameter, part};
pub use graph::{Action, Graph};
pub use prediction::{Chapter, Prediction};
pub use report::{Executed, NodeState, Picture, Report};
pub use scenario::{Scenario, what_if};
pub use service::{Service, Services};
pub use story::{PoolMove, Story, StoryStep};
pub use words::tell;

use hawser_host::HostError;
use hawser_tool::ToolError;
use serde::{Deserialize, Serialize};

use crate::xml::XmlError;

/// Something that happens to the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// A node joins.
    NodeUp(String),
    /// A node leaves in good order.
    NodeDown(String),
    /// A node stops answering.
    NodeFail(String),
    /// The partition has quorum, or not.
    Quorum(bool),
    /// An operation that the transition contains fails: `vmpool01_stop_0@head1=1`.
    OpFails {
        /// The resource.
        resource: String,
        /// `start`, `stop`, …
        operation: String,
        /// The node.
        node: String,
    },
}

/// What `crm_simulate` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Its report of the cluster before the events happened (`--output-as=xml`); none if none did: the other one says it.
    pub before: Option<String>,
    /// Its report of what Pacemaker does (`--simulate --output-as=xml`).
    pub report: String,
    /// The transition graph (`--save-graph`).
    pub graph: String,
    /// The CIB afterwards (`--save-output`).
    pub cib_after: String,
}

impl Answer {
    /// What its reports say.
    ///
    /// # Errors
    /// One is no XML, or does not say what the cluster is, what is done, or what it is afterwards.
    pub fn read(&self) -> Result<Report, SimulateError> {
        Report::parse(self.before.as_deref(), &self.report)
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum SimulateError {
    /// The program gives no answer.
    #[error("{command}: {}", source.reason())]
    Tool {
        /// The command line.
        command: String,
        /// Why.
        source: ToolError,
    },
    /// Its files cannot be made or read.
    #[error("{command}: {source}")]
    Run {
        /// The command line.
        command: String,
        /// Why.
        source: std::io::Error,
    },
    /// Another host was to run it.
    #[error(transparent)]
    Host(#[from] HostError),
    /// It ran and refused.
    #[error("{command} said: {said}")]
    Refused {
        /// The command line.
        command: String,
        /// Its own words.
        said: String,
    },
    /// It runs on another host, and nothing has come from there.
    #[error("crm_simulate on {host} has not answered within {seconds} s")]
    Silent {
        /// The host.
        host: String,
        /// How long it was waited for, in seconds.
        seconds: u32,
    },
    /// Its answer lacks something that every answer has.
    #[error("crm_simulate's report has no <{part}>")]
    Incomplete {
        /// The element.
        part: &'static str,
    },
    /// Its answer makes no sense.
    #[error(transparent)]
    Xml(#[from] XmlError),
}

/// Whoever can ask `crm_simulate`: this machine, or a node through its agent.
pub trait Simulator {
    /// What happens to the cluster of `cib` when `events` come, one after the other, and Pacemaker
    /// reacts.
    fn simulate(&self, cib: &str, events: &[Event]) -> Result<Answer, SimulateError>;
}

impl Event {
    /// Whether it is the outcome of something that Pacemaker does.
    fn is_failure(&self) -> bool {
        matches!(self, Self::OpFails { .. })
    }

    /// The argument that tells `crm_simulate` of it.
    fn argument(&self) -> String {
        match self {
            Self::NodeUp(node) => format!("--node-up={node}"),
            Self::NodeDown(node) => format!("--node-down={node}"),
            Self::NodeFail(node) => format!("--node-fail={node}"),
            Self::Quorum(has) => format!("--quorum={}", u8::from(*has)),
            Self::OpFails {
                resource,
                operation,
                node,
            } => format!("--op-fail={resource}_{operation}_0@{node}=1"),
        }
    }
}
