//! A host that merges received segments (LRO in the NIC, GRO in the kernel) loses what it merged: a
//! stream starts well and after some hundred megabytes nearly stops (bnx2x with TPA, and others).
//!
//! Evidence: a stream fell to less than a tenth while its reader waited for data, TCP lost segments
//! (sent them again, and not because they were late), the receiving interface merges, and its own counter says
//! that most of those segments did arrive: they were lost behind it. Hardware may merge before it counts, so with LRO an unsteady rate is
//! enough. A rate limit between the hosts loses them before the interface and leaves a steady rate.
//! Possible, never more: only a run without merging proves it, and `hawser tune` makes it. An error.
//! Cases: `stream-merging-stall`, `stream-lro-stall`.

use crate::fixes::knobs::{At, sysctl};
use crate::fixes::stream_of;
use crate::fixes::{Candidate, TrialValue};
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::HostName;
use hawser_model::trial::TrialTraffic;
use serde::Serialize;

use super::ReceiveMergingStall;
use crate::cause::{Cause, CheckCause, Found, Words, host, interface, on_link, peer};
use crate::causes::rate_after_burst::STEADY;
use crate::copy::fell::{Fell, percent};
use crate::losses::Losses;
use crate::packets::facts::Side;
use crate::stream::{StreamView, streams};
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct StalledStream {
    #[serde(flatten)]
    fell: Fell,
    /// What merges, by the kernel's name.
    feature: &'static str,
    segments: u64,
    arrived_packets: u64,
    lost: u64,
    congestion_window_bytes: u64,
    reader_waited_percent: u64,
}

/// The kernel's names (`netdev_features_strings`, `net/ethtool/common.c`): what merges in hardware,
/// and what merges in the kernel.
const HARDWARE: [&str; 2] = ["rx-lro", "rx-gro-hw"];
const KERNEL: &str = "rx-gro";

/// The rate after, of the rate before.
const FALL: f64 = 0.1;

impl CheckCause for StalledStream {
    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        streams(view.case).iter().filter_map(stall).collect()
    }

    fn candidates(&self, at: &At<'_>) -> Vec<Option<Candidate>> {
        let mut all = vec![
            at.largest_ring(),
            at.no_coalescing(),
            at.all_cpus(),
            at.offload_off("rx-checksum"),
            sysctl("net.ipv4.tcp_rmem", TrialValue::Times(4)),
            at.offload_off("rx-lro"),
            at.offload_off("rx-gro-hw"),
            at.offload_off("rx-gro"),
        ];
        // Merging that bnx2x calls TPA, off for good (Documentation of the module: modinfo(8)).
        all.extend(at.module_parameters(&[("bnx2x", "disable_tpa", "1")]));
        all
    }

    /// The stream itself: into the host, from its peer.
    fn traffic(view: &View<'_>, place: &Place, host: &HostName) -> Option<TrialTraffic> {
        let (peer, link) = (place.peer.as_ref()?, place.link.as_ref()?);
        let mut measured = view.case.measurements.iter();
        stream_of(measured.find(|m| m.from == *peer && m.to == *host && m.link == *link)?)
    }
}

impl Cause for StalledStream {
    const CODE: &'static str = ReceiveMergingStall::CODE;
    const PAGE: &'static str = ReceiveMergingStall::PAGE;

    fn words(&self, at: &Place) -> Words {
        let (host, interface) = (host(at), interface(at));
        let (by, option) = match self.feature {
            "rx-lro" => ("its NIC merges received segments (LRO)", "lro"),
            "rx-gro-hw" => (
                "its NIC merges received segments (GRO in hardware)",
                "rx-gro-hw",
            ),
            _ => ("the kernel merges received segments there (GRO)", "gro"),
        };
        let arrived = match self.arrived_packets >= self.segments {
            true => format!(
                "All {} segments reached {interface}, and still {} were sent again: they were lost behind it",
                self.segments, self.lost,
            ),
            false => format!(
                "{} of {} segments were sent again",
                self.lost, self.segments
            ),
        };
        Words {
            text: format!(
                "A TCP stream from {} to {host}{} {}. {arrived}, while the reader waited for data {} % of \
                 the time. On {interface} of {host} {by}, and what loses merged segments looks like this. It is a \
                 suspicion: only a run without merging shows.",
                peer(at),
                on_link(at),
                self.fell,
                self.reader_waited_percent,
            ),
            fix: format!(
                "`hawser tune --stream` tries it and its likely mistakes under the same stream. By hand: \
                 `ethtool -K {interface} {option} off` on {host}; it costs CPU time, and `{option} on` takes it back."
            ),
        }
    }
}

/// The finding of one stream.
pub(crate) fn stall(stream: &StreamView<'_>) -> Option<Found<StalledStream>> {
    let change = stream.change?;
    let facts = &stream.facts;
    let sender = facts.phase.sender.stream.as_ref()?;
    let (name, interface) = facts.interface(Side::Receiver)?;
    let on = |feature: &&str| interface.features_on.iter().any(|f| f == feature);
    let hardware = HARDWARE.iter().find(|f| on(f));
    let feature = hardware.or(Some(&KERNEL).filter(|f| on(f)))?;
    let arrived = facts.counter(Side::Receiver, &format!("link/{name}/rx_packets"));
    // A full ring before the interface loses some as well while the stream is fast: most of what was
    // lost must have arrived, not all of it.
    let missing = sender.segments.0.saturating_sub(arrived);
    let lost_behind = missing * 2 < sender.lost().0;
    let unsteady = stream.unsteadiness.is_none_or(|u| u > STEADY);
    let fits = change.after_mb_per_s < FALL * change.before_mb_per_s
        && !sender.lost().is_zero()
        && stream.reader_waited()
        && (lost_behind || (hardware.is_some() && unsteady));
    let place = Place {
        host: Some(facts.host(Side::Receiver).clone()),
        peer: Some(facts.host(Side::Sender).clone()),
        link: Some(facts.link().clone()),
        interface: Some(name.clone()),
        object: None,
    };
    fits.then(|| Found {
        severity: Severity::Error,
        confidence: Confidence::Possible,
        place,
        evidence: StalledStream {
            fell: Fell::at(&change),
            feature,
            segments: sender.segments.0,
            arrived_packets: arrived,
            lost: sender.lost().0,
            congestion_window_bytes: sender.congestion_window.0,
            reader_waited_percent: percent(stream.waited().unwrap_or(0.0)),
        },
    })
}
