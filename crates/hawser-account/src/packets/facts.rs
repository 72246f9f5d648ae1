//! One phase with everything the case knows about its two ends.

use hawser_model::case::{Case, Measurement, Phase};
use hawser_model::drops::TapDirection;
use hawser_model::host::{HostFacts, HostWindow, Interface};
use hawser_model::names::{HostName, InterfaceName, LinkName};
use hawser_model::traffic::{Batching, FlowSpec};
use hawser_model::units::Mtu;

/// One of the two ends of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    /// The sending host.
    Sender,
    /// The receiving host.
    Receiver,
}

/// A phase's most packets: more than a line-rate flow sends in a century. Numbers beyond it
/// are a damaged case file and are cut, so that no sum can overflow.
pub(crate) const MOST_PACKETS: u64 = 1 << 44;

/// Most datagrams one `UDP_SEGMENT` buffer holds (`UDP_MAX_SEGMENTS`, `include/linux/udp.h`).
const MOST_SEGMENTS: u64 = 128;

/// What a tap saw of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tapped {
    /// Whole packets or first fragments.
    pub(crate) packets: u64,
    /// The same with a damaged probe magic.
    pub(crate) damaged: u64,
    /// Later fragments.
    pub(crate) later_fragments: u64,
}

/// A phase, its measurement and its hosts' facts.
#[derive(Clone, Copy)]
pub(crate) struct PhaseFacts<'a> {
    pub(crate) measurement: &'a Measurement,
    pub(crate) phase: &'a Phase,
    hosts: [Option<&'a HostFacts>; 2],
    /// In some phase of this measurement the kernel dropped our packets because the peer's
    /// link-layer address stayed unresolved.
    pub(crate) neighbour_dead: bool,
}

/// The size of one datagram of a flow as an IP packet, before any fragmentation.
pub(crate) fn packet_size(spec: &FlowSpec) -> Mtu {
    let headers = if spec.source.is_ipv4() { 28 } else { 48 };
    Mtu(spec.payload.saturating_add(headers))
}

impl<'a> PhaseFacts<'a> {
    pub(crate) fn new(case: &'a Case, measurement: &'a Measurement, phase: &'a Phase) -> Self {
        Self {
            measurement,
            phase,
            hosts: [
                case.hosts.get(&measurement.from),
                case.hosts.get(&measurement.to),
            ],
            neighbour_dead: false,
        }
    }

    pub(crate) fn host(&self, side: Side) -> &'a HostName {
        match side {
            Side::Sender => &self.measurement.from,
            Side::Receiver => &self.measurement.to,
        }
    }

    pub(crate) fn link(&self) -> &'a LinkName {
        &self.measurement.link
    }

    pub(crate) fn host_facts(&self, side: Side) -> Option<&'a HostFacts> {
        self.hosts[side as usize]
    }

    pub(crate) fn window(&self, side: Side) -> &'a HostWindow {
        match side {
            Side::Sender => &self.phase.sender_window,
            Side::Receiver => &self.phase.receiver_window,
        }
    }

    /// The interface with the flow's address on that side.
    pub(crate) fn interface(&self, side: Side) -> Option<(&'a InterfaceName, &'a Interface)> {
        let address = match side {
            Side::Sender => self.phase.spec.source,
            Side::Receiver => self.phase.spec.receiver,
        };
        self.host_facts(side)?.interface_with(address)
    }

    /// The devices under the flow's interface through which it goes (VLAN parent, bond members, the port of a bridge), all the
    /// way down.
    pub(crate) fn beneath(&self, side: Side) -> Vec<&'a InterfaceName> {
        let (Some((top, _)), Some(facts)) = (self.interface(side), self.host_facts(side)) else {
            return Vec::new();
        };
        let all = facts.with_taken(top, |interface| match interface.driver.as_deref() {
            Some("bridge") => self
                .port_taken(side, &interface.lower)
                .into_iter()
                .collect(),
            _ => interface.lower.iter().collect(),
        });
        all.into_iter().filter(|name| *name != top).collect()
    }

    /// The port of a bridge by which the flow goes; none where the others could have had it as well.
    fn port_taken(&self, side: Side, ports: &'a [InterfaceName]) -> Option<&'a InterfaceName> {
        let mut able = ports
            .iter()
            .filter(|port| ports.len() == 1 || self.may_carry(side, port));
        able.next().filter(|_| able.next().is_none())
    }

    /// Whether as many packets as arrived of the flow went through a device.
    fn may_carry(&self, side: Side, device: &InterfaceName) -> bool {
        let field = match side {
            Side::Sender => "tx_packets",
            Side::Receiver => "rx_packets",
        };
        let packets = self.counter(side, &format!("link/{device}/{field}"));
        packets > 0 && packets >= self.received() / self.sender_unit()
    }

    /// Whether what happens on this device of a host happens to a copy of the flow's packets: a bridge sends copies to all of its
    /// ports when it does not know the destination's.
    pub(crate) fn gets_copies(&self, side: Side, device: &InterfaceName) -> bool {
        if self.window(side).counters.under("link/").next().is_none() {
            return false;
        }
        let interfaces = self.host_facts(side).map(|facts| &facts.interfaces);
        let mut bridges = interfaces.into_iter().flat_map(|all| all.values());
        let is_port =
            bridges.any(|it| it.driver.as_deref() == Some("bridge") && it.lower.contains(device));
        is_port && !self.beneath(side).contains(&device) && !self.may_carry(side, device)
    }

    /// The flow's interface and the devices under it.
    pub(crate) fn devices(&self, side: Side) -> Vec<&'a InterfaceName> {
        let mut devices: Vec<_> = self.interface(side).map(|(n, _)| n).into_iter().collect();
        devices.extend(self.beneath(side));
        devices
    }

    /// True when the interface is one end of a veth pair, which hands a packet to its peer's
    /// receive path in the same call and counts the peer's refusal as its own `tx_dropped`.
    pub(crate) fn is_veth(&self, side: Side) -> bool {
        self.interface(side)
            .is_some_and(|(_, i)| i.driver.as_deref() == Some("veth"))
    }

    /// What the tap on that side saw of the flow; absent when it did not run, or saw fewer
    /// packets than arrived and so cannot have seen them all.
    ///
    /// A tap that saw nothing leaves no record. Several records are several interfaces a
    /// packet passes in turn (bond and member), so the one on the flow's own interface
    /// counts, or else the largest.
    pub(crate) fn tap(&self, side: Side) -> Option<Tapped> {
        let direction = match side {
            Side::Sender => TapDirection::Sent,
            Side::Receiver => TapDirection::Received,
        };
        let own = self.interface(side).map(|(name, _)| name);
        let taps = self.window(side).taps.as_ref()?;
        let record = taps
            .iter()
            .filter(|t| t.flow == self.phase.spec.flow && t.direction == direction)
            .max_by_key(|t| (Some(&t.interface) == own, t.packets));
        let tapped = record.map_or(Tapped::default(), |t| Tapped {
            packets: t.packets.0.min(MOST_PACKETS),
            damaged: t.damaged.0.min(MOST_PACKETS),
            later_fragments: t.later_fragments.0.min(MOST_PACKETS),
        });
        (tapped.packets.saturating_add(tapped.damaged) >= self.received()).then_some(tapped)
    }

    /// Prefixes of this flow's counters: `("udp", "ip")` or `("udp6", "ip6")`.
    pub(crate) fn families(&self) -> (&'static str, &'static str) {
        if self.phase.spec.source.is_ipv4() {
            ("udp", "ip")
        } else {
            ("udp6", "ip6")
        }
    }

    /// The size of one datagram as an IP packet, before any fragmentation.
    pub(crate) fn packet_size(&self) -> Mtu {
        packet_size(&self.phase.spec)
    }

    /// Fragments that one datagram makes at the sending interface; 1 when it fits or when
    /// the interface's MTU is not known.
    pub(crate) fn fragments(&self) -> u64 {
        let Some(mtu) = self.interface(Side::Sender).and_then(|(_, i)| i.mtu) else {
            return 1;
        };
        if self.packet_size() <= mtu {
            return 1;
        }
        // RFC 791 and RFC 8200: each fragment but the last carries a multiple of 8 bytes.
        let header = if self.phase.spec.source.is_ipv4() {
            20
        } else {
            48
        };
        let room = u64::from(mtu.0.saturating_sub(header) & !7).max(8);
        (u64::from(self.phase.spec.payload) + 8).div_ceil(room)
    }

    /// Datagrams that one increment of a sender's counter may stand for: with
    /// `UDP_SEGMENT` the queueing discipline counts a whole buffer as one packet.
    pub(crate) fn sender_unit(&self) -> u64 {
        match self.phase.spec.batching {
            Batching::Mmsg => 1,
            Batching::Segment => {
                (65_507 / u64::from(self.phase.spec.payload.max(1))).clamp(1, MOST_SEGMENTS)
            }
        }
    }

    /// Sequence numbers used.
    pub(crate) fn sent(&self) -> u64 {
        self.phase.sender.sent.0.min(MOST_PACKETS)
    }

    /// Distinct intact packets that arrived; never more than were sent.
    pub(crate) fn received(&self) -> u64 {
        self.phase.receiver.received.0.min(self.sent())
    }

    /// The sum of all counters under `prefix` whose name ends with `suffix`.
    pub(crate) fn sum(&self, side: Side, prefix: &str, suffix: &str) -> u64 {
        self.window(side)
            .counters
            .under(prefix)
            .filter(|(name, _)| name.ends_with(suffix))
            .fold(0, |sum: u64, (_, value)| sum.saturating_add(value))
    }

    /// A counter's gain in the window, zero when it did not move or was not read.
    pub(crate) fn counter(&self, side: Side, name: &str) -> u64 {
        self.window(side).counters.or_zero(name).min(MOST_PACKETS)
    }

    /// The largest value of `link/<device>/<field>` over the flow's devices on that side:
    /// stacked devices count the same packet each.
    pub(crate) fn link_counter(&self, side: Side, field: &str) -> u64 {
        self.devices(side)
            .iter()
            .map(|device| self.counter(side, &format!("link/{device}/{field}")))
            .max()
            .unwrap_or(0)
    }

    /// Packets that the machine's softnet backlogs refused, all CPUs.
    pub(crate) fn softnet_dropped(&self, side: Side) -> u64 {
        self.sum(side, "softnet/", "/dropped")
    }
}
