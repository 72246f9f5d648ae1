//! Something holds the path to a rate: a shaper on a host, a switch port, a provider's contract.
//!
//! Evidence: a stream that is steady far below what the hosts' stacks can do and below the
//! interfaces' speed, several streams that together get no more, hosts that are not busy, with this stream or
//! with anything else. Where a
//! queueing discipline of the sender counted that it held packets back (`overlimits`) it is named
//! and the cause is certain; else it is likely, and lies between the hosts. An error.
//! Cases: `ladder-rate-limit`, `ladder-rate-limit-between`; `ladder-busy-hosts` only looks so.

use hawser_model::finding::{Confidence, Finding, Place, Severity};
use hawser_model::ladder::RungKind;

use super::{LadderCause, any};
use crate::causes::support::Draft;
use crate::throughput::resources::held_back;
use crate::throughput::view::{LadderView, at_work, busy_share};

pub(super) const CAUSE: LadderCause = LadderCause {
    code: "rate-limit",
    find,
};

fn find(view: &LadderView<'_>, found: &[Finding]) -> Vec<Finding> {
    let Some(rate) = limit(view, found).filter(|_| !any(found, &["policer"])) else {
        return Vec::new();
    };
    let (place, confidence) = match shaper(view) {
        Some(place) => (place, Confidence::Certain),
        None => (view.path(), Confidence::Likely),
    };
    vec![
        evidence(
            Draft::new(CAUSE.code, Severity::Error, confidence, place),
            view,
            rate,
        )
        .done(),
    ]
}

/// What both causes of a limit rest on.
pub(super) fn evidence(draft: Draft, view: &LadderView<'_>, rate: f64) -> Draft {
    draft
        .number("limit_bits_per_s", (rate * 8e6).round() as u64)
        .decimal("stream_mb_per_s", rate)
        .decimal(
            "streams_mb_per_s",
            view.mb(RungKind::WireTcpMany).unwrap_or(0.0),
        )
        .decimal(
            "loopback_mb_per_s",
            view.mb(RungKind::LoopbackTcp).unwrap_or(0.0),
        )
        .number("processor_percent", (busy(view) * 100.0).round() as u64)
}

/// The rate the path is held to, when it looks as if it were.
pub(super) fn limit(view: &LadderView<'_>, found: &[Finding]) -> Option<f64> {
    let held = view
        .hosts()
        .into_iter()
        .any(|host| held_back(view, host).is_some());
    if held || any(found, &["window-too-small", "rung-not-measured"]) {
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
    let disturbed = taken(view) || any(found, &["cpu-limit"]);
    let shown = shaper(view).is_some() || !disturbed;
    (stream <= 0.6 * able && flat && busy(view) < 0.85 && shown).then_some(stream)
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
