//! Cluster-wide properties and defaults.

use hawser_model::cluster_file::{ClusterFile, Failback, FenceAction};

use super::build::{nvpairs, pair};
use crate::timing::EngineTiming;
use crate::xml::Element;

/// The property set that `crm_attribute` and every other tool change by default, so a change made
/// by hand lands where it is compared.
pub const PROPERTY_SET: &str = "cib-bootstrap-options";

/// Long enough for `fence_ipmilan` to try, wait and ask again (`power_timeout` 20 s), and
/// Pacemaker's own value; the fencer adds a device's delay itself.
const STONITH_TIMEOUT: &str = "60s";

/// A resource that failed so often on a node leaves it. Pacemaker's own is never, which would
/// restart an address for ever on a head whose network card is broken.
const MIGRATION_THRESHOLD: u32 = 3;

/// Failures older than this are forgotten: a bad hour does not decide about a node for ever.
const FAILURE_TIMEOUT: &str = "1h";

pub(super) fn crm_config(file: &ClusterFile) -> Element {
    let fencing = file.fencing.as_ref();
    let fenced = fencing.is_none_or(|fencing| fencing.none.is_none());
    let action = match fencing.map(|fencing| fencing.action).unwrap_or_default() {
        FenceAction::Off => "off",
        FenceAction::Reboot => "reboot",
    };
    let timing = EngineTiming::of(file);
    let mut properties = vec![
        pair("dc-deadtime", timing.dc_deadtime),
        pair("maintenance-mode", file.cluster.maintenance),
        // The part without quorum stops what it runs, if it still can; the other part fences it.
        pair("no-quorum-policy", "stop"),
        pair("stonith-action", action),
        pair("stonith-enabled", fenced),
        pair("stonith-timeout", STONITH_TIMEOUT),
    ];
    let more = file
        .cluster
        .properties
        .iter()
        .map(|(name, value)| pair(name, value));
    properties.extend(more);
    let set = nvpairs("cluster_property_set", PROPERTY_SET, &properties);
    Element::new("crm_config").child(set)
}

pub(super) fn rsc_defaults(file: &ClusterFile) -> Element {
    let defaults = [
        pair("failure-timeout", FAILURE_TIMEOUT),
        pair("migration-threshold", MIGRATION_THRESHOLD),
        pair("resource-stickiness", stickiness(file)),
    ];
    let set = nvpairs("meta_attributes", "hawser-rsc-defaults", &defaults);
    Element::new("rsc_defaults").child(set)
}

/// To stay must weigh more than any preference, or a returning head would take its pool back. Even
/// when it shall, staying weighs something, or pools without a preference would move about.
pub(super) fn stickiness(file: &ClusterFile) -> u32 {
    match file.cluster.failback {
        Failback::Automatic => 1,
        Failback::Manual => {
            let strongest = file.pools.iter().map(|pool| pool.preference()).max();
            strongest.unwrap_or(0) + 100
        }
    }
}
