//! What is offered, from whatever offered it, and the `exports.toml` of each pool that comes of it.

pub(crate) mod agree;
pub(crate) mod etc_exports;
mod groups;
pub(crate) mod list_lu;
mod numbers;
pub(crate) mod path;
pub(crate) mod saveconfig;
pub(crate) mod stmf_ha;
pub(crate) mod targets_conf;
pub(crate) mod zfs_get;

use std::collections::{BTreeMap, BTreeSet};

use crate::page::Page;
use crate::picture::{Picture, Said, usable};
use crate::place::quoted;
use crate::{Secret, SourceLine};

/// Everything that is offered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Offered {
    pub targets: Vec<Target>,
    pub units: Vec<Unit>,
    pub directories: Vec<Directory>,
    /// What offers the targets: `lio` or `tgt`.
    pub backend: Option<Said<String>>,
    /// What `stmf-ha.conf` of a pool says, in words that are `exports.toml`'s own.
    pub confs: BTreeMap<String, PoolFile>,
}

/// A target of iSCSI.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub iqn: String,
    pub portals: Vec<String>,
    /// `None`: everybody.
    pub hosts: Option<Vec<String>>,
    pub chap: Option<(String, Secret)>,
    pub mutual: Option<(String, Secret)>,
    pub at: SourceLine,
}

impl Target {
    pub fn new(iqn: &str, at: &SourceLine) -> Self {
        Self {
            iqn: iqn.to_owned(),
            portals: Vec::new(),
            hosts: None,
            chap: None,
            mutual: None,
            at: at.clone(),
        }
    }
}

/// What clients may leave to the target, where a file says whether they may.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Offloads {
    /// To free blocks: `UNMAP`.
    pub unmap: Option<bool>,
    /// To compare a block and write it at once: `COMPARE AND WRITE`.
    pub ats: Option<bool>,
    /// To copy: `EXTENDED COPY`.
    pub xcopy: Option<bool>,
}

impl Offloads {
    /// These, and of another what these do not say.
    pub fn or(self, other: Self) -> Self {
        Self {
            unmap: self.unmap.or(other.unmap),
            ats: self.ats.or(other.ats),
            xcopy: self.xcopy.or(other.xcopy),
        }
    }

    /// Each by its key in an `exports.toml`.
    pub fn named(self) -> [(&'static str, Option<bool>); 3] {
        [
            ("unmap", self.unmap),
            ("ats", self.ats),
            ("xcopy", self.xcopy),
        ]
    }
}

/// A volume, by its path.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    pub path: String,
    /// The serial number, as it was written.
    pub serial: Option<String>,
    /// The NAA identifier, whole.
    pub naa: Option<String>,
    pub block_size: Option<u32>,
    /// Whether it has a write cache in the head's memory.
    pub write_cache: Option<bool>,
    pub offloads: Offloads,
    pub read_only: bool,
    /// Its number, if it is the same wherever it is shown.
    pub lun: Option<u16>,
    pub shown: Vec<Shown>,
    pub at: SourceLine,
}

impl Unit {
    pub fn new(path: &str, at: &SourceLine) -> Self {
        Self {
            path: path.to_owned(),
            serial: None,
            naa: None,
            block_size: None,
            write_cache: None,
            offloads: Offloads::default(),
            read_only: false,
            lun: None,
            shown: Vec::new(),
            at: at.clone(),
        }
    }
}

/// Where a unit is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    /// The target's IQN.
    pub target: String,
    pub lun: Option<u16>,
    /// `None`: whoever the target lets in.
    pub hosts: Option<Vec<String>>,
    pub read_only: bool,
}

/// A directory for a client.
#[derive(Clone, Debug)]
pub(crate) struct Directory {
    pub path: String,
    pub clients: Vec<String>,
    pub options: Option<String>,
    pub at: SourceLine,
}

/// An `exports.toml`.
#[derive(Clone, Debug, Default)]
pub(crate) struct PoolFile {
    pub default_portal_group: Option<String>,
    pub portal_groups: Vec<(String, Vec<String>)>,
    pub targets: Vec<TargetOut>,
    pub units: BTreeMap<String, UnitOut>,
    pub host_groups: Vec<(String, Vec<String>)>,
    pub target_groups: Vec<(String, Vec<String>)>,
    pub views: Vec<ViewOut>,
    pub nfs: Vec<(String, Vec<String>, Option<String>, SourceLine)>,
}

/// A target of an `exports.toml`.
#[derive(Clone, Debug)]
pub(crate) struct TargetOut {
    pub name: String,
    pub iqn: Option<String>,
    pub portal_group: Option<String>,
    /// User and the secret's file, for each direction.
    pub chap: Option<(String, String)>,
    pub mutual: Option<(String, String)>,
    pub at: SourceLine,
}

/// A unit of an `exports.toml`.
#[derive(Clone, Debug)]
pub(crate) struct UnitOut {
    pub lun: Option<u16>,
    pub serial: Option<String>,
    pub naa: Option<String>,
    pub block_size: Option<u32>,
    pub write_cache: Option<bool>,
    pub offloads: Offloads,
    pub read_only: bool,
    pub at: SourceLine,
}

impl UnitOut {
    pub fn new(at: &SourceLine) -> Self {
        Self {
            lun: None,
            serial: None,
            naa: None,
            block_size: None,
            write_cache: None,
            offloads: Offloads::default(),
            read_only: false,
            at: at.clone(),
        }
    }
}

/// A view of an `exports.toml`.
#[derive(Clone, Debug, Default)]
pub(crate) struct ViewOut {
    pub name: String,
    pub units: Option<Vec<String>>,
    pub prefix: Option<String>,
    pub host_group: Option<String>,
    pub target_group: Option<String>,
    pub lun: Option<u16>,
}

/// The `exports.toml` of each pool.
pub(crate) fn of_pools(
    offered: &Offered,
    picture: &mut Picture,
    page: &mut Page,
) -> BTreeMap<String, PoolFile> {
    let mut files = offered.confs.clone();
    picture.backend = picture.backend.take().or_else(|| offered.backend.clone());
    let mut shown: BTreeMap<String, Vec<(String, &Unit)>> = BTreeMap::new();
    for unit in &offered.units {
        match path::volume(&unit.path, picture) {
            Ok((pool, volume)) => {
                page.understood(
                    &unit.at,
                    quoted(&unit.path),
                    described(&pool, &volume, unit),
                );
                let file = files.entry(pool.clone()).or_default();
                let out = file
                    .units
                    .entry(volume.clone())
                    .or_insert_with(|| UnitOut::new(&unit.at));
                merge(out, unit, page);
                if !unit.shown.is_empty() {
                    shown.entry(pool).or_default().push((volume, unit));
                }
            }
            Err(why) => page.unsaid(&unit.at, quoted(&unit.path), why),
        }
    }
    groups::targets(offered, &shown, &mut files, picture, page);
    for directory in &offered.directories {
        match path::directory(&directory.path, picture) {
            Some((pool, name)) => {
                let Directory { clients, options, at, .. } = directory.clone();
                page.understood(&at, quoted(&directory.path), format!("[[nfs]] of pool {pool}; remove this line on each head"));
                let file = files.entry(pool).or_default();
                file.nfs.push((name, clients, options, at));
            }
            None => page.unsaid(
                &directory.at,
                quoted(&directory.path),
                "it is in no pool that a source names: leave it where it is, or write [[nfs]] of its pool",
            ),
        }
    }
    for (name, file) in &mut files {
        complete(name, file, picture, page);
        numbers::check(name, file, page);
    }
    // A file that offers nothing would offer every volume.
    files.retain(|_, file| {
        !file.units.is_empty() || !file.targets.is_empty() || !file.nfs.is_empty()
    });
    files
}

/// A unit in the words of its `exports.toml`.
fn described(pool: &str, volume: &str, unit: &Unit) -> String {
    let mut words = format!("[[unit]] {volume} of pool {pool}");
    let luns: BTreeSet<u16> = unit
        .shown
        .iter()
        .filter_map(|shown| shown.lun)
        .chain(unit.lun)
        .collect();
    for lun in luns {
        words += &format!(", LUN {lun}");
    }
    if let Some(naa) = &unit.naa {
        words += &format!(", naa {}", naa.to_ascii_lowercase());
    }
    words
}

/// What another source says of the same unit.
fn merge(out: &mut UnitOut, unit: &Unit, page: &mut Page) {
    let serial = unit.serial.as_deref().map(|text| (text, as_serial(text)));
    match serial {
        Some((_, Some(serial))) => out.serial = Some(serial),
        Some((text, None)) => page.unsaid(
            &unit.at,
            format!("serial number {}", quoted(text)),
            "exports.toml has 32 hexadecimal digits: clients that know the disk by this text see another one",
        ),
        None => {}
    }
    if let Some(naa) = &unit.naa {
        out.naa = Some(naa.to_ascii_lowercase());
        out.serial = None;
    }
    out.lun = unit.lun.or(out.lun);
    out.block_size = unit.block_size.or(out.block_size);
    out.write_cache = unit.write_cache.or(out.write_cache);
    out.offloads = unit.offloads.or(out.offloads);
    out.read_only |= unit.read_only;
}

/// The 32 digits of which the kernel makes the same NAA identifier: it takes the hexadecimal digits of a serial number
/// in order and fills up with zeros (`spc_gen_naa_6h_vendor_specific`).
fn as_serial(text: &str) -> Option<String> {
    let fine = text.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    let usable = fine && (1..=32).contains(&digits.len());
    usable.then(|| format!("{:0<32}", digits.to_ascii_lowercase()))
}

/// What belongs to the file as a whole, and what the cluster's file must know of it.
fn complete(name: &str, file: &mut PoolFile, picture: &mut Picture, page: &mut Page) {
    let iscsi = !file.units.is_empty() || !file.targets.is_empty();
    let at = file
        .targets
        .first()
        .map(|target| &target.at)
        .or(file.units.values().next().map(|unit| &unit.at))
        .or(file.nfs.first().map(|(.., at)| at))
        .cloned();
    let Some(at) = at else { return };
    if iscsi && !file.units.is_empty() {
        page.changed(
            &at,
            volumes(file.units.len(), name),
            "exports.toml lists what is offered, so a new volume is offered once it is listed as well",
        );
        without_caches(name, file, page);
    }
    let kind = if iscsi { "iscsi" } else { "nfs" };
    if let Some(pool) = picture.pool_mut(name) {
        pool.exports
            .get_or_insert_with(|| Said::new(kind.into(), &at));
    }
    let authority = file
        .targets
        .iter()
        .filter_map(|target| target.iqn.as_deref());
    let authority = authority
        .filter_map(|iqn| iqn.split(':').next())
        .find(|a| a.starts_with("iqn."));
    let cluster = !picture.nodes.is_empty() || !picture.pools.is_empty();
    if let (Some(authority), None, true) = (authority, &picture.authority, cluster) {
        picture.authority = Some(Said::new(authority.to_owned(), &at));
        page.understood(
            &at,
            format!("names below {}", quoted(authority)),
            "[exports] iqn",
        );
    }
}

/// A takeover loses what a head's memory holds, so a write cache there is not taken over.
fn without_caches(name: &str, file: &mut PoolFile, page: &mut Page) {
    let units = file.units.values().filter(|unit| !unit.read_only);
    let cached: Vec<&SourceLine> = units
        .filter(|unit| unit.write_cache == Some(true))
        .map(|unit| &unit.at)
        .collect();
    if let Some(first) = cached.iter().min() {
        page.changed(
            first,
            format!("write cache of {}", volumes(cached.len(), name)),
            "a takeover loses what is in it, so there is none: what is acknowledged is on the disks",
        );
    }
    for unit in file.units.values_mut() {
        unit.write_cache = unit.write_cache.filter(|on| !*on);
    }
}

fn volumes(number: usize, pool: &str) -> String {
    match number {
        1 => format!("one volume of pool {pool}"),
        n => format!("{n} volumes of pool {pool}"),
    }
}

/// A name for the file of an account's secret.
fn chap_file(user: &str) -> String {
    format!("chap-{}", usable(user).unwrap_or_else(|| "user".into()))
}
