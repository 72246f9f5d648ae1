//! The same of a TCP stream: the filter dropped packets of the stream itself, TCP sent them again, and the datagrams of
//! the same path passed.
//!
//! Evidence: drop events of the stream's own flow in the packet filter of one of its hosts, and a share of its segments
//! lost that no sound path loses. Certain if the events are half of the lost segments or more; likely if they are fewer,
//! since a packet that the kernel merged counts once and holds up to 45 segments; not told below that. A filter that drops
//! late duplicates (`ct state invalid`) loses nothing and is not told. A stream that stands still sends little again, so its share says
//! nothing: told if the filter dropped all that was lost, and more than duplicates. An error. Cases: `firewall-drop-stream`,
//! `firewall-drop-stream-stopped`; not `stream-stopped-duplicates`.

use hawser_model::account::Layer;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::units::{Nanos, Packets};
use serde::Serialize;

use super::FirewallDrop;
use crate::cause::{
    Cause, CheckCause, Found, Words, as_number, counted, host, on_link, peer, percent_of,
    percent_text,
};
use crate::causes::copy_retransmits::SHARE;
use crate::losses::Losses;
use crate::packets::events::{self, Direction};
use crate::packets::facts::Side;
use crate::stream::{StreamView, stood_still, streams};
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct FilteredStream {
    reason: String,
    #[serde(serialize_with = "as_number")]
    outgoing: bool,
    /// As the kernel's events count them.
    dropped_packets: Packets,
    segments: Packets,
    retransmits: Packets,
    needless: Packets,
    lost_percent: f64,
    /// When the last byte came, of a stream that then stood still.
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped_after_ns: Option<Nanos>,
}

/// Segments of 1448 bytes in the largest packet that the kernel makes of several (64 KiB).
const MERGED: u64 = 45;

impl CheckCause for FilteredStream {
    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        streams(view.case).iter().filter_map(filtered).collect()
    }
}

/// What a packet filter dropped of this stream.
pub(crate) fn filtered(stream: &StreamView<'_>) -> Option<Found<FilteredStream>> {
    let tcp = stream.facts.phase.sender.stream.as_ref()?;
    let (lost, segments) = (tcp.lost().0, tcp.segments.0);
    let stopped = stood_still(stream.facts.phase);
    if stopped.is_none() && (lost == 0 || (lost as f64) < SHARE * segments as f64) {
        return None;
    }
    let sides = [
        (Side::Sender, Layer::SenderFilter),
        (Side::Receiver, Layer::ReceiverFilter),
    ];
    let of_side = |(side, layer)| {
        let mut events = events::own(&stream.facts, side, Direction::Forward);
        events.retain(|event| event.stage.layer == layer);
        let dropped: u64 = events.iter().map(|event| event.packets).sum();
        let most = events.into_iter().max_by_key(|event| event.packets)?;
        Some((side, dropped, most.reason))
    };
    let (side, dropped, reason) = sides.into_iter().filter_map(of_side).max_by_key(|o| o.1)?;
    let told = match stopped {
        // All that was lost, and more than late duplicates.
        Some(_) => dropped >= lost && dropped > tcp.needless.0,
        None => dropped.saturating_mul(2 * MERGED) >= lost,
    };
    if !told {
        return None;
    }
    let other = match side {
        Side::Sender => Side::Receiver,
        Side::Receiver => Side::Sender,
    };
    Some(Found {
        severity: Severity::Error,
        confidence: match dropped.saturating_mul(2) >= lost {
            true => Confidence::Certain,
            false => Confidence::Likely,
        },
        place: Place {
            peer: Some(stream.facts.host(other).clone()),
            link: Some(stream.facts.link().clone()),
            interface: stream.facts.interface(side).map(|(name, _)| name.clone()),
            ..Place::on(stream.facts.host(side))
        },
        evidence: FilteredStream {
            reason,
            outgoing: side == Side::Sender,
            dropped_packets: Packets(dropped),
            segments: tcp.segments,
            retransmits: tcp.retransmits,
            needless: tcp.needless,
            lost_percent: percent_of(lost, segments)?,
            stopped_after_ns: stopped,
        },
    })
}

impl Cause for FilteredStream {
    const CODE: &'static str = FirewallDrop::CODE;
    const PAGE: &'static str = FirewallDrop::PAGE;

    fn words(&self, at: &Place) -> Words {
        let way = match self.outgoing {
            true => format!("to {}", peer(at)),
            false => format!("from {}", peer(at)),
        };
        let stopped = self.stopped_after_ns.map_or_else(String::new, |after| {
            format!(" After {after} nothing of it arrived any more.")
        });
        Words {
            text: format!(
                "The packet filter of {} drops packets of the TCP stream {way}{}: {} ({}).{stopped} TCP sent {} of {} segments again, \
                 {} of them needlessly: {} % were lost.",
                host(at),
                on_link(at),
                counted(self.dropped_packets.0, "packet"),
                self.reason,
                self.retransmits,
                self.segments,
                self.needless,
                percent_text(self.lost_percent),
            ),
            fix: format!(
                "`nft -a list ruleset` (or `iptables-save -c`) on {} shows the rules: one that meets TCP, a limit, a quota, a random \
                 share, or one for packets that connection tracking calls invalid.",
                host(at),
            ),
        }
    }
}
