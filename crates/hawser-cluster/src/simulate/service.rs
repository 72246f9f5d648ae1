//! What clients have of each pool: served where, and what of it is down.

use std::collections::{BTreeMap, BTreeSet};

use super::directory::{Directory, Part};
use super::report::Picture;

/// A pool as its clients have it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Service {
    /// The node that has its storage.
    pub node: Option<String>,
    /// Its exports and addresses that do not run there.
    pub down: BTreeSet<String>,
    /// Whether clients reach it: its storage, at least one of its exports and one of its addresses run on one node,
    /// as far as it has any, and that node has a carrier on one of its SANs, as far as they are watched.
    pub served: bool,
    /// Why clients do not reach the node that has it, if they do not.
    pub not_reached: Option<String>,
}

/// Each pool at one moment.
pub type Services = BTreeMap<String, Service>;

/// What clients have of each pool.
pub(crate) fn services(now: &Picture, directory: &Directory) -> Services {
    let of = |pool: &str| {
        let node = now.runs_on(pool);
        let runs = |id: &str| node.is_some() && now.runs_on(id) == node;
        let of_kind = |wanted: fn(&Part) -> bool| {
            let mut ids = directory
                .of_pool(pool)
                .filter(|(_, part)| wanted(part))
                .peekable();
            ids.peek().is_none() || ids.any(|(id, _)| runs(id))
        };
        let exported = of_kind(|part| *part == Part::Exports);
        let reached = of_kind(|part| matches!(part, Part::Address(_)));
        let offers = directory
            .of_pool(pool)
            .filter(|(_, part)| matches!(part, Part::Exports | Part::Address(_)));
        let not_reached = node.and_then(|node| directory.not_reached(pool, node));
        Service {
            node: node.map(str::to_owned),
            served: node.is_some() && exported && reached && not_reached.is_none(),
            not_reached,
            down: offers
                .filter(|(id, _)| !runs(id))
                .map(|(id, _)| id.to_owned())
                .collect(),
        }
    };
    directory
        .pools()
        .map(|pool| (pool.to_owned(), of(pool)))
        .collect()
}

/// The pools that are served in one and not in the other.
pub(crate) fn lost<'a>(now: &'a Services, then: &'a Services) -> impl Iterator<Item = &'a str> {
    now.iter()
        .filter(|(pool, service)| {
            service.served && !then.get(*pool).is_some_and(|service| service.served)
        })
        .map(|(pool, _)| pool.as_str())
}
