//! Whether a pool is mounted, and from what.

use std::fs;
use std::path::Path;

use crate::octal::unescaped;

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Its type: `ext4`, `zfs`.
    pub fstype: String,
    /// What it is mounted from: `/dev/loop0`, `tank`.
    pub source: String,
}

/// What is mounted at this very place. `None`: nothing, so what is seen there is another file
/// system's empty folder and not the pool.
pub fn mounted(place: &Path) -> std::io::Result<Option<Mount>> {
    let text = fs::read_to_string("/proc/self/mountinfo")?;
    let place = fs::canonicalize(place)?;
    Ok(find(&text, &place.to_string_lossy()))
}

/// The last one mounted there, of proc_pid_mountinfo(5).
fn find(text: &str, place: &str) -> Option<Mount> {
    let one = |line: &str| {
        let (before, after) = line.split_once(" - ")?;
        let point = before.split(' ').nth(4)?;
        let mut after = after.split(' ');
        let (fstype, source) = (after.next()?, after.next()?);
        (unescaped(point) == place).then(|| Mount {
            fstype: fstype.to_owned(),
            source: unescaped(source),
        })
    };
    text.lines().rev().find_map(one)
}

#[cfg(test)]
mod tests {
    use super::*;

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
