//! What is kept of a cluster that had its pools before Hawser belongs to them, and stays one thing with them.

use super::network::names;
use super::{Found, Problem};
use crate::cluster_file::adopted::is_said_by_file;
use crate::cluster_file::{Adopted, At, ClusterFile, ExportKind, Pool, PoolKind};

/// What can be wrong with resources that are kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrokenAdopted {
    /// The storage is the pool: what moves, what is waited for and what is told of is called as it is.
    #[error("the storage of pool \"{pool}\" is called \"{id}\" in Pacemaker")]
    Storage {
        /// The pool.
        pool: String,
        /// The resource.
        id: String,
    },
    /// A group without what its pool stands on.
    #[error("pool \"{pool}\" has a group and does not say of \"{resource}\" that it is in it")]
    NotInGroup {
        /// The pool.
        pool: String,
        /// The resource.
        resource: String,
    },
    /// Addresses of a group come before anything that is not in it.
    #[error(
        "pool \"{pool}\" is in a group with its addresses, which clients would reach before what Hawser offers of it"
    )]
    Offered {
        /// The pool.
        pool: String,
    },
    /// Volumes and targets are called as the pool is.
    #[error(
        "pool \"{pool}\" is called \"{zpool}\" on its disks, and what Hawser offers of it has the pool's name"
    )]
    Renamed {
        /// The pool.
        pool: String,
        /// On its disks.
        zpool: String,
    },
    /// Said twice.
    #[error("\"{parameter}\" of \"{resource}\" follows from other keys of the pool")]
    Said {
        /// The parameter.
        parameter: String,
        /// The resource.
        resource: String,
    },
    /// A name or value that no configuration can hold.
    #[error("a parameter of \"{resource}\" has no name, or a control character")]
    Unwritable {
        /// The resource.
        resource: String,
    },
}

impl BrokenAdopted {
    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            Self::Storage { id, .. } => format!("call the pool \"{id}\""),
            Self::NotInGroup { resource, .. } => {
                format!("add resources.{resource} = {{}}, or remove `adopted` and let Hawser make the pool's resources")
            }
            Self::Offered { .. } => {
                "exports = \"none\" leaves what offers it to others; without `adopted` Hawser makes all of the pool's \
                 resources, and clients wait once while it replaces them"
                    .into()
            }
            Self::Renamed { zpool, .. } => {
                format!("call the pool \"{zpool}\", or leave what offers it to others: exports = \"none\"")
            }
            Self::Said { parameter, .. } => format!("remove {parameter} from `parameters`"),
            Self::Unwritable { .. } => "correct it".into(),
        }
    }
}

impl From<BrokenAdopted> for Problem {
    fn from(broken: BrokenAdopted) -> Self {
        Self::Rule(broken.into())
    }
}

pub(super) fn check(file: &ClusterFile, found: &mut Found) {
    let all = || {
        let pools = file.pools.iter();
        pools.filter_map(|pool| Some((pool, pool.adopted.as_ref()?)))
    };
    for (pool, adopted) in all() {
        resources(pool, adopted, found);
        if let Some(group) = &adopted.group {
            grouped(pool, adopted, group, found);
        }
    }
    for pool in &file.pools {
        if let Some(zpool) = &pool.zpool {
            renamed(pool, zpool, found);
        }
    }
    if file.pools.iter().any(|pool| pool.zpool.is_some()) {
        let zfs = file.pools.iter().filter(|pool| *pool.kind == PoolKind::Zfs);
        let named = zfs.map(|pool| {
            (
                pool.zpool(),
                pool.zpool.as_ref().unwrap_or(&pool.name).span(),
            )
        });
        names("ZFS pool", named, found);
    }
}

/// Where a pool has another name on its disks, nothing but the storage is Hawser's.
fn renamed(pool: &Pool, zpool: &At<String>, found: &mut Found) {
    if *zpool != pool.name && *pool.exports != ExportKind::None {
        let (pool, name) = (pool.name.to_string(), zpool.to_string());
        found.push(BrokenAdopted::Renamed { pool, zpool: name }, zpool.span());
    }
}

fn resources(pool: &Pool, adopted: &Adopted, found: &mut Found) {
    // By the names that Hawser gives.
    let plain = Pool {
        adopted: None,
        ..pool.clone()
    };
    let mut own = plain.resource_ids();
    own.retain(|id| *id != plain.exports_id());
    for (name, kept) in &adopted.resources {
        if !own.contains(name) {
            let problem = Problem::NoSuch {
                kind: "resource of this pool",
                found: name.to_string(),
                allowed: own.clone(),
            };
            found.push(problem, name.span());
            continue;
        }
        let resource = name.to_string();
        if let (Some(id), true) = (&kept.id, **name == plain.storage_id()) {
            if id != name {
                let (pool, id_) = (pool.name.to_string(), id.to_string());
                found.push(BrokenAdopted::Storage { pool, id: id_ }, id.span());
            }
        }
        for (parameter, value) in &kept.parameters {
            let mut text = parameter.chars().chain(value.chars());
            if parameter.is_empty() || text.any(char::is_control) {
                let resource = resource.clone();
                found.push(BrokenAdopted::Unwritable { resource }, name.span());
            } else if is_said_by_file(parameter) && !is_free_nic(&plain, name, parameter) {
                let (parameter, resource) = (parameter.clone(), resource.clone());
                let broken = BrokenAdopted::Said {
                    parameter,
                    resource,
                };
                found.push(broken, name.span());
            }
        }
    }
}

/// The interface of an address may stand among its parameters, if the address does not name it.
fn is_free_nic(plain: &Pool, resource: &str, parameter: &str) -> bool {
    let mut named = plain.addresses.iter().flat_map(|(link, addresses)| {
        let ids = plain.address_ids(link.as_str(), addresses).into_iter();
        ids.zip(addresses.all())
    });
    parameter == "nic" && !named.any(|(id, one)| id == resource && one.nic().is_some())
}

/// A group starts what is in it one after the other, so what the rest stands on is in it.
fn grouped(pool: &Pool, adopted: &Adopted, group: &At<String>, found: &mut Found) {
    let mut needed = vec![pool.storage_id()];
    if *pool.kind == PoolKind::Lvm {
        needed.push(format!("{}-files", pool.name));
    }
    for resource in needed {
        let mut names = adopted.resources.keys();
        if !names.any(|name| **name == resource) {
            let pool = pool.name.to_string();
            let broken = BrokenAdopted::NotInGroup { pool, resource };
            found.push(broken, group.span());
        }
    }
    if *pool.exports != ExportKind::None {
        let pool = pool.name.to_string();
        found.push(BrokenAdopted::Offered { pool }, group.span());
    }
}
