//! The disks of a head in a reading: how many there are, and those that are not well.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::storage::{StorageFacts, ZpoolDevice, ZpoolFacts};

/// No more that are not well are named in one reading, of each kind.
const NAMED: usize = 32;

/// The SCSI disks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotedDisks {
    /// How many there are.
    pub there: u64,
    /// How many of them do not run.
    pub stopped: u64,
    /// Those, as many as are named.
    pub named: Vec<NotedDisk>,
}

/// A SCSI disk that does not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotedDisk {
    /// The kernel's name.
    pub name: String,
    /// Host, channel, target and unit.
    pub address: String,
    /// Its state.
    pub state: String,
}

/// The multipath devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotedPaths {
    /// How many devices there are.
    pub devices: u64,
    /// How many paths they have.
    pub paths: u64,
    /// How many of those multipathd does not find well.
    pub lost: u64,
    /// Those, as many as are named.
    pub named: Vec<NotedPath>,
}

/// A path that multipathd does not find well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotedPath {
    /// The device.
    pub device: String,
    /// The kernel's name of the disk.
    pub disk: String,
    /// What device-mapper does with it, in multipathd's word; absent: it did not say.
    pub used: Option<String>,
    /// What multipathd's checker found; absent: it did not say.
    pub checked: Option<String>,
}

/// A ZFS pool that is imported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotedZpool {
    /// The pool.
    pub name: String,
    /// Its state.
    pub state: String,
    /// How many of its devices are not well.
    pub troubled: u64,
    /// Those, as many as are named.
    pub named: Vec<ZpoolDevice>,
    /// What `zpool status` says of a scrub or a resilver; absent if none was made.
    pub scan: Option<String>,
    /// What it says of errors in data; absent if it knows none.
    pub errors: Option<String>,
}

impl NotedDisks {
    /// Those of a host; nothing of one that has none.
    pub fn of(storage: &StorageFacts) -> Option<Self> {
        let stopped = || storage.disks.iter().filter(|(_, it)| it.state != "running");
        let named = stopped().take(NAMED).map(|(name, disk)| NotedDisk {
            name: name.clone(),
            address: disk.address.clone(),
            state: disk.state.clone(),
        });
        (!storage.disks.is_empty()).then(|| Self {
            there: storage.disks.len() as u64,
            stopped: stopped().count() as u64,
            named: named.collect(),
        })
    }
}

impl NotedPaths {
    /// Those of a host; nothing of one that has none.
    pub fn of(storage: &StorageFacts) -> Option<Self> {
        let paths = || {
            let devices = storage.multipath.values();
            devices.flat_map(|device| device.paths.iter().map(move |path| (device, path)))
        };
        let lost = || paths().filter(|(_, (_, path))| !path.is_well());
        let named = lost().take(NAMED).map(|(device, (disk, path))| NotedPath {
            device: device.name.clone(),
            disk: disk.clone(),
            used: path.used.clone(),
            checked: path.checked.clone(),
        });
        (!storage.multipath.is_empty()).then(|| Self {
            devices: storage.multipath.len() as u64,
            paths: paths().count() as u64,
            lost: lost().count() as u64,
            named: named.collect(),
        })
    }
}

impl NotedZpool {
    /// One that is imported.
    pub fn of(name: &str, pool: &ZpoolFacts) -> Self {
        Self {
            name: name.to_owned(),
            state: pool.state.clone(),
            troubled: pool.troubled.len() as u64,
            named: pool.troubled.iter().take(NAMED).cloned().collect(),
            scan: pool.scan.clone(),
            errors: pool.errors.clone(),
        }
    }

    /// Whether the two are the same but for how far a scrub or a resilver is.
    pub(super) fn is_as(&self, other: &Self) -> bool {
        let runs = |pool: &Self| {
            pool.scan
                .as_deref()
                .is_some_and(|it| it.contains("in progress"))
        };
        let state = |pool: &Self| (pool.state.clone(), pool.named.clone(), pool.errors.clone());
        (self.name == other.name && self.troubled == other.troubled)
            && (state(self), runs(self)) == (state(other), runs(other))
    }
}

/// `; sda (2:0:1:0) is offline, …, and 3 more`.
fn list(f: &mut fmt::Formatter<'_>, all: u64, named: &[String]) -> fmt::Result {
    if named.is_empty() {
        return Ok(());
    }
    write!(f, ": {}", named.join(", "))?;
    match all.saturating_sub(named.len() as u64) {
        0 => Ok(()),
        more => write!(f, ", and {more} more"),
    }
}

impl fmt::Display for NotedDisks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.stopped {
            0 => write!(f, "all {} SCSI disks run", self.there),
            stopped => write!(f, "{stopped} of {} SCSI disks do not run", self.there),
        }?;
        let words =
            |disk: &NotedDisk| format!("{} ({}) is {}", disk.name, disk.address, disk.state);
        list(
            f,
            self.stopped,
            &self.named.iter().map(words).collect::<Vec<_>>(),
        )
    }
}

impl fmt::Display for NotedPaths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { devices, paths, .. } = self;
        match self.lost {
            0 => write!(
                f,
                "no path of {paths} to {devices} multipath devices is lost"
            ),
            lost => write!(
                f,
                "{lost} of {paths} paths to {devices} multipath devices are lost"
            ),
        }?;
        let words = |path: &NotedPath| {
            let said = path.used.iter().chain(&path.checked);
            let said: Vec<&str> = said.map(String::as_str).collect();
            format!("{} of {} is {}", path.disk, path.device, said.join(" "))
        };
        list(
            f,
            self.lost,
            &self.named.iter().map(words).collect::<Vec<_>>(),
        )
    }
}

impl fmt::Display for NotedZpool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ZFS pool {} is {}", self.name, self.state)?;
        let words = |device: &ZpoolDevice| {
            let errors = [
                (device.read_errors, "read"),
                (device.write_errors, "write"),
                (device.checksum_errors, "checksum"),
            ];
            let errors = errors.into_iter().filter(|(count, _)| *count > 0);
            let mut said = format!("{} is {}", device.name, device.state);
            for (count, kind) in errors {
                said += &format!(" with {count} {kind} errors");
            }
            if device.slow > 0 {
                said += &format!(" with {} slow requests", device.slow);
            }
            said
        };
        list(
            f,
            self.troubled,
            &self.named.iter().map(words).collect::<Vec<_>>(),
        )?;
        for said in self.scan.iter().chain(&self.errors) {
            write!(f, "; {said}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{DiskFacts, MultipathFacts, PathFacts};

    fn storage(stopped: usize) -> StorageFacts {
        let disk = |n: usize| {
            let state = if n < stopped { "offline" } else { "running" };
            let address = format!("2:0:{n}:0");
            let state = state.to_owned();
            let disk = DiskFacts {
                state,
                address,
                ..DiskFacts::default()
            };
            (format!("sd{n:03}"), disk)
        };
        StorageFacts {
            disks: (0..100).map(disk).collect(),
            ..StorageFacts::default()
        }
    }

    #[test]
    fn many_disks_that_stop_are_counted_and_some_are_named() {
        let said = |stopped| NotedDisks::of(&storage(stopped)).unwrap().to_string();
        assert_eq!(said(0), "all 100 SCSI disks run");
        assert_eq!(
            said(2),
            "2 of 100 SCSI disks do not run: sd000 (2:0:0:0) is offline, sd001 (2:0:1:0) is offline"
        );
        let many = said(90);
        assert!(
            many.ends_with("sd031 (2:0:31:0) is offline, and 58 more"),
            "{many}"
        );
        assert_eq!(NotedDisks::of(&StorageFacts::default()), None);
    }

    #[test]
    fn a_path_that_is_lost_is_named_with_what_multipathd_says() {
        let path = |used: &str, checked: &str| PathFacts {
            used: Some(used.into()),
            checked: Some(checked.into()),
        };
        let device = MultipathFacts {
            name: "mpatha".into(),
            paths: [
                ("sda".to_owned(), path("active", "ready")),
                ("sdb".to_owned(), path("failed", "faulty")),
            ]
            .into(),
        };
        let storage = StorageFacts {
            multipath: [("1".to_owned(), device)].into(),
            ..StorageFacts::default()
        };
        assert_eq!(
            NotedPaths::of(&storage).unwrap().to_string(),
            "1 of 2 paths to 1 multipath devices are lost: sdb of mpatha is failed faulty"
        );
    }

    #[test]
    fn how_far_a_resilver_is_is_no_change_and_an_error_is_one() {
        let pool = |scan: &str, read_errors| {
            let device = ZpoolDevice {
                name: "sdb".into(),
                state: "ONLINE".into(),
                read_errors,
                ..ZpoolDevice::default()
            };
            let pool = ZpoolFacts {
                state: "DEGRADED".into(),
                scan: Some(scan.to_owned()),
                troubled: vec![device],
                ..ZpoolFacts::default()
            };
            NotedZpool::of("vmpool01", &pool)
        };
        let (ten, twenty) = (
            "resilver in progress, 10 % done",
            "resilver in progress, 20 % done",
        );
        assert!(pool(ten, 1).is_as(&pool(twenty, 1)));
        assert!(!pool(ten, 1).is_as(&pool(ten, 2)));
        assert!(!pool(ten, 1).is_as(&pool("resilvered 1G with 0 errors", 1)));
        assert_eq!(
            pool(ten, 1).to_string(),
            "ZFS pool vmpool01 is DEGRADED: sdb is ONLINE with 1 read errors; resilver in progress, 10 % done"
        );
    }
}
