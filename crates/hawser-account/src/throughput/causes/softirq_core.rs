//! One processor of a host does all packet handling and can do no more, while others have nothing
//! to do: one receive queue, or interrupts of all queues on one processor.
//!
//! Evidence: a processor that spent four fifths of the time that a hypervisor left it in soft interrupts while a
//! stream ran, the others idle for a fifth of theirs: of two processors the other one also has both ends' programs.
//! Likely; a warning. Case: `ladder-softirq-core`.

use hawser_model::finding::{Confidence, Finding, Severity};
use hawser_model::ladder::RungKind;

use super::LadderCause;
use crate::causes::support::Draft;
use crate::throughput::view::{CORE_SATURATED, LadderView, OTHERS_SPARE, share, softirq_share};

pub(super) const CAUSE: LadderCause = LadderCause {
    code: "softirq-core-saturated",
    find,
};

fn find(view: &LadderView<'_>, _: &[Finding]) -> Vec<Finding> {
    let mut found = Vec::new();
    for host in view.hosts() {
        let Some(usage) = view.usage(RungKind::WireTcp, host) else {
            continue;
        };
        let busiest = usage
            .processors
            .iter()
            .map(|(number, time)| (*number, softirq_share(time, time.total())))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((number, softirq)) = busiest.filter(|(_, s)| *s >= CORE_SATURATED) else {
            continue;
        };
        let others = usage.processors.iter().filter(|(n, _)| **n != number);
        let (idle, total) = others.fold((0, 0), |(idle, total), (_, t)| {
            (idle + t.idle.0, total + t.total().0)
        });
        let spare = share(idle, total);
        if spare < OTHERS_SPARE {
            continue;
        }
        found.push(
            Draft::new(
                CAUSE.code,
                Severity::Warning,
                Confidence::Likely,
                view.place(host),
            )
            .number("processor", u64::from(number))
            .number("softirq_percent", (softirq * 100.0).round() as u64)
            .number("others_idle_percent", (spare * 100.0).round() as u64)
            .decimal("stream_mb_per_s", view.mb(RungKind::WireTcp).unwrap_or(0.0))
            .done(),
        );
    }
    found
}
