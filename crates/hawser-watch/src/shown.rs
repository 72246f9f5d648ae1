//! What a watch shows: of the one head that it is on, or of all heads that it asks. Values, made by [`resident`](crate::resident)
//! and [`whole`](crate::whole).

use std::collections::BTreeMap;

use hawser_model::clock::ClockFacts;
use hawser_model::drops::{DropRecord, DropTotals};
use hawser_model::host::{CertificateFacts, Interface, PortCounts, SecretFacts};
use hawser_model::names::{HostName, InterfaceName, LinkName};
use hawser_model::output::cluster::{ClusterStatus, NodeCondition};
use hawser_model::output::live::LiveRunning;
use hawser_model::output::watch::{Alarm, WatchReading};
use hawser_model::port_traffic::PortRates;
use hawser_model::served::SentSegments;
use hawser_model::storage::StorageFacts;
use serde::{Deserialize, Serialize};

use crate::probed::Probed;

/// What is shown.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Shown {
    /// The reading, with the alarms that stand.
    pub reading: WatchReading,
    /// Alarms are told to somebody, as far as the last message shows; false too for what does not tell by itself.
    pub tells: bool,
    /// The troubles that stand, each by itself: those too that are part of another one's alarm.
    pub troubles: Vec<Alarm>,
    /// All heads were asked; else one was, by itself.
    pub whole: bool,
    /// What each head that was asked and answered has of itself.
    pub heads: BTreeMap<HostName, ShownHead>,
    /// Sightings that were not kept, since there were too many at once.
    pub not_kept: u64,
    /// What each node of the cluster is, as the last view of it had it.
    pub members: BTreeMap<HostName, NodeCondition>,
    /// The last judgement of the cluster; absent when there was none yet.
    pub status: Option<ClusterStatus>,
    /// What is happening now.
    pub running: Option<LiveRunning>,
    /// When the heads were asked for that, in seconds since 1970 UTC; absent when they did not say.
    pub asked_at: Option<u64>,
}

/// What a head has of itself.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ShownHead {
    /// Whether Corosync runs.
    pub corosync: bool,
    /// When it was last seen, in seconds since 1970 UTC.
    pub corosync_seen: Option<u64>,
    /// Whether Pacemaker runs; absent when that is not known.
    pub pacemaker: Option<bool>,
    /// Corosync's statistics of its links.
    pub stats: BTreeMap<String, String>,
    /// The interfaces.
    pub interfaces: BTreeMap<InterfaceName, Interface>,
    /// How fast they receive and send; only those of which two readings tell it.
    pub rates: BTreeMap<InterfaceName, PortRates>,
    /// Packets that Corosync's own sockets had no room for, since they were opened.
    pub socket_drops: Option<u64>,
    /// What its kernel dropped since the watch began; absent before it was asked.
    pub drops: Option<DropTotals>,
    /// What of it in the last minute.
    pub dropped_now: Vec<DropRecord>,
    /// What its ports counted of lost packets.
    pub port_counts: BTreeMap<InterfaceName, PortCounts>,
    /// What its kernel knows of its clock; absent when it does not say.
    pub clock: Option<ClockFacts>,
    /// What it sent to clients of its storage, by the link over which they are, since the watch began.
    pub served: BTreeMap<LinkName, SentSegments>,
    /// Its disks; absent where there are none, or nothing was read yet.
    pub storage: Option<StorageFacts>,
    /// What it is asked seldom.
    pub probed: Probed,
    /// The certificates by which it speaks with others.
    pub certificates: Vec<CertificateFacts>,
    /// The files with its cluster's secrets.
    pub secrets: Vec<SecretFacts>,
}
