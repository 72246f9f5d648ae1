//! Whether a pool is mounted, and from what.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use hawser_model::mountinfo::{self, Mounted};

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Its type: `ext4`, `zfs`.
    pub fstype: String,
    /// What it is mounted from: `/dev/loop0`, `tank`.
    pub source: String,
}

impl Mount {
    /// The ZFS pool that it is of.
    pub fn zpool(&self) -> Option<&str> {
        let pool = self.source.split('/').next();
        pool.filter(|_| self.fstype == "zfs")
    }
}

/// What is mounted at this very place. `None`: nothing, so what is seen there is another file
/// system's empty folder and not the pool.
pub fn mounted(place: &Path) -> std::io::Result<Option<Mount>> {
    let text = fs::read_to_string(mountinfo::OWN)?;
    let place = fs::canonicalize(place)?;
    Ok(find(&text, &place.to_string_lossy()))
}

/// Whether something is mounted at this very place, of proc_pid_mountinfo(5). It does not touch the place itself.
pub fn is_mounted(text: &str, place: &str) -> bool {
    find(text, place).is_some()
}

/// The last one mounted there, of proc_pid_mountinfo(5).
fn find(text: &str, place: &str) -> Option<Mount> {
    let last = mountinfo::mounted(text).rfind(|it| it.place == place)?;
    Some(Mount {
        fstype: last.fstype.to_owned(),
        source: last.source,
    })
}

/// The file systems of this host that are mounted at a place or below it: where, by the major and minor number of each.
pub fn file_systems_below(text: &str, root: &Path) -> BTreeMap<(u64, u64), String> {
    let below = mountinfo::mounted(text).filter(|it| Path::new(&it.place).starts_with(root));
    let here = below.filter(|it| !REMOTE.contains(&it.fstype));
    here.map(|it| (it.device, it.place)).collect()
}

/// Whether what lies at this path is on another machine, so that to look at it may take for ever. No pool is:
/// a pool is made of this head's devices.
pub fn is_remote(text: &str, path: &Path) -> bool {
    on_top(text, path).is_some_and(|it| REMOTE.contains(&it.fstype))
}

/// Whether the file system in which this path lies takes no writes from anybody. The mount itself may be read-only for its own
/// reason: all mounts are where a unit of systemd has `ProtectSystem=strict`, as that of the watch.
pub fn is_read_only(text: &str, path: &Path) -> bool {
    on_top(text, path).is_some_and(|it| {
        let mut options = it.options.split(',');
        // After an error, ext4 of Linux 6.15 and later stays `rw` and says so.
        options.next() == Some("ro") || options.any(|it| it == "emergency_ro")
    })
}

/// The mounted file system that what is seen at this path lies in.
pub fn on_top<'a>(text: &'a str, path: &Path) -> Option<Mounted<'a>> {
    // Of several at one place, the last one is on top.
    let above = mountinfo::mounted(text).filter(|it| path.starts_with(&it.place));
    above.max_by_key(|it| Path::new(&it.place).components().count())
}

/// File systems of other machines, as the kernel calls them.
const REMOTE: &[&str] = &[
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "ceph",
    "9p",
    "fuse.glusterfs",
    "fuse.sshfs",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_systems_of_a_pool_are_those_of_its_mounts() {
        let text = "22 1 254:0 / / rw - ext4 /dev/vda rw\n40 22 0:32 / /tank rw - zfs tank rw\n\
                    41 40 0:33 / /tank/a\\040b rw - zfs tank/a rw\n42 22 0:34 / /tanker rw - zfs tanker rw\n\
                    43 40 0:35 / /tank/mnt rw - nfs4 filer:/x rw\n";
        let found = file_systems_below(text, Path::new("/tank"));
        let (tank, a) = ((0, 32), (0, 33));
        assert_eq!(
            found,
            [(tank, "/tank".into()), (a, "/tank/a b".into())].into()
        );
    }

    #[test]
    fn a_file_on_another_machine_is_known_without_looking_at_it() {
        let text = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
                    90 22 0:55 / /mnt rw - nfs4 filer:/x rw\n\
                    91 90 8:2 / /mnt/local rw - xfs /dev/sdb rw\n";
        let remote = |path: &str| is_remote(text, Path::new(path));
        assert!(remote("/mnt/disk.img") && remote("/mnt"));
        assert!(!remote("/mnt/local/disk.img") && !remote("/mntx") && !remote("/srv/a.img"));
        let over = format!("{text}92 90 8:3 / /mnt rw - ext4 /dev/sdc rw\n");
        assert!(!is_remote(&over, Path::new("/mnt/disk.img")));
    }

    #[test]
    fn a_file_system_is_read_only_by_its_own_options_and_not_by_those_of_its_mount() {
        let text = "22 1 254:0 / / ro,relatime shared:1 - ext4 /dev/vda rw\n\
                    40 22 0:32 / /tank ro,relatime shared:4 - zfs tank rw,xattr,posixacl\n\
                    41 22 0:33 / /tank2 rw,relatime shared:5 - zfs tank2 ro,xattr,posixacl\n\
                    42 22 254:16 / /srv/data rw,relatime - ext4 /dev/vdb rw,emergency_ro\n\
                    43 22 254:32 / /srv/data/a rw,relatime - ext4 /dev/vdc rw,errors=remount-ro\n";
        let read_only = |path: &str| is_read_only(text, Path::new(path));
        assert!(!read_only("/tank") && !read_only("/var/log"));
        assert!(read_only("/tank2") && read_only("/tank2/a") && read_only("/srv/data"));
        assert!(!read_only("/srv/data/a"));
    }

    #[test]
    fn the_last_mount_at_a_place_counts() {
        let text = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n\
                    90 22 0:55 / /tank rw,relatime shared:4 - tmpfs tmpfs rw\n\
                    91 90 0:56 / /tank rw,relatime shared:5 master:2 - zfs tank rw,xattr\n\
                    92 22 7:0 / /my\\040pool rw - ext4 /dev/loop0 rw\n";
        let mount = find(text, "/tank").unwrap();
        assert_eq!(
            (mount.fstype.as_str(), mount.source.as_str()),
            ("zfs", "tank")
        );
        assert_eq!(find(text, "/my pool").unwrap().source, "/dev/loop0");
        assert_eq!(find(text, "/tan"), None);
    }
}
