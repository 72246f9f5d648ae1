//! The cluster as it is set, from its CIB and Corosync's runtime map.

use hawser_cluster::cib::fencing::targets;
use hawser_cluster::cib::services::{pairs, primitive, resource};
use hawser_cluster::xml::Element;
use hawser_model::cluster_file::ClusterFile;
use hawser_model::cmap;
use hawser_model::drill::{ClusterFacts, FenceDeviceFacts, PoolFacts, TotemFacts};
use hawser_model::names::HostName;
use hawser_model::output::cluster::ClusterStatus;

/// Parameters of fence devices that tell how long they take. All others may be secrets or accounts.
const TELLING: [&str; 4] = ["delay", "method", "power_wait", "retry_on"];

/// Puts the facts together. `map` is what `corosync-cmapctl` prints.
pub(crate) fn facts(
    file: &ClusterFile,
    lab: Option<&str>,
    now: &ClusterStatus,
    cib: &Element,
    map: &str,
) -> ClusterFacts {
    let active = |pool: &str| {
        let status = now.pools.iter().find(|status| status.name == pool)?;
        status.active_on.clone()
    };
    let pools = file.pools.iter().map(|pool| PoolFacts {
        name: pool.name.to_string(),
        active_on: active(pool.name.as_str()),
        resources: pool
            .resource_ids()
            .iter()
            .filter_map(|id| resource(primitive(cib, id)?))
            .collect(),
    });
    let devices = targets(file).into_iter().filter_map(|(device, victims)| {
        let primitive = primitive(cib, &device)?;
        Some(FenceDeviceFacts {
            agent: primitive.get("type")?.to_owned(),
            targets: victims.into_iter().map(HostName).collect(),
            parameters: pairs(primitive, "instance_attributes")
                .into_iter()
                .filter(|(name, _)| tells(name))
                .collect(),
            name: device,
        })
    });
    let number = |key: &str| cmap::value(map, key)?.parse().ok();
    ClusterFacts {
        name: file.cluster.name.to_string(),
        lab: lab.map(str::to_owned),
        nodes: file
            .nodes
            .iter()
            .map(|node| node.name.get().clone())
            .collect(),
        pools: pools.collect(),
        totem: TotemFacts {
            token_ms: number("runtime.config.totem.token").unwrap_or(0),
            consensus_ms: number("runtime.config.totem.consensus").unwrap_or(0),
        },
        properties: cib
            .at(&["configuration", "crm_config"])
            .map(|section| pairs(section, "cluster_property_set"))
            .unwrap_or_default(),
        fence_devices: devices.collect(),
        ..ClusterFacts::default()
    }
}

fn tells(parameter: &str) -> bool {
    TELLING.contains(&parameter)
        || parameter.ends_with("_timeout")
        || (parameter.starts_with("pcmk_") && !parameter.contains("pass"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use hawser_model::output::cluster::ServiceState;

    #[test]
    fn timing_is_told_and_secrets_are_not() {
        let text = include_str!("../../../examples/lab/hawser.toml");
        let file = hawser_model::cluster_file::parse_complete(text, "hawser.toml").unwrap();
        let cib = Element::parse(
            r#"<cib><configuration><crm_config><cluster_property_set id="c">
            <nvpair id="1" name="stonith-timeout" value="60s"/></cluster_property_set></crm_config>
            <resources><primitive id="fence-head1" class="stonith" type="fence_ipmilan">
            <instance_attributes id="i"><nvpair id="2" name="password" value="geheim"/>
            <nvpair id="3" name="username" value="admin"/><nvpair id="4" name="power_wait" value="0"/>
            <nvpair id="5" name="pcmk_delay_base" value="1s"/></instance_attributes></primitive>
            <primitive id="vmpool01-san01" class="ocf" provider="heartbeat" type="IPaddr2">
            <instance_attributes id="j"><nvpair id="6" name="ip" value="10.72.2.207"/>
            </instance_attributes></primitive></resources></configuration></cib>"#,
            "test",
        )
        .unwrap();
        let now = ClusterStatus {
            cluster: "lab".into(),
            state: ServiceState::Redundant,
            reason: None,
            quorate: true,
            redundant: true,
            view_of: None,
            degraded: Vec::new(),
            notes: Vec::new(),
            quorum_device: None,
            nodes: Vec::new(),
            pools: Vec::new(),
            if_lost: BTreeMap::new(),
            last_takeover: None,
        };
        let map = "runtime.config.totem.token (u32) = 1000\nruntime.config.totem.token_retransmit (u32) = 238\nruntime.config.totem.consensus (u32) = 1200\n";
        let facts = facts(&file, Some("t"), &now, &cib, map);
        assert_eq!(
            facts.totem,
            TotemFacts {
                token_ms: 1000,
                consensus_ms: 1200
            }
        );
        assert_eq!(facts.properties["stonith-timeout"], "60s");
        let device = &facts.fence_devices[0];
        assert_eq!(
            device.parameters.keys().collect::<Vec<_>>(),
            ["pcmk_delay_base", "power_wait"]
        );
        assert_eq!(device.targets, [HostName::from("head1")]);
        assert_eq!(facts.pools[0].resources[0].agent, "ocf:heartbeat:IPaddr2");
    }
}
