//! The machine under the cluster: its clock, the folders that the cluster writes to, its ports.

use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::path::Path;

use hawser_model::mountinfo;
use hawser_tool::processes::Process;
use nix::net::if_::InterfaceFlags;
use nix::sys::statvfs::{Statvfs, statvfs};
use serde::{Deserialize, Serialize};

use super::bounded::Begun;
use super::told::Told;
use super::{HeadView, Limits, MoreQuestions};
use crate::addresses;
use crate::exports::host::is_read_only;
use crate::host::boot;
use crate::host::ifspeed::Ifspeed;
use crate::host::watch_unit;
use crate::plan::WatchFacts;
use crate::plan::boot::BootFacts;

/// Where Corosync, Pacemaker and Hawser write: without room there, they die or forget.
const FOLDERS: &[&str] = &[
    "/dev/shm",
    "/run",
    "/tmp",
    "/var/lib/corosync",
    "/var/lib/pacemaker",
    "/var/log",
    "/var/log/cluster",
    "/var/log/pacemaker",
];

/// A head's clock when it was asked and when it answered, in microseconds since 1970 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    /// When the question came.
    pub asked_us: u64,
    /// When the answer left.
    pub answered_us: u64,
}

/// A folder that the cluster writes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Folder {
    /// Its path.
    pub path: String,
    /// How full its file system is.
    pub room: Room,
}

/// How full a file system is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Room {
    /// How much of it is used of what can be, in percent, rounded down as far as 99; 100 only when nothing is left. As of
    /// df(1), what is kept for root counts as neither used nor free.
    pub used: u8,
    /// What is left, in bytes; unknown of what was recorded before this was read.
    #[serde(default)]
    pub free: Option<u64>,
    /// Whether it has no inode left.
    pub no_inodes: bool,
    /// Whether it can only be read, by anybody.
    pub read_only: bool,
}

/// A port of a head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Port {
    /// The interface that has the head's address; absent when none has.
    pub interface: Option<String>,
    /// Whether it is up and has a carrier.
    pub carrier: bool,
    /// Why Pacemaker's watcher cannot tell whether it has a carrier; none when it can.
    #[serde(default)]
    pub blind: Option<String>,
}

impl Room {
    /// Of the file system at a path; none when there is nothing.
    pub(super) fn at(path: &str) -> Option<Self> {
        let found = statvfs(path).ok()?;
        let path = fs::canonicalize(path).ok()?;
        let mounts = fs::read_to_string(mountinfo::OWN).ok()?;
        Some(Self::of(&found, is_read_only(&mounts, &path)))
    }

    fn of(found: &Statvfs, read_only: bool) -> Self {
        let free = found.blocks_available();
        Self {
            used: percent(found.blocks().saturating_sub(found.blocks_free()), free),
            free: Some(free.saturating_mul(found.fragment_size())),
            // File systems without a fixed number of them say 0 of 0.
            no_inodes: found.files() > 0 && found.files_available() == 0,
            read_only,
        }
    }
}

/// How much of a file system is used, in percent, of so much used and free.
fn percent(used: u64, free: u64) -> u8 {
    match (used.saturating_add(free), free) {
        (0, _) => 0,
        (_, 0) => 100,
        (all, _) => u8::try_from(u128::from(used) * 100 / u128::from(all))
            .map_or(99, |percent| percent.min(99)),
    }
}

/// Questions to the machine that were asked.
pub(super) struct Asked {
    folders: Vec<(String, Begun<Option<Room>>)>,
    ports: BTreeMap<String, Port>,
    boot: Begun<BootFacts>,
    watch: Begun<Option<WatchFacts>>,
}

impl Asked {
    pub fn begin(more: &MoreQuestions, limits: Limits) -> Self {
        let room = |path: &&str| {
            let path = (*path).to_owned();
            let of = path.clone();
            let room = Begun::about(format!("room of {of}"), limits.head, move || Room::at(&of));
            (path, room)
        };
        Self {
            folders: FOLDERS.iter().map(room).collect(),
            ports: ports(&more.ports),
            boot: Begun::work(limits.head, || boot::look(Path::new("/"))),
            watch: Begun::work(limits.head, watch_unit::look),
        }
    }

    pub fn end(self, view: &mut HeadView) {
        for (path, begun) in self.folders {
            if let Told::Said(Some(room)) = begun.end() {
                view.folders.push(Folder { path, room });
            }
        }
        view.ports = self.ports;
        view.boot = Some(self.boot.end());
        view.watch = Some(self.watch.end());
    }
}

fn ports(wanted: &BTreeMap<String, String>) -> BTreeMap<String, Port> {
    let there = addresses::own();
    let carrier = InterfaceFlags::IFF_UP | InterfaceFlags::IFF_RUNNING;
    let of = |text: &String| {
        let address: Option<IpAddr> = text.parse().ok();
        let found = there.iter().find(|(it, _)| Some(*it) == address);
        let found = found.map(|(_, interface)| interface);
        Port {
            interface: found.map(|it| it.interface_name.clone()),
            carrier: found.is_some_and(|it| it.flags.contains(carrier)),
            blind: found.and_then(|it| Ifspeed::default().blind(&it.interface_name)),
        }
    };
    let all = wanted.iter();
    all.map(|(link, address)| (link.clone(), of(address)))
        .collect()
}

/// The wall clock.
pub(super) fn now_us() -> u64 {
    hawser_host::Clock::default().time_of_day().0
}

/// For how many seconds the first process has been running: a machine since it booted, a container since it started.
pub(super) fn up_s() -> Option<u64> {
    Some(Process::of(1)?.age()?.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_up_and_hears_itself() {
        assert!(up_s().is_some());
        let wanted = [("lo", "127.0.0.1"), ("none", "192.0.2.77")];
        let wanted = wanted.map(|(link, address)| (link.to_owned(), address.to_owned()));
        let found = ports(&wanted.into());
        assert!(found["lo"].carrier && found["lo"].interface.is_some());
        assert_eq!(
            (found["none"].carrier, &found["none"].interface),
            (false, &None)
        );
        assert!(Room::at("/proc").is_some() && Room::at("/no/such/folder").is_none());
    }

    #[test]
    fn a_pool_takes_writes_although_a_unit_sees_its_mount_read_only() {
        let found = statvfs("/proc").unwrap();
        let room = |options: &str| {
            let text = format!("40 22 0:32 / /tank {options}");
            Room::of(&found, is_read_only(&text, Path::new("/tank")))
        };
        assert!(!room("ro,relatime shared:4 master:2 - zfs tank rw,xattr").read_only);
        assert!(room("ro,relatime shared:4 master:2 - zfs tank ro,xattr").read_only);
    }

    #[test]
    fn a_file_system_is_as_full_as_df_says_rounded_down() {
        // 252 GiB, of which root keeps 161: df says 76 %.
        assert_eq!(percent(73_901_735_936, 23_891_558_400), 75);
        assert_eq!(percent(0, 0), 0);
        assert_eq!(percent(1 << 40, 1), 99);
        assert_eq!(percent(1, 0), 100);
        assert_eq!(percent(u64::MAX, u64::MAX), 99);
    }
}
