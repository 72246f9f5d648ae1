//! A host's own kernel refused to join a group: nothing was sent, and no switch is to blame. Most often a
//! program is in as many groups as one socket may be (`igmp_max_memberships`; `ip_mc_join_group`,
//! `net/ipv4/igmp.c`, answers ENOBUFS), or the interface takes no multicast.
//!
//! Evidence: the call and the kernel's answer. Certain; an error. Case: `multicast-join-refused`.

use std::collections::BTreeMap;

use hawser_model::case::Measurement;
use hawser_model::finding::{Confidence, Finding, Place, Severity};

use super::Cause;
use super::support::Draft;
use crate::losses::Losses;
use crate::view::View;

pub(super) const CAUSE: Cause = Cause {
    code: "multicast-join-refused",
    find,
};

/// As `hawser-wire` names the call.
const CALL: &str = "multicast join";

/// Whether that is what could not be done.
pub(super) fn is_refused_join(problem: &str) -> bool {
    problem.contains(CALL)
}

fn refused(measurement: &Measurement) -> Option<&str> {
    let mut problems = measurement.problems.iter();
    problems.find(|p| is_refused_join(p)).map(String::as_str)
}

fn find(view: &View<'_>, _: &mut Losses) -> Vec<Finding> {
    let mut found = BTreeMap::new();
    for measurement in &view.case.measurements {
        let Some(problem) = refused(measurement) else {
            continue;
        };
        let (host, link) = (&measurement.to, &measurement.link);
        let address = view.case.topology.node(host);
        let address = address.and_then(|node| node.addresses.get(link));
        let facts = view.case.hosts.get(host);
        let port = facts.zip(address).and_then(|(f, a)| f.interface_with(*a));
        found.entry((host, link)).or_insert_with(|| {
            let place = Place {
                host: Some(host.clone()),
                link: Some(link.clone()),
                interface: port.map(|(name, _)| name.clone()),
                ..Place::default()
            };
            Draft::new(CAUSE.code, Severity::Error, Confidence::Certain, place)
                .name("error", problem)
                .maybe(
                    "igmp_max_memberships",
                    view.sysctl(host, "net.ipv4.igmp_max_memberships"),
                )
                .done()
        });
    }
    found.into_values().collect()
}
