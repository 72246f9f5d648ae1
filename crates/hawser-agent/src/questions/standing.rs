//! Reading the host as it stands, and nothing that costs it anything.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use hawser_host::{Answers, Ask, Declined, Size, Stop};
use hawser_kernel::{clock, host_facts, udp_sockets};
use hawser_model::clock::ClockFacts;
use hawser_model::drops::DropTotals;
use hawser_model::host::{HostFacts, HostWindow, PortCounts};
use hawser_model::names::InterfaceName;
use hawser_model::served::{SERVING, SentSegments};
use hawser_model::sockets::SocketFacts;
use serde::{Deserialize, Serialize};

use crate::node::Node;

/// Reads what the causes need that judge a host as it stands. Unlike [`super::ReadFacts`] it does not look which
/// collectors run, which loads programs into the kernel.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct ReadStanding {
    /// What the kernel drops too: a program in the kernel counts it from the first time on.
    pub drops: bool,
    /// The ports at which its pools offer storage, beside those that iSCSI and NFS have.
    pub ports: BTreeSet<u16>,
}

/// A host as it stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// Its facts, without its collectors.
    pub facts: HostFacts,
    /// Its UDP sockets; absent when they could not be read.
    pub sockets: Option<Vec<SocketFacts>>,
    /// What it counted in the last minute; absent the first time it is asked.
    pub counted: Option<HostWindow>,
    /// What its kernel dropped since the agent was first asked; absent before.
    pub drops: Option<DropTotals>,
    /// What its ports counted of lost packets, since their drivers began.
    pub ports: BTreeMap<InterfaceName, PortCounts>,
    /// What it sent to clients of its storage, by its address at which they are served, since the agent was first asked.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub served: BTreeMap<IpAddr, SentSegments>,
    /// What its kernel knows of its clock; absent when it does not let that be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockFacts>,
}

impl Ask for ReadStanding {
    type Answer = Standing;
    const NAME: &'static str = "the host as it stands";
    const SIZE: Size = Size::Recorded;
}

impl Answers<Node> for ReadStanding {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<Standing, Declined> {
        let ports = self.ports.into_iter().chain(SERVING).collect();
        let tallied = node.tally.read(self.drops, &ports);
        Ok(Standing {
            facts: HostFacts {
                storage: node.storage.read(),
                certificates: node.certificates.read(),
                ..host_facts()
            },
            sockets: udp_sockets().ok(),
            counted: tallied.window,
            drops: tallied.drops,
            ports: tallied.ports,
            served: tallied.served,
            clock: clock().ok(),
        })
    }
}
