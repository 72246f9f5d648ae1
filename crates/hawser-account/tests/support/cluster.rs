//! A clean cluster in the lab's shape: every host a namespace with one veth per link, all
//! collectors running, nothing lost.

use std::collections::BTreeMap;
use std::net::IpAddr;

use hawser_model::case::{Case, Intensity, Measurement, Phase, PhaseKind};
use hawser_model::counters::Counters;
use hawser_model::drops::{TapDirection, TapRecord};
use hawser_model::host::{Collector, HostFacts, HostWindow, Interface};
use hawser_model::names::{HostName, InterfaceName, LinkName};
use hawser_model::probe::{HelloHeard, PathMtu};
use hawser_model::topology::{Link, Node, Reach, Topology};
use hawser_model::traffic::{
    Drain, FlowId, FlowSpec, Quantiles, Rate, ReceiverReport, SenderReport, Transport,
};
use hawser_model::units::{BitsPerSec, Bytes, Mtu, Nanos, Packets, PacketsPerSec};

pub use PhaseKind::{Bulk, Fragmented, Heartbeat, Multicast};

/// `net.core.rmem_default` of a stock kernel.
pub const DEFAULT_BUFFER: u64 = 212_992;

/// Later fragments of an 8192-byte datagram at MTU 1500.
pub const LATER: u64 = 5;

/// Which cluster, and what is measured on it.
#[derive(Clone, Debug)]
pub struct Shape<'a> {
    pub hosts: &'a [&'a str],
    pub links: &'a [&'a str],
    pub kinds: &'a [PhaseKind],
    pub mtu: u32,
    pub v6: bool,
}

/// Two heads on one link: enough for what happens on one host.
pub const PAIR: Shape<'static> = Shape {
    hosts: &["head1", "head2"],
    links: &["ring0"],
    kinds: &[Heartbeat, Bulk],
    mtu: 1_500,
    v6: false,
};

/// Two heads on two links.
pub const RINGS: Shape<'static> = Shape {
    links: &["ring0", "ring1"],
    ..PAIR
};

/// Two heads on one link whose datagrams are also cut.
pub const BLOCKS: Shape<'static> = Shape {
    kinds: &[Heartbeat, Bulk, Fragmented],
    ..PAIR
};

/// Two heads on one link with jumbo frames.
pub const JUMBO: Shape<'static> = Shape { mtu: 9_000, ..PAIR };

/// The address of a host on a link.
pub fn address(v6: bool, link: usize, host: usize) -> IpAddr {
    let text = match v6 {
        false => format!("10.77.{link}.{}", host + 1),
        true => format!("fd77:{link}::{}", host + 1),
    };
    text.parse().expect("an address")
}

/// A clean case.
pub fn clean(shape: &Shape<'_>) -> Case {
    let addresses = |host: usize| -> BTreeMap<LinkName, IpAddr> {
        shape
            .links
            .iter()
            .enumerate()
            .map(|(l, link)| (LinkName::from(*link), address(shape.v6, l, host)))
            .collect()
    };
    let nodes = shape.hosts.iter().enumerate().map(|(h, name)| Node {
        name: HostName::from(*name),
        reach: Reach::Lab("cases".to_owned()),
        addresses: addresses(h),
    });
    let links = shape.links.iter().enumerate().map(|(l, name)| Link {
        name: LinkName::from(*name),
        mtu: None,
        speed: None,
        switch: Some(format!("sw{l}")),
    });
    let topology = Topology {
        cluster: "cases".to_owned(),
        nodes: nodes.collect(),
        links: links.collect(),
    };
    let mut case = Case {
        hawser: "0.1.0".to_owned(),
        hellos: Some(Vec::new()),
        ..Case::new(1_780_000_000, Intensity::Gentle, topology, BTreeMap::new())
    };
    for (h, name) in shape.hosts.iter().enumerate() {
        case.hosts.insert(HostName::from(*name), host(shape, h));
        case.sockets.insert(HostName::from(*name), Vec::new());
    }
    let mut flow = 0;
    for (l, link) in shape.links.iter().enumerate() {
        for (f, from) in shape.hosts.iter().enumerate() {
            for (t, to) in shape.hosts.iter().enumerate().filter(|(t, _)| *t != f) {
                case.hellos.as_mut().expect("hellos").push(HelloHeard {
                    from: HostName::from(*from),
                    from_link: LinkName::from(*link),
                    by: HostName::from(*to),
                    on_link: LinkName::from(*link),
                    copies: 1,
                });
                let ends = (address(shape.v6, l, f), address(shape.v6, l, t));
                let phases = shape.kinds.iter().map(|kind| {
                    flow += 1;
                    phase(shape, *kind, FlowId(flow), ends, link)
                });
                case.measurements.push(Measurement {
                    set_aside: Vec::new(),
                    multicast: None,
                    path_mtu_other: None,
                    from: HostName::from(*from),
                    to: HostName::from(*to),
                    link: LinkName::from(*link),
                    path_mtu: Some(PathMtu {
                        source: ends.0,
                        destination: ends.1,
                        interface_mtu: Mtu(shape.mtu),
                        passed: Some(Mtu(shape.mtu)),
                        silent: None,
                        told: None,
                    }),
                    phases: phases.collect(),
                    problems: Vec::new(),
                });
            }
        }
    }
    case
}

fn host(shape: &Shape<'_>, host: usize) -> HostFacts {
    let interfaces = shape.links.iter().enumerate().map(|(l, link)| {
        let prefix = if shape.v6 { 64 } else { 24 };
        let interface = Interface {
            index: l as u32 + 2,
            addresses: vec![(address(shape.v6, l, host), prefix)],
            mtu: Some(Mtu(shape.mtu)),
            up: true,
            carrier: true,
            speed: Some(BitsPerSec(10_000_000_000)),
            duplex: Some("full".to_owned()),
            driver: Some("veth".to_owned()),
            mac: Some(format!("02:77:00:00:{l:02x}:{:02x}", host + 1)),
            ..Interface::default()
        };
        (InterfaceName::from(*link), interface)
    });
    let sysctls = [
        ("net.core.netdev_max_backlog", "1000"),
        ("net.core.rmem_default", "212992"),
        ("net.core.rmem_max", "212992"),
        ("net.ipv4.ipfrag_high_thresh", "4194304"),
        ("net.ipv4.udp_mem", "94176 125571 188352"),
    ];
    HostFacts {
        hostname: shape.hosts[host].to_owned(),
        kernel: "6.18.0".to_owned(),
        machine: "x86_64".to_owned(),
        cpus: 2,
        interfaces: interfaces.collect(),
        sysctls: sysctls
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        collectors: ["drop-reasons", "tap"]
            .map(|name| Collector {
                name: name.to_owned(),
                unavailable: None,
            })
            .into(),
        corosync: None,
        ..HostFacts::default()
    }
}

/// Packets, payload, packets a second and burst of each kind of phase.
fn plan(shape: &Shape<'_>, kind: PhaseKind) -> (u64, u32, u64, u32) {
    let headers = if shape.v6 { 48 } else { 28 };
    match kind {
        Heartbeat => (75, 200, 250, 1),
        Bulk | Multicast => (10_000, shape.mtu - headers, 10_000, 50),
        Fragmented => (50, 8_192, 200, 1),
        PhaseKind::Stream => panic!("streams are made where they are planted"),
    }
}

fn phase(
    shape: &Shape<'_>,
    kind: PhaseKind,
    flow: FlowId,
    (source, receiver): (IpAddr, IpAddr),
    interface: &str,
) -> Phase {
    let (sent, payload, rate, burst) = plan(shape, kind);
    let later = if kind == Fragmented { LATER } else { 0 };
    let elapsed = Nanos(sent * 1_000_000_000 / rate);
    let destination = match kind {
        Multicast => "239.77.0.1".parse().expect("a group"),
        _ => receiver,
    };
    let spec = FlowSpec {
        receiver,
        burst,
        dont_fragment: kind != Fragmented,
        echo: kind == Heartbeat,
        realtime: true,
        ..FlowSpec::plain(
            flow,
            Transport::Udp,
            (source, destination),
            payload,
            Rate::PerSecond(PacketsPerSec(rate)),
            elapsed,
        )
    };
    let tap = |direction| TapRecord {
        flow,
        interface: InterfaceName::from(interface),
        direction,
        packets: Packets(sent),
        damaged: Packets::ZERO,
        later_fragments: Packets(sent * later),
    };
    let frames = sent * (later + 1);
    let window = |field: &str, direction| HostWindow {
        elapsed: elapsed + Nanos::from_millis(80),
        counters: Counters::from_iter([(format!("link/{interface}/{field}"), frames)]),
        drops: Some(Vec::new()),
        taps: Some(vec![tap(direction)]),
        ..HostWindow::default()
    };
    let echoed = if kind == Heartbeat {
        Packets(sent)
    } else {
        Packets::ZERO
    };
    Phase {
        kind,
        spec,
        port: 40_000 + flow.0 as u16,
        sender: SenderReport {
            sent: Packets(sent),
            elapsed,
            cpu: Nanos(sent * 3_000),
            send_buffer: Bytes(DEFAULT_BUFFER),
            round_trip: (kind == Heartbeat).then(|| quantiles(sent, 90_000)),
            echoed_back: echoed,
            ..SenderReport::default()
        },
        receiver: ReceiverReport {
            received: Packets(sent),
            elapsed,
            jitter: quantiles(sent, 8_000),
            longest_gap: Nanos::from_millis(6),
            cpu: Nanos(sent * 4_000),
            // 5 µs a packet: a reader of 200 000 packets a second.
            drain: Drain {
                busy: Nanos(sent * 5_000),
                idle: Nanos(elapsed.0.saturating_sub(sent * 5_000)),
                waits: sent / u64::from(burst),
            },
            buffer_granted: Bytes(DEFAULT_BUFFER),
            packet_memory: Some(Bytes(if payload < 256 { 1_280 } else { 2_304 })),
            echoed,
            ..ReceiverReport::default()
        },
        sender_window: window("tx_packets", TapDirection::Sent),
        receiver_window: window("rx_packets", TapDirection::Received),
    }
}

fn quantiles(count: u64, around: u64) -> Quantiles {
    Quantiles {
        count,
        min: Nanos(around / 2),
        p50: Nanos(around),
        p90: Nanos(around * 2),
        p99: Nanos(around * 3),
        p999: Nanos(around * 4),
        max: Nanos(around * 5),
    }
}

/// The measurement from one host to another on a link.
pub fn measurement<'a>(
    case: &'a mut Case,
    from: &str,
    to: &str,
    link: &str,
) -> &'a mut Measurement {
    case.measurements
        .iter_mut()
        .find(|m| m.from.0 == from && m.to.0 == to && m.link.0 == link)
        .expect("a measurement")
}

/// One of its phases.
pub fn phase_of<'a>(
    case: &'a mut Case,
    from: &str,
    to: &str,
    link: &str,
    kind: PhaseKind,
) -> &'a mut Phase {
    measurement(case, from, to, link)
        .phases
        .iter_mut()
        .find(|p| p.kind == kind)
        .expect("a phase")
}

/// The bulk phase from head1 to head2 on ring0, where most faults are planted.
pub fn bulk(case: &mut Case) -> &mut Phase {
    phase_of(case, "head1", "head2", "ring0", Bulk)
}

/// Facts of a host.
pub fn facts<'a>(case: &'a mut Case, host: &str) -> &'a mut HostFacts {
    case.hosts.get_mut(host).expect("a host")
}

/// An interface of a host.
pub fn interface<'a>(case: &'a mut Case, host: &str, name: &str) -> &'a mut Interface {
    facts(case, host)
        .interfaces
        .get_mut(name)
        .expect("an interface")
}
