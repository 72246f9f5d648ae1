//! A disk of a shelf machine that is ill: what is asked of the shelf's device-mapper, through which it offers the disk.

use hawser_host::site::DiskTrouble;

use crate::cluster::shelf::DISKS;

/// NAME DISK TARGET: the device of that name gets another table, live. What is under way ends with the old one. Not waited for:
/// udev, which reads the device then, and of a slow one that takes half a minute.
const SWAP: &str = "set -eu; dmsetup load \"$1\" --table \"0 $(blockdev --getsz \"$2\") $3\"; dmsetup resume --noudevsync \"$1\"";

/// The command by which a shelf has its disk of that name do this, or nothing of it any more.
pub(crate) fn swapped(name: &str, trouble: Option<DiskTrouble>) -> Vec<String> {
    let disk = format!("{DISKS}{name}");
    let target = match trouble {
        None => format!("linear {disk} 0"),
        Some(DiskTrouble::Slow(ms)) => format!("delay {disk} 0 {ms}"),
        // Never up, always down. An `error` target would also lose the disk's write cache, and refuse what relies on one (FUA)
        // as an illegal request instead of failing it.
        Some(DiskTrouble::Errors) => format!("flakey {disk} 0 0 1"),
    };
    let script = ["sh", "-c", SWAP, "sh", name].map(str::to_owned);
    script.into_iter().chain([disk, target]).collect()
}

/// The command by which a shelf tells what is in force.
pub(crate) fn told(name: &str) -> [&str; 3] {
    ["dmsetup", "table", name]
}

/// Whether it tells that (Documentation/admin-guide/device-mapper: `START LENGTH TARGET ARGUMENTS`, a line each).
pub(crate) fn is_in_force(table: &str, trouble: Option<DiskTrouble>) -> bool {
    let mut lines = table.lines();
    let (Some(line), None) = (lines.next(), lines.next()) else {
        return false;
    };
    let words: Vec<&str> = line.split_whitespace().skip(2).collect();
    match (words.as_slice(), trouble) {
        (["linear", _, "0"], None) => true,
        // How many features, and which: none of those that would spare reads or writes. Newer kernels name the two that are meant
        // if none is given (`flakey_status` in drivers/md/dm-flakey.c).
        (["flakey", _, "0", "0", "1", features @ ..], Some(DiskTrouble::Errors)) => {
            matches!(features, ["0"] | ["2", "error_reads", "error_writes"])
        }
        (["delay", _, "0", found], Some(DiskTrouble::Slow(ms))) => *found == ms.to_string(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: Option<DiskTrouble> = Some(DiskTrouble::Slow(1000));
    const ERRORS: Option<DiskTrouble> = Some(DiskTrouble::Errors);

    #[test]
    fn a_shelf_is_told_the_table_of_one_disk_and_no_word_of_it_is_the_shells() {
        let words = swapped("shelf2-1", SLOW);
        assert_eq!(words[..4], ["sh", "-c", SWAP, "sh"]);
        assert_eq!(
            words[4..],
            [
                "shelf2-1",
                "/dev/disk/by-id/ubd-shelf2-1",
                "delay /dev/disk/by-id/ubd-shelf2-1 0 1000"
            ]
        );
        let errors = "flakey /dev/disk/by-id/ubd-shelf2-1 0 0 1";
        assert_eq!(swapped("shelf2-1", ERRORS)[6], errors);
        let whole = swapped("shelf2-1", None);
        assert_eq!(whole[6], "linear /dev/disk/by-id/ubd-shelf2-1 0");
    }

    #[test]
    fn what_is_in_force_is_read_from_the_live_table() {
        // As Linux 6.1 tells it, and the last one 6.12.
        let linear = "0 524288 linear 98:16 0\n";
        let delay = "0 524288 delay 98:16 0 1000\n";
        let flakey = "0 524288 flakey 98:16 0 0 1 0 \n";
        let named = "0 524288 flakey 98:16 0 0 1 2 error_reads error_writes \n";
        for (table, trouble) in [
            (linear, None),
            (delay, SLOW),
            (flakey, ERRORS),
            (named, ERRORS),
        ] {
            assert!(is_in_force(table, trouble), "{table}");
            for other in [None, SLOW, ERRORS, Some(DiskTrouble::Slow(10))] {
                assert_eq!(is_in_force(table, other), other == trouble, "{table}");
            }
        }
        for none in [
            "",
            "0 1 linear 98:16 0\n1 1 error \n",
            "Device does not exist.\n",
        ] {
            assert!(!is_in_force(none, None) && !is_in_force(none, ERRORS));
        }
    }
}
