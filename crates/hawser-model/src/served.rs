//! What TCP counts of the connections by which clients use a host's storage.

use std::net::IpAddr;
use std::ops::AddAssign;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::iscsi::ISCSI_PORT;
use crate::units::Packets;

/// The port of NFS (RFC 7530).
pub const NFS_PORT: u16 = 2049;

/// The ports at which storage is served, unless `exports.toml` gives a portal another one.
pub const SERVING: [u16; 2] = [ISCSI_PORT, NFS_PORT];

/// Segments with data that TCP sent (`TCP_INFO`, tcp(7)), on connections of clients that say what they had already: of others
/// nobody knows what was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SentSegments {
    /// All, those sent again included (`tcpi_data_segs_out`).
    pub segments: Packets,
    /// Sent again (`tcpi_total_retrans`).
    pub resent: Packets,
    /// Of them, those that the receiver said it had already (D-SACK, RFC 2883; `tcpi_dsack_dups`, since Linux 5.0): overtaken or
    /// late, not lost.
    pub needless: Packets,
}

impl SentSegments {
    /// Segments sent again because they were lost, as far as the receiver told.
    pub fn lost(&self) -> Packets {
        self.resent.saturating_sub(self.needless)
    }

    /// What was counted since, unless a number fell.
    pub fn since(&self, before: &Self) -> Option<Self> {
        let gain = |of: fn(&Self) -> Packets| of(self).0.checked_sub(of(before).0).map(Packets);
        Some(Self {
            segments: gain(|it| it.segments)?,
            resent: gain(|it| it.resent)?,
            needless: gain(|it| it.needless)?,
        })
    }
}

impl AddAssign for SentSegments {
    fn add_assign(&mut self, other: Self) {
        self.segments += other.segments;
        self.resent += other.resent;
        self.needless += other.needless;
    }
}

/// What a host sent to one client within a window, over all its connections.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServedClient {
    /// The address of the host at which it is served.
    pub at: IpAddr,
    /// The client's address.
    pub client: IpAddr,
    /// What was sent to it.
    pub sent: SentSegments,
}
