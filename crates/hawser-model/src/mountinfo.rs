//! What is mounted, as the kernel tells it in `/proc/PID/mountinfo` (proc_pid_mountinfo(5)).

use crate::octal::unescaped;

/// What is mounted as this process sees it.
pub const OWN: &str = "/proc/self/mountinfo";

/// A file system that is mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mounted<'a> {
    /// Major and minor number of its device: that of its files, as stat(2) has it.
    pub device: (u64, u64),
    /// The folder of the file system that is seen there: `/` unless a part of it is.
    pub root: String,
    /// Where.
    pub place: String,
    /// The options of this mount, between commas.
    pub flags: &'a str,
    /// Its type: `ext4`, `nfs4`.
    pub fstype: &'a str,
    /// What it is mounted from: `/dev/loop0`, `10.72.2.207:/tank/vm`.
    pub source: String,
    /// The options of the file system itself, between commas.
    pub options: &'a str,
}

/// All that is mounted, in the order in which it was: of several at one place the last one is on top.
pub fn mounted(text: &str) -> impl DoubleEndedIterator<Item = Mounted<'_>> {
    text.lines().filter_map(line)
}

fn line(line: &str) -> Option<Mounted<'_>> {
    let (before, after) = line.split_once(" - ")?;
    let mut before = before.split(' ');
    let (major, minor) = before.nth(2)?.split_once(':')?;
    let (root, place) = (unescaped(before.next()?), unescaped(before.next()?));
    let flags = before.next()?;
    let mut after = after.split(' ');
    Some(Mounted {
        device: (major.parse().ok()?, minor.parse().ok()?),
        root,
        place,
        flags,
        fstype: after.next()?,
        source: unescaped(after.next()?),
        options: after.next()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_with_any_number_of_fields_in_its_middle() {
        let text = "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n\
                    half a line\n\
                    91 90 0:56 / /my\\040pool rw shared:5 master:2 - zfs my\\040pool rw,xattr\n";
        let all: Vec<_> = mounted(text).collect();
        assert_eq!(
            (all.len(), all[0].device, all[0].fstype),
            (2, (8, 1), "ext4")
        );
        assert_eq!(
            (all[1].place.as_str(), all[1].source.as_str()),
            ("/my pool", "my pool")
        );
        assert_eq!((all[1].device, all[1].options), ((0, 56), "rw,xattr"));
        assert_eq!((all[0].root.as_str(), all[0].flags), ("/", "rw,relatime"));
    }
}
