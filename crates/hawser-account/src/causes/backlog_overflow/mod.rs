//! A CPU's softnet backlog is full (`net.core.netdev_max_backlog`): packets are handed to a
//! CPU (RPS, a veth, a tunnel) faster than it works them off. The same loss is counted by three
//! counters: the CPU's `dropped`, the receiver's `rx_dropped` and, on a veth pair, the
//! sender's `tx_dropped` (`enqueue_to_backlog`, `net/core/dev.c`).
//!
//! Evidence: `CPU_BACKLOG` events, or softnet `dropped` and `rx_dropped` together. The
//! sysctl is the whole machine's. A processor that was busy with nothing else, beside others that could
//! have helped, is `softirq-core-saturated`. An error. Cases: `backlog-overflow`,
//! `backlog-counted-three-times`; `backlog-overflow-40-cpus`.

use crate::fixes::Candidate;
use crate::fixes::knobs::{At, KERNEL_DEFAULT, backlog, budget, igmp_2, rmem_default};
use hawser_model::account::Layer;
use hawser_model::fanout::first_processors_mask;
use hawser_model::finding::Place;
use hawser_model::units::Packets;
use serde::Serialize;

use crate::cause::{
    Cause, CheckCause, Found, Words, as_number, counted, host, interface, on_link, peer,
};
use crate::causes::claims::{Lost, by_host, counter_over, lost_on};
use crate::causes::softirq_core_saturated::flow::{CoreShares, crowded};
use crate::compare::topic::{About, Topic};
use crate::losses::Losses;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct BacklogOverflow {
    #[serde(flatten)]
    lost: Lost,
    #[serde(serialize_with = "as_number")]
    outgoing: bool,
    softnet_dropped: u64,
    softnet_time_squeeze: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    netdev_max_backlog_packets: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpus: Option<u32>,
    /// A processor that was busy with it while the others had nothing to spare.
    #[serde(flatten)]
    crowded: Option<CoreShares>,
}

impl CheckCause for BacklogOverflow {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let claimed = losses.claim(Self::CODE, |l| l.layer == Some(Layer::Backlog));
        let found = by_host(claimed).into_iter().map(|(host, group)| {
            let evidence = Self {
                lost: Lost::of(view, &group),
                outgoing: group.iter().all(|l| l.path.from == host),
                softnet_dropped: counter_over(view, &host, &group, |facts, side| {
                    facts.softnet_dropped(side)
                }),
                softnet_time_squeeze: counter_over(view, &host, &group, |facts, side| {
                    facts.sum(side, "softnet/", "/time_squeeze")
                }),
                netdev_max_backlog_packets: view.sysctl(&host, "net.core.netdev_max_backlog"),
                cpus: view.host(&host).map(|h| h.cpus),
                crowded: crowded(view, &group).map(CoreShares::from),
            };
            lost_on(view, &host, &group, evidence)
        });
        found.collect()
    }

    fn cost(&self) -> Packets {
        self.lost.lost_packets
    }

    fn candidates(&self, at: &At<'_>) -> Vec<Option<Candidate>> {
        vec![
            at.largest_ring(),
            igmp_2(),
            at.all_cpus(),
            budget(),
            rmem_default(KERNEL_DEFAULT),
            backlog(),
        ]
    }
}

impl Cause for BacklogOverflow {
    const CODE: &'static str = "backlog-overflow";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[
        Topic::Sysctl.with("net.core.netdev_max_backlog"),
        Topic::Sysctl.with("net.core.dev_weight"),
        Topic::Channels.any(),
        Topic::Governor.any(),
    ];

    fn words(&self, at: &Place) -> Words {
        let limit = self.netdev_max_backlog_packets;
        let cpus = self.cpus.unwrap_or(1);
        let way = match self.outgoing {
            true => "to",
            false => "from",
        };
        let full = limit.map_or(String::new(), |n| format!(" ({})", counted(n, "packet")));
        let busy = self.crowded.as_ref().map_or(String::new(), |core| {
            format!(
                " Processor {} spent {} % of the flow's time on it, but the others were idle for {} % \
                 only, so it cannot be told whether one processor is the limit or all are: check again when \
                 the host has less to do.",
                core.processor, core.softirq_percent, core.others_idle_percent,
            )
        });
        let spread = match self.crowded {
            Some(_) => "which helps as far as the others have time",
            None => "since one CPU is the limit",
        };
        Words {
            text: format!(
                "{} lost {} {way} {}{} because a CPU's input backlog was full{full}: they arrived faster \
                 than that CPU worked them off. `ip -s link` shows the same loss again as dropped.{busy}",
                host(at),
                self.lost,
                peer(at),
                on_link(at),
            ),
            fix: format!(
                "For bursts: `sysctl -w net.core.netdev_max_backlog={}` (the whole machine, all its \
                 namespaces). For a steady rate: spread the interface over CPUs (`echo {} > \
                 /sys/class/net/{}/queues/rx-0/rps_cpus`), {spread}.",
                limit.unwrap_or(1_000).max(1_000).saturating_mul(4),
                first_processors_mask(cpus),
                interface(at),
            ),
        }
    }
}
