//! Whether a node is registered on the disks from which it would shut another one out.
//!
//! An agent that fences by persistent reservations (SPC-4, 5.13) takes away the key of the other node, which only a node may do
//! whose own key is registered. Asked whether it is well, such an agent looks at its programs and its files, never at the disks
//! (`do_action_monitor` of fence_scsi, fence-agents 4.12): a disk that has lost what was registered is found on the day it is
//! needed.

use std::path::Path;
use std::time::Duration;

use hawser_files::Expected;
use hawser_host::at_once;
use hawser_tool::Deadline;

use super::disk_paths::Tree;
use super::{FenceQuestion, run};

/// So many disks are asked at a time: a shelf has dozens.
const AT_A_TIME: usize = 8;

/// A path answers any question once with a unit attention after others have changed what is registered (SPC-4, 5.14), and each
/// question may take another path.
const TRIES: usize = 4;

/// How long a tool that is late may take to end: a second after each of two signals (`hawser_tool`).
const ENDS: Duration = Duration::from_secs(2);

/// Why the device could shut nobody out from this node; nothing if it could. A disk that the node has not been let in to yet,
/// which happens when its Pacemaker starts or the device is made, need only answer.
pub(super) fn why_not(device: &FenceQuestion, limit: Duration) -> Option<String> {
    let until = Deadline::after(limit.saturating_sub(ENDS));
    let listed = device.parameters.get("devices").map_or("", String::as_str);
    let disks = disks(&device.agent, listed);
    let mut wrong = Vec::new();
    for some in disks.chunks(AT_A_TIME) {
        let answers = at_once(some, |disk| of_disk(device, disk, until));
        wrong.extend(answers.into_iter().filter_map(Result::err));
    }
    (!wrong.is_empty()).then(|| wrong.join("; "))
}

/// The same of one disk.
fn of_disk(device: &FenceQuestion, disk: &str, until: Deadline) -> Result<(), String> {
    let (registered, reserved) = (ask(disk, "-k", until)?, ask(disk, "-r", until)?);
    let Some(own) = own_key(device, disk)? else {
        return Ok(());
    };
    let paths = Tree::here().paths(Path::new(disk));
    let (by, paths) = (
        times(own, &registered),
        paths.map_err(|e| format!("{disk}: {e}"))?,
    );
    let wrong = match (by, reservation(&reserved)) {
        (0, _) => format!("key {own:#x} is not registered"),
        (by, _) if by < paths => format!("key {own:#x} is registered by {by} of {paths} paths"),
        (_, None) => "it is not reserved".to_owned(),
        (_, Some(kind)) if !kind.contains("registrants") => {
            format!("it is reserved as \"{}\"", kind.escape_debug())
        }
        _ => return Ok(()),
    };
    Err(format!("{disk}: {wrong}"))
}

/// What `sg_persist` says of a disk.
fn ask(disk: &str, what: &str, until: Deadline) -> Result<String, String> {
    let mut tries = 0;
    loop {
        tries += 1;
        // Opened to be written to, a device would make udev look at it anew.
        match run::tool_within(
            until.left(),
            "sg_persist",
            &["-n", "-y", "-i", what, "-d", disk],
        ) {
            Ok(said) => return Ok(said),
            Err(_) if tries < TRIES && !until.left().is_zero() => {}
            Err(e) => return Err(e.to_string()),
        }
    }
}

/// The node's own key, where the agent keeps it; none until the node was let in to the disk.
fn own_key(device: &FenceQuestion, disk: &str) -> Result<Option<u64>, String> {
    if device.agent == "fence_mpath" {
        let folder = device.parameters.get("store_path");
        let folder = folder.map_or("/run/cluster", String::as_str);
        let path = Path::new(folder).join("mpath.devices");
        let lines = read(&path)?.unwrap_or_default();
        return of_line(disk, &lines).map(|it| key(&path, it)).transpose();
    }
    // `STORE_PATH`, as Red Hat's package has it and as Debian's has it.
    for folder in ["/run/cluster/fence_scsi", "/run/cluster"] {
        let file = |suffix: &str| Path::new(&format!("{folder}.{suffix}")).to_owned();
        if let Some(digits) = read(&file("key"))? {
            let let_in = read(&file("dev"))?.unwrap_or_default();
            let is_let_in = of_line(disk, &let_in).is_some();
            return is_let_in.then(|| key(&file("key"), &digits)).transpose();
        }
    }
    Ok(None)
}

fn read(path: &Path) -> Result<Option<String>, String> {
    let bytes = hawser_files::read(path, Expected::OF_ROOT).map_err(|e| e.to_string())?;
    Ok(bytes.map(|it| String::from_utf8_lossy(&it).into_owned()))
}

/// What stands behind a disk in what the agents write (`dev_write`), a disk a line; as they read it, the last line counts.
fn of_line<'a>(disk: &str, lines: &'a str) -> Option<&'a str> {
    let mut lines = lines.lines().rev();
    lines.find_map(|it| {
        let (name, rest) = it.split_once('\t').unwrap_or((it, ""));
        (name.trim() == disk).then_some(rest)
    })
}

fn key(path: &Path, digits: &str) -> Result<u64, String> {
    let digits = digits.trim();
    let number = u64::from_str_radix(digits.strip_prefix("0x").unwrap_or(digits), 16);
    number.map_err(|_| {
        format!(
            "{}: \"{}\" is no key",
            path.display(),
            digits.escape_debug()
        )
    })
}

/// The disks of an agent's `devices`, as it takes them apart.
fn disks<'a>(agent: &str, listed: &'a str) -> Vec<&'a str> {
    let all = match agent {
        "fence_mpath" => listed.split([',', ' ']).collect::<Vec<_>>(),
        _ => listed.split(',').collect(),
    };
    all.into_iter().filter(|it| !it.is_empty()).collect()
}

/// How often a key stands in what `sg_persist -k` says, once for each path that it is registered by: `    0xabc1`.
fn times(own: u64, said: &str) -> usize {
    let digits = said.lines().filter_map(|it| it.trim().strip_prefix("0x"));
    let keys = digits.filter_map(|it| u64::from_str_radix(it, 16).ok());
    keys.filter(|key| *key == own).count()
}

/// The type of the reservation of which `sg_persist -r` tells.
fn reservation(said: &str) -> Option<&str> {
    said.lines()
        .find_map(|it| Some(it.split_once("type: ")?.1.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    // sg_persist of Debian 12 (sg3-utils 1.46), on a unit of the kernel's target with two paths from each of two heads.
    const REGISTERED: &str = "  PR generation=0x4, 4 registered reservation keys follow:\n    0xe0aa5ac1\n    \
                              0xe0aa5ac1\n    0xe0aa2d6f\n    0xe0aa2d6f\n";
    const RESERVED: &str = "  PR generation=0x4, Reservation follows:\n    Key=0xe0aa5ac1\n    scope: LU_SCOPE,  \
                            type: Write Exclusive, registrants only\n";

    #[test]
    fn keys_and_a_reservation_are_read_as_sg_persist_tells_them() {
        assert_eq!(times(0xe0aa_5ac1, REGISTERED), 2);
        assert_eq!(times(0xe0aa_5ac2, REGISTERED), 0);
        let none = "  PR generation=0x0, there are NO registered reservation keys\n";
        assert_eq!(times(0, none), 0);
        assert_eq!(
            reservation(RESERVED),
            Some("Write Exclusive, registrants only")
        );
        let none = "  PR generation=0x4, there is NO reservation held\n";
        assert_eq!(reservation(none), None);
    }

    #[test]
    fn the_last_line_of_a_disk_counts_in_what_the_agents_write() {
        let lines = "/dev/mapper/a\t0x1\n/dev/mapper/ab\t0x2\n/dev/mapper/a\t0x3\n";
        assert_eq!(of_line("/dev/mapper/a", lines), Some("0x3"));
        assert_eq!(of_line("/dev/mapper/b", lines), None);
        assert_eq!(of_line("/dev/sda", "/dev/sda\n/dev/sdb\n"), Some(""));
        let path = Path::new("/run/cluster.key");
        assert_eq!(key(path, "e0aa5ac1\n"), Ok(0xe0aa_5ac1));
        assert_eq!(key(path, "0x2"), Ok(2));
        let wrong = "/run/cluster.key: \"\\u{1b}[2J\" is no key";
        assert_eq!(key(path, "\x1b[2J\n"), Err(wrong.to_owned()));
    }

    #[test]
    fn disks_are_listed_as_each_agent_takes_them() {
        let listed = "/dev/mapper/a,/dev/mapper/b /dev/sdc";
        assert_eq!(
            disks("fence_mpath", listed),
            ["/dev/mapper/a", "/dev/mapper/b", "/dev/sdc"]
        );
        assert_eq!(
            disks("fence_scsi", listed),
            ["/dev/mapper/a", "/dev/mapper/b /dev/sdc"]
        );
        assert_eq!(disks("fence_scsi", ""), Vec::<&str>::new());
    }
}
