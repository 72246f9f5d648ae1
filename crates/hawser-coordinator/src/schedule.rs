//! Who measures when: every ordered pair of hosts on every link once, and no host in two
//! measurements at a time.
//!
//! That rule is stricter than "no port twice at once": with one flow per host, whatever a
//! host's counters do in a window was done by this flow or by traffic that is not Hawser's.

use std::collections::BTreeSet;

use hawser_model::names::{HostName, LinkName};
use hawser_model::topology::Topology;

/// One directed measurement.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Direction {
    /// The sending host.
    pub from: HostName,
    /// The receiving host.
    pub to: HostName,
    /// The link.
    pub link: LinkName,
}

/// Measurements that run at the same time.
pub type Slot = Vec<Direction>;

/// The slots that cover all directions of all links.
///
/// Per link a round-robin tournament by the circle method: n hosts meet in n − 1 rounds of
/// n / 2 pairs (n rounds when n is odd), and each pair is measured in both directions.
pub fn schedule(topology: &Topology) -> Vec<Slot> {
    let mut slots = Vec::new();
    for link in &topology.links {
        let hosts: Vec<&HostName> = topology
            .nodes
            .iter()
            .filter(|n| n.addresses.contains_key(&link.name))
            .map(|n| &n.name)
            .collect();
        for round in rounds(hosts.len()) {
            let slot = |swap: bool| -> Slot {
                round
                    .iter()
                    .map(|&(a, b)| if swap { (b, a) } else { (a, b) })
                    .map(|(from, to)| Direction {
                        from: hosts[from].clone(),
                        to: hosts[to].clone(),
                        link: link.name.clone(),
                    })
                    .collect()
            };
            slots.push(slot(false));
            slots.push(slot(true));
        }
    }
    slots
}

/// The rounds of a tournament of `n` players: each round a list of disjoint pairs.
fn rounds(n: usize) -> Vec<Vec<(usize, usize)>> {
    if n < 2 {
        return Vec::new();
    }
    // An odd field gets a bye: the pair with the player that does not exist is left out.
    let seats = n + n % 2;
    (0..seats - 1)
        .map(|round| {
            // The last seat stays, the others move around it.
            let seat = |i: usize| (round + i) % (seats - 1);
            std::iter::once((seats - 1, seat(0)))
                .chain((1..seats / 2).map(|i| (seat(i), seat(seats - 1 - i))))
                .filter(|&(a, b)| a < n && b < n)
                .map(|(a, b)| (a.min(b), a.max(b)))
                .collect()
        })
        .collect()
}

/// All hosts that take part in a slot.
pub fn hosts_of(slot: &Slot) -> BTreeSet<&HostName> {
    slot.iter().flat_map(|d| [&d.from, &d.to]).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use hawser_model::topology::{Link, Node, Reach};
    use proptest::prelude::*;

    use super::*;

    fn cluster(nodes: usize, links: usize) -> Topology {
        let link_names: Vec<LinkName> = (0..links).map(|l| LinkName(format!("ring{l}"))).collect();
        Topology {
            cluster: "test".into(),
            nodes: (0..nodes)
                .map(|n| Node {
                    name: HostName(format!("n{n}")),
                    reach: Reach::Ssh("unused".into()),
                    addresses: link_names
                        .iter()
                        .enumerate()
                        .map(|(l, name)| (name.clone(), [10, 0, l as u8, n as u8].into()))
                        .collect::<BTreeMap<_, _>>(),
                })
                .collect(),
            links: link_names
                .into_iter()
                .map(|name| Link {
                    name,
                    mtu: None,
                    speed: None,
                    switch: None,
                    serial: false,
                })
                .collect(),
        }
    }

    #[test]
    fn a_null_modem_cable_is_not_measured() {
        let mut topology = cluster(2, 2);
        topology.links[1].serial = true;
        let slots = schedule(&topology.without_serial_links());
        let mut measured = slots.iter().flatten();
        assert!(measured.all(|direction| direction.link.as_str() == "ring0"));
        assert_eq!(slots.len(), 2);
    }

    #[test]
    fn eight_nodes_on_two_links_take_28_slots_for_112_directions() {
        let slots = schedule(&cluster(8, 2));
        assert_eq!(slots.len(), 28);
        assert_eq!(slots.iter().map(Vec::len).sum::<usize>(), 112);
    }

    proptest! {
        #[test]
        fn every_direction_is_measured_once_and_no_host_twice_at_a_time(
            nodes in 0usize..12, links in 0usize..4
        ) {
            let slots = schedule(&cluster(nodes, links));
            for slot in &slots {
                prop_assert_eq!(hosts_of(slot).len(), 2 * slot.len());
            }
            let all: Vec<_> = slots.iter().flatten().cloned().collect();
            let distinct: BTreeSet<_> = all.iter().cloned().collect();
            prop_assert_eq!(all.len(), distinct.len());
            prop_assert_eq!(all.len(), links * nodes * nodes.saturating_sub(1));
        }
    }
}
