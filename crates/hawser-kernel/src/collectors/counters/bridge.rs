//! A bridge's own multicast counters (`struct br_mcast_stats`), when the host has a bridge that
//! keeps them (`multicast_stats_enabled`).

use hawser_model::counters::Counters;
use nix::net::if_::if_indextoname;
use nix::sys::socket::SockProtocol;

use super::Source;
use crate::KernelError;
use crate::netlink::{Netlink, find, u32_at, u64_at};

/// `bridge/IF/igmp_v2queries_rx` and its like.
#[derive(Default)]
pub(super) struct Bridges {
    socket: Option<Netlink>,
}

const RTM_GETSTATS: u16 = 94;
const STATS_MESSAGE: usize = 12;
const IFLA_STATS_LINK_XSTATS: u16 = 2;
const LINK_XSTATS_TYPE_BRIDGE: u16 = 1;
const BRIDGE_XSTATS_MCAST: u16 = 2;

/// `struct br_mcast_stats` (`linux/if_bridge.h`), 64 bits each.
const FIELDS: [&str; 30] = [
    "igmp_v1queries_rx",
    "igmp_v1queries_tx",
    "igmp_v2queries_rx",
    "igmp_v2queries_tx",
    "igmp_v3queries_rx",
    "igmp_v3queries_tx",
    "igmp_leaves_rx",
    "igmp_leaves_tx",
    "igmp_v1reports_rx",
    "igmp_v1reports_tx",
    "igmp_v2reports_rx",
    "igmp_v2reports_tx",
    "igmp_v3reports_rx",
    "igmp_v3reports_tx",
    "igmp_parse_errors",
    "mld_v1queries_rx",
    "mld_v1queries_tx",
    "mld_v2queries_rx",
    "mld_v2queries_tx",
    "mld_leaves_rx",
    "mld_leaves_tx",
    "mld_v1reports_rx",
    "mld_v1reports_tx",
    "mld_v2reports_rx",
    "mld_v2reports_tx",
    "mld_parse_errors",
    "mcast_bytes_rx",
    "mcast_bytes_tx",
    "mcast_packets_rx",
    "mcast_packets_tx",
];

impl Source for Bridges {
    fn name(&self) -> &'static str {
        "bridge"
    }

    fn read(&mut self, into: &mut Counters) -> Result<(), KernelError> {
        let socket = Netlink::in_slot(&mut self.socket, SockProtocol::NetlinkRoute)?;
        let mut request = [0; STATS_MESSAGE];
        request[8..].copy_from_slice(&(1u32 << (IFLA_STATS_LINK_XSTATS - 1)).to_ne_bytes());
        let read = socket.dump(
            "RTM_GETSTATS",
            RTM_GETSTATS,
            &request,
            Counters::default,
            |into, message| {
                decode(message, into);
            },
        )?;
        into.0.extend(read.0);
        Ok(())
    }
}

fn decode(message: &[u8], into: &mut Counters) -> Option<()> {
    let interface = if_indextoname(u32_at(message, 4)?).ok()?;
    let interface = interface.to_string_lossy();
    let extended = find(message.get(STATS_MESSAGE..)?, IFLA_STATS_LINK_XSTATS)?;
    let bridge = find(extended, LINK_XSTATS_TYPE_BRIDGE)?;
    let multicast = find(bridge, BRIDGE_XSTATS_MCAST)?;
    for (field, name) in FIELDS.iter().enumerate() {
        if let Some(value) = u64_at(multicast, field * 8) {
            into.0.insert(format!("bridge/{interface}/{name}"), value);
        }
    }
    Some(())
}
