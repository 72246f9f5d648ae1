//! The agents of a cluster as the nodes that a plan is applied to.

use hawser_agent::Agent;
use hawser_cluster::host::{Answer, Order};
use hawser_cluster::live::{Head, HeadError, Heads};
use hawser_model::host::CorosyncFacts;

use crate::check::Agents;

/// An agent as a node of the cluster.
struct ByAgent(Agent);

impl Head for ByAgent {
    fn order(&mut self, order: &Order) -> Result<Answer, HeadError> {
        self.0.order(order).map_err(|e| HeadError(e.to_string()))
    }

    fn corosync(&mut self) -> Result<Option<CorosyncFacts>, HeadError> {
        self.0.corosync().map_err(|e| HeadError(e.to_string()))
    }
}

/// The nodes behind these agents.
pub fn heads(agents: Agents) -> Heads {
    let boxed = |agent| -> Box<dyn Head> { Box::new(ByAgent(agent)) };
    agents
        .into_iter()
        .map(|(name, agent)| (name, boxed(agent)))
        .collect()
}
