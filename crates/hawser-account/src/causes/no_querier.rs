//! A switch filters multicast (IGMP or MLD snooping) and nobody on the link asks for memberships any
//! more. Traffic flows, until the membership ages out: after 260 s by default (RFC 3376, 8.4), which
//! looks like a cluster that falls apart some minutes after it was started.
//!
//! Evidence: what nobody joined did not reach the receiver, what it joined did, and no query was
//! heard on the link, not even when the receiver left the group, to which a querier answers at once
//! (RFC 2236, 3). Likely: with fast leave a querier need not ask. A warning while traffic still
//! flows, an error once what was joined stopped coming. Cases: `igmp-no-querier`,
//! `igmp-no-querier-stopped`.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::finding::{Confidence, Finding, Place, Severity};
use hawser_model::names::{InterfaceName, LinkName};

use super::Cause;
use super::support::Draft;
use crate::losses::Losses;
use crate::multicast::{Group, groups, lost_on_the_way};
use crate::packets::facts::Side;
use crate::view::{Path, View};

pub(super) const CAUSE: Cause = Cause {
    code: "igmp-no-querier",
    find,
};

fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Finding> {
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

fn starved(
    view: &View<'_>,
    losses: &mut Losses,
    link: &LinkName,
    groups: &[Group<'_, '_>],
) -> Option<Finding> {
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
    let lost = losses.claim(CAUSE.code, |l| {
        lost_on_the_way(view, l) && stopped.contains(&l.path)
    });
    let severity = match lost.is_empty() {
        true => Severity::Warning,
        false => Severity::Error,
    };
    let switch = view.case.topology.link(link).and_then(|l| l.switch.clone());
    let own = own_bridge(view, first);
    let place = Place {
        host: own.as_ref().map(|_| first.path.to.clone()),
        peer: None,
        link: Some(link.clone()),
        interface: own,
        object: switch.map(|s| format!("switch {s}")),
    };
    let listened = doomed.iter().map(|g| g.heard.listened_after_leave.0).max();
    let unjoined = doomed.iter().map(|g| g.heard.unjoined_sent.0).sum();
    let ipv4 = first.flow.facts.phase.spec.source.is_ipv4();
    let draft = Draft::new(CAUSE.code, severity, Confidence::Likely, place)
        .name("protocol", if ipv4 { "IGMP" } else { "MLD" })
        .number("listened_after_leave_ms", listened? / 1_000_000)
        .number("unjoined_sent", unjoined)
        .number("unjoined_heard", 0)
        .number("directions_affected", doomed.len() as u64);
    Some(match lost.is_empty() {
        true => draft.done(),
        false => draft.losses(view, &lost).done(),
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
