//! Counters of the receiving host that may hold losses of the flow.

use std::collections::BTreeMap;

use hawser_model::account::Layer;
use hawser_model::counters::Counters;
use hawser_model::host::HostFacts;
use hawser_model::names::InterfaceName;

use super::{Candidate, filter_rules};
use crate::packets::books::{Books, Segment};
use crate::packets::facts::{MOST_PACKETS, PhaseFacts, Side};

/// The candidates, each loss once.
pub(super) fn candidates(facts: &PhaseFacts<'_>, books: &Books) -> Vec<Candidate> {
    let mut found = Vec::new();
    let mut add = |segment, layer, reason: String, moved: u64, eventless| {
        if moved > 0 {
            found.push(Candidate {
                side: Side::Receiver,
                segment,
                layer,
                reason,
                moved,
                eventless,
            });
        }
    };
    front(facts, &mut add);
    filters(facts, &mut add);
    protocol(facts, books, &mut add);
    found
}

/// In front of the tap: ring, XDP, backlog.
fn front(facts: &PhaseFacts<'_>, add: &mut impl FnMut(Segment, Layer, String, u64, bool)) {
    let Some((device, _)) = facts.interface(Side::Receiver) else {
        return;
    };
    // `enqueue_to_backlog` counts each refusal twice: for the CPU and for the device. The
    // device's count alone also holds harmless drops, the CPU's other devices' packets.
    let backlog = facts
        .softnet_dropped(Side::Receiver)
        .min(facts.link_counter(Side::Receiver, "rx_dropped"));
    add(
        Segment::Middle,
        Layer::Backlog,
        "softnet/dropped".to_owned(),
        backlog,
        false,
    );

    let (counters, devices) = (
        &facts.window(Side::Receiver).counters,
        facts.devices(Side::Receiver),
    );
    let (ring, full) = ring(counters, &devices, is_ring_counter);
    add(Segment::Middle, Layer::ReceiverNic, ring, full, true);
    for field in damage(facts.host_facts(Side::Receiver), &devices) {
        add(
            Segment::Middle,
            Layer::ReceiverNic,
            format!("link/{device}/{field}"),
            facts.link_counter(Side::Receiver, field),
            true,
        );
    }
    let (name, dropped) = driver_counter(counters, &devices, |name| name.contains("xdp_drop"));
    add(Segment::Middle, Layer::XdpTc, name, dropped, true);
}

/// The kinds of damage among an interface's statistics; each frame is counted once (`include/uapi/linux/if_link.h`).
pub(crate) const DAMAGE: [&str; 3] = ["rx_crc_errors", "rx_frame_errors", LENGTH];
const LENGTH: &str = "rx_length_errors";

/// Those of them that mean lost frames on an interface, which is the first of these devices; the others are below it.
///
/// QEMU's e1000e counts each frame that it pads to 60 bytes as too short, and delivers it (`e1000e_receive_internal`,
/// hw/net/e1000e_core.c).
pub(crate) fn damage(
    host: Option<&HostFacts>,
    devices: &[&InterfaceName],
) -> impl Iterator<Item = &'static str> {
    let is_emulated =
        |host: &&HostFacts| matches!(host.virtualization.as_deref(), Some("qemu" | "kvm"));
    let pads = host.filter(is_emulated).is_some_and(|host| {
        let found = devices.iter().filter_map(|name| host.interfaces.get(*name));
        let mut drivers = found.filter_map(|it| it.driver.as_deref());
        drivers.any(|driver| driver == "e1000e")
    });
    DAMAGE
        .into_iter()
        .filter(move |field| !(pads && *field == LENGTH))
}

/// Packets that found no room in the ring of the first of these devices or of one below it: interface statistics and the
/// driver's own counters that `is_ring` picks name the same packets, so the largest stands.
pub(crate) fn ring(
    counters: &Counters,
    devices: &[&InterfaceName],
    is_ring: impl Fn(&str) -> bool,
) -> (String, u64) {
    let mut best = driver_counter(counters, devices, is_ring);
    for device in devices {
        // `hw-drops` holds the overruns too (`Documentation/netlink/specs/netdev.yaml`).
        let prefix = format!("queue/{device}/rx-");
        let queues = counters.under(&prefix);
        let drops = queues.filter(|(name, _)| name.ends_with("/hw-drops"));
        let drops = drops.fold(0, |sum: u64, (_, value)| sum.saturating_add(value));
        if drops > best.1 {
            best = (format!("{prefix}*/hw-drops"), drops);
        }
    }
    for field in ["rx_missed_errors", "rx_fifo_errors", "rx_over_errors"] {
        // Stacked devices count the same packet each.
        let all = devices
            .iter()
            .map(|it| counters.or_zero(&format!("link/{it}/{field}")));
        let value = all.max().unwrap_or(0).min(MOST_PACKETS);
        if let (true, Some(device)) = (value >= best.1 && value > 0, devices.first()) {
            best = (format!("link/{device}/{field}"), value);
        }
    }
    best
}

/// Names under which drivers count a full ring: e1000e and ixgbe `rx_missed_errors`,
/// `rx_no_buffer_count`; mlx5 `rx_out_of_buffer`; vmxnet3 `pkts rx OOB`; bnx2x
/// `rx_discards`; virtio-net and veth `rx_queue_N_drops`, since Linux 6.10 what virtio-net's device has counted itself,
/// `rxN_hw_drop_overruns`. Drivers' `rx_dropped` is not among them: it also holds frames of unknown protocols.
pub(crate) fn is_ring_counter(name: &str) -> bool {
    const NAMES: [&str; 8] = [
        "rx_missed",
        "rx_no_buffer",
        "out_of_buf",
        "rx OOB",
        "no_buf_discard",
        "rx_discards",
        "rx_fifo_errors",
        "_hw_drop_overruns",
    ];
    NAMES.iter().any(|part| name.contains(part))
        || (name.starts_with("rx_queue_") && name.ends_with("_drops") && !name.contains("xdp"))
}

/// The largest driver counter that `wanted` picks, summed over queues.
fn driver_counter(
    counters: &Counters,
    devices: &[&InterfaceName],
    wanted: impl Fn(&str) -> bool,
) -> (String, u64) {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for device in devices {
        let prefix = format!("driver/{device}/");
        for (name, value) in counters.under(&prefix) {
            let field = &name[prefix.len()..];
            if wanted(field) {
                let value = value.saturating_sub(by_xdp(counters, name));
                let queues: String = field
                    .chars()
                    .map(|c| if c.is_ascii_digit() { '*' } else { c })
                    .collect();
                let sum = sums.entry(format!("{prefix}{queues}")).or_default();
                *sum = sum.saturating_add(value);
            }
        }
    }
    sums.into_iter()
        .max_by_key(|(_, sum)| *sum)
        .unwrap_or_default()
}

/// What an XDP program dropped of a queue whose `rx_queue_N_drops` this is: virtio-net counts it there too (`err_xdp`,
/// drivers/net/virtio_net.c).
fn by_xdp(counters: &Counters, name: &str) -> u64 {
    let queue = name.strip_suffix("_drops");
    let queue = queue.filter(|queue| queue.contains("/rx_queue_") && !queue.ends_with("_xdp"));
    queue.map_or(0, |queue| counters.or_zero(&format!("{queue}_xdp_drops")))
}

/// Programs and filters behind the tap.
fn filters(facts: &PhaseFacts<'_>, add: &mut impl FnMut(Segment, Layer, String, u64, bool)) {
    let beneath = facts.beneath(Side::Receiver);
    for device in facts.devices(Side::Receiver) {
        let segment = if beneath.contains(&device) {
            Segment::Middle
        } else {
            Segment::ReceiverHost
        };
        let prefix = format!("qdisc/{device}/");
        for (name, drops) in facts.window(Side::Receiver).counters.under(&prefix) {
            let program = name.contains("/clsact/") || name.contains("/ingress/");
            if program && name.ends_with("/drops") {
                add(segment, Layer::XdpTc, name.to_owned(), drops, false);
            }
        }
    }
    if let Some((rule, drops)) = filter_rules(facts, Side::Receiver) {
        add(
            Segment::ReceiverHost,
            Layer::ReceiverFilter,
            rule,
            drops,
            false,
        );
    }
    add(
        Segment::ReceiverHost,
        Layer::ReceiverFilter,
        "conntrack/drop".to_owned(),
        facts.counter(Side::Receiver, "conntrack/drop"),
        false,
    );
}

/// IP and UDP.
fn protocol(
    facts: &PhaseFacts<'_>,
    books: &Books,
    add: &mut impl FnMut(Segment, Layer, String, u64, bool),
) {
    let (udp, ip) = facts.families();
    let counter = |name: &str| facts.counter(Side::Receiver, name);
    let mut host = |layer, name: String, moved: u64| {
        add(Segment::ReceiverHost, layer, name, moved, false);
    };
    // A wrong IP header checksum is counted as a header error too (`ip_rcv_core`).
    let header_checksums = counter("ipext/InCsumErrors").min(counter(&format!("{ip}/InHdrErrors")));
    if ip == "ip" {
        host(
            Layer::Checksum,
            "ipext/InCsumErrors".to_owned(),
            header_checksums,
        );
        host(
            Layer::ReceiverIp,
            "tcpext/IPReversePathFilter".to_owned(),
            counter("tcpext/IPReversePathFilter"),
        );
        host(
            Layer::ReceiverIp,
            "ipext/InNoRoutes".to_owned(),
            counter("ipext/InNoRoutes"),
        );
    }
    host(
        Layer::ReceiverIp,
        format!("{ip}/InHdrErrors"),
        counter(&format!("{ip}/InHdrErrors")).saturating_sub(header_checksums),
    );
    for field in ["InAddrErrors", "InDiscards", "InUnknownProtos"] {
        host(
            Layer::ReceiverIp,
            format!("{ip}/{field}"),
            counter(&format!("{ip}/{field}")),
        );
    }
    if let Some((device, _)) = facts.interface(Side::Receiver) {
        host(
            Layer::ReceiverIp,
            format!("link/{device}/rx_otherhost_dropped"),
            facts.link_counter(Side::Receiver, "rx_otherhost_dropped"),
        );
    }
    host(
        Layer::NoListener,
        format!("{udp}/NoPorts"),
        counter(&format!("{udp}/NoPorts")),
    );
    host(
        Layer::Checksum,
        format!("{udp}/InCsumErrors"),
        counter(&format!("{udp}/InCsumErrors")),
    );
    // The own socket's count is exact; this is for a host where it could not be read.
    let foreign = facts
        .window(Side::Receiver)
        .sockets
        .iter()
        .fold(0u64, |sum, s| sum.saturating_add(s.drops.0));
    let booked = books.booked(facts.host(Side::Receiver), Layer::SocketBuffer);
    if facts.phase.receiver.socket_drops.is_zero() && booked == 0 {
        host(
            Layer::SocketBuffer,
            format!("{udp}/RcvbufErrors"),
            counter(&format!("{udp}/RcvbufErrors")).saturating_sub(foreign),
        );
    }
}
