//! A bridge that filters multicast has as many groups as it may remember and stops filtering altogether
//! (`mcast_hash_max`; `br_multicast_new_group`, net/bridge/br_multicast.c): every group then goes to every port, and each
//! receiver pays for all of them.
//!
//! Evidence: the bridge filtered before the joins and not after them, with this limit; what a guest that joined nothing
//! received. Certain: the kernel says that it does not filter. A warning. Case: `fanout-groups-bridge`; not
//! `fanout-groups-fit`.

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::units::Packets;
use serde::Serialize;

use crate::cause::{Cause, FanoutCause, Found, Words, host};
use crate::compare::topic::{About, Topic};
use crate::fanout::FanoutView;

#[derive(Serialize)]
pub(crate) struct BridgeGroupLimit {
    groups_joined: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    mcast_hash_max: Option<u32>,
    /// Of one packet to each joined group, at the guest that joined none.
    strayed_packets: Packets,
}

impl FanoutCause for BridgeGroupLimit {
    fn find(view: &FanoutView<'_>) -> Vec<Found<Self>> {
        let measured = view.run.hosts.iter();
        let measured = measured.filter_map(|(host, run)| Some((host, run, run.groups.as_ref()?)));
        let stopped = measured.filter(|(.., g)| g.filtered_before && !g.filters_after);
        let found = stopped.map(|(host, run, groups)| Found {
            severity: Severity::Warning,
            confidence: Confidence::Certain,
            place: Place {
                object: run
                    .bridge
                    .as_ref()
                    .map(|name| format!("like bridge {name}")),
                ..Place::on(host)
            },
            evidence: Self {
                groups_joined: groups.joined,
                mcast_hash_max: groups.hash_max,
                strayed_packets: Packets(groups.strayed),
            },
        });
        found.collect()
    }
}

impl Cause for BridgeGroupLimit {
    const CODE: &'static str = "bridge-group-limit";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[Topic::Bridge.any()];

    fn words(&self, at: &Place) -> Words {
        let limit = self.mcast_hash_max.map_or(String::new(), |limit| {
            format!(" It may remember {limit} (`mcast_hash_max`).")
        });
        Words {
            text: format!(
                "A bridge on {} that filtered stopped filtering while {} groups were joined behind it.{limit} Every group now \
                 goes to every port: a guest that joined none received {} packets of one to each.",
                host(at),
                self.groups_joined,
                self.strayed_packets,
            ),
            fix: format!(
                "`ip link set dev BRIDGE type bridge mcast_hash_max {}` and then `mcast_snooping 1`, which the kernel has \
                 turned off; both in the file that makes the bridge. It does not turn filtering on again by itself.",
                u64::from(self.groups_joined)
                    .saturating_mul(2)
                    .next_power_of_two(),
            ),
        }
    }
}
