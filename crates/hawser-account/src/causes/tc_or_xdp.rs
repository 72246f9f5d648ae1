//! A program on the interface drops the packets: a tc filter (`clsact`, policing) or an XDP
//! program. They sit below the packet filter and no `nft list` shows them.
//!
//! Evidence: the layer xdp-tc, or `TC_EGRESS` and `clsact` drops at the sender. An error.
//! Cases: `tc-or-xdp-drop`, `tc-egress-drop`.

use hawser_model::account::Layer;
use hawser_model::finding::{Finding, Severity};

use super::Cause;
use super::support::{Draft, by_host, confidence, main_reason, place_on};
use crate::losses::{Loss, Losses};
use crate::view::View;

pub(super) const CAUSE: Cause = Cause {
    code: "tc-or-xdp-drop",
    find,
};

fn is_program(loss: &Loss) -> bool {
    match loss.layer {
        Some(Layer::XdpTc) => true,
        Some(Layer::Qdisc) => loss.reason.starts_with("TC_") || loss.reason.contains("/clsact/"),
        _ => false,
    }
}

fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Finding> {
    by_host(losses.claim(CAUSE.code, is_program))
        .into_iter()
        .map(|(host, group)| {
            let egress = group.iter().any(|l| l.layer == Some(Layer::Qdisc));
            Draft::new(
                CAUSE.code,
                Severity::Error,
                confidence(&group),
                place_on(view, &host, &group),
            )
            .name("reason", &main_reason(&group))
            .number("outgoing", u64::from(egress))
            .losses(view, &group)
            .done()
        })
        .collect()
}
