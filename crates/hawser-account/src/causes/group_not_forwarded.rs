//! A switch filters multicast and does not send a group to a host that has joined it: the host's
//! membership report did not reach the switch (a firewall that drops IGMP or MLD, a switch that does
//! not understand the version), or the switch refused it (a profile, a full table).
//!
//! Evidence: the receiver joined, unicast passes, and of the group nothing came; what nobody joined
//! did not come either, so the switch does not flood. Likely. An error. Case:
//! `group-not-forwarded`.

use hawser_model::finding::{Confidence, Finding, Place, Severity};

use super::Cause;
use super::support::Draft;
use crate::losses::Losses;
use crate::multicast::{groups, lost_on_the_way};
use crate::packets::facts::Side;
use crate::view::View;

pub(super) const CAUSE: Cause = Cause {
    code: "group-not-forwarded",
    find,
};

fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Finding> {
    let mut found = Vec::new();
    for group in groups(view) {
        if group.received() > 0 || !group.filtered() {
            continue;
        }
        let lost = losses.claim(CAUSE.code, |l| {
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
        let forced = super::igmp_version::forced(view, &group.path.to, &group.path.link);
        let queried = group
            .heard
            .queries
            .iter()
            .map(|q| u64::from(q.version))
            .max();
        found.push(
            Draft::new(CAUSE.code, Severity::Error, Confidence::Likely, place)
                .name("group", &spec.destination.to_string())
                .name(
                    "protocol",
                    if spec.source.is_ipv4() { "IGMP" } else { "MLD" },
                )
                .maybe("forced_version", forced.filter(|v| *v > 0))
                .maybe("querier_version", queried)
                .losses(view, &lost)
                .done(),
        );
    }
    found
}
