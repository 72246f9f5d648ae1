//! Multicast control: what a host hears of it.

use std::net::IpAddr;
use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, SOON, Size, Stop};
use hawser_model::names::InterfaceName;
use hawser_model::probe::MulticastHeard;
use hawser_model::units::Nanos;
use hawser_wire::multicast::MulticastListener;
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
        let listener = listener.ok_or("no listener for multicast control is open")?;
        Ok(listener.heard(span(self.wait)))
    }
}
