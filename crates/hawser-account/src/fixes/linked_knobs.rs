//! What must be turned together with a knob, as one change, and in which order.
//!
//! Of all knobs only the MTU: a port that has a smaller one than its sender drops what is too large
//! without a word. So it is raised from the switch outwards and lowered from the hosts inwards.

use hawser_model::case::Case;
use hawser_model::host::HostFacts;
use hawser_model::knob::Knob;
use hawser_model::names::{HostName, InterfaceName, LinkName};
use hawser_model::trial::Also;

/// The other ends of the link whose MTU is turned to `value` on `host`, and the link's name; none
/// for any other knob, and none that are on the right side of the value already.
pub fn others(
    case: &Case,
    host: &HostName,
    knob: &Knob,
    value: &str,
) -> Option<(LinkName, Vec<Also>)> {
    let Knob::Mtu { interface } = knob else {
        return None;
    };
    let wanted: u32 = value.parse().ok()?;
    let raise = wanted > mtu(case.hosts.get(host)?, interface)?;
    let ends = case.topology.links.iter().map(|link| {
        let nodes = case.topology.nodes.iter().filter_map(|node| {
            let facts = case.hosts.get(&node.name)?;
            let (name, _) = facts.interface_with(*node.addresses.get(&link.name)?)?;
            Some((&node.name, name, facts))
        });
        (&link.name, nodes.collect::<Vec<_>>())
    });
    let (link, ends) = ends
        .into_iter()
        .find(|(_, ends)| ends.iter().any(|(h, i, _)| *h == host && *i == interface))?;
    let mut also = Vec::new();
    for (end, name, facts) in ends {
        // A VLAN or a bridge carries no more than what is below it; that may be others' too, and is
        // never lowered.
        let below = facts.interfaces.get(name).map_or(&[][..], |i| &i.lower);
        let all = below.iter().filter(|_| raise).chain([name]);
        let due = all.filter(|i| (end, *i) != (host, interface)).filter(|i| {
            mtu(facts, i).is_some_and(|now| if raise { now < wanted } else { now > wanted })
        });
        also.extend(due.map(|i| Also {
            host: end.clone(),
            knob: Knob::Mtu {
                interface: i.clone(),
            },
        }));
    }
    Some((link.clone(), also))
}

/// The other sockets of the program whose receive buffer is turned to `value` on `host`, those that have less: a host has one on
/// each of its links, and all are too small for the same reason.
pub fn siblings(case: &Case, host: &HostName, knob: &Knob, value: &str) -> Vec<Also> {
    let (Knob::SocketBuffer { process, inode, .. }, Ok(wanted)) = (knob, value.parse::<u64>())
    else {
        return Vec::new();
    };
    let sockets = case.sockets.get(host).map_or(&[][..], Vec::as_slice);
    let pid = sockets.iter().find(|s| s.inode == *inode).map(|s| s.pid);
    let others = sockets.iter().filter(|socket| {
        socket.process.as_ref() == Some(process)
            && Some(socket.pid) == pid
            && socket.inode != *inode
            && socket.receive_buffer.0 < wanted
    });
    let also = others.map(|socket| Also {
        host: host.clone(),
        knob: Knob::SocketBuffer {
            process: process.clone(),
            local: socket.local,
            inode: socket.inode,
        },
    });
    also.collect()
}

/// All that is turned, `ports` of switches included, in the order in which it is turned to `value`;
/// back it goes the other way round.
pub fn in_order(ports: Vec<Also>, ends: Vec<Also>, first: Also, raise: bool) -> Vec<Also> {
    let mut all: Vec<Also> = ports.into_iter().chain(ends).chain([first]).collect();
    if !raise {
        all.reverse();
    }
    all
}

fn mtu(facts: &HostFacts, interface: &InterfaceName) -> Option<u32> {
    facts.interfaces.get(interface)?.mtu.map(|mtu| mtu.0)
}
