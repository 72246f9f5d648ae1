//! The case file: every fact of one run, enough to derive its account and findings again.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::client::ClientsRun;
use crate::fanout::FanoutRun;
use crate::host::{HostFacts, HostWindow};
use crate::ladder::LadderRun;
use crate::names::{HostName, LinkName};
use crate::probe::{AddressClaim, FramesHeard, HelloHeard, MulticastHeard, PathEcho, PathMtu};
use crate::setup::HostSetup;
use crate::sockets::SocketFacts;
use crate::topology::Topology;
use crate::traffic::{FlowSpec, ReceiverReport, SenderReport};
use crate::trial::Tuning;
use crate::units::Bytes;

/// The format this version writes and reads.
pub const CASE_FORMAT: &str = "hawser-case/1";

/// The block whose frames are told where no other is named: what NFS over UDP and many middlewares send at once.
pub const BLOCK: Bytes = Bytes(8 << 10);

/// The facts of one run: of `hawser check`, of `hawser ladder`, of `hawser compare`, or of `hawser
/// tune`, which begins with a check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Case {
    /// `hawser-case/1`.
    pub format: String,
    /// The version of Hawser that recorded it.
    pub hawser: String,
    /// When the run began, seconds since 1970 UTC.
    pub recorded: u64,
    /// The command that made it, as a shell's line; absent where an earlier build made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Gentle or full.
    pub intensity: Intensity,
    /// What was checked.
    pub topology: Topology,
    /// Each host as it stood at the start.
    pub hosts: BTreeMap<HostName, HostFacts>,
    /// How each host is set up beside its facts, where it said so.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub setups: BTreeMap<HostName, HostSetup>,
    /// Layer-2 hellos heard; absent when the probe could not run on some host.
    pub hellos: Option<Vec<HelloHeard>>,
    /// Who answered for a host's own addresses on its links; absent when some host could not ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address_claims: Option<Vec<AddressClaim>>,
    /// Hosts of the cluster that did not answer; nothing to or from them was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<Absent>,
    /// What was measured, in order.
    pub measurements: Vec<Measurement>,
    /// Other programs' UDP sockets on each host at the start.
    pub sockets: BTreeMap<HostName, Vec<SocketFacts>>,
    /// Echoes of full size between hosts, of a watch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub echoes: Vec<PathEcho>,
    /// What each host counted by itself in the last minute, of a watch: nothing was measured meanwhile.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counted: BTreeMap<HostName, HostWindow>,
    /// Why the run ended before it was complete; absent when it was complete.
    pub stopped: Option<Stopped>,
    /// The fence devices, each asked whether it would fence, where the cluster file names any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fencing: Vec<FenceAnswer>,
    /// What heads would do at their next boot with pools of the cluster file, outside of the cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub boots: Vec<BootDanger>,
    /// A block size that is told of beside 8 KiB; absent when none was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<Bytes>,
    /// The hosts were compared with each other, and nothing was measured.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub compared: bool,
    /// The rungs, when the run was a ladder; there are no measurements then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ladder: Option<LadderRun>,
    /// The receivers of one flow on a host, when that is what was checked; there are no measurements
    /// then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fanout: Option<FanoutRun>,
    /// The clients of the storage, when they are what was checked; there are no measurements then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<ClientsRun>,
    /// What was tried against what was found, of a `hawser tune`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tuning: Option<Tuning>,
}

impl Case {
    /// A run of this version that has measured nothing yet.
    pub fn new(
        recorded: u64,
        intensity: Intensity,
        topology: Topology,
        hosts: BTreeMap<HostName, HostFacts>,
    ) -> Self {
        Self {
            format: CASE_FORMAT.to_owned(),
            hawser: env!("CARGO_PKG_VERSION").to_owned(),
            recorded,
            command: None,
            intensity,
            topology,
            hosts,
            setups: BTreeMap::new(),
            hellos: None,
            address_claims: None,
            absent: Vec::new(),
            measurements: Vec::new(),
            sockets: BTreeMap::new(),
            echoes: Vec::new(),
            counted: BTreeMap::new(),
            stopped: None,
            fencing: Vec::new(),
            boots: Vec::new(),
            block: None,
            compared: false,
            ladder: None,
            fanout: None,
            clients: None,
            tuning: None,
        }
    }
}

/// A host that took no part in a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Absent {
    /// The host.
    pub host: HostName,
    /// Why: how it was not reached, or what its agent did not answer.
    pub reason: String,
}

/// How hard a check may press.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Intensity {
    /// A stated small share of the link; safe beside a live cluster.
    Gentle,
    /// As fast as it goes; for a maintenance window.
    Full,
}

/// Why a check ended early.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stopped {
    /// The host that reported it.
    pub host: HostName,
    /// The Corosync statistic that moved, or the error.
    pub what: String,
}

/// A fence device that was asked for its status, before the day it is needed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FenceAnswer {
    /// Its name.
    pub device: String,
    /// The nodes that it switches off.
    pub nodes: Vec<HostName>,
    /// The host that asked; absent when nobody could, for want of the secret.
    pub asked_from: Option<HostName>,
    /// What kept it from answering, in its agent's words; absent when it answered.
    pub failure: Option<String>,
}

/// What a head would do at its next boot with a pool of the cluster file, outside of the cluster: the pool is then on two
/// heads, or clients are offered what is not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BootDanger {
    /// The head.
    pub host: HostName,
    /// The file or unit in which it stands; absent when the head did not say what it would do.
    pub file: Option<String>,
    /// What would happen.
    pub what: String,
    /// What ends it.
    pub remedy: String,
    /// Whether it happens by itself, or lets another mistake happen unhindered.
    pub by_itself: bool,
}

/// One direction of one link between two hosts: its phases, measured one after the other.
///
/// No host takes part in two measurements at a time, so a host's counters in a window
/// belong to this flow or to traffic that is not Hawser's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measurement {
    /// The sending host.
    pub from: HostName,
    /// The receiving host.
    pub to: HostName,
    /// The link.
    pub link: LinkName,
    /// The path-MTU search.
    pub path_mtu: Option<PathMtu>,
    /// The same in the other family, where both interfaces have addresses of one network in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_mtu_other: Option<PathMtu>,
    /// Both hosts while the other family was tried again, since nothing of it had arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_family: Option<BothWindows>,
    /// Layer 2 by itself, where nearly nothing of the flows arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames: Option<FramesHeard>,
    /// The flows.
    pub phases: Vec<Phase>,
    /// What was heard of multicast control; absent when no multicast was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multicast: Option<MulticastHeard>,
    /// Flows that were measured again, because the measuring host itself was late: evidence
    /// of that, and no part of the account.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set_aside: Vec<Phase>,
    /// What could not be measured and why (a socket could not be opened, …).
    pub problems: Vec<String>,
}

/// The windows of both hosts of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BothWindows {
    /// The sending host's.
    pub sender: HostWindow,
    /// The receiving host's.
    pub receiver: HostWindow,
}

/// What a phase is for.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseKind {
    /// Small, evenly paced, echoed: round trip and jitter, as a heartbeat sees the path.
    Heartbeat,
    /// Full-size packets in bursts at the gentle or full rate: the main account.
    Bulk,
    /// Datagrams larger than the MTU, so that they are fragmented and reassembled.
    Fragmented,
    /// The same as bulk, to a multicast group.
    Multicast,
    /// One TCP stream as fast as it goes: whether it stays as fast as it began.
    Stream,
}

impl PhaseKind {
    /// The kind in words.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Heartbeat => "heartbeat",
            Self::Bulk => "bulk",
            Self::Fragmented => "fragmented",
            Self::Multicast => "multicast",
            Self::Stream => "stream",
        }
    }
}

/// One flow and what both hosts' counters did while it ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Phase {
    /// What it is for.
    pub kind: PhaseKind,
    /// The flow as asked for.
    pub spec: FlowSpec,
    /// The receiver's port.
    pub port: u16,
    /// The sender's report.
    pub sender: SenderReport,
    /// The receiver's report.
    pub receiver: ReceiverReport,
    /// The sending host's window.
    pub sender_window: HostWindow,
    /// The receiving host's window, opened before and closed after the flow.
    pub receiver_window: HostWindow,
}
