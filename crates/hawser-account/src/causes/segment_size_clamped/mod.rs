//! A TCP stream sends segments far smaller than its path takes: something lowered the segment size (MSS) that its receiver
//! offered in the SYN. A clamp of a packet filter, `advmss` of a route (ip-route(8)), or a smaller MTU of the receiver when
//! the stream began.
//!
//! Evidence: the segment size in force (`tcpi_snd_mss`), and the smallest of the path MTU that was confirmed by echoes and
//! the MTUs of the two interfaces. It is told where even 40 bytes of options, the most that TCP has (RFC 9293, 3.1), do not
//! explain it. A window of less than two segments makes them smaller too (`tcp_bound_to_half_wnd`, `net/ipv4/tcp_output.c`)
//! and is not told, nor is a sender that looks for the path's MTU from below (`net.ipv4.tcp_mtu_probing=2`). Likely; a warning. Cases: `segment-size-clamped`, `ladder-segment-size-clamped`;
//! not `segment-size-options`, `segment-size-small-mtu`.

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::host::HostFacts;
use hawser_model::probe::PathMtu;
use hawser_model::units::{Bytes, Mtu};
use serde::Serialize;

use crate::cause::{
    Before, Cause, CheckCause, Found, LadderCause, Tenths, Words, host, on_link, peer,
};
use crate::losses::Losses;
use crate::packets::facts::Side;
use crate::stream::{StreamView, streams};
use crate::throughput::view::LadderView;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct SegmentSizeClamped {
    segment_bytes: Bytes,
    /// What the path MTU leaves beside IP's and TCP's headers and timestamps.
    allowed_bytes: Bytes,
    path_mtu: Mtu,
    times_as_many_packets: Tenths,
}

/// A TCP header without options (RFC 9293, 3.1).
const HEADER: u64 = 20;

/// The most that its options take (the same section): a stream with fewer than that less than its MTU is not clamped.
const OPTIONS: u64 = 40;

/// Timestamps (RFC 7323), which Linux has on.
const TIMESTAMPS: u64 = 12;

/// A stream with this segment size on this path, whose ports have these MTUs and whose receiver offered this window.
fn clamp(
    segment: Bytes,
    window: Option<Bytes>,
    path: &PathMtu,
    ports: [Option<Mtu>; 2],
) -> Option<SegmentSizeClamped> {
    let mtu = ports.into_iter().flatten().fold(path.passed?, Mtu::min);
    let header = match path.source.is_ipv4() {
        true => 20,
        false => 40,
    };
    let room = u64::from(mtu.0).checked_sub(header + HEADER)?;
    let allowed = room.checked_sub(TIMESTAMPS)?;
    let halved = window.is_some_and(|w| w.0 > 0 && w.0 < 2 * room);
    let clamped = segment.0 > 0 && segment.0.saturating_add(OPTIONS) < room && !halved;
    clamped.then(|| SegmentSizeClamped {
        segment_bytes: segment,
        allowed_bytes: Bytes(allowed),
        path_mtu: mtu,
        times_as_many_packets: Tenths::of(allowed as f64 / segment.0 as f64),
    })
}

/// Whether this host's streams begin small and look for what passes.
fn begins_small(sender: Option<&HostFacts>) -> bool {
    sender.and_then(|host| host.sysctl_number("net.ipv4.tcp_mtu_probing")) == Some(2)
}

/// Whether this stream's segments are clamped.
pub(super) fn clamped(stream: &StreamView<'_>) -> Option<Found<SegmentSizeClamped>> {
    let facts = &stream.facts;
    let (sender, spec) = (&facts.phase.sender, &facts.phase.spec);
    let path = facts.measurement.path_mtu.as_ref();
    let path = path.filter(|path| path.source.is_ipv4() == spec.source.is_ipv4())?;
    let ports = [Side::Sender, Side::Receiver].map(|side| facts.interface(side)?.1.mtu);
    let window = sender.stream.as_ref().map(|tcp| tcp.receive_window);
    let segment = sender.stream.as_ref().map(|tcp| tcp.segment);
    let segment = segment.or(sender.segment_size)?;
    let evidence = clamp(segment, window, path, ports)
        .filter(|_| !begins_small(facts.host_facts(Side::Sender)))?;
    Some(Found {
        severity: Severity::Warning,
        confidence: Confidence::Likely,
        place: Place {
            peer: Some(facts.host(Side::Sender).clone()),
            link: Some(facts.link().clone()),
            interface: facts
                .interface(Side::Receiver)
                .map(|(name, _)| name.clone()),
            ..Place::on(facts.host(Side::Receiver))
        },
        evidence,
    })
}

impl CheckCause for SegmentSizeClamped {
    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        streams(view.case).iter().filter_map(clamped).collect()
    }
}

impl LadderCause for SegmentSizeClamped {
    fn find(view: &LadderView<'_>, _: &Before<'_>) -> Vec<Found<Self>> {
        let (from, to) = (&view.run.from, &view.run.to);
        let ports = view.hosts().map(|host| view.port(host)?.1.mtu);
        let found = view.stream().zip(view.run.path_mtu.as_ref());
        let found = found.filter(|_| !begins_small(view.facts(from)));
        let found = found
            .and_then(|(tcp, path)| clamp(tcp.segment, Some(tcp.receive_window), path, ports))
            .map(|evidence| Found {
                severity: Severity::Warning,
                confidence: Confidence::Likely,
                place: Place {
                    peer: Some(from.clone()),
                    ..view.place(to)
                },
                evidence,
            });
        found.into_iter().collect()
    }
}

impl Cause for SegmentSizeClamped {
    const CODE: &'static str = "segment-size-clamped";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let (from, to, link) = (peer(at), host(at), on_link(at));
        Words {
            text: format!(
                "TCP from {from} to {to}{link} sends segments of {} bytes. Packets of {} pass, which hold {}: the same data \
                 takes {:.1} times as many packets. {to} offers the size (MSS) in its SYN, so a route of {to} has an `advmss`, \
                 its interface had a smaller MTU when the stream began, or a packet filter lowers the size: on {to}, between \
                 the hosts, or on {from}.",
                self.segment_bytes.0,
                self.path_mtu.0,
                self.allowed_bytes.0,
                self.times_as_many_packets.0,
            ),
            fix: format!(
                "First on {to}: `ip route show table all | grep advmss`, `nft list ruleset | grep maxseg`, `iptables-save | grep \
                 TCPMSS`. Then the same filters on {from}, and routers, firewalls and tunnels between them. `tcpdump -nvi IFACE \
                 'tcp[tcpflags] & tcp-syn != 0'` at both ends shows the `mss` of {to}'s SYN as it left and as it came. If both are \
                 whole, {from} lowers it itself: `ip route get ADDRESS` there (`mtu`). Streams that run \
                 keep their size: start them again.",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_held_against_the_headers_of_its_family_and_the_smallest_mtu() {
        let path = |address: &str| -> PathMtu {
            serde_json::from_value(serde_json::json!({
                "source": address, "destination": address, "interface_mtu": 9_000, "passed": 9_000,
                "silent": null, "told": null,
            }))
            .unwrap()
        };
        let allowed = |source, segment, window, port: u32| {
            let window = Some(Bytes(window));
            let ports = [Some(Mtu(9_000)), Some(Mtu(port))];
            clamp(Bytes(segment), window, &path(source), ports).map(|found| found.allowed_bytes.0)
        };
        assert_eq!(allowed("10.0.0.1", 524, 65_535, 1_500), Some(1_448));
        assert_eq!(allowed("fd00::1", 524, 65_535, 1_500), Some(1_428));
        // All options, and one byte less.
        assert_eq!(allowed("fd00::1", 1_400, 65_535, 1_500), None);
        assert_eq!(allowed("fd00::1", 1_399, 65_535, 1_500), Some(1_428));
        // Half of a small window.
        assert_eq!(allowed("10.0.0.1", 4_096, 8_192, 9_000), None);
        assert_eq!(allowed("10.0.0.1", 4_096, 65_536, 9_000), Some(8_948));
        assert_eq!(allowed("10.0.0.1", 0, 65_536, 9_000), None);
    }
}
