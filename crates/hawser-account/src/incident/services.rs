//! Which resources are one service, where nobody has said it.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::drill::{PoolFacts, ResourceFacts};

use super::case::Heads;
use crate::outage::log_lines::Mark;
use crate::outage::timeline::At;

/// Where no line says which agent a resource has: Pacemaker names it as an info, which syslog does not have by default.
pub(super) const UNKNOWN: &str = "no line says what each resource is (cib.xml, or pacemaker.log from their first start on, \
    would): services and their parts are told by names alone";

/// The resources that the logs name, each with those whose names continue its own: `vmpool01`, `vmpool01-exports`,
/// `vmpool01-san01`. A resource without such a relation is a service of its own. Fence devices are none: what the fencer
/// names as one, and what is called as they usually are.
pub(super) fn named(heads: &Heads, marks: &[At]) -> Vec<PoolFacts> {
    let agents = heads.agents();
    let devices = heads.fence_devices();
    let fences = |name: &String| {
        devices.contains(name)
            || name.starts_with("fence")
            || name.starts_with("stonith")
            || agents
                .get(name)
                .is_some_and(|agent| agent.starts_with("stonith:"))
    };
    let mut names: Vec<String> = marks
        .iter()
        .filter_map(|mark| match &mark.mark {
            Mark::OperationBegun(operation) if operation.task != "monitor" => {
                Some(operation.resource.clone())
            }
            _ => None,
        })
        .filter(|name| !fences(name))
        .collect();
    names.sort();
    names.dedup();
    let resources = names.into_iter().map(|name| ResourceFacts {
        agent: agents.get(&name).cloned().unwrap_or_default(),
        name,
        parameters: BTreeMap::new(),
    });
    together(resources.collect())
}

/// Resources as services: each with those whose names continue its own.
pub fn together(resources: Vec<ResourceFacts>) -> Vec<PoolFacts> {
    let names: BTreeSet<String> = resources.iter().map(|one| one.name.clone()).collect();
    let mut services: BTreeMap<String, Vec<ResourceFacts>> = BTreeMap::new();
    for resource in resources {
        let dashes = resource.name.match_indices('-');
        let mut before = dashes.filter_map(|(at, _)| names.get(&resource.name[..at]));
        let of = before.next().unwrap_or(&resource.name).clone();
        services.entry(of).or_default().push(resource);
    }
    services
        .into_iter()
        .map(|(name, resources)| PoolFacts {
            name,
            active_on: None,
            resources,
        })
        .collect()
}
