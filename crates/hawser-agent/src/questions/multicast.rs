//! Multicast control: what a host hears of it, and whether a switch filters.

use std::net::IpAddr;
use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, SOON, Size, Stop};
use hawser_model::names::InterfaceName;
use hawser_model::probe::MulticastHeard;
use hawser_model::units::{Nanos, Packets};
use hawser_wire::multicast::{MulticastListener, send_unjoined};
use serde::{Deserialize, Serialize};

use super::span;
use crate::node::Node;

/// Starts to listen on an interface.
#[derive(Debug, Serialize, Deserialize)]
pub struct ListenMulticast {
    /// The interface.
    pub interface: InterfaceName,
    /// A group that nobody joins.
    pub unjoined: IpAddr,
}

impl Ask for ListenMulticast {
    type Answer = ();
    const NAME: &'static str = "listen to multicast control";
}

impl Answers<Node> for ListenMulticast {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<(), Declined> {
        let key = node.session()?.run_key;
        let listener = MulticastListener::open(&self.interface, self.unjoined, key)?;
        node.multicast = Some(listener);
        Ok(())
    }
}

/// Sends packets to a group that nobody joins. Answers how many.
#[derive(Debug, Serialize, Deserialize)]
pub struct SendUnjoined {
    /// The host's own address on the link.
    pub source: IpAddr,
    /// The group.
    pub group: IpAddr,
}

impl Ask for SendUnjoined {
    type Answer = Packets;
    const NAME: &'static str = "send to a group nobody joins";
}

impl Answers<Node> for SendUnjoined {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<Packets, Declined> {
        let key = node.session()?.run_key;
        Ok(send_unjoined(self.source, self.group, key)?)
    }
}

/// Ends listening, at the first query or after so long: what was heard.
#[derive(Debug, Serialize, Deserialize)]
pub struct HearMulticast {
    /// How long to listen on.
    pub wait: Nanos,
}

impl Ask for HearMulticast {
    type Answer = MulticastHeard;
    const NAME: &'static str = "multicast control heard";
    const SIZE: Size = Size::Large;

    fn patience(&self) -> Duration {
        span(self.wait) + SOON
    }
}

impl Answers<Node> for HearMulticast {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<MulticastHeard, Declined> {
        let listener = node.multicast.take();
        let listener = listener.ok_or("nobody listens to multicast control")?;
        Ok(listener.heard(span(self.wait)))
    }
}
