//! One stream gets far less than several: a member of a bond (a stream stays on one), one
//! processor that does all of a stream's work, or loss that several streams share.
//!
//! Evidence: the two wire rungs; and of the reasons those that show: members of a bond, the
//! processor's share, segments lost. Likely with one of them, else possible; a warning.
//! Cases: `ladder-single-stream`, `ladder-single-stream-bridge`; `ladder-cpu-limit-streams` has none.

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::ladder::RungKind;
use serde::Serialize;

use super::bonds::with_members;
use super::congestion_control::CongestionControl;
use super::cpu_limit::CpuLimit;
use super::softirq_core_saturated::SoftirqCoreSaturated;
use super::window_not_scaled::WindowNotScaled;
use super::window_too_small::WindowTooSmall;
use crate::cause::{Before, Cause, Found, LadderCause, Tenths, Words, host, peer};
use crate::compare::topic::{About, COMPUTING};
use crate::throughput::mb::MbPerS;
use crate::throughput::view::{LadderView, at_work, busy_share};

#[derive(Serialize)]
pub(crate) struct SingleStream {
    stream_mb_per_s: MbPerS,
    streams_mb_per_s: MbPerS,
    streams: usize,
    bond_members: usize,
    processor_percent: u64,
    lost_percent: Tenths,
}

impl LadderCause for SingleStream {
    fn find(view: &LadderView<'_>, before: &Before<'_>) -> Vec<Found<Self>> {
        let (one, many) = (view.mb(RungKind::WireTcp), view.mb(RungKind::WireTcpMany));
        let (Some(one), Some(many)) = (one, many) else {
            return Vec::new();
        };
        let other = [
            WindowNotScaled::CODE,
            WindowTooSmall::CODE,
            CongestionControl::CODE,
            SoftirqCoreSaturated::CODE,
        ];
        // A stream that fills the link leaves nothing to several; what is above is the same machine.
        let full = view.speed().is_some_and(|speed| one >= 0.9 * speed);
        // Of one that stands still `rung-not-measured` tells.
        if full || one <= 0.0 || many < 1.5 * one || before.any(&other) {
            return Vec::new();
        }
        let members = |host| {
            let (top, _) = view.port(host)?;
            let bonds = with_members(view.facts(host)?, top).into_iter();
            bonds.map(|(_, members)| members.len()).max()
        };
        let members = view.hosts().into_iter().filter_map(members).max();
        let members = members.unwrap_or(0);
        let busy = view
            .hosts()
            .into_iter()
            .filter_map(|host| view.usage(RungKind::WireTcp, host))
            .map(at_work)
            .fold(0.0, f64::max);
        // A reader that is not let run loses segments too: they are the limit's.
        let held = before.any(&[CpuLimit::CODE]);
        let own = members > 1 || (!held && view.lost() > 0.0005);
        // Where other programs leave no processor idle, several streams get more because they are more
        // threads, and where a limit keeps us from them for most of the time, each rung gets what its
        // moment got: neither says anything of one stream.
        let taken = |usage| busy_share(usage) >= 0.95 && busy <= 0.9;
        let mut usages = view
            .hosts()
            .into_iter()
            .filter_map(|host| view.usage(RungKind::WireTcp, host));
        if !own && (held || usages.any(taken)) {
            return Vec::new();
        }
        let streams = view.run.rung(RungKind::WireTcpMany, None);
        vec![Found {
            severity: Severity::Warning,
            confidence: match own || busy > 0.9 {
                true => Confidence::Likely,
                false => Confidence::Possible,
            },
            place: view.path(),
            evidence: Self {
                stream_mb_per_s: MbPerS::of(one),
                streams_mb_per_s: MbPerS::of(many),
                streams: streams.map_or(0, |rung| rung.streams.len()),
                bond_members: members,
                processor_percent: (busy * 100.0).round() as u64,
                lost_percent: Tenths::of(view.lost() * 100.0),
            },
        }]
    }
}

impl Cause for SingleStream {
    const CODE: &'static str = "single-stream";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &COMPUTING;

    fn words(&self, at: &Place) -> Words {
        let mut reasons = Vec::new();
        if self.bond_members > 1 {
            reasons.push(format!(
                "the interface is a bond of {}, and a stream stays on one member",
                self.bond_members
            ));
        }
        if self.processor_percent > 90 {
            reasons.push("one processor did all of its work".to_owned());
        }
        if self.lost_percent.0 > 0.05 {
            reasons.push(format!(
                "{:.2} % of its segments were lost",
                self.lost_percent.0
            ));
        }
        let why = match reasons.is_empty() {
            true => "Why is not seen from the hosts".to_owned(),
            false => format!("Seen meanwhile: {}", reasons.join("; ")),
        };
        Words {
            text: format!(
                "One stream from {} to {} got {}, {} streams together {}. {why}.",
                host(at),
                peer(at),
                self.stream_mb_per_s,
                self.streams,
                self.streams_mb_per_s,
            ),
            fix: "Let the program use several streams, or remove what holds one of them: a hash of \
                  the bond over ports (`xmit_hash_policy=layer3+4`) spreads streams, it does not split \
                  one."
                .to_owned(),
        }
    }
}
