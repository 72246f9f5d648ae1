//! The receiver drops packets whose source it would not reach through the interface they came
//! in on (`net.ipv4.conf.*.rp_filter`, RFC 3704): usual where two links share a subnet, or
//! where the route back goes elsewhere.
//!
//! Evidence: `IP_RPFILTER` events or `TcpExt: IPReversePathFilter`
//! (`fib_validate_source`, `net/ipv4/ip_input.c`). An error. Case: `reverse-path-filter`.

use hawser_model::account::Layer;
use hawser_model::finding::{Finding, Severity};

use super::Cause;
use super::support::{Draft, by_host, confidence, place_on};
use crate::losses::{Loss, Losses};
use crate::view::View;

pub(super) const CAUSE: Cause = Cause {
    code: "reverse-path-filter",
    find,
};

fn is_reverse_path(loss: &Loss) -> bool {
    loss.layer == Some(Layer::ReceiverIp)
        && (loss.reason == "IP_RPFILTER" || loss.reason.ends_with("IPReversePathFilter"))
}

fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Finding> {
    by_host(losses.claim(CAUSE.code, is_reverse_path))
        .into_iter()
        .map(|(host, group)| {
            let place = place_on(view, &host, &group);
            let own = place
                .interface
                .as_ref()
                .map(|i| format!("net.ipv4.conf.{}.rp_filter", i.as_str().replace('.', "/")));
            // The kernel applies the larger of `all` and the interface's own (ip-sysctl).
            let filter = [own.as_deref(), Some("net.ipv4.conf.all.rp_filter")]
                .into_iter()
                .flatten()
                .filter_map(|name| view.sysctl(&host, name))
                .max();
            Draft::new(CAUSE.code, Severity::Error, confidence(&group), place)
                .losses(view, &group)
                .maybe("rp_filter", filter)
                .done()
        })
        .collect()
}
