//! What is read of a host each second: nothing that starts a program or looks through all processes.

use std::collections::BTreeMap;

use hawser_host::{Answers, Ask, Declined, Size, Stop};
use hawser_model::host::Interface;
use hawser_model::names::InterfaceName;
use hawser_model::port_traffic::PortTraffic;
use hawser_model::storage::StoragePulse;
use serde::{Deserialize, Serialize};

use crate::node::Node;
use crate::pulse;

/// Reads what changes fast: the interfaces, whether Corosync runs, and whether it or Pacemaker has something to say.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReadPulse {
    /// The process that was Corosync's the last time.
    pub corosync: Option<u32>,
    /// The length of Pacemaker's log the last time.
    pub pacemaker_log: Option<u64>,
}

/// A host at this second.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pulse {
    /// Its interfaces; absent when the kernel did not say.
    pub interfaces: Option<BTreeMap<InterfaceName, Interface>>,
    /// What they have carried until now; absent when that is not known.
    #[serde(default)]
    pub counts: Option<PortTraffic>,
    /// The process of its Corosync; absent when none runs.
    pub corosync: Option<u32>,
    /// The length of Corosync's log, in bytes; absent when there is none. It grows when something happens.
    pub corosync_log: Option<u64>,
    /// How many times Corosync has newly lost pings of its links, of those that [`ReadHeartbeats`](super::ReadHeartbeats) told.
    #[serde(default)]
    pub pings_lost: u64,
    /// The length of Pacemaker's log; absent when there is none.
    pub pacemaker_log: Option<u64>,
    /// Whether what was added to that says that the cluster has changed.
    pub pacemaker_changed: bool,
    /// When Pacemaker's alert woke the watch of this head last, in microseconds since 1970 UTC; absent where nobody listens.
    #[serde(default)]
    pub woken: Option<u64>,
    /// Whether disks and pools are well.
    #[serde(default)]
    pub storage: StoragePulse,
}

impl Ask for ReadPulse {
    type Answer = Pulse;
    const NAME: &'static str = "the host's pulse";
    const SIZE: Size = Size::Recorded;
}

impl Answers<Node> for ReadPulse {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<Pulse, Declined> {
        Ok(pulse::read(&self, node))
    }
}
