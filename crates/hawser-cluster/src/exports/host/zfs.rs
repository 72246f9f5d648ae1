//! The file systems of a ZFS pool, and whether they are mounted.

use std::fs;
use std::path::{Path, PathBuf};

use hawser_model::mountinfo;

use super::list::{ListError, lines, output};
use super::mounts::on_top;

/// A file system that is to be mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// Its name: `tank/home`.
    pub name: String,
    /// Where ZFS mounts it; `None`: somebody else does (`mountpoint=legacy`).
    place: Option<PathBuf>,
    /// Why an import does not mount it, if that is known.
    pub why: Option<&'static str>,
}

/// All of a pool. Those with `canmount=off` are never mounted: they only hold others.
pub fn file_systems(pool: &str) -> Result<Vec<FileSystem>, ListError> {
    let columns = "name,canmount,keystatus,mountpoint";
    let text = output(&format!("zfs list -H -r -t filesystem -o {columns}"), pool)?;
    let real = |it: FileSystem| FileSystem {
        place: it
            .place
            .map(|place| fs::canonicalize(&place).unwrap_or(place)),
        ..it
    };
    Ok(listed(&text)?.into_iter().map(real).collect())
}

pub(super) fn listed(text: &str) -> Result<Vec<FileSystem>, ListError> {
    let one = |line: &str| {
        let columns: Vec<&str> = line.splitn(4, '\t').collect();
        let [name, canmount, keystatus, place] = columns[..] else {
            return None;
        };
        let why = match (canmount, keystatus) {
            (_, "unavailable") => Some("its key is not loaded"),
            ("noauto", _) => Some("canmount=noauto"),
            _ => None,
        };
        let is_mounted = canmount != "off" && place != "none";
        Some(is_mounted.then(|| FileSystem {
            name: name.to_owned(),
            place: place.starts_with('/').then(|| place.into()),
            why,
        }))
    };
    Ok(lines(text, "zfs list", one)?
        .into_iter()
        .flatten()
        .collect())
}

/// The file system that this path is to be in and is not, since it is not mounted. `mounts`: proc_pid_mountinfo(5).
pub fn not_mounted<'a>(all: &'a [FileSystem], mounts: &str, path: &Path) -> Option<&'a FileSystem> {
    let seen = on_top(mounts, path).map(|it| PathBuf::from(it.place));
    let is_seen = |place: &Path| seen.as_ref().is_some_and(|at| at.starts_with(place));
    let placed = all.iter().filter_map(|it| Some((it, it.place.as_deref()?)));
    let missing = placed.filter(|(_, place)| path.starts_with(place) && !is_seen(place));
    let nearest = missing.max_by_key(|(_, place)| place.components().count());
    nearest.map(|(it, _)| it)
}

/// One that somebody else than ZFS is to mount, and nobody has. `mounts`: proc_pid_mountinfo(5).
pub fn left_to_others<'a>(all: &'a [FileSystem], mounts: &str) -> Option<&'a FileSystem> {
    let is_there = |name: &str| {
        let mut zfs = mountinfo::mounted(mounts).filter(|it| it.fstype == "zfs");
        zfs.any(|it| it.source == name)
    };
    let mut others = all.iter().filter(|it| it.place.is_none());
    others.find(|it| !is_there(&it.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "tank\ton\t-\t/tank\n\
                        tank/home\tnoauto\t-\t/tank/home\n\
                        tank/home/a\ton\tunavailable\t/tank/home/a\n\
                        tank/home/b\ton\t-\t/tank/home/b\n\
                        tank/group\toff\t-\t/tank/group\n\
                        tank/group/c\ton\t-\t/tank/group/c\n\
                        tank/old\tnoauto\t-\t/\n\
                        tank/boot1\tnoauto\t-\t/tank/boot\n\
                        tank/boot2\tnoauto\t-\t/tank/boot\n\
                        tank/legacy\ton\t-\tlegacy\n\
                        tank/none\ton\t-\tnone\n";

    #[test]
    fn a_path_is_in_the_file_system_that_is_to_be_mounted_above_it() {
        let all = listed(LIST).unwrap();
        let mounts = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
                      40 22 0:32 / /tank rw - zfs tank rw\n\
                      41 40 0:33 / /tank/home/b rw - zfs tank/home/b rw\n\
                      42 40 0:34 / /tank/group/c rw - zfs tank/group/c rw\n\
                      43 40 0:35 / /tank/boot rw - zfs tank/boot1 rw\n";
        let found = |path: &str| {
            let found = not_mounted(&all, mounts, Path::new(path));
            found.map(|it| (it.name.as_str(), it.why))
        };
        let by_hand = Some(("tank/home", Some("canmount=noauto")));
        assert_eq!(
            (found("/tank/home"), found("/tank/home/x")),
            (by_hand, by_hand)
        );
        let locked = Some(("tank/home/a", Some("its key is not loaded")));
        assert_eq!(found("/tank/home/a/x"), locked);
        // Each in one that is mounted, or in the pool's own: a container is a folder of that.
        for path in [
            "/tank",
            "/tank/homes",
            "/tank/home/b",
            "/tank/home/b/x",
            "/tank/group",
            "/tank/group/c/x",
            "/tank/boot",
            "/tank/legacy",
        ] {
            assert_eq!(found(path), None, "{path}");
        }
        let home = format!("{mounts}44 40 0:36 / /tank/home rw - zfs tank/home rw\n");
        assert_eq!(not_mounted(&all, &home, Path::new("/tank/home/x")), None);
        assert!(listed("tank\ton\n").is_err());
        // Where it is to be, nobody knows.
        let left = |mounts: &str| left_to_others(&all, mounts).map(|it| it.name.clone());
        assert_eq!(left(mounts).as_deref(), Some("tank/legacy"));
        let there = format!("{mounts}45 40 0:37 / /tank/mail rw - zfs tank/legacy rw\n");
        assert_eq!(left(&there), None);
    }
}
