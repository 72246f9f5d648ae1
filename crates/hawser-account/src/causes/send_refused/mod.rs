//! The sender's socket refuses packets: its send buffer is full (EAGAIN), memory is short
//! (ENOMEM), or another error of send(2) that no other cause stands for.
//!
//! Evidence: the error of the system call. Certain; an error. Case: `send-refused`.

use hawser_model::account::Layer;
use hawser_model::finding::Place;
use hawser_model::units::{Bytes, Packets};
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, host, in_brackets};
use crate::causes::claims::{Lost, by_host, lost_on, main_reason};
use crate::compare::topic::{About, Topic};
use crate::losses::{Loss, Losses};
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct SendRefused {
    /// The error of send(2).
    reason: String,
    #[serde(flatten)]
    lost: Lost,
    /// The smallest of those that refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    send_buffer_bytes: Option<Bytes>,
}

impl CheckCause for SendRefused {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let claimed = losses.claim(Self::CODE, |l| l.layer == Some(Layer::SenderSocket));
        let found = by_host(claimed).into_iter().map(|(host, group)| {
            let sender = |l: &Loss| &view.phases[l.phase].facts.phase.sender;
            let evidence = Self {
                reason: main_reason(&group),
                lost: Lost::of(view, &group),
                send_buffer_bytes: group.iter().map(|l| sender(l).send_buffer).min(),
            };
            lost_on(view, &host, &group, evidence)
        });
        found.collect()
    }

    fn cost(&self) -> Packets {
        self.lost.lost_packets
    }
}

impl Cause for SendRefused {
    const CODE: &'static str = "send-refused";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[Topic::Sysctl.with("net.core.wmem_")];

    fn words(&self, at: &Place) -> Words {
        Words {
            text: format!(
                "The kernel of {} refused {} at the sending system call{}; the send buffer is {}.",
                host(at),
                self.lost,
                in_brackets(&self.reason),
                self.send_buffer_bytes
                    .map_or("not known".to_owned(), |size| size.to_string()),
            ),
            fix: "EAGAIN: send slower or ask for a larger SO_SNDBUF (limit net.core.wmem_max). \
                  ENOMEM: the host is short of memory. Otherwise see send(2) for the error."
                .to_owned(),
        }
    }
}
