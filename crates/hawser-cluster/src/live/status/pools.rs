//! The pools: where each is, what of it does not run and why, and what would keep it from running elsewhere.

use std::collections::BTreeMap;

use hawser_model::cluster_file::{ClusterFile, HookPlace, Pool};
use hawser_model::names::HostName;
use hawser_model::output::cluster::{NodeStatus, PoolAddress, PoolExport, PoolStatus};

use super::findings::Findings;
use super::runs;
use super::signs::{Mark, Sign};
use crate::cib::fencing::targets;
use crate::live::failures;
use crate::live::orders::{OrderKind, left_orders};
use crate::simulate::{Directory, Part, Picture, Resource};
use crate::xml::Element;

/// A pool as Pacemaker has it.
pub(super) fn pool_now(pool: &Pool, now: &Picture) -> PoolStatus {
    let active_on = now.runs_on(&pool.storage_id()).map(HostName::from);
    let here = |id: &str| {
        let on = now.runs_on(id);
        on.is_some() && on == active_on.as_ref().map(HostName::as_str)
    };
    let mut addresses = Vec::new();
    for (link, of_link) in &pool.addresses {
        let ids = pool.address_ids(link.as_str(), of_link);
        for (address, id) in of_link.ips().zip(ids) {
            let up = here(&id);
            addresses.push(PoolAddress { address, up });
        }
    }
    // What waits for a hook is told by itself: the exports, or the storage.
    let hooks = HookPlace::BOTH
        .into_iter()
        .filter_map(|place| pool.hooks_id(place));
    let storage: Vec<String> = hooks.chain([pool.storage_id(), pool.files_id()]).collect();
    let offers = pool.resource_ids().into_iter().filter(|id| {
        let is_address = pool
            .addresses
            .iter()
            .any(|(link, of_link)| pool.address_ids(link.as_str(), of_link).contains(id));
        !storage.contains(id) && !is_address
    });
    let exports = offers.map(|resource| PoolExport {
        up: here(&resource),
        resource,
    });
    PoolStatus {
        name: pool.name.to_string(),
        exports: exports.collect(),
        addresses,
        active_on,
    }
}

/// The pools of a cluster whose file names none, as its CIB shows them.
pub(super) fn of_cluster(directory: &Directory, now: &Picture) -> Vec<PoolStatus> {
    let is_storage = |(id, resource): &(&String, &Resource)| {
        matches!(resource.part, Part::Storage(_)) && resource.pool.as_ref() == Some(*id)
    };
    let pools = directory.resources.iter().filter(is_storage);
    let pools = pools.map(|(pool, _)| {
        let active_on = now.runs_on(pool).map(HostName::from);
        let here = |id: &str| {
            active_on.is_some() && now.runs_on(id) == active_on.as_ref().map(HostName::as_str)
        };
        let (mut addresses, mut exports) = (Vec::new(), Vec::new());
        for (id, part) in directory.of_pool(pool) {
            match part {
                Part::Address(address) => addresses.extend(address.parse().map(|address| {
                    let up = here(id);
                    PoolAddress { address, up }
                })),
                Part::Exports => exports.push(PoolExport {
                    up: here(id),
                    resource: id.to_owned(),
                }),
                _ => {}
            }
        }
        PoolStatus {
            name: pool.clone(),
            active_on,
            addresses,
            exports,
        }
    });
    pools.collect()
}

/// The pools that each head has.
pub(super) fn by_head<'a>(
    directory: &'a Directory,
    now: &Picture,
) -> BTreeMap<HostName, Vec<&'a str>> {
    let mut all = BTreeMap::<HostName, Vec<&str>>::new();
    for pool in directory.pools() {
        for head in now.resources.get(pool).into_iter().flatten() {
            all.entry(head.as_str().into()).or_default().push(pool);
        }
    }
    all
}

/// The pools that Pacemaker has on several heads at once.
pub(super) fn doubled(file: &ClusterFile, now: &Picture) -> Vec<(Mark, String)> {
    let several = file.pools.iter().filter_map(|pool| {
        let on = now.resources.get(&pool.storage_id())?;
        let on: Vec<&str> = on.iter().map(String::as_str).collect();
        (on.len() > 1).then(|| {
            let text = format!(
                "pool {} is active on {} at once: two heads that write to one pool destroy it; cut the power of one \
                 of them now",
                *pool.name,
                on.join(" and ")
            );
            (Sign::PoolTwice.of(&pool.name), text)
        })
    });
    several.collect()
}

/// What is wrong with a pool.
pub(super) fn wrong(pool: &Pool, now: &Picture, cib: &Element, found: &mut Findings) {
    for (mark, text) in idle_parts(pool, now)
        .into_iter()
        .chain(why_idle(pool, now, cib))
    {
        found.costs(mark, text);
    }
    let ids = pool.resource_ids();
    for id in &ids {
        if now.blocked.contains(id) {
            let text = format!(
                "{id} failed and Pacemaker no longer touches it: when the cause is mended, `crm_resource --cleanup \
                 --resource {id}`"
            );
            found.costs(Sign::Blocked.of(id), text);
        } else if now.failed.contains(id) {
            let text = format!("the last operation of {id} failed");
            found.costs(Sign::OperationFailed.of(id), text);
        }
    }
}

/// The failures that are kept of a file's resources.
pub(super) fn kept_failures(
    file: &ClusterFile,
    nodes: &[NodeStatus],
    cib: &Element,
    found: &mut Findings,
) {
    let pools = file.pools.iter().flat_map(Pool::resource_ids);
    let watchers = super::watchers::known(file).map(|(_, _, id)| id);
    let all = pools.chain(targets(file).into_keys()).chain(watchers);
    for kept in all.flat_map(|id| failures::kept(cib, &id)) {
        let known = nodes.iter().any(|node| node.name.as_str() == kept.node);
        let mark = Sign::FailureKept.of_on(&kept.resource, &kept.node.as_str().into());
        match kept.bars() {
            true if known => found.costs(mark, kept.to_string()),
            _ => found.wrong(mark, kept.to_string()),
        }
    }
}

/// Orders to move or ban that were left behind, unless they have ended.
pub(super) fn orders(cib: &Element, now_s: Option<u64>, found: &mut Findings) {
    for order in left_orders(cib) {
        if order.pool.is_none() || now_s.is_some_and(|now| order.is_over(now)) {
            continue;
        }
        let what = match order.kind {
            OrderKind::Ban => "it may not run there",
            OrderKind::Prefer => {
                "after a takeover it moves back by itself, which is a second outage"
            }
        };
        found.costs(
            Sign::OrderLeft.of(&order.resource),
            format!("{order}: {what}; {} takes it back", order.remedy()),
        );
    }
}

/// The words of the operations after which parts of a pool do not run.
pub(super) fn why_idle(pool: &Pool, now: &Picture, cib: &Element) -> Vec<(Mark, String)> {
    let ids = pool.resource_ids().into_iter();
    let idle = ids.filter(|id| !runs(now, id));
    idle.flat_map(|id| {
        let failed = failures::of(cib, &id).into_iter();
        failed.map(move |text| (Sign::OperationFailed.of(&id), text))
    })
    .collect()
}

/// The parts of a pool that do not run where it is, or the whole of one that is nowhere.
pub(super) fn idle_parts(pool: &Pool, now: &Picture) -> Vec<(Mark, String)> {
    let on = now.resources.get(&pool.storage_id());
    if on.is_some_and(|on| on.len() > 1) {
        return Vec::new();
    }
    let Some(node) = now.runs_on(&pool.storage_id()) else {
        let text = format!("pool {} is active nowhere", *pool.name);
        return vec![(Sign::PoolNowhere.of(&pool.name), text)];
    };
    let ids = pool.resource_ids().into_iter();
    let away = ids.filter(|id| now.runs_on(id) != Some(node));
    away.map(|id| {
        let text = format!("{id} does not run on {node}, where its pool is");
        (Sign::PartStopped.of(&id), text)
    })
    .collect()
}

/// The parts of a pool that nobody starts, stops or moves, but for those on nodes where nothing is
/// touched, which is said of the node or the cluster.
pub(super) fn unmanaged(pool: &Pool, now: &Picture) -> Vec<(Mark, String)> {
    let in_maintenance = |node: &String| now.nodes.get(node).is_some_and(|node| node.maintenance);
    let ids = pool.resource_ids().into_iter();
    let alone = ids.filter(|id| {
        let on = now.resources.get(id);
        now.unmanaged.contains(id) && !on.is_some_and(|nodes| nodes.iter().any(in_maintenance))
    });
    alone
        .map(|id| {
            let text = format!(
                "{id} is not managed: nobody starts, stops or moves it; `crm_resource --resource {id} --meta \
                 --delete-parameter is-managed` ends that"
            );
            (Sign::Unmanaged.of(&id), text)
        })
        .collect()
}
