//! No two pools share what only one of them can have: storage, a name for clients.

use std::collections::HashMap;

use super::Found;
use super::pools::BrokenPools;
use crate::cluster_file::{At, ClusterFile, ExportKind, Pool};
use crate::iscsi::target_name;

pub(super) fn check(file: &ClusterFile, found: &mut Found) {
    shared(file, found);
    targets(file, found);
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
    let mut taken = HashMap::new();
    for second in &file.pools {
        for (what, span) in things(second) {
            let Some((first, other)) = taken.get(&what).cloned() else {
                taken.insert(what, (second.name.to_string(), span));
                continue;
            };
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

/// Pools `vm_1` and `VM-1` would be one target to their clients, and a head that has one could not take the other.
fn targets(file: &ClusterFile, found: &mut Found) {
    let Some(authority) = &file.exports.iqn else {
        return;
    };
    let iqn = |pool: &Pool| target_name(authority, pool.name.as_str(), None);
    let offered = file.pools.iter();
    let offered = offered.filter(|pool| *pool.exports == ExportKind::Iscsi);
    let mut taken: HashMap<String, Vec<&Pool>> = HashMap::new();
    for second in offered {
        let name = iqn(second);
        // One name twice is told of where names are.
        let differs = |first: &&&Pool| first.name != second.name;
        let before = taken.entry(name.clone()).or_default();
        let first = before.iter().find(differs).copied();
        // One of two is another than whatever comes.
        if before.len() < 2 && before.iter().all(|first| differs(&first)) {
            before.push(second);
        }
        if let Some(first) = first {
            let broken = BrokenPools::SameTarget {
                first: first.name.to_string(),
                second: second.name.to_string(),
                iqn: name,
            };
            found.push_with(broken, second.name.span(), first.name.span());
        }
    }
}
