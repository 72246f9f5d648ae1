//! Interfaces that the file names for addresses of pools, and that a head does not have.

use hawser_model::cluster_file::{ClusterFile, OneAddress, Pool};
use hawser_model::names::HostName;
use hawser_model::visible::one_line;

use super::Problem;
use super::facts::NodeFacts;

fn with_nics(pool: &Pool) -> impl Iterator<Item = (&OneAddress, &str)> {
    let all = pool.addresses.values().flat_map(|of_link| of_link.all());
    all.filter_map(|one| Some((one, one.nic()?)))
}

/// Whether the file names any.
pub(crate) fn named(file: &ClusterFile) -> bool {
    file.pools
        .iter()
        .any(|pool| with_nics(pool).next().is_some())
}

pub(super) fn problems(file: &ClusterFile, node: &HostName, there: &NodeFacts) -> Vec<Problem> {
    let Some(interfaces) = &there.interfaces else {
        return Vec::new();
    };
    let names: Vec<&str> = interfaces.iter().map(String::as_str).collect();
    let has = one_line(&names.join(", ")).into_owned();
    let mut found = Vec::new();
    for pool in file.pools_on(node) {
        let missing = with_nics(pool).filter(|(_, nic)| !interfaces.contains(*nic));
        found.extend(missing.map(|(one, nic)| Problem::NoInterface {
            node: node.clone(),
            nic: nic.to_owned(),
            pool: pool.name.to_string(),
            address: one.ip(),
            has: has.clone(),
        }));
    }
    found
}
