//! One processor of a host does all packet handling and can do no more, while others have nothing
//! to do: one receive queue, or interrupts of all queues on one processor.
//!
//! Evidence: a processor that spent four fifths of the time that a hypervisor left it in soft interrupts while a
//! stream ran, the others idle for a fifth of theirs: of two processors the other one also has both ends' programs.
//! Likely; a warning. Case: `ladder-softirq-core`.

/// The same of the flows of a check.
pub(crate) mod flow;

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::ladder::RungKind;
use hawser_model::units::Nanos;
use serde::Serialize;

use crate::cause::{Before, Cause, Found, LadderCause, Words, host, interface};
use crate::compare::topic::{About, CARD};
use crate::throughput::mb::MbPerS;
use crate::throughput::view::{CORE_SATURATED, LadderView, OTHERS_SPARE, share, softirq_share};

#[derive(Serialize)]
pub(crate) struct SoftirqCoreSaturated {
    processor: u32,
    softirq_percent: u64,
    others_idle_percent: u64,
    stream_mb_per_s: MbPerS,
}

impl LadderCause for SoftirqCoreSaturated {
    fn find(view: &LadderView<'_>, _: &Before<'_>) -> Vec<Found<Self>> {
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
            let (idle, total) = others.fold((Nanos(0), Nanos(0)), |(idle, total), (_, t)| {
                (idle + t.idle, total + t.total())
            });
            let spare = share(idle.0, total.0);
            if spare < OTHERS_SPARE {
                continue;
            }
            found.push(Found {
                severity: Severity::Warning,
                confidence: Confidence::Likely,
                place: view.place(host),
                evidence: Self {
                    processor: number,
                    softirq_percent: (softirq * 100.0).round() as u64,
                    others_idle_percent: (spare * 100.0).round() as u64,
                    stream_mb_per_s: MbPerS::of(view.mb(RungKind::WireTcp).unwrap_or(0.0)),
                },
            });
        }
        found
    }
}

impl Cause for SoftirqCoreSaturated {
    const CODE: &'static str = "softirq-core-saturated";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &CARD;

    fn words(&self, at: &Place) -> Words {
        Words {
            text: format!(
                "Processor {} of {} spent {} % of its time handling packets, while the others were \
                 idle for {} % of theirs; one stream got {}.",
                self.processor,
                host(at),
                self.softirq_percent,
                self.others_idle_percent,
                self.stream_mb_per_s,
            ),
            fix: format!(
                "Spread the work: more receive queues (`ethtool -L {i} combined N`) with their \
                 interrupts on different processors, or receive packet steering \
                 (`/sys/class/net/{i}/queues/rx-*/rps_cpus`).",
                i = interface(at),
            ),
        }
    }
}
