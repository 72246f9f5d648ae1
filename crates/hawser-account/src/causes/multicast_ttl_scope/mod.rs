//! A group's packets have to pass a router, and their time to live ends before it: programs send
//! multicast with a TTL of 1 unless they ask for more (ip(7), `IP_MULTICAST_TTL`), and so does
//! Hawser, for which a group's scope is the link.
//!
//! Evidence: of the group nothing came although unicast passes, the TTL is 1, and the two addresses
//! are not in one network, so a router is between them. Certain: no packet can pass it. An error.
//! Case: `multicast-ttl-scope`.

use hawser_model::units::Packets;
use std::net::IpAddr;

use hawser_model::finding::{Confidence, Place, Severity};
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, host, on_link, peer};
use crate::causes::claims::Lost;
use crate::losses::Losses;
use crate::multicast::{groups, lost_on_the_way};
use crate::packets::facts::{PhaseFacts, Side};
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct MulticastTtlScope {
    group: IpAddr,
    ttl: u8,
    #[serde(flatten)]
    lost: Lost,
}

impl CheckCause for MulticastTtlScope {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let mut found = Vec::new();
        for group in groups(view) {
            let facts = &group.flow.facts;
            let ttl = facts.phase.spec.membership.as_ref().map_or(1, |m| m.ttl);
            if group.received() > 0 || ttl > 1 || !routed(facts) {
                continue;
            }
            let lost = losses.claim(Self::CODE, |l| {
                lost_on_the_way(view, l) && l.path == group.path
            });
            if lost.is_empty() {
                continue;
            }
            let place = Place {
                host: Some(group.path.from.clone()),
                peer: Some(group.path.to.clone()),
                link: Some(group.path.link.clone()),
                interface: facts.interface(Side::Sender).map(|(name, _)| name.clone()),
                object: None,
            };
            found.push(Found {
                severity: Severity::Error,
                confidence: Confidence::Certain,
                place,
                evidence: Self {
                    group: facts.phase.spec.destination,
                    ttl,
                    lost: Lost::of(view, &lost),
                },
            });
        }
        found
    }

    fn cost(&self) -> Packets {
        self.lost.lost_packets
    }
}

impl Cause for MulticastTtlScope {
    const CODE: &'static str = "multicast-ttl-scope";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        Words {
            text: format!(
                "Nothing of the group {} got from {} to {}{}: lost {}. It is sent with a TTL of {}, and \
                 the two are in different networks: the router between them takes it for expired.",
                self.group,
                host(at),
                peer(at),
                on_link(at),
                self.lost,
                self.ttl,
            ),
            fix: "Programs ask for more with `IP_MULTICAST_TTL` (Corosync: `totem.interface.ttl`), and the \
                  router must route the group (PIM); or put the hosts into one network, which a \
                  cluster's interconnect should be."
                .to_owned(),
        }
    }
}

/// Neither address is in the other's network.
fn routed(facts: &PhaseFacts<'_>) -> bool {
    let spec = &facts.phase.spec;
    let inside = |side, other: IpAddr| {
        let (_, interface) = facts.interface(side)?;
        let own = match side {
            Side::Sender => spec.source,
            Side::Receiver => spec.receiver,
        };
        let (_, prefix) = interface.addresses.iter().find(|(a, _)| *a == own)?;
        Some(same_network(own, other, *prefix))
    };
    inside(Side::Sender, spec.receiver) == Some(false)
        && inside(Side::Receiver, spec.source) == Some(false)
}

fn same_network(a: IpAddr, b: IpAddr, prefix: u8) -> bool {
    match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => {
            let differ = u32::from(a) ^ u32::from(b);
            differ.leading_zeros() >= u32::from(prefix)
        }
        (IpAddr::V6(a), IpAddr::V6(b)) => {
            let differ = u128::from(a) ^ u128::from(b);
            differ.leading_zeros() >= u32::from(prefix)
        }
        _ => false,
    }
}
