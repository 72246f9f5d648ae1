//! Where pools run: preferences, and nodes that they may not use.

use std::collections::{BTreeMap, BTreeSet};

use super::node_names::NodeNames;
use super::primitives_of;
use crate::crm::by_id::ById;
use crate::crm::{Location, Score};
use crate::page::Page;
use crate::picture::{Picture, Pool, Said};
use crate::place::quoted;

/// The strongest preference that the file takes.
const STRONGEST: i64 = 10_000;

/// The same, with the node as it is called where it is listed.
fn by_own_name(location: &Location, names: &NodeNames, page: &mut Page) -> Location {
    let mut location = location.clone();
    let said = location.node.take();
    location.node = said.map(|said| match names.meant(&said) {
        Some(node) => {
            if node != said {
                let what = format!("location {}", quoted(&location.id));
                page.changed(
                    &location.at,
                    what,
                    format!("{} is node {node}", quoted(&said)),
                );
            }
            node
        }
        None => said,
    });
    location
}

pub(super) fn translate(crm: &ById, picture: &mut Picture, page: &mut Page) {
    let owners = super::members::owners(crm, picture);
    let nodes: Vec<String> = picture
        .nodes
        .iter()
        .map(|node| node.name.value.clone())
        .collect();
    let mut barred: BTreeMap<String, Vec<&Location>> = BTreeMap::new();
    // Of an opt-in cluster a pool has the nodes that a location names.
    let opt_in = crm.properties.iter().any(|(name, value, _)| {
        let no = ["false", "no", "off", "0", "n"];
        name == "symmetric-cluster" && no.contains(&value.to_ascii_lowercase().as_str())
    });
    let mut invited: BTreeMap<String, BTreeSet<&String>> = BTreeMap::new();
    let names = NodeNames::of(crm, picture);
    let locations: Vec<Location> = crm
        .locations
        .iter()
        .map(|location| by_own_name(location, &names, page))
        .collect();
    for location in &locations {
        let members = location
            .resources
            .iter()
            .flat_map(|id| primitives_of(crm, id));
        let pools: BTreeSet<&String> = members.filter_map(|id| owners.get(id)).collect();
        let what = || format!("location {}", quoted(&location.id));
        for pool in pools {
            let Some(node) = &location.node else {
                match location.id.starts_with("hawser-") {
                    true => page.not_needed(
                        &location.at,
                        what(),
                        "Hawser makes it from the heads' SAN ports",
                    ),
                    false => page.unsaid(
                        &location.at,
                        what(),
                        "a rule that is more than a node's name",
                    ),
                }
                continue;
            };
            if !nodes.contains(node) {
                page.mistake(
                    &location.at,
                    what(),
                    format!("there is no node {}", quoted(node)),
                );
                continue;
            }
            if location.score >= Score::Finite(0) {
                invited.entry(pool.clone()).or_default().insert(node);
            }
            match location.score {
                Score::Finite(0) if opt_in => page.understood(&location.at, what(), "`nodes`"),
                Score::MinusInfinity => barred.entry(pool.clone()).or_default().push(location),
                score if score.is_positive() => {
                    if let Some(pool) = owners.pool_mut(pool, picture) {
                        prefer(location, pool, node, page);
                    }
                }
                _ => page.unsaid(
                    &location.at,
                    what(),
                    "only -INFINITY keeps a pool away from a node",
                ),
            }
        }
    }
    if opt_in {
        for (pool, locations) in &barred {
            for location in locations {
                if let (Some(named), Some(node)) = (invited.get_mut(pool), &location.node) {
                    named.remove(node);
                }
                let what = format!("location {}", quoted(&location.id));
                page.understood(&location.at, what, "`nodes`");
            }
        }
        opted_in(&nodes, &invited, picture, page);
        return;
    }
    for (pool, locations) in barred {
        let not: BTreeSet<&str> = locations.iter().filter_map(|l| l.node.as_deref()).collect();
        let left: Vec<String> = nodes
            .iter()
            .filter(|n| !not.contains(n.as_str()))
            .cloned()
            .collect();
        let at = &locations[0].at;
        if left.len() < 2 {
            page.unsaid(
                at,
                format!("pool {} may run on fewer than two nodes", quoted(&pool)),
                "a pool of Hawser's can move: it may run on every node",
            );
            continue;
        }
        page.understood(
            at,
            format!(
                "pool {pool} not on {}",
                not.into_iter().collect::<Vec<_>>().join(", ")
            ),
            "`nodes`",
        );
        if let Some(pool) = owners.pool_mut(&pool, picture) {
            pool.nodes = Some(Said::new(left, at));
        }
    }
}

/// The nodes of each pool, where a pool may run on those alone that are named.
fn opted_in(
    nodes: &[String],
    invited: &BTreeMap<String, BTreeSet<&String>>,
    picture: &mut Picture,
    page: &mut Page,
) {
    for pool in &mut picture.pools {
        let named = invited.get(&pool.name);
        let some = |node: &&String| named.is_some_and(|named| named.contains(node));
        let left: Vec<String> = nodes.iter().filter(some).cloned().collect();
        match left.len() {
            0 | 1 => page.unsaid(
                &pool.at,
                format!(
                    "pool {} may run on fewer than two nodes",
                    quoted(&pool.name)
                ),
                "a pool of Hawser's can move: it may run on every node",
            ),
            n if n == nodes.len() => {}
            _ => {
                let at = pool
                    .prefer
                    .as_ref()
                    .map_or(&pool.at, |said| &said.at)
                    .clone();
                pool.nodes = Some(Said::new(left, &at));
            }
        }
    }
}

fn prefer(location: &Location, pool: &mut Pool, node: &str, page: &mut Page) {
    let what = format!("location {}", quoted(&location.id));
    let score = match location.score {
        Score::Finite(n) if n <= STRONGEST => n,
        _ => {
            page.changed(
                &location.at,
                &what,
                format!("preference = {STRONGEST}: a pool can always move"),
            );
            STRONGEST
        }
    };
    let score = u32::try_from(score).unwrap_or(1);
    let weaker = pool
        .prefer
        .as_ref()
        .is_some_and(|said| said.value.1 >= score);
    if weaker
        && pool
            .prefer
            .as_ref()
            .is_some_and(|said| said.value.0 != node)
    {
        page.unsaid(
            &location.at,
            what,
            "a pool prefers one node; this one is its second choice",
        );
        return;
    }
    if !weaker {
        page.understood(
            &location.at,
            what,
            format!("pool {} prefers {node}, {score}", pool.name),
        );
        pool.prefer = Some(Said::new((node.to_owned(), score), &location.at));
    }
}
