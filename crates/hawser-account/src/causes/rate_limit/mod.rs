//! Something holds the path to a rate: a shaper on a host, a switch port, a provider's contract.
//!
//! Evidence: a stream that is steady far below what the hosts' stacks can do and below the
//! interfaces' speed, several streams that together get no more, hosts that are not busy, with this stream or
//! with anything else; or, on busy hosts, datagrams and streams that all get the same constant rate. Where a
//! queueing discipline of the sender counted that it held packets back (`overlimits`) it is named
//! and the cause is certain; else it is likely, and lies between the hosts. An error.
//! Cases: `ladder-rate-limit`, `ladder-rate-limit-between`, `ladder-rate-limit-busy`; `ladder-busy-hosts` only looks so.

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::ladder::RungKind;
use hawser_model::units::BitsPerSec;
use serde::Serialize;

use super::cpu_limit::CpuLimit;
use super::policer::Policer;
use super::rung_not_measured::RungNotMeasured;
use super::window_not_scaled::WindowNotScaled;
use super::window_too_small::WindowTooSmall;
use crate::cause::{Before, Cause, Found, LadderCause, Words, at_interface, between};
use crate::throughput::mb::MbPerS;
use crate::throughput::rates::Rate;
use crate::throughput::resources::held_back;
use crate::throughput::view::{LadderView, at_work, busy_share};

#[derive(Serialize)]
pub(crate) struct RateLimit {
    #[serde(flatten)]
    limit: Limit,
}

/// What every cause of a limit rests on.
#[derive(Serialize)]
pub(crate) struct Limit {
    pub(super) limit_bits_per_s: BitsPerSec,
    stream_mb_per_s: MbPerS,
    pub(super) streams_mb_per_s: MbPerS,
    loopback_mb_per_s: MbPerS,
    processor_percent: u64,
}

impl Limit {
    /// The path is held to this rate, in MB/s.
    pub(super) fn of(view: &LadderView<'_>, rate: f64) -> Self {
        let mb = |kind| MbPerS::of(view.mb(kind).unwrap_or(0.0));
        Self {
            limit_bits_per_s: BitsPerSec((rate * 8e6).round() as u64),
            stream_mb_per_s: MbPerS::of(rate),
            streams_mb_per_s: mb(RungKind::WireTcpMany),
            loopback_mb_per_s: mb(RungKind::LoopbackTcp),
            processor_percent: (busy(view) * 100.0).round() as u64,
        }
    }
}

impl LadderCause for RateLimit {
    fn find(view: &LadderView<'_>, before: &Before<'_>) -> Vec<Found<Self>> {
        let Some(rate) = limit(view, before).filter(|_| !before.any(&[Policer::CODE])) else {
            return Vec::new();
        };
        let (place, confidence) = match shaper(view) {
            Some(place) => (place, Confidence::Certain),
            None => (view.path(), Confidence::Likely),
        };
        vec![Found {
            severity: Severity::Error,
            confidence,
            place,
            evidence: Self {
                limit: Limit::of(view, rate),
            },
        }]
    }
}

/// The rate the path is held to, when it looks as if it were.
pub(super) fn limit(view: &LadderView<'_>, before: &Before<'_>) -> Option<f64> {
    let held = view
        .hosts()
        .into_iter()
        .any(|host| held_back(view, host).is_some());
    if held
        || before.any(&[
            WindowNotScaled::CODE,
            WindowTooSmall::CODE,
            RungNotMeasured::CODE,
        ])
    {
        return None;
    }
    let stream = view.mb(RungKind::WireTcp)?;
    let many = view.mb(RungKind::WireTcpMany)?;
    let able = view.mb(RungKind::LoopbackTcp)?;
    let able = view.speed().map_or(able, |speed| able.min(speed));
    // Several streams that are dropped at can get even less.
    let flat = many <= 1.2 * stream && stream <= 2.0 * many;
    // Where other programs leave no processor idle, or a hypervisor takes its share, a stream is slow without any
    // limit: only a discipline that counted what it held back speaks for one.
    let cpu = before.any(&[CpuLimit::CODE]);
    let disturbed = cpu || (taken(view) && !constant(view));
    let shown = shaper(view).is_some() || !disturbed;
    (stream <= 0.6 * able && flat && busy(view) < 0.85 && shown).then_some(stream)
}

/// Whether datagrams, one stream and several all get the same rate and keep it: hosts without a processor to spare do not give so
/// constant a rate. In recorded runs beside other programs the same rungs varied by 6 % to 54 %, and differed tenfold; behind a
/// limit of 100 Mbit/s by 4 % at most, and by 10 % from each other.
fn constant(view: &LadderView<'_>) -> bool {
    let kinds = [RungKind::WireUdp, RungKind::WireTcp, RungKind::WireTcpMany];
    let rates: Option<Vec<Rate>> = kinds.into_iter().map(|kind| view.rate(kind)).collect();
    rates.is_some_and(|rates| {
        let mb = || rates.iter().map(|rate| rate.mb_per_s);
        let (least, most) = (mb().fold(f64::MAX, f64::min), mb().fold(0.0, f64::max));
        most <= 1.15 * least && rates.iter().all(|rate| rate.spread <= 0.05)
    })
}

/// Whether a host's processors had nothing to spare while one stream ran.
fn taken(view: &LadderView<'_>) -> bool {
    let usages = view.hosts().into_iter();
    let mut usages = usages.filter_map(|host| view.usage(RungKind::WireTcp, host));
    usages.any(|usage| busy_share(usage) >= 0.95)
}

/// How much of a processor the busier of the two hosts spent on one stream.
fn busy(view: &LadderView<'_>) -> f64 {
    view.hosts()
        .into_iter()
        .filter_map(|host| view.usage(RungKind::WireTcp, host))
        .map(at_work)
        .fold(0.0, f64::max)
}

/// The queueing discipline of a host that held packets back or dropped them.
pub(super) fn shaper(view: &LadderView<'_>) -> Option<Place> {
    for host in view.hosts() {
        let usage = view.usage(RungKind::WireTcp, host)?;
        let (interface, _) = view.port(host)?;
        let prefix = format!("qdisc/{interface}/");
        for (name, gain) in usage.counters.under(&prefix) {
            let mut parts = name[prefix.len()..].split('/').skip(1);
            let (Some(kind), Some(counter)) = (parts.next(), parts.next()) else {
                continue;
            };
            let limits = matches!(kind, "tbf" | "htb" | "hfsc" | "cake");
            let polices = matches!(kind, "ingress" | "clsact") && counter == "drops";
            if gain > 0 && ((limits && counter == "overlimits") || polices) {
                return Some(Place {
                    object: Some(format!("qdisc {kind}")),
                    ..view.place(host)
                });
            }
        }
    }
    None
}

impl Cause for RateLimit {
    const CODE: &'static str = "rate-limit";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let limit = &self.limit;
        let (who, fix) = match &at.object {
            Some(object) => (
                format!("{object} on {}", at_interface(at)),
                "If it is not meant to be there, remove it (`tc qdisc del dev DEV root`) or \
                 raise its rate.",
            ),
            None => (
                format!("Something between {}", between(at)),
                "Look at what the hosts cannot see: the switch ports' negotiated speed and \
                 rate limits, a hypervisor's limit on the virtual interface, the provider's \
                 contract.",
            ),
        };
        Words {
            text: format!(
                "{who} holds the path to {}: one stream got {}, several together {}, the hosts' own stacks can do \
                 {}, and the busier host spent {} % of a processor on it.",
                limit.limit_bits_per_s,
                limit.stream_mb_per_s,
                limit.streams_mb_per_s,
                limit.loopback_mb_per_s,
                limit.processor_percent,
            ),
            fix: fix.to_owned(),
        }
    }
}
