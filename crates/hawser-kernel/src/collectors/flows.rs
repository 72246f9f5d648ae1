//! Watched flows as the eBPF programs look them up (`bpf/flow.h`).

use std::collections::BTreeMap;
use std::net::IpAddr;

use aya::maps::{HashMap, MapData};
use hawser_model::traffic::WatchedFlow;
use nix::net::if_::if_nametoindex;

use super::ebpf;
use crate::KernelError;

/// How many flows one window can watch: `SLOTS` in `tap.bpf.c`.
pub(crate) const MOST: usize = 16;

/// `struct flow_key`: addresses (IPv4 mapped into IPv6) and the destination port, all in network
/// order; port 0 for later fragments.
type Key = [u8; 36];

/// `struct flow_value`: slot, role, source port in network order, interface.
type Value = [u8; 12];

/// `enum role` of `flow.h`: what a matching packet is to its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Of no watched flow.
    None,
    /// Addresses, ports and magic match.
    Flow,
    /// Addresses and both ports match, the magic does not.
    Damaged,
    /// A later fragment between the flow's addresses.
    Fragment,
    /// On the way back.
    Echo,
}

impl Role {
    const ALL: [Self; 5] = [
        Self::None,
        Self::Flow,
        Self::Damaged,
        Self::Fragment,
        Self::Echo,
    ];

    pub(crate) fn from_number(number: u16) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

/// A flow and the index of its interface on this host.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    pub(crate) flow: WatchedFlow,
    pub(crate) index: u32,
}

impl Watched {
    /// Finds the interfaces of `flows` in the calling thread's network namespace.
    pub(crate) fn resolve(flows: &[WatchedFlow]) -> Result<Vec<Self>, KernelError> {
        if flows.len() > MOST {
            return Err(KernelError::TooManyFlows {
                asked: flows.len(),
                most: MOST,
            });
        }
        let resolve = |flow: &WatchedFlow| {
            let index = if_nametoindex(flow.interface.as_str()).map_err(|_| {
                KernelError::NoSuchInterface {
                    flow: flow.flow.0,
                    interface: flow.interface.clone(),
                }
            })?;
            Ok(Self {
                flow: flow.clone(),
                index,
            })
        };
        flows.iter().map(resolve).collect()
    }
}

/// The map `flows` of an eBPF object.
pub(crate) struct FlowMap {
    map: HashMap<MapData, Key, Value>,
    keys: Vec<Key>,
}

impl FlowMap {
    pub(crate) fn new(map: HashMap<MapData, Key, Value>) -> Self {
        Self {
            map,
            keys: Vec::new(),
        }
    }

    /// Watches `flows`, and no others any more; a flow's slot is its place among them.
    pub(crate) fn watch(&mut self, flows: &[Watched]) -> Result<(), KernelError> {
        for key in self.keys.drain(..) {
            self.map.remove(&key).map_err(|e| ebpf::error("flows", e))?;
        }
        for (key, value) in entries(flows) {
            self.map
                .insert(key, value, 0)
                .map_err(|e| ebpf::error("flows", e))?;
            self.keys.push(key);
        }
        Ok(())
    }
}

fn entries(flows: &[Watched]) -> BTreeMap<Key, Value> {
    let mut entries = BTreeMap::new();
    // All forward keys first: what is one flow's way there may be another's way back.
    for (slot, Watched { flow, index }) in flows.iter().enumerate() {
        let there = |port| key(flow.source, flow.destination, port);
        let whole = value(slot, Role::Flow, flow.source_port, *index);
        entries.entry(there(flow.destination_port)).or_insert(whole);
        let fragment = value(slot, Role::Fragment, 0, *index);
        entries.entry(there(0)).or_insert(fragment);
    }
    for (slot, Watched { flow, index }) in flows.iter().enumerate() {
        // Echoes of a multicast flow come from addresses that are not known here.
        if flow.destination.is_multicast() || flow.source_port == 0 {
            continue;
        }
        let back = |port| key(flow.destination, flow.source, port);
        let whole = value(slot, Role::Echo, flow.destination_port, *index);
        entries.entry(back(flow.source_port)).or_insert(whole);
        let fragment = value(slot, Role::Echo, 0, *index);
        entries.entry(back(0)).or_insert(fragment);
    }
    entries
}

fn key(source: IpAddr, destination: IpAddr, port: u16) -> Key {
    let mapped = |address| match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
        IpAddr::V6(v6) => v6.octets(),
    };
    let mut key = [0; 36];
    key[..16].copy_from_slice(&mapped(source));
    key[16..32].copy_from_slice(&mapped(destination));
    // A 16-bit number in network order, stored into a 32-bit word of the host's.
    let port = u32::from(u16::from_ne_bytes(port.to_be_bytes()));
    key[32..].copy_from_slice(&port.to_ne_bytes());
    key
}

fn value(slot: usize, role: Role, source_port: u16, interface: u32) -> Value {
    let mut value = [0; 12];
    value[..4].copy_from_slice(&(slot as u32).to_ne_bytes());
    value[4..6].copy_from_slice(&(role as u16).to_ne_bytes());
    value[6..8].copy_from_slice(&source_port.to_be_bytes());
    value[8..].copy_from_slice(&interface.to_ne_bytes());
    value
}

#[cfg(test)]
mod tests {
    use hawser_model::traffic::FlowId;

    use super::*;

    const RING: u32 = 3;

    fn flow(id: u32, from: [u8; 4], to: [u8; 4], ports: (u16, u16)) -> Watched {
        let flow = WatchedFlow {
            flow: FlowId(id),
            source: from.into(),
            source_port: ports.0,
            destination: to.into(),
            destination_port: ports.1,
            interface: "ring0".into(),
        };
        Watched { flow, index: RING }
    }

    #[test]
    fn a_flow_has_keys_for_both_ways_and_for_fragments() {
        let (a, b) = ([10, 0, 0, 1], [10, 0, 0, 2]);
        let found = entries(&[flow(7, a, b, (40_000, 5_405))]);
        let at = |from: [u8; 4], to: [u8; 4], port| found[&key(from.into(), to.into(), port)];
        assert_eq!(at(a, b, 5_405), value(0, Role::Flow, 40_000, RING));
        assert_eq!(at(a, b, 0), value(0, Role::Fragment, 0, RING));
        assert_eq!(at(b, a, 40_000), value(0, Role::Echo, 5_405, RING));
        assert_eq!(at(b, a, 0), value(0, Role::Echo, 0, RING));
        assert_eq!(found.len(), 4);
    }

    #[test]
    fn a_flow_s_own_way_is_not_taken_for_another_s_way_back() {
        let (a, b) = ([10, 0, 0, 1], [10, 0, 0, 2]);
        let found = entries(&[flow(1, a, b, (1, 2)), flow(2, b, a, (2, 1))]);
        assert_eq!(
            found[&key(b.into(), a.into(), 1)],
            value(1, Role::Flow, 2, RING)
        );
        assert_eq!(
            found[&key(b.into(), a.into(), 0)],
            value(1, Role::Fragment, 0, RING)
        );
    }

    #[test]
    fn a_flow_on_an_interface_that_is_not_here_and_one_flow_too_many_are_refused() {
        let mut gone = flow(4, [10, 0, 0, 1], [10, 0, 0, 2], (1, 2)).flow;
        gone.interface = "no-such-if".into();
        assert_eq!(
            Watched::resolve(&[gone.clone()]).unwrap_err().to_string(),
            "flow 4: no interface no-such-if in this network namespace"
        );
        assert_eq!(
            Watched::resolve(&vec![gone; MOST + 1])
                .unwrap_err()
                .to_string(),
            "17 flows to watch, at most 16 fit one window"
        );
    }

    #[test]
    fn multicast_has_no_way_back() {
        let found = entries(&[flow(1, [10, 0, 0, 1], [239, 1, 1, 1], (1, 2))]);
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn as_many_flows_as_fit_a_window_fit_the_map() {
        let source = include_str!("bpf/flow.h");
        assert!(source.contains(&format!("max_entries, {}", MOST * 8)));
        let flows: Vec<_> = (0..MOST as u8)
            .map(|i| flow(u32::from(i), [10, 0, i, 1], [10, 0, i, 2], (1, 2)))
            .collect();
        assert!(entries(&flows).len() <= MOST * 8);
    }
}
