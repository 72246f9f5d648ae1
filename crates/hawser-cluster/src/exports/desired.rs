//! What a target is to have: the common ground of file and back ends.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use hawser_model::cluster_file::{Backend, SecretRef};
use hawser_model::iscsi::target_name;
use serde::{Deserialize, Serialize};

use super::nfs::NfsOptions;

/// A volume of the pool, as whoever looked at the pool found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    /// Its name below the pool: `vm/disk1`.
    pub name: String,
    /// What does not change when it is renamed.
    pub identity: String,
    /// Where it is: `/dev/zvol/tank/vm/disk1`, `/tank/vm/disk1.img`.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Whether it can give back blocks that nobody needs any more.
    pub discards: bool,
}

/// The pool around the volumes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// The pool's name.
    pub pool: String,
    /// The naming authority: `iqn.2013-06.com.example`.
    pub authority: String,
    /// The pool's own addresses, the default portals.
    pub portals: Vec<IpAddr>,
    /// The target's implementation, which cannot do everything.
    pub backend: Backend,
}

/// Whether this is a name of iSCSI (RFC 3720, 3.2.6.3) by its kind.
pub(super) fn is_iscsi_name(name: &str) -> bool {
    ["iqn.", "eui.", "naa."]
        .iter()
        .any(|kind| name.starts_with(kind))
}

impl Context {
    /// Whether a target has a name that [`Self::iqn`] gives.
    pub fn names(&self, iqn: &str) -> bool {
        let rest = iqn.strip_prefix(&self.iqn(&self.pool));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    }

    /// The name that clients know a target by; the one named as the pool has the pool's own.
    pub fn iqn(&self, target: &str) -> String {
        let beside = (target != self.pool).then_some(target);
        target_name(&self.authority, &self.pool, beside)
    }
}

/// An address and a port.
pub type Portal = SocketAddr;

/// What a target is to have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Desired {
    /// Targets by the name clients see.
    pub targets: BTreeMap<String, DesiredTarget>,
    /// Units by serial number.
    pub units: BTreeMap<String, DesiredUnit>,
    /// Directories exported by NFS, by path.
    #[serde(default)]
    pub nfs: BTreeMap<String, DesiredDirectory>,
}

impl Desired {
    /// The ports of all portals.
    pub fn ports(&self) -> BTreeSet<u16> {
        let portals = self.targets.values().flat_map(|target| &target.portals);
        portals.map(SocketAddr::port).collect()
    }
}

/// A directory exported by NFS.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DesiredDirectory {
    /// What clients know its file system by: the same on every head, or what they have open is stale.
    pub fsid: String,
    /// Who may mount it, and how.
    pub clients: BTreeMap<String, NfsOptions>,
}

/// A target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DesiredTarget {
    /// Where it is reached.
    pub portals: BTreeSet<Portal>,
    /// How clients prove who they are.
    pub chap: Option<Chap>,
    /// Its units by their numbers.
    pub luns: BTreeMap<u16, Exposure>,
}

/// A unit on a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exposure {
    /// The unit's serial number.
    pub serial: String,
    /// Who sees it.
    pub access: Access,
}

/// Who sees a unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Access {
    /// Everybody.
    Everyone,
    /// These initiators.
    Hosts(BTreeSet<String>),
}

impl Access {
    /// Whether this initiator does.
    pub fn includes(&self, host: &str) -> bool {
        match self {
            Self::Everyone => true,
            Self::Hosts(hosts) => hosts.contains(host),
        }
    }

    /// Both together.
    pub(super) fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Hosts(mut a), Self::Hosts(b)) => {
                a.extend(b);
                Self::Hosts(a)
            }
            _ => Self::Everyone,
        }
    }
}

/// How clients prove who they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chap {
    /// The name clients prove they are.
    pub user: String,
    /// The secret for it, by reference.
    pub secret: SecretRef,
    /// The name and secret of the target's own proof.
    pub mutual: Option<(String, SecretRef)>,
}

/// A unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DesiredUnit {
    /// The volume's name.
    pub name: String,
    /// What does not change when it is renamed.
    pub identity: String,
    /// Where it is.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Bytes of a block.
    pub block_size: u32,
    /// Whether acknowledged writes may be in a cache that is lost without power.
    pub write_cache: bool,
    /// Whether clients may read only.
    pub read_only: bool,
    /// Whether clients may say which blocks they no longer need (`UNMAP`). What an older version saved does not say.
    #[serde(default)]
    pub unmap: bool,
    /// Whether clients may compare and write at once (`COMPARE AND WRITE`). Absent: the target has no
    /// setting for it, or an older version saved this, which left what was set.
    #[serde(default)]
    pub ats: Option<bool>,
    /// Whether clients may have the target copy (`EXTENDED COPY`). As `ats`.
    #[serde(default)]
    pub xcopy: Option<bool>,
    /// The company in its NAA identifier, six hexadecimal digits, if it is not [`COMPANY`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub company: Option<String>,
}

impl DesiredUnit {
    /// Whether acknowledged writes may be in the memory of the head alone.
    pub fn dies_with_head(&self, backend: Backend) -> bool {
        self.write_cache && !outlives_head(&self.identity, backend)
    }
}

/// Whether what caches the writes of a volume outlives the head: the disks of a logical volume do, whose cache the kernel's target
/// passes on as it is. What a file, ZFS or tgtd has acknowledged and not yet written is in the head's memory.
pub(super) fn outlives_head(identity: &str, backend: Backend) -> bool {
    backend == Backend::Lio && identity.starts_with("lvm:")
}

impl Desired {
    /// Nothing.
    pub fn nothing() -> &'static Self {
        static NOTHING: Desired = Desired {
            targets: BTreeMap::new(),
            units: BTreeMap::new(),
            nfs: BTreeMap::new(),
        };
        &NOTHING
    }

    /// The units of a target by their numbers, each with who sees it.
    pub fn units_of<'a>(
        &'a self,
        target: &'a DesiredTarget,
    ) -> impl Iterator<Item = (u16, &'a Exposure, &'a DesiredUnit)> {
        let luns = target.luns.iter();
        luns.filter_map(|(lun, exposure)| Some((*lun, exposure, self.units.get(&exposure.serial)?)))
    }

    /// The directories that are exported by NFS, each with one to whom.
    pub fn nfs_pairs(&self) -> impl Iterator<Item = (String, String)> {
        self.nfs.iter().flat_map(|(path, directory)| {
            let clients = directory.clients.keys();
            clients.map(|client| (path.clone(), client.clone()))
        })
    }

    /// The accounts of all targets, with their secrets by reference.
    pub fn accounts(&self) -> BTreeMap<String, SecretRef> {
        let targets = self.targets.values();
        targets.flat_map(DesiredTarget::accounts).collect()
    }
}

impl DesiredTarget {
    /// The accounts that clients and the target itself use.
    pub fn accounts(&self) -> BTreeMap<String, SecretRef> {
        let chap = self.chap.iter();
        chap.flat_map(|chap| {
            let incoming = (chap.user.clone(), chap.secret.clone());
            [incoming].into_iter().chain(chap.mutual.clone())
        })
        .collect()
    }

    /// The initiators that may log in; `None`: everybody.
    pub fn hosts(&self) -> Option<BTreeSet<&str>> {
        let mut all = BTreeSet::new();
        for exposure in self.luns.values() {
            match &exposure.access {
                Access::Everyone => return None,
                Access::Hosts(hosts) => all.extend(hosts.iter().map(String::as_str)),
            }
        }
        // A target without units lets everybody in and shows them nothing.
        (!self.luns.is_empty()).then_some(all)
    }
}

/// The Linux kernel target's own company id.
pub(super) const COMPANY: &str = "001405";

/// The NAA identifier of a unit (SPC-4, 7.8.6.6.4, type 6), from its serial number. The company id, unless a unit brings
/// its own from another target, and the way of filling the rest are the Linux kernel target's
/// (`spc_gen_naa_6h_vendor_specific`), so a unit keeps its identity when the back end changes.
pub fn naa(serial: &str, company: Option<&str>) -> String {
    let digits: String = serial
        .chars()
        .filter(char::is_ascii_hexdigit)
        .take(25)
        .collect();
    format!("6{}{digits:0<25}", company.unwrap_or(COMPANY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_disks_of_a_logical_volume_keep_what_they_cache_when_a_head_dies() {
        for (identity, backend, outlives) in [
            ("lvm:1", Backend::Lio, true),
            ("lvm:1", Backend::Tgt, false),
            ("zfs:1", Backend::Lio, false),
            ("inode:1", Backend::Lio, false),
        ] {
            assert_eq!(
                outlives_head(identity, backend),
                outlives,
                "{identity} {backend:?}"
            );
        }
    }
}
