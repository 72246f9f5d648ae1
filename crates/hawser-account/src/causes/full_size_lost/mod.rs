//! A packet as large as the interface takes does not come back from a peer that answers smaller ones: what a watch sees of
//! a hop with too small an MTU, from one end.
//!
//! Evidence: an echo of full size, tried again and in smaller sizes until one came back ([`PathEcho`]). Likely, since a
//! filter may take large echoes alone; a warning. Where the peer's own port is known and smaller, that is
//! `mtu-mismatch`. Cases: `full-size-lost`, `full-size-told`, `full-size-answered`.

use std::collections::BTreeSet;
use std::net::IpAddr;

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::probe::PathEcho;
use hawser_model::units::Mtu;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, between, host};
use crate::compare::topic::{About, Topic};
use crate::losses::Losses;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct FullSizeLost {
    answered_mtu_bytes: Mtu,
    #[serde(skip_serializing_if = "Option::is_none")]
    unanswered_mtu_bytes: Option<Mtu>,
    interface_mtu_bytes: Mtu,
    /// What a router, or a route of the host, said that it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    told_mtu_bytes: Option<Mtu>,
    #[serde(skip_serializing_if = "Option::is_none")]
    told_by: Option<IpAddr>,
    /// The sending host's own packet filter refuses them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    refused_by_sender: bool,
}

impl CheckCause for FullSizeLost {
    const STANDING: bool = true;

    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let mut told = BTreeSet::new();
        let mut found = Vec::new();
        for echo in &view.case.echoes {
            // An echo goes there and back: what both ends see is one trouble.
            let ends = BTreeSet::from([&echo.from, &echo.to]);
            let Some(evidence) = evidence(view, echo) else {
                continue;
            };
            if told.insert((&echo.link, ends)) {
                found.push(Found {
                    severity: Severity::Warning,
                    confidence: Confidence::Likely,
                    place: Place {
                        host: Some(echo.from.clone()),
                        peer: Some(echo.to.clone()),
                        link: Some(echo.link.clone()),
                        ..Place::default()
                    },
                    evidence,
                });
            }
        }
        found
    }
}

/// What of it did not come back; nothing where all did, or none at all.
fn evidence(view: &View<'_>, echo: &PathEcho) -> Option<FullSizeLost> {
    let found = &echo.found;
    let answered = found.passed?;
    let told = found.told.filter(|told| *told < found.interface_mtu);
    let peer = view.host(&echo.to);
    let peers_own = peer.and_then(|peer| peer.interface_with(found.destination)?.1.mtu);
    let is_mismatch = peers_own.is_some_and(|mtu| mtu < found.interface_mtu);
    let is_short = found.full_size_passes() == Some(false);
    (is_short && !is_mismatch).then_some(FullSizeLost {
        answered_mtu_bytes: answered,
        unanswered_mtu_bytes: found.silent,
        interface_mtu_bytes: found.interface_mtu,
        told_mtu_bytes: told,
        told_by: found.told_by.filter(|_| told.is_some()),
        refused_by_sender: found.denied,
    })
}

impl Cause for FullSizeLost {
    const CODE: &'static str = "full-size-lost";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[Topic::Mtu.any()];

    fn words(&self, at: &Place) -> Words {
        let (answered, interface) = (self.answered_mtu_bytes, self.interface_mtu_bytes);
        let text = format!(
            "Between {} packets of up to {answered} bytes are answered and larger ones are not, although {}'s interface sends up \
             to {interface}.",
            between(at),
            host(at),
        );
        if self.refused_by_sender {
            return Words {
                text: format!(
                    "{text} {}'s own packet filter refuses them (EPERM).",
                    host(at)
                ),
                fix: format!(
                    "`nft list ruleset` or `iptables-save` and `ip6tables-save` on {}: a rule on output that matches a \
                     length.",
                    host(at)
                ),
            };
        }
        let text = match (self.told_mtu_bytes, self.told_by) {
            (Some(mtu), Some(router)) => {
                format!("{text} The router {router} says that its next hop takes {mtu} bytes.")
            }
            (Some(mtu), None) => format!("{text} A route of {} says {mtu} bytes.", host(at)),
            (None, _) => format!(
                "{text} One of the two ways loses them without a word: the other end's own MTU is smaller, a hop's is, or \
                 something filters large echoes."
            ),
        };
        Words {
            text,
            fix: "Compare the MTU of both interfaces (`ip link`) and of every switch port between them. `hawser check` names the \
                  direction, and what it costs."
                .to_owned(),
        }
    }
}
