//! What the sources say, in nobody's words: between what they were written for and Hawser's files.

mod bound;
pub(crate) mod finish;

use std::collections::BTreeMap;
use std::net::IpAddr;

use hawser_model::cluster_file::HookMoment;
use ipnet::IpNet;

use crate::{Secret, SourceLine};

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said<T> {
    pub value: T,
    pub at: SourceLine,
}

impl<T> Said<T> {
    pub fn new(value: T, at: &SourceLine) -> Self {
        Self {
            value,
            at: at.clone(),
        }
    }
}

/// A cluster. What no source says is `None` or empty.
#[derive(Clone, Debug, Default)]
pub(crate) struct Picture {
    pub name: Option<String>,
    pub crypto: Option<Said<(String, String)>>,
    pub compression: Option<Said<Compression>>,
    pub link_mode: Option<Said<String>>,
    pub automatic_failback: Option<Said<bool>>,
    pub maintenance: Option<Said<bool>>,
    pub properties: BTreeMap<String, Said<String>>,
    pub timing: Times,
    pub wait_for_all: Option<Said<bool>>,
    pub device: Option<Said<QuorumDevice>>,
    pub nodes: Vec<Node>,
    /// A source has a list of the nodes: what else is named is none.
    pub listed: bool,
    /// Names of nodes that say more than that there is one, until all sources have said which there are.
    pub mentions: Vec<Mention>,
    pub links: Vec<Link>,
    /// `off` or `reboot`.
    pub action: Option<Said<String>>,
    /// How long the shot at a node waits, in milliseconds.
    pub delays: BTreeMap<String, Said<u64>>,
    pub devices: Vec<Device>,
    pub pools: Vec<Pool>,
    /// `lio` or `tgt`.
    pub backend: Option<Said<String>>,
    /// The naming authority of targets.
    pub authority: Option<Said<String>>,
    /// Secrets by the name of their file.
    pub secrets: BTreeMap<String, Secret>,
}

/// Times in milliseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times {
    pub keepalive: Option<Said<u64>>,
    pub warning: Option<Said<u64>>,
    pub dead: Option<Said<u64>>,
    pub initial: Option<Said<u64>>,
    pub token: Option<Said<u64>>,
    pub consensus: Option<Said<u64>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Compression {
    pub model: String,
    pub level: Option<i32>,
    /// Bytes.
    pub threshold: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QuorumDevice {
    pub host: String,
    pub algorithm: Option<String>,
    pub tls: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub name: Said<String>,
    /// Corosync knows it by its number and an address alone, which stands for its name until a source says it.
    pub unnamed: bool,
    pub id: Option<u32>,
    /// By the link's name.
    pub addresses: BTreeMap<String, Said<IpAddr>>,
    /// What a listing of its interfaces says: interface, address, length of the prefix.
    pub interfaces: Vec<(String, IpNet, SourceLine)>,
    pub bmc: Option<Bmc>,
}

/// A node's name in a source that lists no nodes.
#[derive(Clone, Debug)]
pub(crate) struct Mention {
    pub name: Said<String>,
    /// What says it.
    pub what: String,
    /// What it is said for: a controller and its password, or where pools run.
    pub controller: Option<(Bmc, Secret)>,
}

#[derive(Clone, Debug)]
pub(crate) struct Bmc {
    pub at: SourceLine,
    pub address: String,
    pub username: String,
    /// `None`: fence_ipmilan.
    pub agent: Option<String>,
    pub lanplus: Option<bool>,
    pub cipher: Option<u8>,
    /// Milliseconds.
    pub power_wait: Option<u64>,
    pub options: BTreeMap<String, String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Device {
    pub at: SourceLine,
    pub name: String,
    pub agent: String,
    pub ports: BTreeMap<String, String>,
    pub level: Option<u8>,
    pub options: BTreeMap<String, String>,
    /// By parameter, the name of the secret's file.
    pub secrets: BTreeMap<String, String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub at: SourceLine,
    pub name: String,
    pub heartbeat: bool,
    pub san: bool,
    pub network: Option<IpNet>,
    pub priority: Option<u8>,
    /// Corosync's UDP port on it, if it is not Corosync's own.
    pub port: Option<Said<u16>>,
    /// The interface it runs over, on every node.
    pub interface: Option<String>,
    /// An address on its network, or the network's own.
    pub bound: Option<IpAddr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PoolKind {
    Zfs,
    Filesystem,
    Lvm,
}

#[derive(Clone, Debug)]
pub(crate) struct Pool {
    pub at: SourceLine,
    pub name: String,
    pub kind: PoolKind,
    /// Pacemaker's resources that are its storage.
    pub resources: Vec<String>,
    /// Its node, and how strongly.
    pub prefer: Option<Said<(String, u32)>>,
    pub nodes: Option<Said<Vec<String>>>,
    pub addresses: Vec<Address>,
    /// `iscsi`, `nfs` or `none`.
    pub exports: Option<Said<String>>,
    pub nfs: Vec<Said<Nfs>>,
    /// Milliseconds of start, stop and monitor.
    pub timeouts: BTreeMap<&'static str, Said<u64>>,
    pub hooks: BTreeMap<HookMoment, Said<Hook>>,
    /// A ZFS pool's name on its disks, if it is not the pool's.
    pub zpool: Option<String>,
    pub import_options: Option<String>,
    pub device: Option<String>,
    pub directory: Option<String>,
    pub fstype: Option<String>,
    pub options: Option<String>,
    pub volume_group: Option<String>,
    /// Its resources are kept, in this group if they are in one.
    pub adopted: Option<Option<String>>,
    /// What is kept of its storage and of its files.
    pub kept: Vec<Kept>,
}

/// A resource that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    /// Its name in Pacemaker.
    pub id: String,
    /// Parameters that nothing else in the file says.
    pub parameters: BTreeMap<String, String>,
}

/// A program that runs around the import or export of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hook {
    pub program: String,
    /// Milliseconds.
    pub timeout: u64,
    pub required: bool,
}

impl Pool {
    pub fn new(name: &str, kind: PoolKind, at: &SourceLine) -> Self {
        Self {
            at: at.clone(),
            name: name.to_owned(),
            kind,
            resources: Vec::new(),
            prefer: None,
            nodes: None,
            addresses: Vec::new(),
            exports: None,
            nfs: Vec::new(),
            timeouts: BTreeMap::new(),
            hooks: BTreeMap::new(),
            zpool: None,
            import_options: None,
            device: None,
            directory: None,
            fstype: None,
            options: None,
            volume_group: None,
            adopted: None,
            kept: Vec::new(),
        }
    }

    /// Where it is mounted.
    pub fn root(&self) -> String {
        match (&self.directory, self.kind) {
            (Some(directory), _) => directory.clone(),
            (None, _) => format!("/{}", self.zpool.as_ref().unwrap_or(&self.name)),
        }
    }
}

/// An address that clients reach a pool at.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    pub at: SourceLine,
    pub ip: IpAddr,
    pub prefix: Option<u8>,
    /// The name of its link, when the source hints at one.
    pub link: Option<String>,
    /// The interface it is put on.
    pub interface: Option<String>,
    /// The interface that the file has to name; an alias or a name that none can have is told instead.
    pub nic: Option<String>,
    /// Its resource, if the pool is kept.
    pub kept: Option<Kept>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Nfs {
    pub directory: String,
    pub clients: String,
    pub options: Option<String>,
    /// Its resource, if the pool is kept.
    pub kept: Option<Kept>,
}

impl Picture {
    pub fn node_mut(&mut self, name: &str) -> Option<&mut Node> {
        self.nodes.iter_mut().find(|node| node.name.value == name)
    }

    pub fn node(&self, name: &str) -> Option<&Node> {
        self.nodes.iter().find(|node| node.name.value == name)
    }

    /// The node of that name, made when there is none.
    pub fn add_node(&mut self, name: &str, at: &SourceLine) -> &mut Node {
        let i = match self.nodes.iter().position(|node| node.name.value == name) {
            Some(i) => i,
            None => {
                self.nodes.push(Node {
                    name: Said::new(name.to_owned(), at),
                    unnamed: false,
                    id: None,
                    addresses: BTreeMap::new(),
                    interfaces: Vec::new(),
                    bmc: None,
                });
                self.nodes.len() - 1
            }
        };
        &mut self.nodes[i]
    }

    /// Tells the name of a node that is known by its number alone.
    pub fn name_node(&mut self, name: &str, number: Option<&str>) {
        let number = number.and_then(|number| number.parse::<u32>().ok());
        let (Some(number), None) = (number, self.node(name)) else {
            return;
        };
        let nodes = self.nodes.iter_mut().enumerate();
        let mut nodes =
            nodes.filter(|(i, node)| node.id.or(u32::try_from(i + 1).ok()) == Some(number));
        if let Some((_, node)) = nodes.next().filter(|(_, node)| node.unnamed) {
            node.name.value = name.to_owned();
            node.unnamed = false;
        }
    }

    pub fn pool_mut(&mut self, name: &str) -> Option<&mut Pool> {
        self.pools.iter_mut().find(|pool| pool.name == name)
    }

    /// A name for a link that none has yet, from this one.
    pub fn link_name(&self, wish: &str) -> String {
        let plain = usable(wish).unwrap_or_else(|| "link".into());
        let taken = |name: &str| self.links.iter().any(|link| link.name == name);
        if !taken(&plain) {
            return plain;
        }
        let numbered = |n: u32| format!("{plain}-{n}");
        (2..)
            .map(numbered)
            .find(|name| !taken(name))
            .unwrap_or(plain)
    }
}

/// A name made usable: letters, digits, `-`, `_` and `.`, beginning with a letter or digit.
pub(crate) fn usable(name: &str) -> Option<String> {
    let fine = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let plain: String = name
        .chars()
        .map(|c| if fine(c) { c } else { '-' })
        .collect();
    let plain = plain.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    (!plain.is_empty()).then(|| plain.to_owned())
}

/// The same for a resource of Pacemaker, whose name is an XML ID: it begins with a letter.
pub(crate) fn usable_resource(name: &str) -> Option<String> {
    let plain = usable(name)?;
    Some(match plain.starts_with(|c: char| c.is_ascii_digit()) {
        true => format!("pool-{plain}"),
        false => plain,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_begins_with_a_digit_is_none_of_a_resource() {
        assert_eq!(usable("1vg").as_deref(), Some("1vg"));
        assert_eq!(usable_resource("1vg").as_deref(), Some("pool-1vg"));
        assert_eq!(usable_resource("-vg 1").as_deref(), Some("vg-1"));
    }
}
