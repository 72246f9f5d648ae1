//! One stream gets far less than several: a member of a bond (a stream stays on one), one
//! processor that does all of a stream's work, or loss that several streams share.
//!
//! Evidence: the two wire rungs; and of the reasons those that show: members of the interface, the
//! processor's share, segments lost. Likely with one of them, else possible; a warning.
//! Case: `ladder-single-stream`; `ladder-cpu-limit-streams` has none.

use hawser_model::finding::{Confidence, Finding, Severity};
use hawser_model::ladder::RungKind;

use super::{LadderCause, any};
use crate::causes::support::Draft;
use crate::throughput::view::{LadderView, at_work, busy_share};

pub(super) const CAUSE: LadderCause = LadderCause {
    code: "single-stream",
    find,
};

fn find(view: &LadderView<'_>, found: &[Finding]) -> Vec<Finding> {
    let (one, many) = (view.mb(RungKind::WireTcp), view.mb(RungKind::WireTcpMany));
    let (Some(one), Some(many)) = (one, many) else {
        return Vec::new();
    };
    let other = [
        "window-too-small",
        "congestion-control",
        "softirq-core-saturated",
    ];
    // A stream that fills the link leaves nothing to several; what is above is the same machine.
    let full = view.speed().is_some_and(|speed| one >= 0.9 * speed);
    if full || many < 1.5 * one || any(found, &other) {
        return Vec::new();
    }
    let members = |host| view.port(host).map_or(0, |(_, i)| i.lower.len());
    let members = view.hosts().into_iter().map(members).max().unwrap_or(0);
    let busy = view
        .hosts()
        .into_iter()
        .filter_map(|host| view.usage(RungKind::WireTcp, host))
        .map(at_work)
        .fold(0.0, f64::max);
    // A reader that is not let run loses segments too: they are the limit's.
    let held = any(found, &["cpu-limit"]);
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
    let known = own || busy > 0.9;
    let confidence = match known {
        true => Confidence::Likely,
        false => Confidence::Possible,
    };
    let streams = view.run.rung(RungKind::WireTcpMany, None);
    vec![
        Draft::new(CAUSE.code, Severity::Warning, confidence, view.path())
            .decimal("stream_mb_per_s", one)
            .decimal("streams_mb_per_s", many)
            .number("streams", streams.map_or(0, |r| r.streams.len() as u64))
            .number("bond_members", members as u64)
            .number("processor_percent", (busy * 100.0).round() as u64)
            .decimal("lost_percent", view.lost() * 100.0)
            .done(),
    ]
}
