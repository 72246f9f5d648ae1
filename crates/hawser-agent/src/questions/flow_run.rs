//! Sending flows, with an eye on the cluster.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, SOON, Size, Stop};
use hawser_model::traffic::{FlowId, SenderReport};
use hawser_model::units::Nanos;
use serde::{Deserialize, Serialize};

use super::span;
use crate::node::{ClusterWatch, Node, Watched};

/// Whether a sender minds the cluster on its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Care {
    /// Stop when Corosync reports trouble: a live cluster.
    Gentle,
    /// Go on: a maintenance window.
    None,
}

/// How a flow was sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sent {
    /// The sender's report; of what was sent until then when it stopped early.
    pub report: SenderReport,
    /// Why it stopped early; absent when it ran to its end.
    pub stopped: Option<StopReason>,
}

/// Why a flow ended early.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// The coordinator asked for it.
    Asked,
    /// Corosync on this host reported trouble: the statistic that moved.
    Cluster(String),
}

/// Sends the flow of an open sender to its end, or until it is stopped.
#[derive(Debug, Serialize, Deserialize)]
pub struct RunSender {
    /// The flow.
    pub flow: FlowId,
    /// The receiver's port.
    pub peer_port: u16,
    /// Whether to stop when a Corosync on this host reports trouble.
    pub care: Care,
    /// How long the flow lasts.
    pub lasts: Nanos,
}

impl Ask for RunSender {
    type Answer = Sent;
    const NAME: &'static str = "run sender";
    const SIZE: Size = Size::Recorded;

    fn patience(&self) -> Duration {
        span(self.lasts) + SOON
    }
}

impl Answers<Node> for RunSender {
    fn answer(self, node: &mut Node, stop: &Stop) -> Result<Sent, Declined> {
        node.flows
            .run_sender(self.flow, self.peer_port, self.care, stop)
    }
}

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
