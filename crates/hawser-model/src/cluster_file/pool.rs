//! Pools of storage and how clients reach them.

use std::collections::BTreeMap;
use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Adopted, HookPlace, Hooks};
use crate::names::{HostName, LinkName};
use crate::toml_file::At;
use crate::toml_file::Period;

/// Storage that is active on one node at a time and moves as a whole.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// Its name.
    pub name: At<String>,
    /// What it is made of.
    pub kind: At<PoolKind>,
    /// The node it runs on when all is well.
    pub prefer: Option<At<HostName>>,
    /// How strongly it prefers that node. Default: 100.
    #[schemars(range(min = 1, max = 10_000))]
    pub preference: Option<u32>,
    /// The nodes that are wired to its disks. Default: all.
    pub nodes: Option<Vec<At<HostName>>>,
    /// Its addresses, by the SAN link they are on.
    #[serde(default)]
    pub addresses: BTreeMap<At<LinkName>, At<Addresses>>,
    /// What it offers its clients. Default: `iscsi`.
    #[serde(default)]
    pub exports: At<ExportKind>,
    /// Directories offered by NFS.
    #[serde(default)]
    pub nfs: Vec<NfsExport>,
    /// How long its operations may take.
    #[serde(default)]
    pub timeouts: Timeouts,
    /// Programs of the site that run on the head around its import and export.
    #[serde(default)]
    pub hooks: Hooks,

    /// zfs: the pool's name on its disks. Default: `name`.
    pub zpool: Option<At<String>>,
    /// zfs: options of `zpool import`, such as `-d /dev/disk/by-id`.
    pub import_options: Option<At<String>>,
    /// zfs: the pool has `multihost=on`, so that an import also waits to see whether another host
    /// is writing to it.
    pub multihost: Option<At<bool>>,
    /// filesystem: the shared device. lvm: the volume that holds the pool's own files; default
    /// the volume `hawser` of the group.
    pub device: Option<At<String>>,
    /// filesystem and lvm: where it is mounted.
    pub directory: Option<At<String>>,
    /// filesystem and lvm: the type of file system.
    pub fstype: Option<At<String>>,
    /// filesystem and lvm: mount options.
    pub options: Option<At<String>>,
    /// lvm: the volume group.
    pub volume_group: Option<At<String>>,

    /// Resources that the cluster had before Hawser, and that are kept.
    pub adopted: Option<Adopted>,
}

/// What a pool is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PoolKind {
    /// A ZFS pool, imported with `cachefile=none`.
    Zfs,
    /// A file system on a shared device.
    Filesystem,
    /// An LVM volume group guarded by its system ID.
    Lvm,
}

/// What a pool offers its clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExportKind {
    /// Block devices by iSCSI, as the pool's own `exports.toml` says.
    #[default]
    Iscsi,
    /// Directories by NFS and nothing else, as the pool's own `exports.toml` says; needs no `iqn`.
    Nfs,
    /// Nothing but what `nfs` lists.
    None,
}

/// One address or a list of them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Addresses {
    /// `san01 = ["192.168.141.207", "fd00:141::207"]`. The first, since a list of two would do for an address with its
    /// interface.
    Several(Vec<OneAddress>),
    /// `san01 = "192.168.141.207"`.
    One(OneAddress),
}

/// An address of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OneAddress {
    /// On the interface that has an address in the link's network.
    Plain(IpAddr),
    /// On an interface that is named.
    On(AddressOn),
}

/// An address and its interface.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddressOn {
    /// The address.
    pub address: IpAddr,
    /// The interface that gets it, the same on every head.
    pub nic: String,
}

impl OneAddress {
    /// The address.
    pub fn ip(&self) -> IpAddr {
        match self {
            Self::Plain(ip) => *ip,
            Self::On(on) => on.address,
        }
    }

    /// The interface that the file names for it.
    pub fn nic(&self) -> Option<&str> {
        match self {
            Self::Plain(_) => None,
            Self::On(on) => Some(&on.nic),
        }
    }
}

impl Addresses {
    /// Each of them, in the file's order.
    pub fn all(&self) -> &[OneAddress] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Several(several) => several,
        }
    }

    /// The addresses alone.
    pub fn ips(&self) -> impl Iterator<Item = IpAddr> + '_ {
        self.all().iter().map(OneAddress::ip)
    }
}

/// A directory offered by NFS.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NfsExport {
    /// The directory.
    pub directory: At<String>,
    /// Who may mount it, as in exports(5): `192.168.141.0/24`.
    pub clients: String,
    /// Options of exports(5), such as `rw,no_root_squash`.
    pub options: Option<String>,
}

/// How long a pool's operations may take before Pacemaker calls them failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Timeouts {
    /// Import or mount. Default: 300 s for zfs, 120 s for the others.
    pub start: Option<Period>,
    /// Export or unmount. Default: 180 s for zfs, 120 s for the others. When it is over the node is fenced.
    pub stop: Option<Period>,
    /// One look at it. Default: 60 s.
    pub monitor: Option<Period>,
}

/// How pools are offered by iSCSI.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exports {
    /// The iSCSI target. Default: `lio`.
    #[serde(default)]
    pub backend: Backend,
    /// The naming authority that target names begin with: `iqn.2013-06.com.example`.
    pub iqn: Option<At<String>>,
}

/// An implementation of the iSCSI target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// The kernel's own target, through configfs.
    #[default]
    Lio,
    /// tgtd, in user space.
    Tgt,
}

impl Backend {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Lio, Self::Tgt];

    /// As configurations call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lio => "lio",
            Self::Tgt => "tgt",
        }
    }

    /// The one that configurations call so.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// The lowest number that a unit may have: LUN 0 of tgtd is its controller.
    pub fn first_lun(self) -> u16 {
        match self {
            Self::Lio => 0,
            Self::Tgt => 1,
        }
    }

    /// The systemd units of a program that serves it, as Debian and as Red Hat call it; empty if the kernel does.
    pub fn services(self) -> &'static str {
        match self {
            Self::Lio => "",
            Self::Tgt => "tgt.service tgtd.service",
        }
    }
}

/// Names of a pool's resources in Pacemaker, and what follows from its keys.
impl Pool {
    /// Whether it may run on this node: whether that is wired to its disks.
    pub fn may_run_on(&self, node: &HostName) -> bool {
        let wired = self.nodes.as_ref();
        wired.is_none_or(|nodes| nodes.iter().any(|name| name.get() == node))
    }

    /// The resource that imports, mounts or activates it.
    pub fn storage_id(&self) -> String {
        self.name.to_string()
    }

    /// lvm: the resource that mounts the pool's own files.
    pub fn files_id(&self) -> String {
        self.called(format!("{}-files", self.name))
    }

    /// The resource that offers it by iSCSI.
    pub fn exports_id(&self) -> String {
        format!("{}-exports", self.name)
    }

    /// The resource that offers the directory of this index by NFS.
    pub fn nfs_id(&self, index: usize) -> String {
        self.called(format!("{}-nfs{}", self.name, index + 1))
    }

    /// The resources of its addresses on a link: the first by the link's name, more are numbered.
    pub fn address_ids(&self, link: &str, addresses: &Addresses) -> Vec<String> {
        let numbered = |i: usize| match i {
            0 => format!("{}-{link}", self.name),
            i => format!("{}-{link}-{}", self.name, i + 1),
        };
        let all = 0..addresses.all().len();
        all.map(|i| self.called(numbered(i))).collect()
    }

    /// All of them.
    pub fn resource_ids(&self) -> Vec<String> {
        let mut ids = Vec::new();
        ids.extend(self.hooks_id(HookPlace::Before));
        ids.push(self.storage_id());
        if *self.kind == PoolKind::Lvm {
            ids.push(self.files_id());
        }
        ids.extend(self.hooks_id(HookPlace::After));
        if *self.exports != ExportKind::None {
            ids.push(self.exports_id());
        }
        ids.extend((0..self.nfs.len()).map(|i| self.nfs_id(i)));
        for (link, addresses) in &self.addresses {
            ids.extend(self.address_ids(link.as_str(), addresses));
        }
        ids
    }

    /// How strongly it prefers its node.
    pub fn preference(&self) -> u32 {
        self.preference.unwrap_or(100)
    }

    /// zfs: what it is called on its disks.
    pub fn zpool(&self) -> &str {
        self.zpool.as_ref().unwrap_or(&self.name)
    }

    /// The devices that the file names: a file system's own, those that a ZFS pool is looked for on (`-d` of
    /// `import_options`; each may be a folder). None of a volume group.
    pub fn devices(&self) -> Vec<&str> {
        match *self.kind {
            PoolKind::Filesystem => self.device.iter().map(|it| it.as_str()).collect(),
            PoolKind::Lvm => Vec::new(),
            PoolKind::Zfs => {
                let places = self.import_places().into_iter();
                let named = places.filter(|(option, _)| *option == "-d");
                named.map(|(_, place)| place).collect()
            }
        }
    }

    /// zfs: where its import looks, `-d` or `-c` of `import_options`, each with its path.
    pub fn import_places(&self) -> Vec<(&str, &str)> {
        let mut words = self.import_words();
        let mut places = Vec::new();
        while let Some(word) = words.next() {
            if word.starts_with("-d") || word.starts_with("-c") {
                // The path follows, or is a part of the word (getopt(3)).
                let (option, path) = word.split_at(2);
                let path = Some(path).filter(|it| !it.is_empty());
                places.extend(path.or_else(|| words.next()).map(|path| (option, path)));
            }
        }
        places
    }

    /// zfs: whether its import loads the keys of what is encrypted in it (`-l` of `import_options`).
    pub fn loads_keys(&self) -> bool {
        self.import_words().any(|word| word == "-l")
    }

    fn import_words(&self) -> impl Iterator<Item = &str> {
        self.import_options
            .iter()
            .flat_map(|it| it.split_whitespace())
    }

    /// Where its own files are: the root that holds `exports.toml`. A ZFS pool is mounted under its
    /// own name when nobody says otherwise.
    pub fn root(&self) -> String {
        match &self.directory {
            Some(directory) => directory.to_string(),
            None => format!("/{}", self.zpool()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::cluster_file::{At, parse_complete};

    #[test]
    fn the_options_of_an_import_say_where_it_looks_and_whether_it_loads_keys() {
        let text = include_str!("../../../../examples/lab/machines-zfs.toml");
        let mut pool = parse_complete(text, "machines-zfs.toml")
            .unwrap()
            .pools
            .remove(0);
        let mut with =
            |options: &str| pool.import_options = Some(At::new(options.to_owned(), 0..0));
        with("-l -d /dev/shelf -N -d/dev/other -f -c /etc/cache -R /mnt");
        let places = [
            ("-d", "/dev/shelf"),
            ("-d", "/dev/other"),
            ("-c", "/etc/cache"),
        ];
        assert_eq!(pool.import_places(), places);
        assert_eq!(pool.devices(), ["/dev/shelf", "/dev/other"]);
        assert!(pool.loads_keys());
        let mut with =
            |options: &str| pool.import_options = Some(At::new(options.to_owned(), 0..0));
        with("-d");
        assert_eq!(pool.import_places(), []);
        assert!(!pool.loads_keys());
    }
}
