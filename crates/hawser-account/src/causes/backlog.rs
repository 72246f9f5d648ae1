//! A CPU's softnet backlog is full (`net.core.netdev_max_backlog`): packets are handed to a
//! CPU (RPS, a veth, a tunnel) faster than it works them off. The same loss stands in three
//! counters: the CPU's `dropped`, the receiver's `rx_dropped` and, on a veth pair, the
//! sender's `tx_dropped` (`enqueue_to_backlog`, `net/core/dev.c`).
//!
//! Evidence: `CPU_BACKLOG` events, or softnet `dropped` and `rx_dropped` together. The
//! sysctl is the whole machine's. A processor that was busy with nothing else, beside others that could
//! have helped, is `softirq-core-saturated`. An error. Cases: `backlog-overflow`,
//! `backlog-counted-three-times`.

use hawser_model::account::Layer;
use hawser_model::finding::{Finding, Severity};

use super::Cause;
use super::softirq_core_saturated::flow as softirq_core;
use super::support::{Draft, by_host, confidence, counter_over, place_on};
use crate::losses::Losses;
use crate::view::View;

pub(super) const CAUSE: Cause = Cause {
    code: "backlog-overflow",
    find,
};

fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Finding> {
    by_host(losses.claim(CAUSE.code, |l| l.layer == Some(Layer::Backlog)))
        .into_iter()
        .map(|(host, group)| {
            let softnet = counter_over(view, &host, &group, |facts, side| {
                facts.softnet_dropped(side)
            });
            let squeezed = counter_over(view, &host, &group, |facts, side| {
                facts.sum(side, "softnet/", "/time_squeeze")
            });
            let draft = Draft::new(
                CAUSE.code,
                Severity::Error,
                confidence(&group),
                place_on(view, &host, &group),
            )
            .losses(view, &group)
            .number(
                "outgoing",
                u64::from(group.iter().all(|l| l.path.from == host)),
            )
            .number("softnet_dropped", softnet)
            .number("softnet_time_squeeze", squeezed)
            .maybe(
                "netdev_max_backlog_packets",
                view.sysctl(&host, "net.core.netdev_max_backlog"),
            )
            .maybe("cpus", view.host(&host).map(|h| u64::from(h.cpus)));
            match softirq_core::crowded(view, &group) {
                Some(core) => softirq_core::shares(draft, core)
                    .number("processor", u64::from(core.number))
                    .done(),
                None => draft.done(),
            }
        })
        .collect()
}
