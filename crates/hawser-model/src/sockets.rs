//! Sockets of a host: whose they are, how large their buffers really are, what they dropped.

use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Packets};

/// One UDP socket as `sock_diag(7)` reports it (`INET_DIAG_SKMEMINFO`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SocketFacts {
    /// The socket's inode: its identity on the host.
    pub inode: u64,
    /// Local address and port.
    pub local: SocketAddr,
    /// Process name, when a process holding it was found in `/proc/*/fd`.
    pub process: Option<String>,
    /// Process id in the agent's pid namespace.
    pub pid: Option<u32>,
    /// The receive buffer in force (`sk_rcvbuf`, i.e. twice what `SO_RCVBUF` asked).
    pub receive_buffer: Bytes,
    /// The send buffer in force (`sk_sndbuf`).
    pub send_buffer: Bytes,
    /// Bytes waiting to be read, with the kernel's overhead (`sk_rmem_alloc`).
    pub receive_queued: Bytes,
    /// Packets dropped since the socket was opened (`sk_drops`).
    pub drops: Packets,
}
