//! The table of tracked connections is full (`net.netfilter.nf_conntrack_max`): packets that would begin
//! a new entry are dropped, on a host that only routes or filters as on any other that has a rule
//! with a state in it. Established connections go on, which makes it look like a firewall's mood.
//!
//! Evidence: packets lost in the packet filter while `conntrack/drop` counted nearly as many
//! (`nf_conntrack: table full, dropping packet`; `__nf_conntrack_alloc`). Likely, since other flows
//! move that counter too. An error. Case: `conntrack-table-full`.

use hawser_model::account::Layer;
use hawser_model::finding::{Confidence, Finding, Severity};

use super::Cause;
use super::support::{Draft, by_host, counter_over, place_on};
use crate::losses::{Loss, Losses, packets};
use crate::view::View;

pub(super) const CAUSE: Cause = Cause {
    code: "conntrack-table-full",
    find,
};

/// What the table refused, of what the filter dropped, in per cent.
const MOST: u64 = 90;

fn is_filter(loss: &Loss) -> bool {
    matches!(
        loss.layer,
        Some(Layer::SenderFilter | Layer::ReceiverFilter)
    )
}

fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Finding> {
    let open: Vec<Loss> = losses.open().filter(|l| is_filter(l)).cloned().collect();
    let mut found = Vec::new();
    for (host, group) in by_host(open) {
        let refused = counter_over(view, &host, &group, |facts, side| {
            facts.counter(side, "conntrack/drop")
        });
        if refused.saturating_mul(100) < packets(&group).saturating_mul(MOST) {
            continue;
        }
        let group = losses.claim(CAUSE.code, |l| {
            is_filter(l) && l.host.as_ref() == Some(&host)
        });
        let place = place_on(view, &host, &group);
        found.push(
            Draft::new(CAUSE.code, Severity::Error, Confidence::Likely, place)
                .losses(view, &group)
                .number("refused_entries", refused)
                .maybe(
                    "nf_conntrack_max",
                    view.sysctl(&host, "net.netfilter.nf_conntrack_max"),
                )
                .done(),
        );
    }
    found
}
