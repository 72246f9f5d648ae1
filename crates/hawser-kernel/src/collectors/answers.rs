//! Through which interface this host would answer the watched flows' senders: the kernel's own lookup (`RTM_GETROUTE`),
//! with the addresses of an answer, as a strict `rp_filter` makes it.

use std::net::IpAddr;

use hawser_model::host::AnswerRoute;
use hawser_model::names::InterfaceName;
use nix::net::if_::if_indextoname;
use nix::sys::socket::SockProtocol;

use super::flows::Watched;
use crate::netlink::{Netlink, attribute, find, u32_at};

const RTM_GETROUTE: u16 = 26;
/// `struct rtmsg`: family, lengths of the two prefixes, TOS, table, protocol, scope, type, flags (4 bytes).
const ROUTE_MESSAGE: usize = 12;
const ROUTE_TYPE: usize = 7;
const RTN_LOCAL: u8 = 2;
const RTA_DST: u16 = 1;
const RTA_SRC: u16 = 2;
const RTA_OIF: u16 = 4;

/// Asks it for the flows that this host receives, each pair of addresses once.
pub(crate) fn read(flows: &[Watched]) -> Vec<AnswerRoute> {
    let mut pairs: Vec<(IpAddr, IpAddr)> = flows
        .iter()
        .map(|watched| (watched.flow.source, watched.flow.destination))
        .filter(|(_, own)| !own.is_multicast())
        .collect();
    pairs.sort_unstable();
    pairs.dedup();
    let Ok(mut netlink) = Netlink::open(SockProtocol::NetlinkRoute) else {
        return Vec::new();
    };
    let mut answers = Vec::new();
    for (to, from) in pairs {
        let own = lookup(&mut netlink, from, None).is_some_and(|found| found.local);
        if own {
            let found = lookup(&mut netlink, to, Some(from));
            answers.push(AnswerRoute {
                to,
                from,
                interface: found.and_then(|found| found.interface),
            });
        }
    }
    answers
}

struct Lookup {
    local: bool,
    interface: Option<InterfaceName>,
}

/// The kernel's answer; absent when it has no route.
fn lookup(netlink: &mut Netlink, to: IpAddr, from: Option<IpAddr>) -> Option<Lookup> {
    let mut message = vec![0; ROUTE_MESSAGE];
    let (family, bits) = match to {
        IpAddr::V4(_) => (libc::AF_INET, 32),
        IpAddr::V6(_) => (libc::AF_INET6, 128),
    };
    message[0] = family as u8;
    message[1] = bits;
    message[2] = if from.is_some() { bits } else { 0 };
    address(&mut message, RTA_DST, to);
    if let Some(from) = from {
        address(&mut message, RTA_SRC, from);
    }
    let mut found = None;
    let asked = netlink.get("RTM_GETROUTE", RTM_GETROUTE, &message, |answer| {
        let attributes = answer.get(ROUTE_MESSAGE..).unwrap_or(&[]);
        let index = find(attributes, RTA_OIF).and_then(|payload| u32_at(payload, 0));
        let name = index.and_then(|index| if_indextoname(index).ok());
        found = Some(Lookup {
            local: answer.get(ROUTE_TYPE) == Some(&RTN_LOCAL),
            interface: name.map(|name| InterfaceName(name.to_string_lossy().into_owned())),
        });
    });
    asked.ok().and(found)
}

fn address(message: &mut Vec<u8>, kind: u16, address: IpAddr) {
    match address {
        IpAddr::V4(v4) => attribute(message, kind, &v4.octets()),
        IpAddr::V6(v6) => attribute(message, kind, &v6.octets()),
    }
}

#[cfg(test)]
mod tests {
    use hawser_model::traffic::{FlowId, WatchedFlow};

    use super::*;

    #[test]
    fn only_what_this_host_receives_is_looked_up() {
        let flow = |destination: [u8; 4]| Watched {
            flow: WatchedFlow {
                flow: FlowId(1),
                source: [127, 0, 0, 2].into(),
                source_port: 1,
                destination: destination.into(),
                destination_port: 2,
                interface: "lo".into(),
            },
            index: 1,
        };
        let found = read(&[
            flow([127, 0, 0, 1]),
            flow([127, 0, 0, 1]),
            flow([192, 0, 2, 1]),
            flow([239, 1, 1, 1]),
        ]);
        let lo = AnswerRoute {
            to: [127, 0, 0, 2].into(),
            from: [127, 0, 0, 1].into(),
            interface: Some("lo".into()),
        };
        assert_eq!(found, [lo]);
    }
}
