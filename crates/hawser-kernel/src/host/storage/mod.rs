//! What stands below a host's pools. sysfs and `/proc` are read each time; programs are asked only when those have changed,
//! when something is not well, and every five minutes.

mod client;
mod events;
mod multipath;
mod scsi;
mod zpool;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use hawser_model::storage::{PathFacts, StorageFacts, StoragePulse, ZpoolFacts};

/// What programs said is believed so long while nothing changes.
const AGAIN: Duration = Duration::from_secs(300);

/// multipathd and ZFS answer at once, or hang with a disk: for all of them together. A watch reads nothing meanwhile.
const LIMIT: Duration = Duration::from_secs(3);

pub use client::storage_client;

fn pulse(root: &Path) -> StoragePulse {
    let mut pulse = StoragePulse::default();
    let disks = scsi::states(root).map(|(name, state)| (name, state, "running"));
    let pools = zpool::states(root);
    pulse.zpools = pools.len();
    let pools = pools.into_iter();
    let pools = pools.map(|(name, pool)| (name, pool.state, "ONLINE"));
    for (name, state, well) in disks.chain(pools) {
        pulse.there += 1;
        if state != well {
            pulse.unwell.insert(name, state);
        }
    }
    pulse
}

/// What is in a folder; nothing where it cannot be read.
fn names(folder: &Path) -> impl Iterator<Item = String> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|it| it.file_name().into_string().ok())
}

/// A file's text without blanks around it; none where it cannot be read.
fn text(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

/// Who reads it, and knows what it read last.
#[derive(Debug, Default)]
pub struct StorageReader {
    last: Option<Last>,
    events: events::Events,
}

#[derive(Debug)]
struct Last {
    at: Instant,
    /// How many events of ZFS there were before.
    events: u64,
    seen: StorageFacts,
    said: Said,
}

/// What programs say.
#[derive(Clone, Debug, Default)]
struct Said {
    paths: BTreeMap<String, PathFacts>,
    zpools: BTreeMap<String, ZpoolFacts>,
    /// Somebody did not answer in time, and is left alone for a while.
    silent: bool,
}

impl StorageReader {
    /// What changes at once when a disk or a pool is lost: a few files and what ZFS tells, for a look each second.
    pub fn pulse(&mut self) -> StoragePulse {
        let pulse = pulse(Path::new("/"));
        StoragePulse {
            events: self.events.count(pulse.zpools > 0),
            ..pulse
        }
    }

    /// What there is now; absent on a host with nothing of it.
    pub fn read(&mut self) -> Option<StorageFacts> {
        let mut facts = seen(Path::new("/"));
        if facts.is_empty() {
            self.last = None;
            return None;
        }
        let events = self.events.so_far();
        let holds = |last: &Last| {
            let same = last.seen == facts && last.at.elapsed() < AGAIN;
            same && last.events == events && (last.said.silent || is_well(&facts, &last.said))
        };
        let last = match self.last.take() {
            Some(last) if holds(&last) => last,
            last => Last {
                at: Instant::now(),
                events,
                seen: facts.clone(),
                said: last.map(|last| last.said).unwrap_or_default().again(&facts),
            },
        };
        merge(&mut facts, &last.said);
        self.last = Some(last);
        Some(facts)
    }
}

impl Said {
    /// Asks again.
    fn again(self, facts: &StorageFacts) -> Self {
        let begun = Instant::now();
        let left = || LIMIT.saturating_sub(begun.elapsed());
        let paths = match facts.multipath.is_empty() {
            true => BTreeMap::new(),
            false => multipath::asked(left()),
        };
        let ask = |name: &String| Some((name.clone(), zpool::asked(name, left())?));
        let now = Self {
            paths,
            zpools: facts.zpools.keys().filter_map(ask).collect(),
            silent: left().is_zero(),
        };
        self.then(now, facts)
    }

    /// What is known once more was said. A program that does not answer, as when it waits for a disk or a lock, takes back nothing
    /// of what it said of what is still there.
    fn then(mut self, now: Self, facts: &StorageFacts) -> Self {
        let maps = facts.multipath.values();
        let there: BTreeSet<&String> = maps.flat_map(|map| map.paths.keys()).collect();
        self.paths.extend(now.paths);
        self.paths.retain(|name, _| there.contains(name));
        self.zpools.extend(now.zpools);
        self.zpools
            .retain(|name, _| facts.zpools.contains_key(name));
        Self {
            silent: now.silent,
            ..self
        }
    }
}

/// What sysfs and `/proc` have, without a program.
fn seen(root: &Path) -> StorageFacts {
    StorageFacts {
        disks: scsi::disks(root),
        multipath: multipath::maps(root),
        zpools: zpool::states(root),
    }
}

/// Whether there is nothing that is worth looking at again soon.
fn is_well(facts: &StorageFacts, said: &Said) -> bool {
    let pools = facts.zpools.values().chain(said.zpools.values());
    let resilvers = |pool: &ZpoolFacts| {
        let scan = pool.scan.as_deref().unwrap_or_default();
        scan.contains("in progress")
    };
    pools
        .into_iter()
        .all(|pool| pool.state == "ONLINE" && !resilvers(pool))
        && facts.disks.values().all(|disk| disk.state == "running")
        && said.paths.values().all(PathFacts::is_well)
}

fn merge(facts: &mut StorageFacts, said: &Said) {
    for map in facts.multipath.values_mut() {
        for (name, path) in &mut map.paths {
            if let Some(said) = said.paths.get(name) {
                path.clone_from(said);
            }
        }
    }
    for (name, pool) in &mut facts.zpools {
        if let Some(said) = said.zpools.get(name) {
            let state = pool.state.clone();
            pool.clone_from(said);
            // `SUSPENDED` stands in /proc alone; and it is newer.
            pool.state = state;
        }
    }
}

#[cfg(test)]
mod tests {
    use hawser_model::storage::MultipathFacts;

    use super::*;

    #[test]
    fn what_is_not_answered_about_stays_as_it_was_said_to_be() {
        let path = |name: &str| (name.to_owned(), PathFacts::default());
        let map = |names: &[&str]| MultipathFacts {
            name: "mpatha".into(),
            paths: names.iter().map(|name| path(name)).collect(),
        };
        let pool = |errors: Option<&str>| ZpoolFacts {
            state: "ONLINE".into(),
            errors: errors.map(str::to_owned),
            ..ZpoolFacts::default()
        };
        let facts = |names: &[&str]| StorageFacts {
            multipath: [("36001405aa".to_owned(), map(names))].into(),
            zpools: ["tank", "data"]
                .map(|name| (name.into(), pool(None)))
                .into(),
            ..StorageFacts::default()
        };
        let both = facts(&["sda", "sdb"]);
        let said = Said {
            paths: multipath::parsed("sda active ready\nsdb failed faulty\n"),
            zpools: [("tank".to_owned(), pool(Some("3 data errors")))].into(),
            silent: false,
        };
        let silent = || Said {
            zpools: [("data".to_owned(), pool(None))].into(),
            silent: true,
            ..Said::default()
        };
        let said = said.then(silent(), &both);
        let mut merged = both.clone();
        merge(&mut merged, &said);
        let paths = &merged.multipath["36001405aa"].paths;
        assert!(paths["sda"].is_well() && !paths["sdb"].is_well());
        assert_eq!(
            merged.zpools["tank"].errors.as_deref(),
            Some("3 data errors")
        );
        assert!(said.silent && !is_well(&both, &said));
        // What answers again is as it says, and a path that was away is not what it was before.
        let well = Said {
            zpools: [("tank".to_owned(), pool(None))].into(),
            ..Said::default()
        };
        let said = said.then(well, &facts(&["sda"])).then(silent(), &both);
        assert!(said.zpools["tank"].errors.is_none() && !said.paths.contains_key("sdb"));
    }

    /// A file below a root, with the folders above it.
    fn put(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn disks_paths_and_pools_are_read_from_what_the_kernel_shows() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for (name, address, state) in [("sda", "2:0:0:1", "running"), ("sdb", "3:0:0:1", "offline")]
        {
            put(
                root,
                &format!("sys/bus/scsi/{address}/state"),
                &format!("{state}\n"),
            );
            let disk = root.join("sys/block").join(name);
            fs::create_dir_all(&disk).unwrap();
            let device = root.join("sys/bus/scsi").join(address);
            std::os::unix::fs::symlink(device, disk.join("device")).unwrap();
        }
        // The shelf that sda is in, by the kernel's driver for enclosures.
        let shelf = "sys/class/enclosure/2:0:9:0";
        put(root, &format!("{shelf}/id"), "0x500304801f0a1b3f\n");
        put(root, &format!("{shelf}/Slot 07/status"), "OK\n");
        let link = root.join("sys/bus/scsi/2:0:0:1/enclosure_device:Slot 07");
        std::os::unix::fs::symlink(root.join(shelf).join("Slot 07"), link).unwrap();
        put(root, "sys/bus/scsi/2:0:0:1/wwid", "naa.6001405aa\n");
        // A disk of another kind, and a logical volume.
        put(root, "sys/block/nvme0n1/size", "1\n");
        put(root, "sys/block/dm-1/dm/uuid", "LVM-abc\n");
        put(root, "sys/block/dm-0/dm/uuid", "mpath-36001405aa\n");
        put(root, "sys/block/dm-0/dm/name", "mpatha\n");
        put(root, "sys/block/dm-0/slaves/sda/size", "1\n");
        put(root, "sys/block/dm-0/slaves/sdb/size", "1\n");
        put(root, "proc/spl/kstat/zfs/tank/state", "DEGRADED\n");
        put(root, "proc/spl/kstat/zfs/arcstats", "1\n");

        let pulse = pulse(root);
        let unwell = [("sdb", "offline"), ("tank", "DEGRADED")];
        let unwell = unwell.map(|(name, state)| (name.to_owned(), state.to_owned()));
        assert_eq!((pulse.there, pulse.unwell), (3, unwell.into()));

        let mut facts = seen(root);
        assert_eq!(facts.disks.len(), 2);
        assert_eq!(facts.disks["sdb"].state, "offline");
        assert_eq!(facts.disks["sdb"].address, "3:0:0:1");
        assert_eq!(
            (&facts.disks["sdb"].wwid, &facts.disks["sdb"].shelf),
            (&None, &None)
        );
        assert_eq!(facts.disks["sda"].wwid.as_deref(), Some("naa.6001405aa"));
        let slot = facts.disks["sda"].shelf.as_ref().unwrap();
        assert_eq!(
            [slot.shelf.as_str(), slot.slot.as_str()],
            ["0x500304801f0a1b3f", "Slot 07"]
        );
        assert_eq!(facts.multipath["36001405aa"].name, "mpatha");
        assert_eq!(facts.zpools["tank"].state, "DEGRADED");
        let said = Said {
            paths: multipath::parsed("sda active ready\nsdb failed faulty\nsdz active ready\n"),
            ..Said::default()
        };
        merge(&mut facts, &said);
        let paths = &facts.multipath["36001405aa"].paths;
        assert!(paths["sda"].is_well() && !paths["sdb"].is_well());
        assert!(!is_well(&facts, &said));
    }
}
