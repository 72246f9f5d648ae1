//! The part of the tree that a pool is to have, in the order in which the kernel takes it: what is
//! behind the units, then each target with its units, its hosts, its addresses, and last that it is on.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::cluster_file::SecretRef;
use sha2::{Digest as _, Sha256};

use super::reservations::Reservations;
use crate::exports::desired::{Chap, Desired, DesiredTarget, DesiredUnit};

/// By what a secret is known in memory: its SHA-256. It is written nowhere.
pub type Digest = [u8; 32];

/// A folder, link or value that is to be there. Paths are relative to `/sys/kernel/config/target`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedEntry {
    /// Where.
    pub path: String,
    /// What.
    pub is: Is,
}

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Is {
    /// A folder that somebody makes; those the kernel makes by itself are not listed.
    Folder,
    /// A link to a folder of the tree.
    Link {
        /// The folder, relative as paths are.
        to: String,
    },
    /// What is told once, after the folder is made, and cannot be read back.
    Once(String),
    /// A value that can be read back.
    Value {
        /// The value; empty: none.
        text: String,
        /// The folder that must be made anew to change it. `None`: it can be written at any time.
        of: Option<String>,
    },
    /// The secret of an account.
    Secret {
        /// Where it is kept.
        secret: SecretRef,
        /// What it is known by; `None`: not known here, any will do.
        digest: Option<Digest>,
    },
}

/// The only portal group of a target: it has one set of addresses.
pub(super) const GROUP: &str = "tpgt_1";

/// Below a unit: where the kernel is told what clients have registered of it.
pub(super) const REGISTRATIONS: &str = "pr/res_aptpl_metadata";

/// Below a unit: the company in its NAA identifier (`target_wwn_company_id_show`).
pub(super) const COMPANY_ID: &str = "wwn/company_id";

/// A company as the kernel has it.
pub(super) fn company_id(company: &str) -> String {
    format!("0x{company}")
}

/// Whether a unit lets its clients do something, if that is known.
type May = fn(&DesiredUnit) -> Option<bool>;

/// What clients may leave to a unit, each by the file that says whether they may; all can be written at any time. What they
/// see of the first two is `LBPU` and `LBPWS` of the page Logical Block Provisioning (`spc_emulate_evpd_b2`).
pub(super) const OFFLOADS: [(&str, May); 4] = [
    ("attrib/emulate_tpu", |unit| Some(unit.unmap)),
    ("attrib/emulate_tpws", |unit| Some(unit.unmap)),
    ("attrib/emulate_caw", |unit| unit.ats),
    ("attrib/emulate_3pc", |unit| unit.xcopy),
];

/// The folder of what is behind a unit. A device whose write cache is left to itself is passed on as
/// it is (iblock). Files, and devices whose every write must be on the disks before it is
/// acknowledged, are opened by fileio, which does that (`O_DSYNC` unless `fd_buffered_io`).
///
/// The number after the `_` is the pool's, so that everything below it is the pool's own.
pub fn backstore(pool: &str, serial: &str, unit: &DesiredUnit) -> String {
    let plugin = match is_device(unit) && unit.write_cache {
        true => "iblock",
        false => "fileio",
    };
    format!("core/{plugin}_{}/{serial}", number(pool))
}

/// The pool's number: made from its name, the same on every head.
pub(super) fn number(pool: &str) -> u32 {
    let digest = Sha256::digest(pool.as_bytes());
    u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]) & 0x7fff_ffff
}

/// How fileio is told what the size of a file is (`fd_set_configfs_dev_params`).
pub(super) fn size(bytes: u64) -> String {
    format!("{SIZE}{bytes}")
}

/// What that begins with.
pub(super) const SIZE: &str = "fd_dev_size=";

fn is_device(unit: &DesiredUnit) -> bool {
    unit.path.starts_with("/dev/")
}

/// All of it.
pub fn entries(
    pool: &str,
    desired: &Desired,
    digests: &BTreeMap<SecretRef, Digest>,
    reservations: &Reservations,
) -> Vec<WantedEntry> {
    let mut list = List {
        entries: Vec::new(),
        folders: BTreeSet::new(),
        digests,
        reservations,
    };
    for (serial, unit) in &desired.units {
        list.store(pool, serial, unit);
    }
    for (iqn, target) in &desired.targets {
        list.target(pool, iqn, target, desired);
    }
    list.entries
}

struct List<'a> {
    entries: Vec<WantedEntry>,
    folders: BTreeSet<String>,
    digests: &'a BTreeMap<SecretRef, Digest>,
    reservations: &'a Reservations,
}

impl List<'_> {
    fn add(&mut self, path: String, is: Is) {
        self.entries.push(WantedEntry { path, is });
    }

    fn folder(&mut self, path: &str) {
        if self.folders.insert(path.to_owned()) {
            self.add(path.to_owned(), Is::Folder);
        }
    }

    fn value(&mut self, path: String, text: impl ToString) {
        let text = text.to_string();
        self.add(path, Is::Value { text, of: None });
    }

    fn fixed(&mut self, folder: &str, name: &str, text: impl ToString) {
        let (text, of) = (text.to_string(), Some(folder.to_owned()));
        self.add(format!("{folder}/{name}"), Is::Value { text, of });
    }

    fn store(&mut self, pool: &str, serial: &str, unit: &DesiredUnit) {
        let folder = backstore(pool, serial, unit);
        let (parent, _) = folder.rsplit_once('/').unwrap_or_default();
        let iblock = parent.starts_with("core/iblock_");
        self.folder(parent);
        self.folder(&folder);
        let path = &unit.path;
        let control = match (iblock, unit.write_cache) {
            (true, _) => format!("udev_path={path}"),
            (false, true) => format!("fd_dev_name={path},fd_buffered_io=1"),
            (false, false) => format!("fd_dev_name={path}"),
        };
        self.add(format!("{folder}/control"), Is::Once(control));
        if !iblock {
            // The kernel takes it at any time, also while clients use the unit.
            self.value(format!("{folder}/control"), size(unit.bytes));
        }
        // The kernel only keeps it for whoever asks: it is how the path is read back.
        self.fixed(&folder, "udev_path", path);
        self.fixed(&folder, "enable", 1);
        // Enabling sets the device's own block size, so ours comes after it.
        self.fixed(&folder, "attrib/block_size", unit.block_size);
        if !iblock {
            let cache = u8::from(unit.write_cache);
            self.fixed(&folder, "attrib/emulate_write_cache", cache);
        }
        for (name, may) in OFFLOADS {
            if let Some(may) = may(unit) {
                self.value(format!("{folder}/{name}"), u8::from(may));
            }
        }
        self.fixed(&folder, "wwn/vpd_unit_serial", serial);
        // Since Linux 5.9, and only before a target shows the unit (`target_wwn_company_id_store`). An older kernel
        // has no such file, and the start fails and names it rather than show another disk.
        if let Some(company) = &unit.company {
            self.fixed(&folder, COMPANY_ID, company_id(company));
        }
        // Known by that serial number, and only before a target shows the unit (`target_pr_res_aptpl_metadata_store`).
        let registrations = self.reservations.of_units.get(serial);
        for registration in registrations.into_iter().flatten() {
            let order = Is::Once(registration.to_string());
            self.add(format!("{folder}/{REGISTRATIONS}"), order);
        }
    }

    fn target(&mut self, pool: &str, iqn: &str, target: &DesiredTarget, desired: &Desired) {
        let hosts = target.hosts();
        let everybody = u8::from(hosts.is_none());
        let units = || desired.units_of(target);
        let all_read_only = units().all(|(_, _, unit)| unit.read_only);
        let group = format!("iscsi/{iqn}/{GROUP}");
        self.folder(&format!("iscsi/{iqn}"));
        self.folder(&group);
        // A client that was let in as one of everybody stays known to the group, and would be let in
        // when that is over (`core_tpg_check_initiator_node_acl`): the group is made anew.
        self.fixed(&group, "attrib/generate_node_acls", everybody);
        self.value(format!("{group}/attrib/demo_mode_discovery"), everybody);
        let protect = u8::from(all_read_only && !target.luns.is_empty());
        match hosts {
            // The kernel looks at this only when it comes to know a client (`core_tpg_add_node_to_devs`).
            None => self.fixed(&group, "attrib/demo_mode_write_protect", protect),
            Some(_) => self.value(format!("{group}/attrib/demo_mode_write_protect"), protect),
        }
        // Secrets before the order to ask for them, and for hosts with their names.
        self.chap(
            &format!("{group}/auth"),
            match hosts {
                None => target.chap.as_ref(),
                Some(_) => None,
            },
        );
        let ask = u8::from(target.chap.is_some());
        self.value(format!("{group}/attrib/authentication"), ask);
        for (lun, exposure, unit) in units() {
            let folder = format!("{group}/lun/lun_{lun}");
            let to = backstore(pool, &exposure.serial, unit);
            self.folder(&folder);
            self.add(format!("{folder}/{}", exposure.serial), Is::Link { to });
        }
        for host in hosts.into_iter().flatten() {
            let acl = format!("{group}/acls/{host}");
            self.folder(&acl);
            self.chap(&format!("{acl}/auth"), target.chap.as_ref());
            for (lun, _, unit) in units().filter(|(_, exposure, _)| exposure.access.includes(host))
            {
                let folder = format!("{acl}/lun_{lun}");
                let to = format!("{group}/lun/lun_{lun}");
                self.folder(&folder);
                self.add(format!("{folder}/lun"), Is::Link { to });
                let protect = u8::from(unit.read_only);
                self.value(format!("{folder}/write_protect"), protect);
            }
        }
        for portal in &target.portals {
            self.folder(&format!("{group}/np/{portal}"));
        }
        self.value(format!("{group}/enable"), 1);
    }

    fn chap(&mut self, auth: &str, chap: Option<&Chap>) {
        let one_way = chap.map(|chap| (&chap.user, &chap.secret));
        let mutual = chap.and_then(|chap| chap.mutual.as_ref());
        let mutual = mutual.map(|(user, secret)| (user, secret));
        for (account, suffix) in [(one_way, ""), (mutual, "_mutual")] {
            let user = account.map_or("", |(user, _)| user.as_str());
            self.value(format!("{auth}/userid{suffix}"), user);
            let path = format!("{auth}/password{suffix}");
            match account {
                None => self.value(path, ""),
                Some((_, secret)) => {
                    let digest = self.digests.get(secret).copied();
                    let secret = secret.clone();
                    self.add(path, Is::Secret { secret, digest });
                }
            }
        }
    }
}
