//! No two resources of Pacemaker have one name, whoever gives it: pools, BMCs, fence devices, the watch over the heads' ports.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use super::network::usable;
use super::{Found, Problem};
use crate::cluster_file::{At, ClusterFile, NodeEntry, Pool, Role, bmc_id, watcher_id};

/// What can be wrong with the names of resources.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrokenResourceNames {
    /// Two resources with one name: one would take the place of the other.
    #[error("{first} and {second} would both have a resource \"{id}\"")]
    Same {
        /// Whose the one is.
        first: String,
        /// Whose the other is.
        second: String,
        /// Their name.
        id: String,
    },
    /// A name that Pacemaker refuses, since it is an XML ID there.
    #[error(
        "\"{name}\" cannot be the name of a {kind}: a resource of Pacemaker begins with a letter"
    )]
    BeginsWithDigit {
        /// `pool`, `fence device`, `resource`.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// Two resources of one pool with one name.
    #[error("two resources of pool \"{pool}\" would be called \"{id}\"")]
    OwnTwice {
        /// The pool.
        pool: String,
        /// Their name.
        id: String,
    },
}

impl BrokenResourceNames {
    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            Self::Same { .. } => "rename one of them".into(),
            Self::BeginsWithDigit { .. } => "begin it with a letter".into(),
            Self::OwnTwice { .. } => {
                "rename the link: \"exports\", \"files\", \"before-import\" and others are names of a pool's resources".into()
            }
        }
    }
}

impl From<BrokenResourceNames> for Problem {
    fn from(broken: BrokenResourceNames) -> Self {
        Self::Rule(broken.into())
    }
}

/// A resource of the file.
struct Named {
    id: String,
    /// Whose it is, in words. Two of the same words are told of where names are.
    owner: String,
    span: Range<usize>,
}

pub(super) fn check(file: &ClusterFile, found: &mut Found) {
    let mut all: Vec<Named> = Vec::new();
    for pool in &file.pools {
        letter_first("pool", &pool.name, found);
        own_twice(pool, found);
        of_pool(pool, &mut all, found);
    }
    for device in file.fencing.iter().flat_map(|it| &it.devices) {
        letter_first("fence device", &device.name, found);
    }
    all.extend(fence_devices(file));
    all.extend(watchers(file));
    let mut seen: HashMap<&str, &Named> = HashMap::new();
    let mut told = BTreeSet::new();
    for second in &all {
        let first = *seen.entry(&second.id).or_insert(second);
        if first.owner == second.owner || !told.insert((&first.owner, &second.owner)) {
            continue;
        }
        let broken = BrokenResourceNames::Same {
            first: first.owner.clone(),
            second: second.owner.clone(),
            id: second.id.clone(),
        };
        found.push_with(broken, second.span.clone(), first.span.clone());
    }
}

fn letter_first(kind: &'static str, name: &At<String>, found: &mut Found) {
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        let broken = BrokenResourceNames::BeginsWithDigit {
            kind,
            name: name.to_string(),
        };
        found.push(broken, name.span());
    }
}

/// What Hawser names after the pool, and the names that others gave to what is kept.
fn of_pool(pool: &Pool, all: &mut Vec<Named>, found: &mut Found) {
    let kept = pool.adopted.iter().flat_map(|it| it.resources.values());
    let given: Vec<&At<String>> = kept.filter_map(|kept| kept.id.as_ref()).collect();
    for id in pool.resource_ids() {
        let kept = given.iter().find(|given| given.get() == &id);
        let span = kept.map_or(pool.name.span(), |given| given.span());
        all.push(Named {
            id,
            owner: format!("pool \"{}\"", pool.name),
            span,
        });
    }
    let group = pool.adopted.as_ref().and_then(|it| it.group.as_ref());
    for name in given.into_iter().chain(group) {
        if usable("resource", name.as_str(), name.span(), found) {
            letter_first("resource", name, found);
        }
    }
    all.extend(group.map(|group| Named {
        id: group.to_string(),
        owner: format!("the group of pool \"{}\"", pool.name),
        span: group.span(),
    }));
}

fn fence_devices(file: &ClusterFile) -> impl Iterator<Item = Named> + '_ {
    let bmc = |node: &NodeEntry| Named {
        id: bmc_id(node.name.as_str()),
        owner: format!("the bmc of node \"{}\"", node.name),
        span: node.name.span(),
    };
    let nodes = file.nodes.iter().filter(|node| node.bmc.is_some());
    let devices = file.fencing.iter().flat_map(|fencing| &fencing.devices);
    let devices = devices.map(|device| Named {
        id: device.name.to_string(),
        owner: format!("fence device \"{}\"", device.name),
        span: device.name.span(),
    });
    nodes.map(bmc).chain(devices)
}

/// The watch over each head's port to each SAN, which there is where a pool is reached over it.
fn watchers(file: &ClusterFile) -> impl Iterator<Item = Named> + '_ {
    let links = file.links_with(Role::San);
    links.flat_map(|link| {
        file.nodes.iter().map(move |node| Named {
            id: watcher_id(node.name.as_str(), link.name.as_str()),
            owner: format!("the watch over the port of {} to {}", node.name, link.name),
            span: node.name.span(),
        })
    })
}

/// A link `exports` would give the name of what offers a pool to one of its addresses.
fn own_twice(pool: &Pool, found: &mut Found) {
    let mut seen = BTreeSet::new();
    let twice = pool
        .resource_ids()
        .into_iter()
        .find(|id| !seen.insert(id.clone()));
    if let Some(id) = twice {
        let broken = BrokenResourceNames::OwnTwice {
            pool: pool.name.to_string(),
            id,
        };
        found.push(broken, pool.name.span());
    }
}
