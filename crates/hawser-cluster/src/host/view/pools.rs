//! Whether a head could offer a pool: the services that it takes, the pool's disks where it is not, and where it is,
//! whether it is offered and what stands in its `exports.toml`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use hawser_model::cluster_file::{At, Pool, PoolKind};
use hawser_model::names::HostName;
use serde::{Deserialize, Serialize};

use super::bounded::{Begun, tool};
use super::machine::Room;
use super::told::Told;
use super::zpool;
use super::{HeadView, Limits, MoreQuestions, PoolQuestion};
use crate::exports::host::mounted;
use crate::exports::service::{self, Health, server};
use crate::host::keys::{self, Encrypted};
use crate::host::vdevs::Vdevs;

/// What a pool is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Storage {
    /// A shared device, or a file that stands for one.
    Device(String),
    /// A ZFS pool.
    Zfs {
        /// Its name.
        name: String,
        /// Options of `zpool import` that say where it is looked for: one who only looks is refused with others (`-l`).
        options: Vec<String>,
    },
    /// A volume group.
    VolumeGroup(String),
}

impl Storage {
    /// That of a pool.
    pub fn of(pool: &Pool) -> Self {
        let text = |value: &Option<At<String>>| {
            value.as_ref().map(|v| v.get().clone()).unwrap_or_default()
        };
        match *pool.kind {
            PoolKind::Filesystem => Self::Device(text(&pool.device)),
            PoolKind::Lvm => Self::VolumeGroup(text(&pool.volume_group)),
            PoolKind::Zfs => Self::Zfs {
                name: pool.zpool().to_owned(),
                options: pool
                    .import_places()
                    .into_iter()
                    .flat_map(|(option, place)| [option.to_owned(), place.to_owned()])
                    .collect(),
            },
        }
    }
}

/// What a recording says of disks that was made before they were asked.
fn nothing_told() -> Told<Option<String>> {
    Told::Said(None)
}

/// Nor whether anything is encrypted.
fn nothing_encrypted() -> Told<Vec<Encrypted>> {
    Told::Said(Vec::new())
}

/// A pool as a head sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PoolView {
    /// It is here.
    Here {
        /// Why it could not be started here from its `exports.toml`; absent when it could.
        file: Told<Option<String>>,
        /// What is missing of what was started; empty when all is there, absent when nothing is.
        offered: Told<Option<Vec<String>>>,
        /// How full it is.
        room: Told<Option<Room>>,
        /// What its disks lack; absent when nothing, and of a pool that does not tell it.
        #[serde(default = "nothing_told")]
        disks: Told<Option<String>>,
        /// The ports of the portals that its `exports.toml` has.
        #[serde(default)]
        ports: BTreeSet<u16>,
        /// What is encrypted in it.
        #[serde(default = "nothing_encrypted")]
        encrypted: Told<Vec<Encrypted>>,
    },
    /// It is not here: why its disks could not be had; absent when they are there.
    Away(Told<Option<String>>),
    /// It is not here, and could be had without a part of its disks: which part.
    Short(String),
    /// A ZFS pool of this name is imported here, and not mounted where the file has it.
    Imported(String),
    /// Its folder does not answer.
    Hangs(u32),
}

impl PoolView {
    /// Why a head that does not have the pool could not take it over, or not with all its disks, or why that is not known; nothing
    /// if it could.
    pub fn no_takeover(&self, pool: &str, head: &HostName) -> Option<String> {
        match self {
            Self::Here { .. } | Self::Away(Told::Said(None)) => None,
            Self::Away(Told::Said(Some(why))) => {
                Some(format!("{head} could not take over {pool}: {why}"))
            }
            Self::Away(Told::Silent(seconds)) => Some(format!(
                "whether {head} sees the disks of {pool} is not known yet: it has looked for {seconds} s, and a large shelf \
                 takes longer"
            )),
            Self::Away(Told::Failed(why)) => Some(format!(
                "whether {head} sees the disks of {pool} is not known: {why}"
            )),
            Self::Short(what) => Some(format!(
                "{head} could take over {pool} only without a part of its disks: {what}"
            )),
            Self::Imported(zpool) => Some(format!(
                "{head} could not take over {pool}: {zpool} is imported there, and not mounted where the file has it"
            )),
            Self::Hangs(seconds) => Some(format!(
                "the folder of {pool} on {head} does not answer within {seconds} s: its disks hang"
            )),
        }
    }

    /// The ports of the portals at which it offers storage here, where its `exports.toml` could be read.
    pub fn ports(&self) -> Option<&BTreeSet<u16>> {
        match self {
            Self::Here {
                ports,
                file: Told::Said(None),
                ..
            } => Some(ports),
            _ => None,
        }
    }

    /// What is encrypted in it, as far as that is known.
    pub fn encrypted(&self) -> Option<&[Encrypted]> {
        match self {
            Self::Here { encrypted, .. } => encrypted.said().map(Vec::as_slice),
            _ => None,
        }
    }
}

/// Questions about pools that were asked.
pub(super) struct Asked {
    services: BTreeMap<String, Begun<Option<String>>>,
    pools: Looks,
}

/// Looks at pools that have begun.
struct Looks(Vec<(String, Begun<PoolView>)>);

impl Looks {
    fn begin(pools: &[PoolQuestion], limits: Limits) -> Self {
        let begin = |pool: &PoolQuestion| {
            let asked = pool.clone();
            let about = format!("pool at {}", asked.root);
            let look = Begun::about(about, limits.view(), move || look(&asked, limits));
            (pool.pool.clone(), look)
        };
        Self(pools.iter().map(begin).collect())
    }

    fn end(self) -> BTreeMap<String, PoolView> {
        let seen = |begun: Begun<PoolView>| match begun.end() {
            Told::Said(seen) => seen,
            Told::Silent(seconds) => PoolView::Hangs(seconds),
            Told::Failed(said) => PoolView::Away(Told::Failed(said)),
        };
        let all = self.0.into_iter();
        all.map(|(pool, begun)| (pool, seen(begun))).collect()
    }
}

/// Looks at these pools, all at the same time.
pub(in crate::host) fn look_at(
    pools: &[PoolQuestion],
    limits: Limits,
) -> BTreeMap<String, PoolView> {
    Looks::begin(pools, limits).end()
}

impl Asked {
    pub fn begin(more: &MoreQuestions, limits: Limits) -> Self {
        Self {
            services: services(&more.pools, limits.head),
            pools: Looks::begin(&more.pools, limits),
        }
    }

    pub fn end(self, view: &mut HeadView) {
        for (service, begun) in self.services {
            view.services.insert(service, begun.end());
        }
        view.pools = self.pools.end();
    }
}

/// The services that these pools take, each asked once.
fn services(pools: &[PoolQuestion], limit: u32) -> BTreeMap<String, Begun<Option<String>>> {
    let mut all = BTreeMap::new();
    for pool in pools {
        let Some(exports) = &pool.exports else {
            continue;
        };
        let server = server::of(pool.iscsi.then_some(exports.backend));
        let begin = || Begun::work(limit, || server.lacks());
        all.entry(server.service().to_owned()).or_insert_with(begin);
    }
    all
}

fn look(pool: &PoolQuestion, limits: Limits) -> PoolView {
    let limit = limits.head;
    let root = Path::new(&pool.root);
    if !mounted(root).is_ok_and(|mount| mount.is_some()) {
        let storage = pool.storage.clone();
        // One that cannot be ended, since a disk hangs, is given up here and is no folder that hangs.
        let asked = Begun::work(limits.disks(), move || disks(&storage, limits.disks()));
        return match asked.end_told() {
            Told::Said(Disks::Short(what)) => PoolView::Short(what),
            Told::Said(Disks::Missing(why)) => PoolView::Away(Told::Said(Some(why))),
            Told::Said(Disks::Imported(zpool)) => PoolView::Imported(zpool),
            Told::Said(Disks::There) => PoolView::Away(Told::Said(None)),
            Told::Silent(seconds) => PoolView::Away(Told::Silent(seconds)),
            Told::Failed(said) => PoolView::Away(Told::Failed(said)),
        };
    }
    let storage = pool.storage.clone();
    let health = Begun::work(limits.disks(), move || health(&storage, limits.disks()));
    let storage = pool.storage.clone();
    let encrypted = Begun::work(limits.disks(), move || match &storage {
        Storage::Zfs { name, .. } => keys::of_pool(name, limits.disks()),
        Storage::Device(_) | Storage::VolumeGroup(_) => nothing_encrypted(),
    });
    let place = pool.root.clone();
    let about = |what: &str| format!("{what} of {}", pool.root);
    let room = Begun::about(about("room"), limit, move || Room::at(&place));
    let exports = pool.exports.clone();
    let file = Begun::about(about("exports file"), limit, move || {
        match exports.as_ref().map(service::wanted) {
            Some(Ok(wanted)) => (None, wanted.desired.ports()),
            Some(Err(e)) => (Some(e.to_string()), BTreeSet::new()),
            None => (None, BTreeSet::new()),
        }
    });
    let exports = pool.exports.clone();
    // A look that finds something that does not answer has given up before it is given up itself.
    let whole = Duration::from_secs(u64::from(limit) + 1);
    let offered = Begun::about(about("exports"), limit, move || {
        match exports.as_ref().map(|it| service::health(it, whole)) {
            Some(Ok(Health::Running)) | None => Some(Vec::new()),
            Some(Ok(Health::Stopped)) => None,
            Some(Ok(Health::Broken(what))) => Some(what),
            Some(Err(e)) => Some(vec![e.to_string()]),
        }
    });
    let file = file.end();
    let ports = file.said().map(|(_, ports)| ports.clone());
    PoolView::Here {
        file: file.map(|(why, _)| why),
        offered: offered.end(),
        room: room.end(),
        disks: health.end_told(),
        ports: ports.unwrap_or_default(),
        encrypted: encrypted.end_told(),
    }
}

/// What the disks of a pool that is here lack.
fn health(storage: &Storage, limit: u32) -> Told<Option<String>> {
    match storage {
        Storage::Zfs { name, .. } => tool(limit, "zpool", &Vdevs::asked(name), |said, end| {
            end.well.then(|| Vdevs::parse(said).lacks())
        }),
        // The kernel's own mirrors and those of LVM are not asked.
        Storage::Device(_) | Storage::VolumeGroup(_) => Told::Said(None),
    }
}

/// The disks of a pool that is not here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Disks {
    /// They are there.
    There,
    /// The pool could be had without these.
    Short(String),
    /// Why it could not be had.
    Missing(String),
    /// The ZFS pool of this name is imported here.
    Imported(String),
}

impl Disks {
    fn unless(there: bool, why: impl FnOnce() -> String) -> Self {
        match there {
            true => Self::There,
            false => Self::Missing(why()),
        }
    }
}

/// Whether a ZFS pool of this name is imported here (`spa_state_init` of OpenZFS's `spa_stats.c`).
fn is_imported(zpool: &str) -> bool {
    let kstat = Path::new("/proc/spl/kstat/zfs").join(zpool);
    kstat.join("state").exists()
}

fn disks(storage: &Storage, limit: u32) -> Told<Disks> {
    match storage {
        Storage::Device(path) => {
            // A network file system (`server:/path`, `//server/share`) is no file here.
            let there =
                !path.starts_with('/') || path.starts_with("//") || Path::new(path).exists();
            Told::Said(Disks::unless(there, || {
                format!("{path} does not exist there")
            }))
        }
        // It is imported already, so that `zpool import` does not list it.
        Storage::Zfs { name, .. } if is_imported(name) => Told::Said(Disks::Imported(name.clone())),
        Storage::Zfs { name, options } => {
            let options: Vec<&str> = options.iter().map(String::as_str).collect();
            let arguments = [&["import"], &options[..]].concat();
            tool(limit, "zpool", &arguments, |said, end| {
                zpool::is_answer(end.well, &end.complaint).then(|| zpool::disks(said, name))
            })
        }
        Storage::VolumeGroup(name) => {
            let arguments = ["--foreign", "--noheadings", "-o", "vg_name"];
            tool(limit, "vgs", &arguments, |said, end| {
                end.well.then(|| {
                    let found = said.lines().any(|line| line.trim() == name);
                    Disks::unless(found, || {
                        format!("`vgs --foreign` does not see {name} there")
                    })
                })
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_not_there_is_told() {
        let at = |path: &str| disks(&Storage::Device(path.into()), 60);
        assert_eq!(at("/dev/null"), Told::Said(Disks::There));
        assert_eq!(at("filer:/export"), Told::Said(Disks::There));
        assert_eq!(
            at("/dev/no-such-shelf"),
            Told::Said(Disks::Missing(
                "/dev/no-such-shelf does not exist there".into()
            ))
        );
    }

    #[test]
    fn a_pool_that_is_elsewhere_is_not_looked_into() {
        let pool = PoolQuestion {
            pool: "pool".into(),
            exports: None,
            iscsi: false,
            root: "/no/such/pool".into(),
            storage: Storage::Device("/dev/null".into()),
        };
        assert_eq!(
            look(&pool, Limits::PATIENT),
            PoolView::Away(Told::Said(None))
        );
    }
}
