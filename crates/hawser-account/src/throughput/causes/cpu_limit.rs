//! A host's processors are kept from the path: a control group's CPU quota, fewer processors
//! allowed than there are, or a hypervisor that gives them to others.
//!
//! Evidence: a limit that the kernel knows (throttling counted, a quota, fewer processors allowed),
//! and stages that could run and were not let for half of their time (`schedstat`) while processors
//! had nothing to do; or time stolen (`/proc/stat`). Certain, an error. Cases: `ladder-cpu-limit`,
//! `ladder-cpu-stolen`; `ladder-slow-to-wake` has none.

use hawser_model::finding::{Confidence, Finding, Severity};
use hawser_model::ladder::RungKind;
use hawser_model::names::HostName;

use super::LadderCause;
use crate::causes::support::Draft;
use crate::throughput::resources::{held_back, not_let};
use crate::throughput::view::{LadderView, busy_share, stolen_share};

pub(super) const CAUSE: LadderCause = LadderCause {
    code: "cpu-limit",
    find,
};

/// Stolen time from which a hypervisor counts as the cause.
const STOLEN: f64 = 0.1;

fn find(view: &LadderView<'_>, _: &[Finding]) -> Vec<Finding> {
    view.hosts()
        .into_iter()
        .filter_map(|host| on(view, host))
        .collect()
}

fn on(view: &LadderView<'_>, host: &HostName) -> Option<Finding> {
    let usage = view.usage(RungKind::Whole, host)?;
    let hardware = view.run.hardware.get(host)?;
    let online = view.facts(host)?.cpus;
    let stolen = stolen_share(usage);
    if held_back(view, host).is_none() && stolen < STOLEN {
        return None;
    }
    let throttled = usage.throttled.is_some_and(|t| !t.is_zero());
    let quota = hardware.quota_millis;
    let percent = |part: f64| (part * 100.0).round() as u64;
    let place = hawser_model::finding::Place {
        host: Some(host.clone()),
        ..Default::default()
    };
    Some(
        Draft::new(CAUSE.code, Severity::Error, Confidence::Certain, place)
            .number("held_back_percent", percent(not_let(view, host, usage)))
            .number("idle_percent", percent(1.0 - busy_share(usage)))
            .number("stolen_percent", percent(stolen))
            .number("allowed_processors", u64::from(hardware.allowed_processors))
            .number("online_processors", u64::from(online))
            .maybe("quota_millis", quota)
            .maybe(
                "throttled_ms",
                usage
                    .throttled
                    .filter(|_| throttled)
                    .map(|t| t.0 / 1_000_000),
            )
            .done(),
    )
}
