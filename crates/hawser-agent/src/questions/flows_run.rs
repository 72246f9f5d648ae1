//! Several flows at once, and the cluster while another host sends.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, SOON, Size, Stop};
use hawser_model::traffic::{FlowId, SenderReport};
use hawser_model::units::Nanos;
use serde::{Deserialize, Serialize};

use super::span;
use crate::node::{ClusterWatch, Node, Watched};

/// Sends the flows of several open senders at once, to their ends. Answers in their order.
#[derive(Debug, Serialize, Deserialize)]
pub struct RunSenders {
    /// Each flow, with its receiver's port.
    pub flows: Vec<(FlowId, u16)>,
    /// How long the longest lasts.
    pub lasts: Nanos,
}

impl Ask for RunSenders {
    type Answer = Vec<SenderReport>;
    const NAME: &'static str = "run senders";
    const SIZE: Size = Size::Recorded;

    fn patience(&self) -> Duration {
        span(self.lasts) + SOON
    }
}

impl Answers<Node> for RunSenders {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<Vec<SenderReport>, Declined> {
        node.flows.run_senders(&self.flows)
    }
}

/// Watches the host's Corosync while another host sends, until it is stopped. Answers the statistic that moved; nothing
/// when none did.
#[derive(Debug, Serialize, Deserialize)]
pub struct WatchCluster {
    /// How long to watch.
    pub at_most: Nanos,
}

impl Ask for WatchCluster {
    type Answer = Option<String>;
    const NAME: &'static str = "watch cluster";

    fn patience(&self) -> Duration {
        span(self.at_most) + SOON
    }
}

impl Answers<Node> for WatchCluster {
    fn answer(self, _: &mut Node, stop: &Stop) -> Result<Option<String>, Declined> {
        let Some(watch) = ClusterWatch::start()? else {
            return Ok(None);
        };
        Ok(match watch.watch(stop, span(self.at_most)) {
            Watched::Trouble(what) => Some(what),
            Watched::Quiet(_) => None,
        })
    }
}
