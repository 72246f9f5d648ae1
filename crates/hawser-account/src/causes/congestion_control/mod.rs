//! A congestion control that does not fill the path: one that takes every loss for congestion where a path
//! loses a little for other reasons (each lost segment halves reno's rate and cuts cubic's by three tenths), or
//! one that paces a stream below what a short and fast path can carry, as bbr may.
//!
//! Evidence: a stream with another congestion control, measured beside it on the same path, gets clearly more.
//! Where the kernel has no other one, or only one that is governed by loss too: its name, segments lost, and a stream that gets much less than
//! datagrams or several streams do. A stream that fills the link lacks nothing. Likely; a warning. Cases:
//! `ladder-congestion-control`, `ladder-congestion-loss`, `ladder-congestion-other`; `ladder-congestion-same` has none.

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::ladder::RungKind;
use serde::Serialize;

use super::cpu_limit::CpuLimit;
use super::policer::Policer;
use super::rate_limit::RateLimit;
use super::window_not_scaled::WindowNotScaled;
use super::window_too_small::WindowTooSmall;
use crate::cause::{Before, Cause, Found, LadderCause, Tenths, Words, host, interface};
use crate::compare::topic::{About, Topic};
use crate::throughput::mb::MbPerS;
use crate::throughput::rates::{self, Rate};
use crate::throughput::resources::held_back;
use crate::throughput::view::LadderView;

#[derive(Serialize)]
pub(crate) struct CongestionControl {
    congestion_control: String,
    lost_percent: Tenths,
    stream_mb_per_s: MbPerS,
    better_mb_per_s: MbPerS,
    /// The one that got more, when it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    other: Option<String>,
}

/// Those that are governed by loss alone.
const BY_LOSS: [&str; 7] = [
    "bic",
    "cubic",
    "highspeed",
    "htcp",
    "reno",
    "scalable",
    "westwood",
];

/// Of what the other one gets: below it the difference is worth a change.
const LESS: f64 = 0.77;

impl LadderCause for CongestionControl {
    fn find(view: &LadderView<'_>, before: &Before<'_>) -> Vec<Found<Self>> {
        let (Some(stream), Some(rate)) = (view.stream(), view.rate(RungKind::WireTcp)) else {
            return Vec::new();
        };
        let full = view
            .speed()
            .is_some_and(|speed| rate.mb_per_s >= 0.9 * speed);
        let held = view
            .hosts()
            .into_iter()
            .any(|host| held_back(view, host).is_some());
        let else_found = [
            Policer::CODE,
            RateLimit::CODE,
            WindowNotScaled::CODE,
            WindowTooSmall::CODE,
        ];
        if full || held || before.any(&else_found) {
            return Vec::new();
        }
        let (other, better) = match view.other_stream().zip(view.rate(RungKind::WireTcpOther)) {
            Some((other, better)) if gets_more(view, before, rate, better) => {
                (Some(&other.congestion), Some(better.mb_per_s))
            }
            // Not governed by loss, and it gets no more: loss is not what takes the rate.
            Some((other, _)) if !by_loss(&other.congestion) && went_on(view) => (None, None),
            _ => (None, unmeasured(view, &stream.congestion, rate.mb_per_s)),
        };
        let found = better.map(|better| Found {
            severity: Severity::Warning,
            confidence: Confidence::Likely,
            place: view.place(&view.run.from),
            evidence: Self {
                congestion_control: stream.congestion.clone(),
                lost_percent: Tenths::of(view.lost() * 100.0),
                stream_mb_per_s: MbPerS::of(rate.mb_per_s),
                better_mb_per_s: MbPerS::of(better),
                other: other.cloned(),
            },
        });
        found.into_iter().collect()
    }
}

/// Whether a stream with the other congestion control gets clearly more. One that gives way to a loss that is there
/// goes up and down by nature: the median slices are held against each other. Else it must be more than both vary,
/// and no hypervisor may have taken the processors from one of the two.
fn gets_more(view: &LadderView<'_>, before: &Before<'_>, own: Rate, other: Rate) -> bool {
    let gives_way = view.stream().is_some_and(|s| by_loss(&s.congestion)) && lossy(view);
    match gives_way {
        true => own.mb_per_s < other.mb_per_s && half_below(view),
        false => !before.any(&[CpuLimit::CODE]) && own.clearly_below(LESS, other),
    }
}

/// Whether half of the time the own stream stays below [`LESS`] of the other's.
fn half_below(view: &LadderView<'_>) -> bool {
    let median = |kind| rates::median(&view.run.rung(kind, None)?.samples);
    let medians = median(RungKind::WireTcp).zip(median(RungKind::WireTcpOther));
    medians.is_some_and(|(own, other)| own < LESS * other)
}

/// Whether the other stream never stood still. A retransmission that is lost as well costs 200 ms and more (RFC 6298
/// with Linux' least timeout): of one or two such times a short measurement cannot speak.
fn went_on(view: &LadderView<'_>) -> bool {
    let rung = view.run.rung(RungKind::WireTcpOther, None);
    rung.is_some_and(|rung| rung.samples.iter().all(|s| !s.bytes.is_zero()))
}

fn lossy(view: &LadderView<'_>) -> bool {
    view.lost() >= 0.0005
}

fn by_loss(name: &str) -> bool {
    BY_LOSS.contains(&name)
}

/// What datagrams or several streams get, where that is much more than a stream that is governed by loss and
/// loses some.
fn unmeasured(view: &LadderView<'_>, name: &str, rate: f64) -> Option<f64> {
    let better = [RungKind::WireTcpMany, RungKind::WireUdp];
    let better = better.into_iter().filter_map(|kind| view.mb(kind));
    let better = better.fold(0.0, f64::max);
    (lossy(view) && by_loss(name) && better >= 1.5 * rate).then_some(better)
}

impl Cause for CongestionControl {
    const CODE: &'static str = "congestion-control";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[
        Topic::Sysctl.with("tcp_congestion_control"),
        Topic::Sysctl.with("default_qdisc"),
    ];

    fn words(&self, at: &Place) -> Words {
        let (own, lost) = (&self.congestion_control, self.lost_percent.0);
        let Some(other) = &self.other else {
            return Words {
                text: format!(
                    "{own} slows down at every loss: {lost:.2} % of the segments were lost, and one stream \
                     got {} where {} are possible.",
                    self.stream_mb_per_s, self.better_mb_per_s,
                ),
                fix: "Find the loss first (`hawser check`). On a path that cannot be freed of it use a \
                      congestion control that is not governed by loss: `sysctl -w \
                      net.ipv4.tcp_congestion_control=bbr`."
                    .to_owned(),
            };
        };
        let (loss, find_it) = match lost < 0.005 {
            true => ("lost nothing".to_owned(), ""),
            false => (
                format!("lost {lost:.2} % of its segments"),
                "Find the loss first (`hawser check`). ",
            ),
        };
        Words {
            text: format!(
                "One stream with {own} got {} and {loss}; with {other}, measured on the same path, it got {}.",
                self.stream_mb_per_s, self.better_mb_per_s,
            ),
            fix: format!(
                "{find_it}For this network alone: `ip route change NETWORK dev {} proto kernel scope link src \
                 ADDRESS congctl {other}` on {} (`ip route` shows its line; without `congctl` it is as before). For \
                 all of the host: `sysctl -w net.ipv4.tcp_congestion_control={other}`.",
                interface(at),
                host(at),
            ),
        }
    }
}
