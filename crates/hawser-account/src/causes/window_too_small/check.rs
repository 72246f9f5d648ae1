//! A stream of a check waits for a window that is smaller than what its path holds.
//!
//! Evidence: that of a ladder, but a check has no rung that shows what the path can carry: the fastest stream of the link
//! says what it was seen to carry, and a window that was full is too small for more. So likely, not certain. A slow reader
//! shuts the receiver's window too, so there the reader must have waited for data, or the setting is smaller than any path
//! takes. A setting is a host's, so all its
//! streams are one finding and the one that waited most gives the numbers. Cases: `stream-send-window`,
//! `stream-receive-window`; not `stream-window-large-enough`, `stream-window-queue`.

use std::collections::BTreeMap;

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::{HostName, InterfaceName};
use hawser_model::trial::TrialTraffic;
use hawser_model::units::Bytes;

use super::{
    HELD, LEAST, RECEIVES, SENDS, WindowTooSmall, buffer_full, held_by, most, needed, window_full,
};
use crate::cause::{CheckCause, Found};
use crate::causes::claims::only;
use crate::copy::fell::percent;
use crate::fixes::knobs::{At, rmem_max, sysctl};
use crate::fixes::{Candidate, TrialValue, stream_of};
use crate::losses::Losses;
use crate::packets::facts::{PhaseFacts, Side};
use crate::stream::{StreamView, rates, streams};
use crate::throughput::mb::MbPerS;
use crate::throughput::view::share;
use crate::view::View;

/// A stream that waited for a window, and the side whose setting that is.
pub(in crate::causes) struct Held<'a> {
    facts: PhaseFacts<'a>,
    side: Side,
    evidence: WindowTooSmall,
}

impl Held<'_> {
    fn peer(&self) -> HostName {
        let other = match self.side {
            Side::Sender => Side::Receiver,
            Side::Receiver => Side::Sender,
        };
        self.facts.host(other).clone()
    }

    fn interface(&self) -> Option<InterfaceName> {
        self.facts
            .interface(self.side)
            .map(|(name, _)| name.clone())
    }
}

impl CheckCause for WindowTooSmall {
    /// What is tried for a host's send buffers says nothing of its receive buffers.
    const BY_INTERFACE: bool = true;

    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let hosts = by_host(view).into_iter();
        hosts
            .filter_map(|((host, sysctl), group)| {
                let place = Place {
                    peer: only(group.iter().map(Held::peer)),
                    link: only(group.iter().map(|held| held.facts.link().clone())),
                    interface: only(group.iter().map(Held::interface)).flatten(),
                    object: Some(sysctl.to_owned()),
                    ..Place::on(&host)
                };
                let worst = worst(group)?;
                Some(Found {
                    severity: Severity::Error,
                    confidence: Confidence::Likely,
                    place,
                    evidence: worst.evidence,
                })
            })
            .collect()
    }

    /// First what caps only those programs that ask for a buffer themselves (socket(7)), and is often raised in vain.
    fn candidates(&self, _: &At<'_>) -> Vec<Option<Candidate>> {
        let enough = self.enough();
        let asked = match self.sysctl == RECEIVES {
            true => rmem_max(enough),
            false => sysctl("net.core.wmem_max", TrialValue::AtLeast(enough)),
        };
        vec![asked, sysctl(self.sysctl, TrialValue::AtLeast(enough))]
    }

    /// The stream that waited most.
    fn traffic(view: &View<'_>, place: &Place, host: &HostName) -> Option<TrialTraffic> {
        let sysctl = place.object.as_deref()?;
        let mut groups = by_host(view).into_iter();
        let (_, group) = groups.find(|((on, name), _)| on == host && *name == sysctl)?;
        stream_of(worst(group)?.facts.measurement)
    }
}

/// The streams that waited, by the host whose setting they waited for, and the setting.
fn by_host<'a>(view: &View<'a>) -> BTreeMap<(HostName, &'static str), Vec<Held<'a>>> {
    let streams = streams(view.case);
    let mut groups: BTreeMap<_, Vec<Held<'a>>> = BTreeMap::new();
    for held in streams.iter().filter_map(|stream| held(stream, &streams)) {
        let host = held.facts.host(held.side).clone();
        groups
            .entry((host, held.evidence.sysctl))
            .or_default()
            .push(held);
    }
    groups
}

/// The one that waited most; the first of equal ones.
fn worst(group: Vec<Held<'_>>) -> Option<Held<'_>> {
    let all = group.into_iter().rev();
    all.max_by_key(|held| held.evidence.held_up_percent)
}

/// Whether this one of all streams waited for a window.
pub(in crate::causes) fn held<'a>(
    stream: &StreamView<'a>,
    all: &[StreamView<'_>],
) -> Option<Held<'a>> {
    let facts = stream.facts;
    let tcp = facts.phase.sender.stream.as_ref()?;
    let rate = rates(facts.phase).late.0 as f64 / 1e6;
    let same_link = all.iter().filter(|s| s.facts.link() == facts.link());
    let seen = same_link.map(|s| rates(s.facts.phase).fastest.0).max()?;
    let seen = (seen as f64 / 1e6).max(rate);
    let product = held_by(seen, tcp.least_round_trip);
    let (sends, receives) = (tcp.send_buffer_limited, tcp.receive_window_limited);
    let (side, sysctl, limited) = match sends >= receives {
        true => (Side::Sender, SENDS, sends),
        false => (Side::Receiver, RECEIVES, receives),
    };
    let waited = share(limited.0, tcp.busy.0);
    let largest = most(facts.host_facts(side)?, sysctl)?;
    let full = match side {
        Side::Sender => buffer_full(tcp, rate, largest),
        Side::Receiver => {
            window_full(tcp, rate, largest) && (stream.reader_waited() || largest < LEAST)
        }
    };
    // A buffer that was full is too small for more than was seen.
    let needed = needed(product).max(largest.saturating_mul(2));
    let fits = waited >= HELD && full;
    fits.then(|| Held {
        facts,
        side,
        evidence: WindowTooSmall {
            sysctl,
            largest_bytes: Bytes(largest),
            needed_bytes: needed,
            held_up_percent: percent(waited),
            round_trip_ns: tcp.least_round_trip,
            bandwidth_delay_bytes: Bytes(product),
            window_bytes: Some(tcp.receive_window.0).filter(|w| *w > 0),
            stream_mb_per_s: MbPerS::of(rate),
            path_mb_per_s: MbPerS::of(seen),
        },
    })
}
