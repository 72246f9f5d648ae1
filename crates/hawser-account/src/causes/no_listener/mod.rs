//! The packets reached the host, but no socket listens on their port: the program is not
//! running, or is bound to another address.
//!
//! Evidence: `NO_SOCKET` events or `Udp: NoPorts` (`__udp4_lib_rcv`), or ECONNREFUSED at the
//! sender, which is the ICMP answer. An error. Case: `no-listener`.

use hawser_model::account::Layer;
use hawser_model::finding::Place;
use hawser_model::units::Packets;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, host, on_link};
use crate::causes::claims::{Lost, by_host, lost_on};
use crate::losses::Losses;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct NoListener {
    #[serde(flatten)]
    lost: Lost,
    port: u16,
}

impl CheckCause for NoListener {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let mut claimed = losses.claim(Self::CODE, |l| {
            l.layer == Some(Layer::NoListener)
                || (l.layer == Some(Layer::SenderSocket) && l.reason == "ECONNREFUSED")
        });
        // The refusal was the receiver's, whichever host counted it.
        for loss in claimed.iter_mut() {
            loss.host = Some(loss.path.to.clone());
        }
        let found = by_host(claimed).into_iter().filter_map(|(host, group)| {
            let phase = &view.phases[group.first()?.phase];
            let evidence = Self {
                lost: Lost::of(view, &group),
                port: phase.facts.phase.port,
            };
            Some(lost_on(view, &host, &group, evidence))
        });
        found.collect()
    }

    fn cost(&self) -> Packets {
        self.lost.lost_packets
    }
}

impl Cause for NoListener {
    const CODE: &'static str = "no-listener";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        Words {
            text: format!(
                "{} reached {}{}, but no socket listens on port {} there.",
                self.lost,
                host(at),
                on_link(at),
                self.port,
            ),
            fix: format!(
                "`ss -ulnp` on {} shows who listens and on which address. Redirections (`nft list \
                 table nat`) and a program bound to another address are the usual reasons.",
                host(at)
            ),
        }
    }
}
