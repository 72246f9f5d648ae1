//! Interface statistics, `struct rtnl_link_stats64` by `RTM_GETSTATS`.
//!
//! That request answers with the statistics alone, a tenth of what `RTM_GETLINK` sends. How often the carrier came or went
//! is not among them (`IFLA_CARRIER_CHANGES`): a second request, without statistics, reads it.

use hawser_model::counters::Counters;
use nix::net::if_::if_indextoname;
use nix::sys::socket::SockProtocol;

use super::Source;
use crate::KernelError;
use crate::netlink::{Netlink, attribute, find, text, u32_at, u64_at};

/// `link/IF/rx_dropped` and its like.
#[derive(Default)]
pub(super) struct Links {
    socket: Option<Netlink>,
}

const RTM_GETSTATS: u16 = 94;
const IFLA_STATS_LINK_64: u16 = 1;
/// `struct if_stats_msg`: family, padding, interface index, filter mask.
const STATS_MESSAGE: usize = 12;

const RTM_GETLINK: u16 = 18;
/// `struct ifinfomsg`.
const INTERFACE_MESSAGE: usize = 16;
const IFLA_IFNAME: u16 = 3;
const IFLA_EXT_MASK: u16 = 29;
const IFLA_CARRIER_CHANGES: u16 = 35;
const RTEXT_FILTER_SKIP_STATS: u32 = 1 << 3;

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
        let mut request = vec![0; INTERFACE_MESSAGE];
        attribute(
            &mut request,
            IFLA_EXT_MASK,
            &RTEXT_FILTER_SKIP_STATS.to_ne_bytes(),
        );
        let read = socket.dump(
            "RTM_GETLINK",
            RTM_GETLINK,
            &request,
            Counters::default,
            carrier_changes,
        )?;
        into.0.extend(read.0);
        Ok(())
    }
}

fn carrier_changes(into: &mut Counters, message: &[u8]) {
    let attributes = message.get(INTERFACE_MESSAGE..).unwrap_or(&[]);
    let changes = find(attributes, IFLA_CARRIER_CHANGES).and_then(|bytes| u32_at(bytes, 0));
    let name = find(attributes, IFLA_IFNAME).map(text);
    if let (Some(interface), Some(changes)) = (name, changes) {
        let name = format!("link/{interface}/carrier_changes");
        into.0.insert(name, changes.into());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carrier_changes_are_read_by_name() {
        let mut message = vec![0; INTERFACE_MESSAGE];
        attribute(&mut message, IFLA_IFNAME, b"ring0\0");
        attribute(&mut message, IFLA_CARRIER_CHANGES, &14u32.to_ne_bytes());
        let mut read = Counters::default();
        carrier_changes(&mut read, &message);
        assert_eq!(read.get("link/ring0/carrier_changes"), Some(14));
    }
}
