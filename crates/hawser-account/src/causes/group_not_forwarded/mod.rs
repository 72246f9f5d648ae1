//! A switch filters multicast and does not send a group to a host that has joined it: the host's
//! membership report did not reach the switch (a firewall that drops IGMP or MLD, a switch that does
//! not understand the version), or the switch refused it (a profile, a full table).
//!
//! Evidence: the receiver joined, unicast passes, and of the group nothing came; what nobody joined
//! did not come either, so the switch does not flood. Likely. An error. Case:
//! `group-not-forwarded`.

use crate::fixes::Candidate;
use crate::fixes::knobs::{At, igmp_2};
use hawser_model::units::Packets;
use std::net::IpAddr;

use hawser_model::finding::{Confidence, Place, Severity};
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, as_number, host, interface, on_link, peer};
use crate::causes::claims::Lost;
use crate::causes::igmp_version_mixed::forced;
use crate::causes::other_family_dead;
use crate::losses::Losses;
use crate::multicast::{Protocol, groups, lost_on_the_way};
use crate::packets::facts::Side;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct GroupNotForwarded {
    group: IpAddr,
    protocol: Protocol,
    /// Of the protocol, that the receiver is forced to.
    #[serde(skip_serializing_if = "Option::is_none")]
    forced_version: Option<u64>,
    /// The newest that was heard.
    #[serde(skip_serializing_if = "Option::is_none")]
    querier_version: Option<u64>,
    /// IPv6's neighbour discovery, multicast as well, did not reach the receiver either.
    #[serde(
        skip_serializing_if = "std::ops::Not::not",
        serialize_with = "as_number"
    )]
    neighbour_discovery_dead: bool,
    #[serde(flatten)]
    lost: Lost,
}

impl CheckCause for GroupNotForwarded {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let mut found = Vec::new();
        for group in groups(view) {
            if !group.is_shut() {
                continue;
            }
            let lost = losses.claim(Self::CODE, |l| {
                lost_on_the_way(view, l) && l.path == group.path
            });
            if lost.is_empty() {
                continue;
            }
            let interface = group.flow.facts.interface(Side::Receiver);
            let place = Place {
                host: Some(group.path.to.clone()),
                peer: Some(group.path.from.clone()),
                link: Some(group.path.link.clone()),
                interface: interface.map(|(name, _)| name.clone()),
                object: None,
            };
            let spec = &group.flow.facts.phase.spec;
            let forced = forced(view, &group.path.to, &group.path.link);
            let queries = group.heard.queries.iter();
            found.push(Found {
                severity: Severity::Error,
                confidence: Confidence::Likely,
                place,
                evidence: Self {
                    group: spec.destination,
                    protocol: Protocol::of(spec.source),
                    forced_version: forced.filter(|version| *version > 0),
                    querier_version: queries.map(|q| u64::from(q.version)).max(),
                    neighbour_discovery_dead: other_family_dead::is_silent(view, &group.path),
                    lost: Lost::of(view, &lost),
                },
            });
        }
        found
    }

    fn cost(&self) -> Packets {
        self.lost.lost_packets
    }

    fn candidates(&self, _: &At<'_>) -> Vec<Option<Candidate>> {
        vec![igmp_2()]
    }
}

impl Cause for GroupNotForwarded {
    const CODE: &'static str = "group-not-forwarded";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let (host, interface, protocol) = (host(at), interface(at), self.protocol);
        let forced = match self.forced_version {
            Some(version) => format!(" {host} is forced to {protocol} version {version}."),
            None => String::new(),
        };
        let querier = match self.querier_version {
            Some(version) => format!(" A querier of version {version} was heard."),
            None => " No query was heard.".to_owned(),
        };
        let (why, first) = match self.neighbour_discovery_dead {
            true => (
                "nor does IPv6's neighbour discovery, which is multicast too: the switch filters, and either does not know \
                 the members behind this port, or sends no multicast to it at all",
                format!(
                    "Look at the switch's port to {host}: flooding of multicast that is off there (`bridge -d link show` says \
                     mcast_flood; `switchport block multicast`). Else see"
                ),
            ),
            false => (
                "the switch filters, and does not know that it is a member",
                "See".to_owned(),
            ),
        };
        Words {
            text: format!(
                "{host} joined the group {} and got nothing of it from {}{}: lost {}. Unicast passes, and \
                 a group that no host joined does not come to {host} either{} {why}.{forced}{querier}",
                self.group,
                peer(at),
                on_link(at),
                self.lost,
                match self.neighbour_discovery_dead {
                    true => ",",
                    false => ":",
                },
            ),
            fix: format!(
                "{first} whether the report leaves {host} (`tcpdump -ni {interface} igmp or icmp6`) and whether a firewall \
                 drops it (`nft list ruleset`: {protocol} must pass); then the switch's table of groups and \
                 its limits. `hawser tune --multicast` tries an older version of the protocol."
            ),
        }
    }
}
