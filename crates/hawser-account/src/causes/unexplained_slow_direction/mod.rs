//! A TCP stream of a direction is far slower than those beside it, or loses a share of its segments that no sound path
//! loses, and no other cause explains it: a limit that began before the first sample, damage that only high rates show, a
//! filter that meets TCP alone. The last resort of a stream, as `unattributed-loss` is of packets.
//!
//! Evidence: the rates of the direction, of the way back and of other directions of the same speed, and what TCP counted.
//! Possible: that it is slow is measured, why is not known. A warning. Cases: `unexplained-slow-direction`,
//! `unexplained-slow-link`, `unexplained-slow-lossy`, `unexplained-slow-filter`; not `stream-slower-not-slow`, `slow-stream-half-duplex`,
//! `slow-stream-with-loss`, `firewall-drop-stream`, `sack-off`.

use std::collections::BTreeSet;

use hawser_model::account::Layer;
use hawser_model::case::Case;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::{HostName, InterfaceName};
use hawser_model::trial::TrialTraffic;
use hawser_model::units::{BitsPerSec, Packets};
use serde::Serialize;

use super::copy_retransmits::SHARE;
use crate::cause::{Cause, CheckCause, Found, Words, counted, percent_of, percent_text, way};
use crate::causes::{
    bond_one_member, firewall_drop, rate_after_burst, receive_merging_stall, sack_off,
    segment_size_clamped, window_not_scaled, window_too_small,
};
use crate::compare::topic::{About, Topic};
use crate::copy::fell::percent;
use crate::fixes::knobs::At;
use crate::fixes::{Candidate, end, stream_of};
use crate::losses::Losses;
use crate::packets::facts::Side;
use crate::stream::{StreamView, rates, streams};
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct UnexplainedSlowDirection {
    bits_per_s: BitsPerSec,
    #[serde(skip_serializing_if = "Option::is_none")]
    back_bits_per_s: Option<BitsPerSec>,
    /// Directions of the same speed on other links or between other hosts.
    others: usize,
    /// The links of those, by name.
    #[serde(skip_serializing_if = "String::is_empty")]
    others_on: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    others_bits_per_s: Option<BitsPerSec>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reader_waited_percent: Option<u64>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    again: Option<Again>,
}

/// What the sender's TCP counted.
#[derive(Serialize)]
struct Again {
    segments: Packets,
    retransmits: Packets,
    needless: Packets,
    lost_percent: f64,
}

/// A direction this many times slower than those beside it is far below them. In runs without faults, of a lab whose
/// processors others use too, the slowest direction had 0.78 of the fastest (11 and 14 Gbit/s). One processor for two
/// directions, or a slower host at one end, costs a factor of two or three.
const FAR: u64 = 5;

/// What a sound path lost at most in recorded runs is 0.15 % (a host short of processor time) and 0.09 % (a lab at
/// 14 Gbit/s); `copy-retransmits` takes the same share.
const OUT_OF_PROPORTION: f64 = SHARE;

/// Datagrams of the same path lost, of a thousand, from which a slow stream is that loss's doing: at 0.1 ms a loss-based
/// congestion control is then below 5 Gbit/s (Mathis et al. 1997), and what lost them is a finding of its own.
const EXPLAINING: u64 = 1;

impl CheckCause for UnexplainedSlowDirection {
    const SHOWN_BY_RATE: bool = true;

    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let streams = streams(view.case);
        let open = streams
            .iter()
            .filter(|stream| !explained(view, stream, &streams));
        open.filter_map(|stream| slow(stream, &streams)).collect()
    }

    /// What the sender's card does for the kernel, from the last step to the first: a card or driver that does one of them
    /// badly is what `ethtool -K IFACE tso off gso off sg off tx off` cures.
    fn candidates(&self, at: &At<'_>) -> Vec<Option<Candidate>> {
        vec![
            at.offload_off("tx-tcp-segmentation"),
            at.offload_off("tx-generic-segmentation"),
            at.offload_off("tx-scatter-gather"),
            at.transmit_checksum_off(),
        ]
    }

    /// At the sender's end of the link.
    fn turned_at(case: &Case, place: &Place) -> Option<(HostName, InterfaceName)> {
        end(case, place.host.as_ref()?, place.link.as_ref()?)
    }

    /// The stream itself.
    fn traffic(view: &View<'_>, place: &Place, _: &HostName) -> Option<TrialTraffic> {
        let (from, to, link) = (
            place.host.as_ref()?,
            place.peer.as_ref()?,
            place.link.as_ref()?,
        );
        let mut measured = view.case.measurements.iter();
        stream_of(measured.find(|m| m.from == *from && m.to == *to && m.link == *link)?)
    }
}

impl Cause for UnexplainedSlowDirection {
    const CODE: &'static str = "unexplained-slow-direction";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[
        Topic::Driver.any(),
        Topic::DriverOption.any(),
        Topic::Firmware.any(),
        Topic::Card.any(),
        Topic::Slot.any(),
        Topic::Ring.any(),
        Topic::Offload.any(),
        Topic::Kernel.any(),
        Topic::Governor.any(),
        Topic::Sysctl.with("net.ipv4.tcp_"),
    ];

    fn words(&self, at: &Place) -> Words {
        let back = self
            .back_bits_per_s
            .map(|back| format!("the way back had {back}"));
        let others = self.others_bits_per_s.map(|median| {
            let directions = counted(self.others as u64, "other direction");
            let on = &self.others_on;
            format!("the median of {directions} of the same speed ({on}) is {median}")
        });
        let beside: Vec<String> = back.into_iter().chain(others).collect();
        let beside = match beside[..] {
            [] => "there was no direction to compare it with".to_owned(),
            _ => beside.join(", "),
        };
        let again = match &self.again {
            None => String::new(),
            Some(again) if again.retransmits.is_zero() => " TCP sent no segment again.".to_owned(),
            Some(again) => format!(
                " TCP sent {} of {} segments again, {} of them needlessly: {} % were lost.",
                again.retransmits,
                again.segments,
                again.needless,
                percent_text(again.lost_percent),
            ),
        };
        let waited = self.reader_waited_percent;
        let waited = waited.map_or(String::new(), |percent| {
            format!(" Its reader waited for data {percent} % of the time.")
        });
        Words {
            text: format!(
                "The TCP stream {} had {} in its second half; {beside}.{again}{waited} The cause is not known: no fall to \
                 a steady rate, no merging of segments, no half-duplex port and no lost datagrams explain it.",
                way(at),
                self.bits_per_s,
            ),
            fix: format!(
                "Measure this path alone: `hawser ladder {}` tells a policer, a rate limit, a small window and a busy \
                 processor apart. If that names nothing: `tc -s qdisc show` and `tc -s filter show dev IFACE ingress` on \
                 both hosts, packet filters that meet TCP alone, and the discards and rate limits of the switch ports. \
                 `hawser check --full` sends datagrams as fast, and so shows a loss that needs a high rate.",
                path(at),
            ),
        }
    }
}

/// The options that name the path to `hawser ladder`.
fn path(at: &Place) -> String {
    let option = |name: &str, value: Option<&str>| value.map(|value| format!("--{name} {value}"));
    let options = [
        option("from", at.host.as_ref().map(|host| host.as_str())),
        option("to", at.peer.as_ref().map(|host| host.as_str())),
        option("link", at.link.as_ref().map(|link| link.as_str())),
    ];
    options.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Whether another cause says why this stream is slow.
fn explained(view: &View<'_>, stream: &StreamView<'_>, all: &[StreamView<'_>]) -> bool {
    let half = |side| {
        let port = stream.facts.interface(side);
        port.is_some_and(|(_, i)| i.duplex.as_deref() == Some("half"))
    };
    receive_merging_stall::stream::stall(stream).is_some()
        || rate_after_burst::stream::limit(stream).is_some()
        || bond_one_member::pinned(view, stream).is_some()
        || sack_off::held(view.case, stream).is_some()
        || window_not_scaled::check::held(view.case, stream).is_some()
        || window_too_small::check::held(stream, all).is_some()
        || firewall_drop::stream::filtered(stream).is_some()
        || (!lossy(stream) && segment_size_clamped::clamped(stream).is_some())
        || half(Side::Sender)
        || half(Side::Receiver)
        || datagrams_lost(view, stream)
}

/// Whether whole datagrams are lost on this way, or back, where segments of TCP pass too.
fn datagrams_lost(view: &View<'_>, stream: &StreamView<'_>) -> bool {
    let path = stream.path();
    [path.back(), path].iter().any(|path| {
        let whole = view.on(path).filter(|p| p.facts.fragments() == 1);
        let (lost, sent) = whole.fold((0u64, 0u64), |(lost, sent), p| {
            let shared = p
                .account
                .layers
                .iter()
                .filter(|line| !of_datagrams(line.layer));
            let here = shared.map(|line| line.packets).sum::<Packets>().0;
            (
                lost + here + p.account.unattributed.0,
                sent + p.account.sent.0,
            )
        });
        lost > 0 && lost.saturating_mul(1_000) >= sent.saturating_mul(EXPLAINING)
    })
}

/// Where datagrams are lost and no segment is.
fn of_datagrams(layer: Layer) -> bool {
    use Layer::{NoListener, Reassembly, SenderSocket, SocketBuffer};
    matches!(layer, SenderSocket | Reassembly | SocketBuffer | NoListener)
}

fn slow(
    stream: &StreamView<'_>,
    all: &[StreamView<'_>],
) -> Option<Found<UnexplainedSlowDirection>> {
    let facts = &stream.facts;
    let path = stream.path();
    let (own, speed) = (rate(stream), stream.speed());
    let back = all
        .iter()
        .find(|other| other.path() == path.back())
        .map(rate);
    let of_same_speed: Vec<&StreamView<'_>> = all
        .iter()
        .filter(|other| ![&path, &path.back()].contains(&&other.path()))
        .filter(|other| speed.is_some() && other.speed() == speed)
        .collect();
    let mut others: Vec<BitsPerSec> = of_same_speed.iter().map(|other| rate(other)).collect();
    others.sort();
    let on: BTreeSet<&str> = of_same_speed
        .iter()
        .map(|o| o.facts.link().as_str())
        .collect();
    // The upper one of two: where one link of two is slow, the other one tells it.
    let median = others.get(others.len() / 2).copied();
    let below = |beside: &BitsPerSec| own.0.saturating_mul(FAR) < beside.0;
    let far = back.iter().chain(&median).any(below);
    let sender = facts.phase.sender.stream.as_ref();
    let again = sender.and_then(|s| {
        Some(Again {
            segments: s.segments,
            retransmits: s.retransmits,
            needless: s.needless,
            lost_percent: percent_of(s.lost().0, s.segments.0)?,
        })
    });
    (far || lossy(stream)).then(|| Found {
        severity: Severity::Warning,
        confidence: Confidence::Possible,
        place: Place {
            peer: Some(path.to),
            link: Some(path.link),
            interface: facts.interface(Side::Sender).map(|(name, _)| name.clone()),
            ..Place::on(&path.from)
        },
        evidence: UnexplainedSlowDirection {
            bits_per_s: own,
            back_bits_per_s: back,
            others: others.len(),
            others_on: on.into_iter().collect::<Vec<_>>().join(", "),
            others_bits_per_s: median,
            reader_waited_percent: stream.waited().map(percent),
            again,
        },
    })
}

/// Whether it lost a share of its segments that no sound path loses.
fn lossy(stream: &StreamView<'_>) -> bool {
    let sender = stream.facts.phase.sender.stream.as_ref();
    sender.is_some_and(|s| {
        s.lost().0 > 0 && s.lost().0 as f64 >= OUT_OF_PROPORTION * s.segments.0 as f64
    })
}

/// Of its second half: what a slow start, or a bucket that was full, has no part in.
fn rate(stream: &StreamView<'_>) -> BitsPerSec {
    BitsPerSec(rates(stream.facts.phase).late.0.saturating_mul(8))
}
