//! Reading the host.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, SLOW, Size, Stop};
use hawser_kernel::{host_facts, host_setup, udp_sockets};
use hawser_model::host::HostFacts;
use hawser_model::setup::HostSetup;
use hawser_model::sockets::SocketFacts;
use serde::{Deserialize, Serialize};

use crate::node::Node;

/// Reads the host's facts, collectors included.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReadFacts;

impl Ask for ReadFacts {
    type Answer = HostFacts;
    const NAME: &'static str = "host facts";
    const SIZE: Size = Size::Recorded;
    const PATIENCE: Duration = SLOW;
}

impl Answers<Node> for ReadFacts {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<HostFacts, Declined> {
        let mut facts = host_facts();
        facts.collectors = node.observer().collectors();
        facts.storage = node.storage.read();
        Ok(facts)
    }
}

/// Reads how the host is set up, as far as that is compared with its neighbours.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReadSetup;

impl Ask for ReadSetup {
    type Answer = HostSetup;
    const NAME: &'static str = "host setup";
    const SIZE: Size = Size::Recorded;
    const PATIENCE: Duration = SLOW;
}

impl Answers<Node> for ReadSetup {
    fn answer(self, _: &mut Node, _: &Stop) -> Result<HostSetup, Declined> {
        Ok(host_setup(&host_facts().interfaces))
    }
}

/// Reads the host's UDP sockets.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReadSockets;

impl Ask for ReadSockets {
    type Answer = Vec<SocketFacts>;
    const NAME: &'static str = "sockets";
    const SIZE: Size = Size::Recorded;
}

impl Answers<Node> for ReadSockets {
    fn answer(self, _: &mut Node, _: &Stop) -> Result<Vec<SocketFacts>, Declined> {
        Ok(udp_sockets()?)
    }
}
