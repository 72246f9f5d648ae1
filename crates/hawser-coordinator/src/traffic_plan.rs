//! How much traffic a check sends, and in which phases. Pure: from link speed, MTU and the
//! number of slots to flow specifications.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use hawser_model::case::{Intensity, PhaseKind};
use hawser_model::traffic::{FlowId, FlowSpec, Membership, Rate, Transport};
use hawser_model::units::{BitsPerSec, Bytes, Mtu, Nanos, PacketsPerSec};
use hawser_rungs::loopback::stream;

/// Share of a link's speed that a gentle check may use: one fiftieth.
pub const GENTLE_SHARE_OF_LINK: u64 = 50;

/// And never more packets a second than this: what a small host forwards without effort.
pub const GENTLE_PACKETS_PER_S: u64 = 10_000;

/// Packets sent back to back. Corosync may send a whole window at once
/// (`totem.window_size`, 50 messages; corosync.conf(5)), so a path must take such a burst.
pub const BURST: u32 = 50;

/// Speed assumed for a link whose driver reports none.
const UNKNOWN_SPEED: BitsPerSec = BitsPerSec(1_000_000_000);

/// A datagram that must be fragmented on any Ethernet short of jumbo frames: NFS over UDP's
/// and many middlewares' 8 KiB block.
const BLOCK: u32 = 8 * 1024;

/// As a datagram a larger block is no more than this: what a datagram takes with some room for options.
const LARGEST_DATAGRAM: u64 = 65_000;

/// What the user asked of a check's traffic.
#[derive(Clone, Debug, PartialEq)]
pub struct TrafficOptions {
    /// Gentle or full.
    pub intensity: Intensity,
    /// Duration of each bulk phase; absent: from the time budget.
    pub duration: Option<Nanos>,
    /// Packets a second of the bulk phase; absent: by intensity.
    pub rate: Option<PacketsPerSec>,
    /// UDP payload of the bulk phase; absent: what the MTU takes.
    pub payload: Option<u32>,
    /// Packets back to back; absent: [`BURST`].
    pub burst: Option<u32>,
    /// Receive buffer to ask for, as the user's program does; absent: ask for nothing.
    pub receive_buffer: Option<Bytes>,
    /// Send to a multicast group as well.
    pub multicast: bool,
    /// Send one TCP stream for so long as well, as fast as it goes; absent: none.
    pub stream: Option<Nanos>,
    /// A block beside 8 KiB: sent as a datagram too, as far as one takes it, and what the stream writes at once.
    pub block: Option<Bytes>,
    /// Time the reader spends on each packet: stands for an application that slow.
    pub reader_delay: Nanos,
}

impl Default for TrafficOptions {
    fn default() -> Self {
        Self {
            intensity: Intensity::Gentle,
            duration: None,
            rate: None,
            payload: None,
            burst: None,
            receive_buffer: None,
            multicast: false,
            stream: None,
            block: None,
            reader_delay: Nanos::ZERO,
        }
    }
}

/// The group that multicast phases use: organization-local scope (RFC 2365) and, for IPv6, a
/// transient link-local one (RFC 4291), so that no router passes it on.
fn group(family_of: IpAddr) -> IpAddr {
    match family_of {
        IpAddr::V4(_) => Ipv4Addr::new(239, 192, 72, 87).into(),
        IpAddr::V6(_) => Ipv6Addr::new(0xff12, 0, 0, 0, 0, 0, 0x4861, 0x7773).into(),
    }
}

/// One of 65 536 groups of the same scope as `group`, each with a MAC address of its own. What a switch remembers of
/// a membership, for minutes, it does not remember of these.
pub fn fresh_group(group: IpAddr, number: u16) -> IpAddr {
    let [high, low] = number.to_be_bytes();
    match group {
        IpAddr::V4(_) => Ipv4Addr::new(239, 193, high, low).into(),
        IpAddr::V6(_) => Ipv6Addr::new(0xff12, 0, 0, 0, 0, 0, 0x4862, number).into(),
    }
}

/// A group beside it that nobody joins, of the same scope.
pub fn unjoined(family_of: IpAddr) -> IpAddr {
    match family_of {
        IpAddr::V4(_) => Ipv4Addr::new(239, 192, 72, 88).into(),
        IpAddr::V6(_) => Ipv6Addr::new(0xff12, 0, 0, 0, 0, 0, 0x4861, 0x7774).into(),
    }
}

/// The two ends of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// Sender's address.
    pub source: IpAddr,
    /// Receiver's address.
    pub destination: IpAddr,
    /// MTU of the sending interface.
    pub mtu: Mtu,
    /// Speed of the slower of the two interfaces, if known.
    pub speed: Option<BitsPerSec>,
}

/// IP and UDP header bytes on a path.
fn headers(path: &Path) -> u32 {
    if path.destination.is_ipv4() { 28 } else { 48 }
}

/// The rate of the bulk phase.
pub fn bulk_rate(options: &TrafficOptions, path: &Path, payload: u32) -> Rate {
    if let Some(rate) = options.rate {
        return Rate::PerSecond(rate);
    }
    match options.intensity {
        Intensity::Full => Rate::Max,
        Intensity::Gentle => {
            let wire_bits = u64::from(payload + headers(path)) * 8;
            let speed = path.speed.filter(|s| s.0 > 0).unwrap_or(UNKNOWN_SPEED);
            let share = speed.0 / GENTLE_SHARE_OF_LINK / wire_bits;
            // Twenty packets a second still show a path that loses most of them.
            Rate::PerSecond(PacketsPerSec(share.clamp(20, GENTLE_PACKETS_PER_S)))
        }
    }
}

/// How long each bulk phase lasts when all slots together should fit the time budget:
/// 20 s for two nodes on two links, 60 s for eight (the limits users were promised), less
/// what the other phases and the round trips of a slot take.
fn bulk_duration(options: &TrafficOptions, slots: usize) -> Nanos {
    if let Some(duration) = options.duration {
        return duration;
    }
    let budget_ms = if slots <= 8 { 14_000 } else { 46_000 };
    let each = budget_ms / slots.max(1) as u64;
    Nanos::from_millis(each.saturating_sub(900).clamp(300, 1_000))
}

/// The phases of one measurement. Flow numbers start at `first`.
pub fn phases(
    options: &TrafficOptions,
    path: &Path,
    slots: usize,
    first: u32,
) -> Vec<(PhaseKind, FlowSpec)> {
    let full_size = path.mtu.0.saturating_sub(headers(path)).clamp(64, 65_000);
    let payload = options.payload.unwrap_or(full_size);
    let base = FlowSpec {
        burst: options.burst.unwrap_or(BURST),
        dont_fragment: payload <= full_size,
        receive_buffer: options.receive_buffer,
        // A full run wants the path's limit, and must leave a small host's CPU to others.
        realtime: options.intensity == Intensity::Gentle,
        reader_delay: options.reader_delay,
        ..FlowSpec::plain(
            FlowId(first),
            Transport::Udp,
            (path.source, path.destination),
            payload,
            bulk_rate(options, path, payload),
            bulk_duration(options, slots),
        )
    };
    let heartbeat = FlowSpec {
        flow: FlowId(first),
        payload: 200.min(full_size),
        rate: Rate::PerSecond(PacketsPerSec(250)),
        burst: 1,
        duration: Nanos::from_millis(300),
        dont_fragment: true,
        receive_buffer: None,
        echo: true,
        reader_delay: Nanos::ZERO,
        ..base.clone()
    };
    let bulk = FlowSpec {
        flow: FlowId(first + 1),
        ..base.clone()
    };
    let mut phases = vec![(PhaseKind::Heartbeat, heartbeat), (PhaseKind::Bulk, bulk)];
    let named = options.block.map(|block| block.0.min(LARGEST_DATAGRAM));
    let named = named.map(|block| block as u32);
    // Flow numbers of a measurement that has no other block stay what they were.
    let blocks = [(2, Some(BLOCK)), (5, named.filter(|block| *block != BLOCK))];
    for (number, block) in blocks {
        // A path that takes the block whole has nothing to reassemble.
        let Some(payload) = block.filter(|block| *block > full_size) else {
            continue;
        };
        let fragmented = FlowSpec {
            flow: FlowId(first + number),
            payload,
            rate: Rate::PerSecond(PacketsPerSec(200)),
            burst: 1,
            duration: Nanos::from_millis(250),
            dont_fragment: false,
            receive_buffer: None,
            reader_delay: Nanos::ZERO,
            ..base.clone()
        };
        phases.push((PhaseKind::Fragmented, fragmented));
    }
    if options.multicast {
        let multicast = FlowSpec {
            flow: FlowId(first + 3),
            destination: group(path.destination),
            membership: Some(Membership {
                source: None,
                ttl: 1,
            }),
            ..base
        };
        phases.push((PhaseKind::Multicast, multicast));
    }
    if let Some(duration) = options.stream {
        let flow = FlowId(first + 4);
        let stream = stream(flow, path.source, path.destination, duration);
        let written = options.block.map(|block| block.0 as u32);
        let stream = FlowSpec {
            payload: written.unwrap_or(stream.payload),
            ..stream
        };
        phases.push((PhaseKind::Stream, stream));
    }
    phases
}

/// Phases of one measurement, at most.
const PHASES: u32 = 6;

/// How often a phase is measured at most, when the measuring hosts keep disturbing it.
pub const ATTEMPTS: u32 = 6;

/// Flow numbers one measurement may use.
pub const FLOWS_PER_MEASUREMENT: u32 = PHASES * ATTEMPTS;

/// A phase's flow for its first, second, … attempt: each under a number of its own, so that late
/// packets of one are foreign to the next.
pub fn attempt(spec: &FlowSpec, number: u32) -> FlowSpec {
    FlowSpec {
        flow: FlowId(spec.flow.0 + PHASES * (number - 1)),
        ..spec.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(speed: Option<u64>, mtu: u32) -> Path {
        Path {
            source: [10, 0, 0, 1].into(),
            destination: [10, 0, 0, 2].into(),
            mtu: Mtu(mtu),
            speed: speed.map(BitsPerSec),
        }
    }

    #[test]
    fn a_gentle_check_stays_within_its_stated_share_of_the_link() {
        for speed in [
            10_000_000,
            100_000_000,
            1_000_000_000,
            10_000_000_000,
            100_000_000_000,
        ] {
            for mtu in [1_500, 9_000] {
                let path = path(Some(speed), mtu);
                for (kind, spec) in phases(&TrafficOptions::default(), &path, 4, 0) {
                    let Rate::PerSecond(rate) = spec.rate else {
                        panic!("gentle is paced")
                    };
                    let bits = rate.0 * u64::from(spec.payload + 28) * 8;
                    if kind == PhaseKind::Bulk && speed > 10_000_000 {
                        assert!(bits <= speed / GENTLE_SHARE_OF_LINK, "{speed} {mtu} {bits}");
                        assert!(rate.0 <= GENTLE_PACKETS_PER_S);
                    }
                }
            }
        }
    }

    #[test]
    fn no_two_attempts_share_a_flow_number() {
        let options = TrafficOptions {
            multicast: true,
            stream: Some(Nanos::from_millis(1_000)),
            ..TrafficOptions::default()
        };
        let phases = phases(&options, &path(None, 1_500), 4, 1);
        let mut numbers: Vec<u32> = (1..=ATTEMPTS)
            .flat_map(|number| {
                phases
                    .iter()
                    .map(move |(_, spec)| attempt(spec, number).flow.0)
            })
            .collect();
        numbers.sort_unstable();
        let all = numbers.len();
        numbers.dedup();
        assert_eq!(numbers.len(), all);
        assert!(
            numbers
                .iter()
                .all(|n| (1..=FLOWS_PER_MEASUREMENT).contains(n))
        );
    }

    #[test]
    fn bulk_packets_fill_the_mtu_and_blocks_are_fragmented_only_below_jumbo() {
        let kinds = |mtu| {
            phases(&TrafficOptions::default(), &path(None, mtu), 4, 0)
                .into_iter()
                .map(|(kind, spec)| (kind, spec.payload))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            kinds(1_500),
            [
                (PhaseKind::Heartbeat, 200),
                (PhaseKind::Bulk, 1_472),
                (PhaseKind::Fragmented, 8_192)
            ]
        );
        assert_eq!(kinds(9_000).len(), 2);
    }

    #[test]
    fn a_multicast_phase_goes_to_a_group_and_its_receiver_stays_the_host() {
        let options = TrafficOptions {
            multicast: true,
            ..TrafficOptions::default()
        };
        let path = path(None, 9_000);
        let phases = phases(&options, &path, 4, 1);
        let (kind, spec) = phases.last().expect("there are phases");
        assert_eq!(*kind, PhaseKind::Multicast);
        assert!(spec.destination.is_multicast());
        assert_eq!(spec.receiver, path.destination);
    }
}
