//! Interface statistics, `struct rtnl_link_stats64` by `RTM_GETSTATS`.
//!
//! That request answers with the statistics alone, a tenth of what `RTM_GETLINK` sends.

use hawser_model::counters::Counters;
use nix::net::if_::if_indextoname;
use nix::sys::socket::SockProtocol;

use super::Source;
use crate::KernelError;
use crate::netlink::{Netlink, find, u32_at, u64_at};

/// `link/IF/rx_dropped` and its like.
#[derive(Default)]
pub(super) struct Links {
    socket: Option<Netlink>,
}

const RTM_GETSTATS: u16 = 94;
const IFLA_STATS_LINK_64: u16 = 1;
/// `struct if_stats_msg`: family, padding, interface index, filter mask.
const STATS_MESSAGE: usize = 12;

/// The fields of `struct rtnl_link_stats64`, in order; a newer kernel's further ones are skipped.
const FIELDS: [&str; 25] = [
    "rx_packets",
    "tx_packets",
    "rx_bytes",
    "tx_bytes",
    "rx_errors",
    "tx_errors",
    "rx_dropped",
    "tx_dropped",
    "multicast",
    "collisions",
    "rx_length_errors",
    "rx_over_errors",
    "rx_crc_errors",
    "rx_frame_errors",
    "rx_fifo_errors",
    "rx_missed_errors",
    "tx_aborted_errors",
    "tx_carrier_errors",
    "tx_fifo_errors",
    "tx_heartbeat_errors",
    "tx_window_errors",
    "rx_compressed",
    "tx_compressed",
    "rx_nohandler",
    "rx_otherhost_dropped",
];

impl Source for Links {
    fn name(&self) -> &'static str {
        "link"
    }

    fn read(&mut self, into: &mut Counters) -> Result<(), KernelError> {
        let socket = Netlink::in_slot(&mut self.socket, SockProtocol::NetlinkRoute)?;
        let mut request = [0; STATS_MESSAGE];
        request[8..].copy_from_slice(&(1u32 << (IFLA_STATS_LINK_64 - 1)).to_ne_bytes());
        let read = socket.dump(
            "RTM_GETSTATS",
            RTM_GETSTATS,
            &request,
            Counters::default,
            decode,
        )?;
        into.0.extend(read.0);
        Ok(())
    }
}

fn decode(into: &mut Counters, message: &[u8]) {
    // An interface that went away since has no name, and nobody's packets.
    let Some(Ok(interface)) = u32_at(message, 4).map(if_indextoname) else {
        return;
    };
    let interface = interface.to_string_lossy();
    let stats = message.get(STATS_MESSAGE..).unwrap_or(&[]);
    let stats = find(stats, IFLA_STATS_LINK_64).unwrap_or(&[]);
    for (field, name) in FIELDS.iter().enumerate() {
        if let Some(value) = u64_at(stats, field * 8) {
            into.0.insert(format!("link/{interface}/{name}"), value);
        }
    }
}
