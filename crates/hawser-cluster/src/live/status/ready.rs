//! What the heads themselves say: whether each could take over now, and whether what Pacemaker believes to run is
//! really offered.

use std::collections::BTreeMap;

use hawser_model::cluster_file::{ClusterFile, ExportKind, Pool};
use hawser_model::names::HostName;
use hawser_model::output::cluster::{NodeStatus, PoolStatus};

use super::findings::Findings;
use super::next::Lacks;
use super::signs::Sign;
use crate::exports::service::server;
use crate::host::HeadView;
use crate::host::view::{PoolView, Room, Told};
use crate::live::views::{StatusFacts, backend};
use crate::simulate::Picture;

/// From here on a file system counts as full, in percent.
pub(super) const FULL: u8 = 95;

/// The pools that a head has where Pacemaker does not have them.
pub(super) fn twice(file: &ClusterFile, facts: &StatusFacts, now: &Picture, found: &mut Findings) {
    for pool in &file.pools {
        let name = &*pool.name;
        let active = now.runs_on(&pool.storage_id());
        for head in facts
            .views
            .keys()
            .filter(|head| active != Some(head.as_str()))
        {
            if let Some(how) = held(name.as_str(), head, facts) {
                let text = format!(
                    "{name} is {how} on {head} too, where Pacemaker does not have it: two heads with one pool destroy it"
                );
                found.costs(Sign::PoolTwice.of(name), text);
            }
        }
    }
}

/// How a head has a pool that it is not to have, if it has it. One that is imported and not mounted may be on its way in or out, as
/// long as no other head has it.
fn held(pool: &str, head: &HostName, facts: &StatusFacts) -> Option<&'static str> {
    let here = |view: &HeadView| matches!(view.pools.get(pool), Some(PoolView::Here { .. }));
    let mut others = facts.views.iter().filter(|(other, _)| *other != head);
    match facts.views.get(head)?.pools.get(pool)? {
        PoolView::Here { .. } => Some("mounted"),
        PoolView::Imported(_) if others.any(|(_, view)| here(view)) => Some("imported"),
        _ => None,
    }
}

/// Judges what each head that answered says of its pools. What is not offered is no longer `up`. Told are the pools that their
/// head does not have as Pacemaker believes, each with what it is instead.
pub(super) fn judge(
    file: &ClusterFile,
    facts: &StatusFacts,
    nodes: &[NodeStatus],
    pools: &mut [PoolStatus],
    found: &mut Findings,
) -> BTreeMap<String, String> {
    let mut gone = BTreeMap::new();
    for (pool, status) in file.pools.iter().zip(pools) {
        for node in nodes {
            let Some(view) = facts.views.get(&node.name) else {
                continue;
            };
            match status.active_on.as_ref() == Some(&node.name) {
                true => {
                    let why = active(pool, &node.name, view, status, found);
                    gone.extend(why.map(|why| (pool.name.to_string(), why)));
                }
                // That is said first.
                false if held(pool.name.as_str(), &node.name, facts).is_some() => {}
                false => passive(pool, &node.name, view, found),
            }
        }
        locked(pool, facts, found);
    }
    for (head, view) in &facts.views {
        services(file, head, view, found);
    }
    gone
}

/// What heads are known to lack for the pools that they do not have: the disks, what offers them, or a file of the pool
/// that can be read.
pub(super) fn lacks(
    file: &ClusterFile,
    facts: &StatusFacts,
) -> BTreeMap<(HostName, String), Lacks> {
    let mut lacks = BTreeMap::new();
    for pool in &file.pools {
        let name = pool.name.to_string();
        let broken = facts.views.values().any(|view| {
            let here = view.pools.get(&name);
            matches!(
                here,
                Some(PoolView::Here {
                    file: Told::Said(Some(_)),
                    ..
                })
            )
        });
        for (head, view) in &facts.views {
            let service = view.services.get(server::of(backend(file, pool)).service());
            let dead = service.is_some_and(|told| !matches!(told, Told::Said(None)));
            let what = match view.pools.get(&name) {
                Some(PoolView::Away(Told::Said(Some(_))) | PoolView::Imported(_)) => Lacks::Disks,
                Some(_) if *pool.exports != ExportKind::None && (dead || broken) => Lacks::Exports,
                _ => continue,
            };
            lacks.insert((head.clone(), name.clone()), what);
        }
    }
    lacks
}

/// A service that does not answer concerns all pools that it offers, or would.
fn services(file: &ClusterFile, head: &HostName, view: &HeadView, found: &mut Findings) {
    for (service, told) in &view.services {
        let why = match told {
            Told::Said(None) => continue,
            Told::Said(Some(why)) => why.clone(),
            other => other
                .why_not()
                .map(|why| why.to_string())
                .unwrap_or_default(),
        };
        let concerned = |pool: &&Pool| {
            *pool.exports != ExportKind::None
                && server::of(backend(file, pool)).service() == service
                && view.pools.contains_key(pool.name.as_str())
        };
        let pools: Vec<&str> = file
            .pools
            .iter()
            .filter(concerned)
            .map(|p| p.name.as_str())
            .collect();
        found.costs(
            Sign::ServiceNotReady.of_on(service, head),
            format!(
                "{head} cannot offer {}: {service} is not ready there: {why}",
                pools.join(", ")
            ),
        );
    }
}

fn passive(pool: &Pool, head: &HostName, view: &HeadView, found: &mut Findings) {
    let name = &*pool.name;
    let Some(seen) = view.pools.get(name.as_str()) else {
        return;
    };
    let sign = match seen {
        PoolView::Here { .. } | PoolView::Away(Told::Said(None)) => return,
        PoolView::Away(Told::Said(Some(_))) | PoolView::Imported(_) => Sign::DisksMissing,
        PoolView::Short(_) => Sign::DisksShort,
        PoolView::Away(Told::Silent(_) | Told::Failed(_)) => Sign::DisksUnknown,
        PoolView::Hangs(_) => Sign::DisksHang,
    };
    if let Some(text) = seen.no_takeover(name, head) {
        found.costs(sign.of_on(name, head), text);
    }
}

/// Judges a pool on the head that has it, and tells what it is if it is not there.
fn active(
    pool: &Pool,
    head: &HostName,
    view: &HeadView,
    status: &mut PoolStatus,
    found: &mut Findings,
) -> Option<String> {
    let name = pool.name.to_string();
    let (file, offered, room, disks) = match view.pools.get(&name) {
        Some(PoolView::Here {
            file,
            offered,
            room,
            disks,
            ..
        }) => (file, offered, room, disks),
        Some(seen @ PoolView::Hangs(_)) => {
            down(status, &pool.exports_id());
            if let Some(text) = seen.no_takeover(&name, head) {
                found.costs(Sign::DisksHang.of_on(&name, head), text);
            }
            return Some(format!("{name} hangs on {head}"));
        }
        Some(PoolView::Away(_) | PoolView::Short(_) | PoolView::Imported(_)) => {
            down(status, &pool.exports_id());
            found.costs(
                Sign::NotMounted.of_on(&name, head),
                format!("{name} is not mounted on {head}, although Pacemaker believes so"),
            );
            return Some(format!("{name} is not mounted on {head}"));
        }
        None => return None,
    };
    let believed = status
        .exports
        .iter()
        .any(|it| it.up && it.resource == pool.exports_id());
    let missing = match offered {
        Told::Said(Some(missing)) => (!missing.is_empty()).then(|| missing.join("; ")),
        Told::Said(None) => Some("nothing of it is there".to_owned()),
        other => other
            .why_not()
            .map(|why| format!("what offers it does not answer: {why}")),
    };
    if let Some(missing) = missing.filter(|_| believed) {
        down(status, &pool.exports_id());
        let text = format!(
            "{name} is not offered by {head} as it was started, although Pacemaker believes so: {missing}"
        );
        found.costs(Sign::NotOffered.of_on(&name, head), text);
    }
    match file {
        Told::Said(Some(why)) => {
            let text = format!(
                "the next start of {name} fails, on any head: {why}. `hawser exports verify {name}` on {head} says \
                 when it is right"
            );
            found.costs(Sign::ExportsFile.of(&name), text);
        }
        Told::Said(None) => {}
        other => {
            if let Some(why) = other.why_not() {
                let text = format!("whether {name} could be started again is not known: {why}");
                found.costs(Sign::ExportsUnknown.of(&name), text);
            }
        }
    }
    if let Told::Said(Some(what)) = disks {
        let text = format!("{name} on {head} does not have all its disks: {what}");
        found.wrong(Sign::DisksLost.of_on(&name, head), text);
    }
    let room = room.said().copied().flatten().unwrap_or_default();
    if let Some(what) = no_room(room) {
        let mark = Sign::PoolFull.of_on(&name, head);
        let text = format!("{name} on {head} {what}");
        match room.read_only || room.no_inodes || room.used >= 100 {
            true => found.fails(mark, text),
            false => found.costs(mark, text),
        }
    }
    None
}

/// What is encrypted in a pool, and would stay locked on a head that takes it over.
fn locked(pool: &Pool, facts: &StatusFacts, found: &mut Findings) {
    let name = &*pool.name;
    let all = facts.views.iter();
    let may_run = all.filter(|(_, view)| view.pools.contains_key(name.as_str()));
    let here = may_run
        .clone()
        .find_map(|(_, view)| view.pools[name.as_str()].encrypted());
    for encrypted in here.into_iter().flatten() {
        let dataset = &encrypted.dataset;
        let why = match encrypted.key.as_str() {
            "prompt" => Some(
                "its key is typed in, so that no head can load it by itself: `zfs set keylocation=file:///…`",
            ),
            _ if !pool.loads_keys() => Some(
                "`zpool import` loads no key without -l, which the pool's `import_options` do not have",
            ),
            _ => None,
        };
        if let Some(why) = why {
            let text = format!("{dataset} stays locked when another head takes {name} over: {why}");
            found.costs(Sign::KeyNotLoaded.of(name), text);
        }
        for (head, view) in may_run.clone() {
            let file = encrypted.file();
            if let Some((file, why)) = file.and_then(|it| view.lacks_keys.get_key_value(it)) {
                let text = format!("{dataset} would stay locked on {head}: its key {file} {why}");
                found.costs(Sign::KeyMissing.of_on(name, head), text);
            }
        }
    }
}

/// What keeps a file system from taking writes.
fn no_room(room: Room) -> Option<String> {
    match room {
        Room {
            read_only: true, ..
        } => Some("can only be read: every write fails".to_owned()),
        Room {
            no_inodes: true, ..
        } => Some("has no inode left: no file can be made".to_owned()),
        Room { used, .. } if used >= 100 => {
            Some("is full: writes to volumes that are not yet allocated fail".to_owned())
        }
        Room { used, .. } if used >= FULL => Some(format!("is {used} % full")),
        Room { .. } => None,
    }
}

fn down(status: &mut PoolStatus, resource: &str) {
    for export in &mut status.exports {
        export.up &= export.resource != resource;
    }
}
