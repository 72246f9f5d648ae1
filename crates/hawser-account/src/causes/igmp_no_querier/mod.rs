//! A switch filters multicast (IGMP or MLD snooping) and nobody on the link asks for memberships any
//! more. Traffic flows, until the membership ages out: after 260 s by default (RFC 3376, 8.4), which
//! looks like a cluster that falls apart some minutes after it was started.
//!
//! Evidence: what nobody joined did not reach the receiver, what it joined did, and no query was
//! heard on the link, not even when the receiver left the group, to which a querier answers at once
//! (RFC 2236, 3). Likely: with fast leave a querier need not ask. A warning while traffic still
//! flows, an error once what was joined stopped coming. Cases: `igmp-no-querier`,
//! `igmp-no-querier-stopped`.

use crate::fixes::Candidate;
use crate::fixes::knobs::{At, igmp_2};
use std::collections::{BTreeMap, BTreeSet};

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::{InterfaceName, LinkName};
use hawser_model::units::Packets;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, host, on_link};
use crate::causes::claims::Lost;
use crate::losses::Losses;
use crate::multicast::{Group, Protocol, groups, lost_on_the_way};
use crate::packets::facts::Side;
use crate::view::{Path, View};

#[derive(Serialize)]
pub(crate) struct IgmpNoQuerier {
    protocol: Protocol,
    listened_after_leave_ms: u64,
    unjoined_sent: Packets,
    /// Always zero: the link filters.
    unjoined_heard: Packets,
    directions_affected: u64,
    /// None while what was joined still comes.
    #[serde(flatten)]
    lost: Option<Lost>,
}

impl CheckCause for IgmpNoQuerier {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let mut links: BTreeMap<LinkName, Vec<Group<'_, '_>>> = BTreeMap::new();
        for group in groups(view) {
            links
                .entry(group.path.link.clone())
                .or_default()
                .push(group);
        }
        links
            .into_iter()
            .filter(|(_, groups)| groups.iter().all(|g| g.heard.queries.is_empty()))
            .filter_map(|(link, groups)| starved(view, losses, &link, &groups))
            .collect()
    }

    fn cost(&self) -> Packets {
        let lost = self.lost.as_ref();
        lost.map_or(Packets(0), |lost| lost.lost_packets)
    }

    fn candidates(&self, at: &At<'_>) -> Vec<Option<Candidate>> {
        vec![
            igmp_2(),
            at.bridge("multicast_querier", "1"),
            // Not filtering at all comes last: it burdens every port.
            at.bridge("multicast_snooping", "0"),
        ]
    }
}

impl Cause for IgmpNoQuerier {
    const CODE: &'static str = "igmp-no-querier";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let (protocol, on_link) = (self.protocol, on_link(at));
        let happens = match &self.lost {
            Some(lost) => {
                format!("A group that was joined stopped coming while it was measured: {lost}")
            }
            None => {
                "What is joined still comes; it will stop when the membership ages out, 260 s after \
                 the last report by default"
                    .to_owned()
            }
        };
        Words {
            text: format!(
                "Multicast{on_link} is filtered ({protocol} snooping: of {} packets to a group that no host \
                 joined none arrived), and no querier asks for memberships: no query was heard, not even \
                 within {} ms after a receiver had left its group, which a querier answers at once. \
                 {happens}.",
                self.unjoined_sent.0, self.listened_after_leave_ms,
            ),
            fix: match &at.interface {
                Some(bridge) => format!(
                    "On {}: `ip link set {bridge} type bridge mcast_querier 1`; or snooping off \
                     (`mcast_snooping 0`).",
                    host(at),
                ),
                None => format!(
                    "Switch on the querier of one switch{on_link} (`ip igmp snooping querier` on many, \
                     `mcast_querier 1` on a Linux bridge), or let a multicast router on the link; where \
                     neither is possible, switch {protocol} snooping off."
                ),
            },
        }
    }
}

fn starved(
    view: &View<'_>,
    losses: &mut Losses,
    link: &LinkName,
    groups: &[Group<'_, '_>],
) -> Option<Found<IgmpNoQuerier>> {
    let doomed: Vec<&Group<'_, '_>> = groups
        .iter()
        .filter(|g| g.filtered() && g.received() > 0)
        .collect();
    let first = doomed.first()?;
    let stopped: BTreeSet<Path> = doomed
        .iter()
        .filter(|g| stopped(g))
        .map(|g| g.path.clone())
        .collect();
    let lost = losses.claim(IgmpNoQuerier::CODE, |l| {
        lost_on_the_way(view, l) && stopped.contains(&l.path)
    });
    let severity = match lost.is_empty() {
        true => Severity::Warning,
        false => Severity::Error,
    };
    let own = own_bridge(view, first);
    let place = Place {
        host: own.as_ref().map(|_| first.path.to.clone()),
        peer: None,
        link: Some(link.clone()),
        interface: own,
        object: view.switch(link),
    };
    let listened = doomed.iter().map(|g| g.heard.listened_after_leave.0).max();
    let unjoined = doomed
        .iter()
        .map(|g| g.heard.unjoined_sent)
        .sum::<Packets>()
        .0;
    Some(Found {
        severity,
        confidence: Confidence::Likely,
        place,
        evidence: IgmpNoQuerier {
            protocol: Protocol::of(first.flow.facts.phase.spec.source),
            listened_after_leave_ms: listened? / 1_000_000,
            unjoined_sent: Packets(unjoined),
            unjoined_heard: Packets(0),
            directions_affected: doomed.len() as u64,
            lost: (!lost.is_empty()).then(|| Lost::of(view, &lost)),
        },
    })
}

/// What was joined came and then came no more: most of what is missing is one run, and no short one.
fn stopped(group: &Group<'_, '_>) -> bool {
    let runs = &group.flow.facts.phase.receiver.loss_runs_by_length;
    let longest = runs.keys().max().copied().unwrap_or(0);
    let lost = group.flow.account.lost.0;
    // The last run has no packet behind it and may not be listed: then nearly no run is.
    let listed = runs.iter().fold(0u64, |sum, (length, n)| {
        sum.saturating_add(length.saturating_mul(*n))
    });
    let at_the_end = lost.saturating_sub(listed);
    let gap = longest.max(at_the_end);
    lost > 0 && gap.saturating_mul(2) >= lost && gap.saturating_mul(10) >= group.flow.account.sent.0
}

/// The receiver's own bridge, when it is what snoops.
fn own_bridge(view: &View<'_>, group: &Group<'_, '_>) -> Option<InterfaceName> {
    let (name, _) = group.flow.facts.interface(Side::Receiver)?;
    let bridge = view.host(&group.path.to)?.bridges.get(name)?;
    bridge.multicast_snooping.then(|| name.clone())
}
