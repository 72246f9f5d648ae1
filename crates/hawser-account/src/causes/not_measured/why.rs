//! What the kernel's answer means, where it has one meaning or the facts confirm it.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use hawser_model::case::Case;
use hawser_model::finding::Place;
use hawser_model::names::{HostName, InterfaceName, LinkName};
use serde::Serialize;

use super::problem::Problem;
use crate::cause::host;

/// Why something could not be measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "why", rename_all = "kebab-case")]
pub(super) enum Why {
    /// The message is all.
    #[default]
    NotKnown,
    /// No port is free for a socket that asks for any.
    PortsUsedUp {
        /// Who holds most of them, as far as that was read.
        #[serde(skip_serializing_if = "Option::is_none")]
        holder: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        held_ports: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        port_range: Option<String>,
    },
    /// The peer's address is the broadcast address of a prefix of the own interface.
    BroadcastAddress {
        address: Ipv4Addr,
        own_prefix: String,
        own_interface: InterfaceName,
        #[serde(skip_serializing_if = "Option::is_none")]
        peer_prefix_length: Option<u8>,
    },
    /// No route, or one that refuses.
    RouteRefuses {
        address: IpAddr,
        route: &'static str,
    },
}

// Of errno(3) on Linux.
const EAGAIN: i32 = 11;
const EACCES: i32 = 13;
const EINVAL: i32 = 22;
const EADDRINUSE: i32 = 98;
const ENETUNREACH: i32 = 101;
const EHOSTUNREACH: i32 = 113;

/// A program with fewer ports than this is none that uses them up.
const MANY: u64 = 3;

/// The ports of a socket that asks for any.
const RANGE: &str = "net.ipv4.ip_local_port_range";

impl Why {
    /// Of a problem that `own` had with `other` on a link.
    pub(super) fn of(
        case: &Case,
        own: &HostName,
        other: &HostName,
        link: &LinkName,
        problem: &Problem,
    ) -> Self {
        let (Some(errno), Some(address)) = (problem.errno, problem.address) else {
            return Self::NotKnown;
        };
        match (problem.call.as_str(), errno) {
            // A port that was named may be the only one that is taken.
            ("bind", EADDRINUSE) if problem.port == Some(0) => ports(case, own),
            ("connect", EAGAIN) => ports(case, own),
            ("connect", EACCES) => {
                broadcast(case, own, other, link, address).unwrap_or(Self::RouteRefuses {
                    address,
                    route: "prohibit",
                })
            }
            // `fib_props` (net/ipv4/fib_semantics.c) gives each type of route its error.
            ("connect", EINVAL) => Self::RouteRefuses {
                address,
                route: "blackhole",
            },
            ("connect", EHOSTUNREACH) => Self::RouteRefuses {
                address,
                route: "unreachable",
            },
            ("connect", ENETUNREACH) => Self::RouteRefuses {
                address,
                route: "none",
            },
            _ => Self::NotKnown,
        }
    }

    /// Whether a host has it on all links.
    pub(super) fn everywhere(&self) -> bool {
        matches!(self, Self::PortsUsedUp { .. })
    }

    /// Whether all programs of the host are refused the same.
    pub(super) fn refuses(&self) -> bool {
        *self != Self::NotKnown
    }

    /// What it means, as a sentence after others, and what to do.
    pub(super) fn words(&self, at: &Place) -> (String, Option<String>) {
        let host = host(at);
        match self {
            Self::NotKnown => (String::new(), None),
            Self::PortsUsedUp {
                holder,
                held_ports,
                port_range,
            } => {
                let range = port_range
                    .as_ref()
                    .map_or(String::new(), |r| format!(" of {r}"));
                let holder = holder
                    .as_ref()
                    .zip(*held_ports)
                    .map_or(String::new(), |(who, n)| {
                        format!(" {who} holds {n} of its UDP ports.")
                    });
                (
                    format!(
                        " {host} has no UDP port left{range} for a program that asks for any; the network is not at \
                         fault.{holder}"
                    ),
                    Some(format!(
                        "On {host}: `ss -uanp` shows who holds the ports, `sysctl {RANGE}` from which they come. Stop what \
                         leaks them, or widen the range (the default is 32768 60999). Then repeat the check."
                    )),
                )
            }
            Self::BroadcastAddress {
                address,
                own_prefix,
                own_interface,
                peer_prefix_length,
            } => {
                let peers =
                    peer_prefix_length.map_or(String::new(), |n| format!("; the peer has /{n}"));
                (
                    format!(
                        " {address} is the broadcast address of {own_prefix}, which {host} has on {own_interface}{peers}: \
                         the kernel refuses to send to it as to a host."
                    ),
                    Some(format!(
                        "Give all hosts of the link the same prefix length. On {host}: `ip addr add ADDRESS/LENGTH dev \
                         {own_interface}` with the right length, then `ip addr del {own_prefix} dev {own_interface}`, and the \
                         same in the file that sets it."
                    )),
                )
            }
            Self::RouteRefuses { address, route } => {
                let why = match *route {
                    "none" => format!(" {host} has no route to {address}."),
                    kind => format!(
                        " A route of type {kind} to {address} on {host} makes the kernel answer so; whether there is one \
                         is not in the facts."
                    ),
                };
                (
                    why,
                    Some(format!(
                        "On {host}: `ip route get {address}`, `ip rule`, and `ip route show table all | grep -E \
                         'blackhole|unreachable|prohibit'`. Remove the route that refuses (a banned address, a leftover of \
                         a VPN or routing daemon), or add the one that is missing, and repeat the check."
                    )),
                )
            }
        }
    }
}

fn ports(case: &Case, own: &HostName) -> Why {
    let mut held: BTreeMap<String, u64> = BTreeMap::new();
    for socket in case.sockets.get(own).into_iter().flatten() {
        if let Some(process) = &socket.process {
            let pid = socket
                .pid
                .map_or(String::new(), |pid| format!(" (pid {pid})"));
            *held.entry(format!("{process}{pid}")).or_default() += 1;
        }
    }
    let most = held
        .into_iter()
        .max_by_key(|(_, n)| *n)
        .filter(|(_, n)| *n >= MANY);
    let (holder, held_ports) = most.unzip();
    let range = case
        .hosts
        .get(own)
        .and_then(|facts| facts.sysctls.get(RANGE));
    let range = range.map(|range| range.split_whitespace().collect::<Vec<_>>().join("-"));
    Why::PortsUsedUp {
        holder,
        held_ports,
        port_range: range,
    }
}

/// The interface of which the address is the broadcast address.
fn broadcast(
    case: &Case,
    own: &HostName,
    other: &HostName,
    link: &LinkName,
    address: IpAddr,
) -> Option<Why> {
    let IpAddr::V4(address) = address else {
        return None;
    };
    let interfaces = &case.hosts.get(own)?.interfaces;
    let all = interfaces
        .iter()
        .flat_map(|(name, i)| i.addresses.iter().map(move |a| (name, a)));
    let (name, (ip, length)) = all.into_iter().find(|(_, (ip, length))| match ip {
        IpAddr::V4(ip) => *length < 31 && *ip != address && last(*ip, *length) == address,
        IpAddr::V6(_) => false,
    })?;
    let peer = case
        .topology
        .node(other)
        .and_then(|node| node.addresses.get(link));
    let port = case.hosts.get(other).zip(peer).and_then(|(facts, peer)| {
        let (_, port) = facts.interface_with(*peer)?;
        port.addresses.iter().find(|(ip, _)| ip == peer)
    });
    Some(Why::BroadcastAddress {
        address,
        own_prefix: format!("{ip}/{length}"),
        own_interface: name.clone(),
        peer_prefix_length: port.map(|(_, length)| *length),
    })
}

/// The last address of a network.
fn last(ip: Ipv4Addr, length: u8) -> Ipv4Addr {
    let hosts = u32::MAX.checked_shr(u32::from(length)).unwrap_or(0);
    Ipv4Addr::from(u32::from(ip) | hosts)
}
