//! Pools stand on nodes that exist, have what their kind needs, and addresses their clients reach.

use std::ops::Range;

use super::network::{Given, inside, names};
use super::{Found, Problem, distinct_pools};
use crate::cluster_file::{At, ClusterFile, ExportKind, Pool, PoolKind, Role, is_interface_name};

/// What can be wrong with pools.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrokenPools {
    /// A key that this kind of pool needs.
    #[error("pool \"{pool}\" of kind \"{kind}\" needs \"{key}\"")]
    Needs {
        /// The pool.
        pool: String,
        /// Its kind.
        kind: &'static str,
        /// The key.
        key: &'static str,
    },
    /// A key that belongs to another kind of pool.
    #[error("pool \"{pool}\" of kind \"{kind}\" has no use for \"{key}\"")]
    HasNo {
        /// The pool.
        pool: String,
        /// Its kind.
        kind: &'static str,
        /// The key.
        key: &'static str,
    },
    /// It prefers a node that it may not run on.
    #[error("pool \"{pool}\" prefers \"{node}\" but may not run there")]
    PrefersForbidden {
        /// The pool.
        pool: String,
        /// The node.
        node: String,
    },
    /// It has nowhere to go.
    #[error("pool \"{pool}\" may run on one node only and could never move")]
    OneNode {
        /// The pool.
        pool: String,
    },
    /// An address on a link that no client is on.
    #[error("link \"{link}\" does not carry \"san\", so no client reaches \"{pool}\" there")]
    NotSan {
        /// The link.
        link: String,
        /// The pool.
        pool: String,
    },
    /// The address's prefix length comes from the link.
    #[error("link \"{link}\" has no network, and pool \"{pool}\" has an address on it")]
    NoNetwork {
        /// The link.
        link: String,
        /// The pool.
        pool: String,
    },
    /// Offered but not reachable.
    #[error("pool \"{pool}\" is offered by {by} but has no address")]
    NoAddress {
        /// The pool.
        pool: String,
        /// How it is offered.
        by: &'static str,
    },
    /// No naming authority.
    #[error(
        "pool \"{pool}\" is offered by iSCSI, and no target can be named without [exports] iqn"
    )]
    NoIqn {
        /// The pool.
        pool: String,
    },
    /// Not a naming authority (RFC 3720, 3.2.6.3.1).
    #[error("\"{0}\" is no iSCSI naming authority")]
    BadIqn(String),
    /// A path that is not absolute.
    #[error("\"{0}\" is not a whole path")]
    NotAbsolute(String),
    /// No interface can have this name.
    #[error("\"{}\" is no name of an interface", .nic.escape_debug())]
    BadInterface {
        /// As it is written.
        nic: String,
    },
    /// Two pools on one thing.
    #[error("pools \"{first}\" and \"{second}\" both use {what}")]
    Shared {
        /// One pool.
        first: String,
        /// The other.
        second: String,
        /// The device, directory or group.
        what: String,
    },
    /// Two pools that clients could not tell apart.
    #[error(
        "pools \"{first}\" and \"{second}\" would both be offered as {iqn}: an iSCSI name has small letters, \
         digits, '.' and '-' only"
    )]
    SameTarget {
        /// One pool.
        first: String,
        /// The other.
        second: String,
        /// The name.
        iqn: String,
    },
}

/// How a naming authority is written.
const IQN: &str = "write [exports] iqn = \"iqn.2013-06.com.example\": a year and month in which the \
                   domain was yours, and the domain reversed";

impl BrokenPools {
    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            Self::Needs { key, .. } => format!("add {key} = …"),
            Self::HasNo { .. } => "remove it, or correct the kind".into(),
            Self::PrefersForbidden { .. } => "add the node to nodes, or prefer another".into(),
            Self::OneNode { .. } => "list at least two nodes that are wired to its disks".into(),
            Self::NotSan { .. } => "add \"san\" to the link's role, or use a SAN link".into(),
            Self::NoNetwork { .. } => "add network = \"…/24\" to the link".into(),
            Self::NoAddress { .. } => "add addresses = { san01 = \"…\" }".into(),
            Self::NoIqn { .. } => format!(
                "{IQN}; or, for a pool that is offered by NFS alone, exports = \"nfs\" (its own exports.toml \
                 says what) or \"none\" (nfs in this file does)"
            ),
            Self::BadIqn(_) => IQN.into(),
            Self::BadInterface { .. } => {
                "1 to 15 characters without blanks, \"/\" and \":\", as `ip link` shows it".into()
            }
            Self::NotAbsolute(_) => "begin it with \"/\"".into(),
            Self::Shared { .. } => {
                "a pool is the unit that moves: nothing is in two of them".into()
            }
            Self::SameTarget { .. } => "rename one of them".into(),
        }
    }
}

impl From<BrokenPools> for Problem {
    fn from(broken: BrokenPools) -> Self {
        Self::Rule(broken.into())
    }
}

pub(super) fn check(file: &ClusterFile, given: &mut Given, found: &mut Found) {
    names(
        "pool",
        file.pools.iter().map(|p| (p.name.as_str(), p.name.span())),
        found,
    );
    if let Some(iqn) = &file.exports.iqn {
        if !is_naming_authority(iqn) {
            found.push(BrokenPools::BadIqn(iqn.to_string()), iqn.span());
        }
    }
    for pool in &file.pools {
        kind_keys(pool, found);
        placement(file, pool, found);
        addresses(file, pool, given, found);
        let by = match *pool.exports {
            ExportKind::Iscsi => Some("iSCSI"),
            ExportKind::Nfs => Some("NFS"),
            ExportKind::None => None,
        };
        if let (Some(by), true) = (by, pool.addresses.is_empty()) {
            let name = pool.name.to_string();
            found.push(BrokenPools::NoAddress { pool: name, by }, pool.name.span());
        }
    }
    let mut offered = file
        .pools
        .iter()
        .filter(|pool| *pool.exports == ExportKind::Iscsi);
    if let (Some(pool), None) = (offered.next(), &file.exports.iqn) {
        let name = pool.name.to_string();
        found.push(BrokenPools::NoIqn { pool: name }, pool.name.span());
    }
    distinct_pools::check(file, found);
}

fn kind_keys(pool: &Pool, found: &mut Found) {
    use PoolKind::{Filesystem, Lvm, Zfs};
    let kind = match *pool.kind {
        Zfs => "zfs",
        Filesystem => "filesystem",
        Lvm => "lvm",
    };
    let text = |value: &Option<At<String>>| value.as_ref().map(At::span);
    // Where each key stands, for which kinds it is of use, and which need it.
    type Key<'a> = (
        &'static str,
        Option<Range<usize>>,
        &'a [PoolKind],
        &'a [PoolKind],
    );
    let keys: [Key<'_>; 8] = [
        ("zpool", text(&pool.zpool), &[Zfs], &[]),
        ("import_options", text(&pool.import_options), &[Zfs], &[]),
        (
            "multihost",
            pool.multihost.as_ref().map(At::span),
            &[Zfs],
            &[],
        ),
        (
            "device",
            text(&pool.device),
            &[Filesystem, Lvm],
            &[Filesystem],
        ),
        (
            "directory",
            text(&pool.directory),
            &[Zfs, Filesystem, Lvm],
            &[Filesystem, Lvm],
        ),
        (
            "fstype",
            text(&pool.fstype),
            &[Filesystem, Lvm],
            &[Filesystem, Lvm],
        ),
        ("options", text(&pool.options), &[Filesystem, Lvm], &[]),
        ("volume_group", text(&pool.volume_group), &[Lvm], &[Lvm]),
    ];
    for (key, span, useful, needed) in keys {
        let pool_ = pool.name.to_string();
        match span {
            Some(span) if !useful.contains(&pool.kind) => {
                found.push(
                    BrokenPools::HasNo {
                        pool: pool_,
                        kind,
                        key,
                    },
                    span,
                );
            }
            None if needed.contains(&pool.kind) => {
                let broken = BrokenPools::Needs {
                    pool: pool_,
                    kind,
                    key,
                };
                found.push(broken, pool.kind.span());
            }
            _ => {}
        }
    }
    let directories = pool
        .directory
        .iter()
        .chain(pool.nfs.iter().map(|nfs| &nfs.directory));
    for path in directories
        .chain(&pool.device)
        .filter(|path| !path.starts_with('/'))
    {
        found.push(BrokenPools::NotAbsolute(path.to_string()), path.span());
    }
}

fn placement(file: &ClusterFile, pool: &Pool, found: &mut Found) {
    let named = pool.nodes.iter().flatten().chain(&pool.prefer);
    let mut unknown = false;
    for node in named.filter(|node| file.node(node.as_str()).is_none()) {
        unknown = true;
        let problem = Problem::NoSuch {
            kind: "node",
            found: node.to_string(),
            allowed: file
                .nodes
                .iter()
                .map(|node| node.name.to_string())
                .collect(),
        };
        found.push(problem, node.span());
    }
    let Some(nodes) = &pool.nodes else { return };
    if unknown {
        return;
    }
    if let [] | [_] = &nodes[..] {
        let broken = BrokenPools::OneNode {
            pool: pool.name.to_string(),
        };
        found.push(broken, pool.name.span());
    }
    if let Some(prefer) = pool
        .prefer
        .as_ref()
        .filter(|prefer| !nodes.contains(prefer))
    {
        let broken = BrokenPools::PrefersForbidden {
            pool: pool.name.to_string(),
            node: prefer.to_string(),
        };
        found.push(broken, prefer.span());
    }
}

fn addresses(file: &ClusterFile, pool: &Pool, given: &mut Given, found: &mut Found) {
    for (link, addresses) in &pool.addresses {
        let (pool_, link_) = (pool.name.to_string(), link.to_string());
        let Some(entry) = file.link(link.as_str()) else {
            let problem = Problem::NoSuch {
                kind: "link",
                found: link_,
                allowed: file
                    .links_with(Role::San)
                    .map(|l| l.name.to_string())
                    .collect(),
            };
            found.push(problem, link.span());
            continue;
        };
        if !entry.role.has(Role::San) {
            found.push(
                BrokenPools::NotSan {
                    link: link_,
                    pool: pool_,
                },
                link.span(),
            );
            continue;
        }
        if entry.network.is_none() {
            let broken = BrokenPools::NoNetwork {
                link: link_,
                pool: pool_,
            };
            found.push_with(broken, entry.name.span(), link.span());
            continue;
        }
        for one in addresses.all() {
            let address = At::new(one.ip(), addresses.span());
            if let Some(nic) = one.nic().filter(|nic| !is_interface_name(nic)) {
                let nic = nic.to_owned();
                found.push(BrokenPools::BadInterface { nic }, addresses.span());
            }
            inside(file, link.as_str(), &address, &pool_, found);
            given.take(&address, format!("{pool_} on {link_}"), found);
        }
    }
}

/// `iqn.`, a year and month, and a reversed domain (RFC 3720, 3.2.6.3.1).
fn is_naming_authority(text: &str) -> bool {
    let Some((date, domain)) = text
        .strip_prefix("iqn.")
        .and_then(|rest| rest.split_once('.'))
    else {
        return false;
    };
    let dated = matches!(date.split_once('-'), Some((y, m))
        if y.len() == 4 && y.parse::<u16>().is_ok()
            && m.len() == 2 && matches!(m.parse::<u8>(), Ok(1..=12)));
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
    dated && !domain.is_empty() && domain.chars().all(allowed)
}
