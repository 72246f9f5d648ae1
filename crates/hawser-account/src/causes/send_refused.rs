//! The sender's socket refuses packets: its send buffer is full (EAGAIN), memory is short
//! (ENOMEM), or another error of send(2) that no other cause stands for.
//!
//! Evidence: the error of the system call. Certain; an error. Case: `send-refused`.

use hawser_model::account::Layer;
use hawser_model::finding::{Finding, Severity};

use super::Cause;
use super::support::{Draft, by_host, confidence, main_reason, place_on};
use crate::losses::Losses;
use crate::view::View;

pub(super) const CAUSE: Cause = Cause {
    code: "send-refused",
    find,
};

fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Finding> {
    by_host(losses.claim(CAUSE.code, |l| l.layer == Some(Layer::SenderSocket)))
        .into_iter()
        .map(|(host, group)| {
            let buffer = group
                .iter()
                .map(|l| view.phases[l.phase].facts.phase.sender.send_buffer.0)
                .min();
            Draft::new(
                CAUSE.code,
                Severity::Error,
                confidence(&group),
                place_on(view, &host, &group),
            )
            .name("reason", &main_reason(&group))
            .losses(view, &group)
            .maybe("send_buffer_bytes", buffer)
            .done()
        })
        .collect()
}
