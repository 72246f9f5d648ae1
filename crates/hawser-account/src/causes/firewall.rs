//! A packet filter (nftables, iptables, a cgroup program, a security module) drops the
//! probes. On the sending side the program gets EPERM; on the receiving side nothing tells
//! but the kernel's reason `NETFILTER_DROP` and the rule's own counter, if it has one.
//!
//! Evidence: packets in the layers sender-filter or receiver-filter. Named rule: the counter
//! of a dropping rule that moved at least as far and is nearest. Certain with events or
//! EPERM, likely by counter alone. An error. Cases: `firewall-drop-input`,
//! `firewall-drop-output`, `counters-only`.

use hawser_model::account::Layer;
use hawser_model::finding::{Finding, Severity};
use hawser_model::names::HostName;

use super::Cause;
use super::support::{Draft, by_host, confidence, main_reason, place_on, side_of};
use crate::losses::{Loss, Losses, packets};
use crate::packets::facts::Side;
use crate::packets::rule_counters;
use crate::view::View;

pub(super) const CAUSE: Cause = Cause {
    code: "firewall-drop",
    find,
};

fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Finding> {
    let mut found = Vec::new();
    for layer in [Layer::SenderFilter, Layer::ReceiverFilter] {
        let claimed = losses.claim(CAUSE.code, |l| l.layer == Some(layer));
        for (host, group) in by_host(claimed) {
            found.push(finding(view, layer, &host, &group));
        }
    }
    found
}

fn finding(view: &View<'_>, layer: Layer, host: &HostName, group: &[Loss]) -> Finding {
    let mut place = place_on(view, host, group);
    let rule = rule(view, host, group);
    place.object = rule.as_ref().map(|(name, _)| name.clone());
    let outgoing = layer == Layer::SenderFilter;
    Draft::new(CAUSE.code, Severity::Error, confidence(group), place)
        .name("reason", &main_reason(group))
        .number("outgoing", u64::from(outgoing))
        .maybe("rule_packets", rule.map(|(_, moved)| moved))
        .losses(view, group)
        .done()
}

/// The rule that counted at least the lost packets, and as few others as any.
fn rule(view: &View<'_>, host: &HostName, group: &[Loss]) -> Option<(String, u64)> {
    let lost = packets(group);
    let mut sums = std::collections::BTreeMap::<String, u64>::new();
    let mut seen = std::collections::BTreeSet::new();
    for loss in group.iter().filter(|l| seen.insert(l.phase)) {
        let side: Side = side_of(view, host, loss);
        for (name, moved) in rule_counters(&view.phases[loss.phase].facts, side) {
            let sum = sums.entry(name.to_owned()).or_default();
            *sum = sum.saturating_add(moved);
        }
    }
    sums.into_iter()
        .filter(|(_, moved)| *moved >= lost)
        .min_by_key(|(_, moved)| *moved)
        .map(|(name, moved)| (name.trim_end_matches("/drops").to_owned(), moved))
}
