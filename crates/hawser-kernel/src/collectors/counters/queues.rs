//! Counters of each receive and transmit queue, where the driver gives them to the kernel's
//! `netdev` family (Linux 6.9, `Documentation/netlink/specs/netdev.yaml`, `qstats`).
//!
//! Drivers that do not often have them among their own (`driver/…`).

use hawser_model::counters::Counters;
use nix::net::if_::if_indextoname;
use nix::sys::socket::SockProtocol;

use super::Source;
use crate::KernelError;
use crate::netlink::{Netlink, attribute, attributes, find, u16_at, u32_at, u64_at};

/// `queue/IF/rx-0/hw-drops` and its like.
#[derive(Default)]
pub(super) struct Queues {
    open: Option<(Netlink, u16)>,
}

const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const NETDEV_CMD_QSTATS_GET: u8 = 12;
const NETDEV_A_QSTATS_IFINDEX: u16 = 1;
const NETDEV_A_QSTATS_QUEUE_TYPE: u16 = 2;
const NETDEV_A_QSTATS_QUEUE_ID: u16 = 3;
const NETDEV_A_QSTATS_SCOPE: u16 = 4;
const SCOPE_QUEUE: u32 = 1;
/// `struct genlmsghdr`: command, version, padding.
const GENL_HEADER: usize = 4;

/// `enum netdev_a_qstats`, those that tell of loss or load.
const NAMES: [(u16, &str); 9] = [
    (8, "packets"),
    (10, "packets"),
    (12, "alloc-fail"),
    (13, "hw-drops"),
    (14, "hw-drop-overruns"),
    (18, "csum-bad"),
    (23, "hw-drop-ratelimits"),
    (24, "hw-drops"),
    (25, "hw-drop-errors"),
];

impl Source for Queues {
    fn name(&self) -> &'static str {
        "queue"
    }

    fn read(&mut self, into: &mut Counters) -> Result<(), KernelError> {
        let (netlink, family) = match &mut self.open {
            Some(open) => open,
            none => {
                let mut netlink = Netlink::open(SockProtocol::NetlinkGeneric)?;
                let family = family(&mut netlink)?;
                none.insert((netlink, family))
            }
        };
        let mut request = vec![NETDEV_CMD_QSTATS_GET, 1, 0, 0];
        attribute(
            &mut request,
            NETDEV_A_QSTATS_SCOPE,
            &SCOPE_QUEUE.to_ne_bytes(),
        );
        let read = netlink.dump(
            "NETDEV_CMD_QSTATS_GET",
            *family,
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

fn family(netlink: &mut Netlink) -> Result<u16, KernelError> {
    let mut request = vec![CTRL_CMD_GETFAMILY, 1, 0, 0];
    attribute(&mut request, CTRL_ATTR_FAMILY_NAME, b"netdev\0");
    let mut id = None;
    netlink.get(
        "CTRL_CMD_GETFAMILY netdev",
        GENL_ID_CTRL,
        &request,
        |message| {
            let all = message.get(GENL_HEADER..).unwrap_or(&[]);
            let number = find(all, CTRL_ATTR_FAMILY_ID).and_then(|payload| u16_at(payload, 0));
            id = number.or(id);
        },
    )?;
    id.ok_or_else(|| KernelError::Absent("the kernel has no netdev netlink family".to_owned()))
}

fn decode(message: &[u8], into: &mut Counters) -> Option<()> {
    let all = message.get(GENL_HEADER..)?;
    let word = |wanted| u32_at(find(all, wanted)?, 0);
    let interface = if_indextoname(word(NETDEV_A_QSTATS_IFINDEX)?).ok()?;
    let interface = interface.to_string_lossy();
    let queue = word(NETDEV_A_QSTATS_QUEUE_ID)?;
    let side = if word(NETDEV_A_QSTATS_QUEUE_TYPE)? == 0 {
        "rx"
    } else {
        "tx"
    };
    for (attribute, payload) in attributes(all) {
        let name = NAMES.iter().find(|(number, _)| *number == attribute);
        // An unsigned integer of 32 or 64 bits, as it fits ("uint" of the specification).
        let value = u64_at(payload, 0).or_else(|| u32_at(payload, 0).map(u64::from));
        if let (Some((_, name)), Some(value)) = (name, value) {
            into.0
                .insert(format!("queue/{interface}/{side}-{queue}/{name}"), value);
        }
    }
    Some(())
}
