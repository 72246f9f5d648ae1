//! A socket joins no more groups: it is in as many as one may be (`igmp_max_memberships`; `ip_mc_join_group`,
//! net/ipv4/igmp.c), or has no memory left for another (`net.core.optmem_max`).
//!
//! Evidence: the join that was refused, the kernel's answer, and the limit under which it was made. Certain where the
//! socket was in exactly as many groups as the limit allows; possible otherwise: something else refused it. A warning.
//! Cases: `fanout-groups-socket`, `fanout-groups-memory`; not `fanout-groups-fit`.

use hawser_model::finding::{Confidence, Place, Severity};
use serde::Serialize;

use crate::cause::{Cause, FanoutCause, Found, Words, host};
use crate::compare::topic::{About, Topic};
use crate::fanout::FanoutView;

#[derive(Serialize)]
pub(crate) struct SocketGroupLimit {
    groups_asked: u32,
    groups_one_socket: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    igmp_max_memberships: Option<u32>,
    error: String,
}

impl FanoutCause for SocketGroupLimit {
    fn find(view: &FanoutView<'_>) -> Vec<Found<Self>> {
        let measured = view.run.hosts.iter();
        let measured = measured.filter_map(|(host, run)| Some((host, run.groups.as_ref()?)));
        let refused = measured.filter_map(|(host, groups)| {
            let error = groups.refused.clone()?;
            let at_the_limit = groups.max_memberships == Some(groups.one_socket);
            Some(Found {
                severity: Severity::Warning,
                confidence: match at_the_limit {
                    true => Confidence::Certain,
                    false => Confidence::Possible,
                },
                place: Place::on(host),
                evidence: Self {
                    groups_asked: groups.asked,
                    groups_one_socket: groups.one_socket,
                    igmp_max_memberships: groups.max_memberships,
                    error,
                },
            })
        });
        refused.collect()
    }
}

impl Cause for SocketGroupLimit {
    const CODE: &'static str = "socket-group-limit";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[
        Topic::Sysctl.with("igmp_max_memberships"),
        Topic::Sysctl.with("optmem_max"),
    ];

    fn words(&self, at: &Place) -> Words {
        let (host, joined) = (host(at), self.groups_one_socket);
        let next = joined + 1;
        let limited = self.igmp_max_memberships == Some(joined);
        let why = match (limited, self.igmp_max_memberships) {
            (true, _) => "that is `net.ipv4.igmp_max_memberships`".to_owned(),
            (false, Some(limit)) => {
                format!(
                    "`net.ipv4.igmp_max_memberships` would allow {limit}, so something else refused it"
                )
            }
            (false, None) => "why is not known".to_owned(),
        };
        let asked = self.groups_asked;
        Words {
            text: format!(
                "One socket on {host} is in {joined} groups at most: the join of number {next} was refused ({}); {why}. A \
                 program that joins {asked} with one socket gets nothing of the others.",
                self.error,
            ),
            fix: match limited {
                true => format!(
                    "`sysctl -w net.ipv4.igmp_max_memberships={asked}` on {host}, and the same in a file in \
                     `/etc/sysctl.d`; or let the program use several sockets, each with its own {joined} groups."
                ),
                false => format!(
                    "Look at `net.core.optmem_max` on {host}, of which each membership takes a little; or let the program \
                     use several sockets."
                ),
            },
        }
    }
}
