//! A host's own kernel refused to join a group: nothing was sent, and no switch is to blame. Most often a
//! program is in as many groups as one socket may be (`igmp_max_memberships`; `ip_mc_join_group`,
//! `net/ipv4/igmp.c`, answers ENOBUFS), or the interface takes no multicast.
//!
//! Evidence: the call and the kernel's answer. Certain; an error. Case: `multicast-join-refused`.

use std::collections::BTreeMap;

use hawser_model::case::Measurement;
use hawser_model::finding::{Confidence, Place, Severity};
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, counted, host, interface, on_link};
use crate::compare::topic::{About, Topic};
use crate::losses::Losses;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct MulticastJoinRefused {
    /// The call and the kernel's answer.
    error: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    igmp_max_memberships: Option<u64>,
}

/// As `hawser-wire` names the call.
const CALL: &str = "multicast join";

/// Whether that is what could not be done.
pub(crate) fn is_refused_join(problem: &str) -> bool {
    problem.contains(CALL)
}

fn refused(measurement: &Measurement) -> Option<&str> {
    let mut problems = measurement.problems.iter();
    problems.find(|p| is_refused_join(p)).map(String::as_str)
}

impl CheckCause for MulticastJoinRefused {
    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
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
                Found {
                    severity: Severity::Error,
                    confidence: Confidence::Certain,
                    place,
                    evidence: Self {
                        error: problem.to_owned(),
                        igmp_max_memberships: view.sysctl(host, "net.ipv4.igmp_max_memberships"),
                    },
                }
            });
        }
        found.into_values().collect()
    }
}

impl Cause for MulticastJoinRefused {
    const CODE: &'static str = "multicast-join-refused";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[Topic::Sysctl.with("igmp_max_memberships")];

    fn words(&self, at: &Place) -> Words {
        let (host, interface) = (host(at), interface(at));
        let limit = self.igmp_max_memberships.map_or(String::new(), |n| {
            format!(" One socket of it may be in {}.", counted(n, "group"))
        });
        Words {
            text: format!(
                "The kernel of {host} refused to join a group{}: {}.{limit}",
                on_link(at),
                self.error,
            ),
            fix: format!(
                "`sysctl -w net.ipv4.igmp_max_memberships=N` on {host}, when its programs join more groups; `ip link \
                 set dev {interface} multicast on`, when the interface takes none."
            ),
        }
    }
}
