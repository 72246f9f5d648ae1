//! The packets reached the host, but no socket listens on their port: the program is not
//! running, or is bound to another address.
//!
//! Evidence: `NO_SOCKET` events or `Udp: NoPorts` (`__udp4_lib_rcv`), or ECONNREFUSED at the
//! sender, which is the ICMP answer. An error. Case: `no-listener`.

use hawser_model::account::Layer;
use hawser_model::finding::{Finding, Severity};

use super::Cause;
use super::support::{Draft, by_host, confidence, place_on};
use crate::losses::{Loss, Losses};
use crate::view::View;

pub(super) const CAUSE: Cause = Cause {
    code: "no-listener",
    find,
};

fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Finding> {
    let mut claimed = losses.claim(CAUSE.code, |l| {
        l.layer == Some(Layer::NoListener)
            || (l.layer == Some(Layer::SenderSocket) && l.reason == "ECONNREFUSED")
    });
    // The refusal was the receiver's, whoever counted it.
    for loss in claimed.iter_mut() {
        loss.host = Some(loss.path.to.clone());
    }
    let ports = |group: &[Loss]| {
        let port = |l: &Loss| u64::from(view.phases[l.phase].facts.phase.port);
        group.first().map(port)
    };
    by_host(claimed)
        .into_iter()
        .map(|(host, group)| {
            Draft::new(
                CAUSE.code,
                Severity::Error,
                confidence(&group),
                place_on(view, &host, &group),
            )
            .losses(view, &group)
            .maybe("port", ports(&group))
            .done()
        })
        .collect()
}
