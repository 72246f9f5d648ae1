//! One processor does all packet handling of a host and can do no more, while the others have time to
//! spare: one receive queue, the interrupts of all queues on one processor, an RPS mask of one
//! processor, or a long list of firewall rules for a single flow. What it cannot work off overflows
//! its backlog or the card's ring.
//!
//! Evidence: packets were lost in the backlog of one processor, or in the ring, while that processor
//! spent four fifths of the flow's time in soft interrupts and the others were idle for a fifth of theirs.
//! A processor that was busy while the others had nothing to spare is not called the limit:
//! [`crowded`] tells `backlog-overflow` to say so. Likely; an error. Cases: `softirq-core`,
//! `softirq-core-ring`, `softirq-core-crowded`, `softirq-core-short-queue`.

use crate::fixes::Candidate;
use crate::fixes::knobs::{At, KERNEL_DEFAULT, igmp_2, rmem_default};
use std::collections::BTreeMap;

use hawser_model::account::Layer;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::host::HostWindow;
use hawser_model::names::HostName;
use hawser_model::units::{Nanos, Packets};
use serde::Serialize;

use super::SoftirqCoreSaturated;
use crate::cause::{Cause, CheckCause, Found, Words, host, interface, on_link, peer};
use crate::causes::claims::{Lost, confidence, place_on};
use crate::causes::nic_ring_overflow;
use crate::losses::{Loss, Losses};
use crate::packets::facts::Side;
use crate::throughput::{CORE_SATURATED, OTHERS_SPARE, share, softirq_share};
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct SaturatedCore {
    #[serde(flatten)]
    lost: Lost,
    #[serde(flatten)]
    core: CoreShares,
    softnet_dropped: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpus: Option<u32>,
}

/// What a processor spent on packets, and what the others had to spare, in per cent.
#[derive(Serialize)]
pub(crate) struct CoreShares {
    pub(crate) processor: u32,
    pub(crate) softirq_percent: u64,
    pub(crate) others_idle_percent: u64,
}

impl From<Core> for CoreShares {
    fn from(core: Core) -> Self {
        let percent = |share: f64| (share * 100.0).round() as u64;
        Self {
            processor: core.number,
            softirq_percent: percent(core.softirq),
            others_idle_percent: percent(core.others_idle),
        }
    }
}

/// `/proc/stat` counts in ticks of 10 ms: of a shorter flow they say too little.
const SHORTEST: Nanos = Nanos::from_millis(200);

/// Drops count as one processor's from this share of all up; the others' may be of other traffic.
const OF_ONE: f64 = 0.95;

/// The busiest processor of a receiver while a flow came in, and what the others had to spare.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Core {
    pub(crate) number: u32,
    /// The share of the flow's time that it spent in soft interrupts, of what a hypervisor left of it.
    pub(crate) softirq: f64,
    /// The share of that time in which the others had nothing to do.
    pub(crate) others_idle: f64,
}

impl Core {
    fn is_saturated(self) -> bool {
        self.softirq >= CORE_SATURATED
    }
}

impl CheckCause for SaturatedCore {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let alone =
            |l: &Loss| core(view, l).filter(|c| c.is_saturated() && c.others_idle >= OTHERS_SPARE);
        let mut groups: BTreeMap<(HostName, u32), Vec<Loss>> = BTreeMap::new();
        for loss in losses.claim(Self::CODE, |l| alone(l).is_some()) {
            if let (Some(host), Some(core)) = (loss.host.clone(), alone(&loss)) {
                groups.entry((host, core.number)).or_default().push(loss);
            }
        }
        groups
            .into_iter()
            .filter_map(|((host, number), group)| {
                let worst = group.iter().max_by_key(|l| l.packets).and_then(&alone)?;
                let dropped: u64 = phases(&group)
                    .map(|p| {
                        window(view, p)
                            .counters
                            .or_zero(&format!("softnet/{number}/dropped"))
                    })
                    .sum();
                Some(Found {
                    severity: Severity::Error,
                    confidence: confidence(&group).min(Confidence::Likely),
                    place: place_on(view, &host, &group),
                    evidence: Self {
                        lost: Lost::of(view, &group),
                        core: worst.into(),
                        softnet_dropped: dropped,
                        cpus: view.host(&host).map(|h| h.cpus),
                    },
                })
            })
            .collect()
    }

    fn cost(&self) -> Packets {
        self.lost.lost_packets
    }

    fn candidates(&self, at: &At<'_>) -> Vec<Option<Candidate>> {
        // No longer queue: it holds what a short trial sends, and delays what comes after.
        vec![
            at.largest_ring(),
            at.no_coalescing(),
            igmp_2(),
            rmem_default(KERNEL_DEFAULT),
            at.more_queues(),
            at.interrupts_in_turn(),
            at.threaded(),
            at.all_cpus(),
        ]
    }
}

impl Cause for SaturatedCore {
    const CODE: &'static str = SoftirqCoreSaturated::CODE;
    const PAGE: &'static str = SoftirqCoreSaturated::PAGE;

    fn words(&self, at: &Place) -> Words {
        let (host, interface) = (host(at), interface(at));
        Words {
            text: format!(
                "{host} lost {} from {}{} because processor {} had no time for them: it spent {} % of the flow's \
                 time handling packets, while the others were idle for {} % of it. A longer queue only delays \
                 the loss.",
                self.lost,
                peer(at),
                on_link(at),
                self.core.processor,
                self.core.softirq_percent,
                self.core.others_idle_percent,
            ),
            fix: format!(
                "On {host}: spread flows over processors (`ethtool -L {interface} combined N` and an interrupt for \
                 each, `irqbalance`; or `/sys/class/net/{interface}/queues/rx-*/rps_cpus`). A single flow stays on \
                 one processor with any setting: make each packet cheaper (`nft list ruleset`: sets instead of \
                 long lists of rules; `notrack`), or let several flows carry it."
            ),
        }
    }
}

/// A processor that dropped and was saturated, of the losses, when it was not claimed for it since the
/// others had nothing to spare either: nobody can tell whether spreading would help.
pub(crate) fn crowded(view: &View<'_>, group: &[Loss]) -> Option<Core> {
    let worst = group.iter().max_by_key(|l| l.packets)?;
    core(view, worst).filter(|c| c.is_saturated())
}

fn phases(group: &[Loss]) -> impl Iterator<Item = usize> {
    let mut phases: Vec<usize> = group.iter().map(|l| l.phase).collect();
    phases.dedup();
    phases.into_iter()
}

fn window<'a>(view: &View<'a>, phase: usize) -> &'a HostWindow {
    view.phases[phase].facts.window(Side::Receiver)
}

/// The processor that lost the packets on their receiver, if it was one, and can be told.
fn core(view: &View<'_>, loss: &Loss) -> Option<Core> {
    let backlog = loss.layer == Some(Layer::Backlog);
    let received_there =
        loss.host.as_ref() == Some(&loss.path.to) && loss.path == view.phases[loss.phase].path();
    if !received_there || !(backlog || nic_ring_overflow::is_ring(loss)) {
        return None;
    }
    let phase = &view.phases[loss.phase].facts.phase;
    // What came late waited for that processor: it was at work until then.
    let flow = phase.sender.elapsed.max(phase.receiver.elapsed);
    let window = window(view, loss.phase);
    if flow < SHORTEST || window.processors.len() < 2 {
        return None;
    }
    let number = match backlog {
        true => only_dropping(window)?,
        false => {
            let all = window.processors.iter();
            *all.max_by_key(|(_, time)| time.softirq)?.0
        }
    };
    let own = softirq_share(window.processors.get(&number)?, flow);
    // Before and after the flow everybody is idle: that is nothing to spare.
    let around = window.elapsed.saturating_sub(flow);
    let others = window.processors.iter().filter(|(n, _)| **n != number);
    let (idle, total) = others.fold((0, 0), |(idle, total), (_, time)| {
        (
            idle + time.idle.saturating_sub(around).0,
            total + time.total().saturating_sub(around).0,
        )
    });
    Some(Core {
        number,
        softirq: own,
        others_idle: share(idle, total),
    })
}

/// The processor in whose backlog all was lost.
fn only_dropping(window: &HostWindow) -> Option<u32> {
    let dropped: Vec<(u32, u64)> = window
        .counters
        .under("softnet/")
        .filter_map(|(name, n)| {
            let number = name.strip_prefix("softnet/")?.strip_suffix("/dropped")?;
            Some((number.parse().ok()?, n))
        })
        .collect();
    let all: u64 = dropped.iter().map(|(_, n)| n).sum();
    let (number, most) = dropped.into_iter().max_by_key(|(_, n)| *n)?;
    (share(most, all) >= OF_ONE).then_some(number)
}
