//! The sender's queueing discipline is full: a shaper (`tbf`, `htb`) slower than the traffic,
//! or a queue shorter than a burst. The program is not told: `sendmsg` succeeds unless
//! IP_RECVERR is set.
//!
//! Evidence: qdisc drops, which are `Ip: OutDiscards` and `Udp: SndbufErrors` once more
//! (`net/ipv4/udp.c`, `udp_send_skb`), ENOBUFS, or `QDISC_*` events. An error.
//! Case: `sender-queue-drops`.

use hawser_model::account::Layer;
use hawser_model::finding::{Finding, Severity};
use hawser_model::names::HostName;

use super::Cause;
use super::support::{Draft, by_host, confidence, counter_over, main_reason, place_on, side_of};
use crate::losses::{Loss, Losses};
use crate::view::View;

pub(super) const CAUSE: Cause = Cause {
    code: "sender-queue-drops",
    find,
};

fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Finding> {
    by_host(losses.claim(CAUSE.code, |l| l.layer == Some(Layer::Qdisc)))
        .into_iter()
        .map(|(host, group)| {
            let mut place = place_on(view, &host, &group);
            place.object = queue(view, &host, &group);
            let counted = counter_over(view, &host, &group, |facts, side| {
                facts
                    .devices(side)
                    .iter()
                    .map(|d| facts.sum(side, &format!("qdisc/{d}/"), "/drops"))
                    .max()
                    .unwrap_or(0)
            });
            let spec = group
                .iter()
                .map(|l| &view.phases[l.phase].facts.phase.spec)
                .max_by_key(|s| s.burst);
            Draft::new(CAUSE.code, Severity::Error, confidence(&group), place)
                .name("reason", &main_reason(&group))
                .losses(view, &group)
                .number("qdisc_drops", counted)
                .maybe("burst_packets", spec.map(|s| u64::from(s.burst)))
                .done()
        })
        .collect()
}

/// The queue that dropped most, as `tc` names it: `tbf 8001:`.
fn queue(view: &View<'_>, host: &HostName, group: &[Loss]) -> Option<String> {
    let mut best: Option<(u64, String)> = None;
    for loss in group {
        let facts = &view.phases[loss.phase].facts;
        let side = side_of(view, host, loss);
        for device in facts.devices(side) {
            let prefix = format!("qdisc/{device}/");
            for (name, drops) in facts.window(side).counters.under(&prefix) {
                let mut parts = name[prefix.len()..].split('/');
                let (handle, kind, field) = (parts.next(), parts.next(), parts.next());
                if let (Some(handle), Some(kind), Some("drops")) = (handle, kind, field) {
                    let program = kind == "clsact" || kind == "ingress";
                    if !program && best.as_ref().is_none_or(|(most, _)| drops > *most) {
                        best = Some((drops, format!("{kind} {handle}")));
                    }
                }
            }
        }
    }
    best.map(|(_, name)| name)
}
