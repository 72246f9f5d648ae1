//! No two pools share what only one of them can have: storage, a name for clients, a resource's name.

use super::Found;
use super::pools::BrokenPools;
use crate::cluster_file::{At, ClusterFile, ExportKind, Pool};
use crate::iscsi::target_name;

pub(super) fn check(file: &ClusterFile, found: &mut Found) {
    shared(file, found);
    targets(file, found);
    resources(file, found);
}

fn shared(file: &ClusterFile, found: &mut Found) {
    let things = |pool: &Pool| {
        let named = |what: &str, value: &Option<At<String>>| {
            value
                .as_ref()
                .map(|v| (format!("{what} {}", v.get()), v.span()))
        };
        let things = [
            named("device", &pool.device),
            named("directory", &pool.directory),
            named("volume group", &pool.volume_group),
        ];
        things.into_iter().flatten().collect::<Vec<_>>()
    };
    for (i, second) in file.pools.iter().enumerate() {
        for (what, span) in things(second) {
            let taken = file.pools[..i].iter().find_map(|first| {
                let (_, span) = things(first)
                    .into_iter()
                    .find(|(other, _)| *other == what)?;
                Some((first.name.to_string(), span))
            });
            if let Some((first, other)) = taken {
                let second = second.name.to_string();
                let broken = BrokenPools::Shared {
                    first,
                    second,
                    what,
                };
                found.push_with(broken, span, other);
            }
        }
    }
}

/// Pools `vm_1` and `VM-1` would be one target to their clients, and a head that has one could not take the other.
fn targets(file: &ClusterFile, found: &mut Found) {
    let Some(authority) = &file.exports.iqn else {
        return;
    };
    let iqn = |pool: &Pool| target_name(authority, pool.name.as_str(), None);
    let offered: Vec<&Pool> = file
        .pools
        .iter()
        .filter(|pool| *pool.exports == ExportKind::Iscsi)
        .collect();
    for (i, second) in offered.iter().enumerate() {
        let name = iqn(second);
        // One name twice is told of where names are.
        let differs = |first: &&&Pool| first.name != second.name && iqn(first) == name;
        if let Some(first) = offered[..i].iter().find(differs) {
            let broken = BrokenPools::SameTarget {
                first: first.name.to_string(),
                second: second.name.to_string(),
                iqn: name,
            };
            found.push_with(broken, second.name.span(), first.name.span());
        }
    }
}

/// Pool `a` with link `exports` and pool `a-exports` would give one name to two resources.
fn resources(file: &ClusterFile, found: &mut Found) {
    let mut seen: Vec<(String, &Pool)> = Vec::new();
    for pool in &file.pools {
        for id in pool.resource_ids() {
            match seen
                .iter()
                .find(|(other, owner)| *other == id && owner.name != pool.name)
            {
                Some((_, first)) => {
                    let broken = BrokenPools::SameResource {
                        first: first.name.to_string(),
                        second: pool.name.to_string(),
                        id,
                    };
                    found.push_with(broken, pool.name.span(), first.name.span());
                    break;
                }
                None => seen.push((id, pool)),
            }
        }
    }
}
