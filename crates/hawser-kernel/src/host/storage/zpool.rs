//! ZFS pools that are imported.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use hawser_model::storage::{ZpoolDevice, ZpoolFacts, ZpoolMember};
use hawser_model::zpool::{Device, ZpoolStatus};

use super::{names, text};
use crate::program;

/// The state of each, as the module shows it (`/proc/spl/kstat/zfs/POOL/state`, OpenZFS 0.8 and later).
pub(super) fn states(root: &Path) -> BTreeMap<String, ZpoolFacts> {
    let folder = root.join("proc/spl/kstat/zfs");
    let pool = |name: String| {
        let facts = ZpoolFacts {
            state: text(&folder.join(&name).join("state"))?,
            ..ZpoolFacts::default()
        };
        Some((name, facts))
    };
    names(&folder).filter_map(pool).collect()
}

/// What `zpool status` says of one. One that is suspended may not answer: then nothing more is said of it.
pub(super) fn asked(name: &str, limit: Duration) -> Option<ZpoolFacts> {
    // A pool's name begins with a letter (zpool-create(8)), so it is no option.
    let said = program::run("zpool", &["status", "-p", "-s", name], limit).ok()?;
    parsed(&said)
}

fn parsed(said: &str) -> Option<ZpoolFacts> {
    let status = ZpoolStatus::parse(said);
    let facts = ZpoolFacts {
        state: status.state,
        scan: Some(status.scan).filter(|text| !text.is_empty() && text != "none requested"),
        devices: status.devices.iter().filter_map(member).collect(),
        // The pool itself is the first of them: its state stands above, its errors are those of its devices.
        troubled: status.devices.into_iter().filter_map(troubled).collect(),
        errors: Some(status.errors).filter(|it| !it.is_empty() && it != "No known data errors"),
    };
    Some(facts).filter(|facts| !facts.state.is_empty())
}

/// What stands below the pool, which is the first of the list and the only one that is not indented.
fn member(device: &Device) -> Option<ZpoolMember> {
    Some(ZpoolMember {
        name: device.name.clone(),
        depth: (device.depth / 2).checked_sub(1)?,
        state: device.state.clone(),
        beside: !device.is_data,
    })
}

/// A device that is not well.
fn troubled(device: Device) -> Option<ZpoolDevice> {
    let well = matches!(device.state.as_str(), "ONLINE" | "AVAIL" | "INUSE");
    let [read_errors, write_errors, checksum_errors] = device.errors;
    (!well || device.errors != [0; 3] || device.slow > 0).then_some(ZpoolDevice {
        name: device.name,
        state: device.state,
        read_errors,
        write_errors,
        checksum_errors,
        slow: device.slow,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// OpenZFS 2.3.2.
    const DEGRADED: &str = "  pool: vmpool01
 state: DEGRADED
status: One or more devices is currently being resilvered.  The pool will
\tcontinue to function, possibly in a degraded state.
action: Wait for the resilver to complete.
  scan: resilver in progress since Thu Nov 26 04:11:09 2026
\t1.20T / 4.00T scanned at 812M/s, 602G / 4.00T issued at 401M/s
\t300G resilvered, 14.70% done, 02:28:41 to go
config:

\tNAME                       STATE     READ WRITE CKSUM
\tvmpool01                   DEGRADED     0     0     0
\t  mirror-0                 DEGRADED     0     0     0
\t    wwn-0x5000c500a1b2c3d4 ONLINE       0     0     0
\t    replacing-1            DEGRADED     0     0     0
\t      9872345987234598     UNAVAIL      0     0     0  was /dev/disk/by-id/wwn-0x5000c500a1b2c3d5-part1
\t      wwn-0x5000c500ffffffff  ONLINE    0     0     0  (resilvering)
\t  mirror-1                 ONLINE       0     0     0
\t    wwn-0x5000c500a1b2c3d6 ONLINE       0     0    12
\tspares
\t  wwn-0x5000c500a1b2c3d9   AVAIL

errors: No known data errors
";

    #[test]
    fn what_is_not_well_is_taken_from_the_list_of_devices_and_what_is_being_done() {
        let facts = parsed(DEGRADED).unwrap();
        assert_eq!(facts.state, "DEGRADED");
        let scan = facts.scan.unwrap();
        assert!(
            scan.starts_with("resilver in progress since") && scan.contains("14.70% done"),
            "{scan}"
        );
        assert_eq!(facts.errors, None);
        let members: Vec<(&str, usize, bool)> = facts
            .devices
            .iter()
            .map(|it| (it.name.as_str(), it.depth, it.beside))
            .collect();
        assert_eq!(
            members,
            [
                ("mirror-0", 0, false),
                ("wwn-0x5000c500a1b2c3d4", 1, false),
                ("replacing-1", 1, false),
                ("9872345987234598", 2, false),
                ("wwn-0x5000c500ffffffff", 2, false),
                ("mirror-1", 0, false),
                ("wwn-0x5000c500a1b2c3d6", 1, false),
                ("wwn-0x5000c500a1b2c3d9", 0, true),
            ]
        );
        let names: Vec<(&str, &str, u64)> = facts
            .troubled
            .iter()
            .map(|it| (it.name.as_str(), it.state.as_str(), it.checksum_errors))
            .collect();
        assert_eq!(
            names,
            [
                ("vmpool01", "DEGRADED", 0),
                ("mirror-0", "DEGRADED", 0),
                ("replacing-1", "DEGRADED", 0),
                ("9872345987234598", "UNAVAIL", 0),
                ("wwn-0x5000c500a1b2c3d6", "ONLINE", 12),
            ]
        );
    }

    #[test]
    fn a_pool_that_is_well_has_nothing_to_say() {
        let said = "  pool: tank\n state: ONLINE\n  scan: scrub repaired 0B in 00:00:01 with 0 errors on Sun Nov  8 00:24:02 2026\n\
            config:\n\n\tNAME        STATE     READ WRITE CKSUM\n\ttank        ONLINE       0     0     0\n\
            \t  sda       ONLINE       0     0     0\n\nerrors: No known data errors\n";
        let facts = parsed(said).unwrap();
        assert!(facts.troubled.is_empty() && facts.errors.is_none());
        let lost = said.replace(
            "errors: No known data errors",
            "errors: 3 data errors, use '-v' for a list",
        );
        let errors = parsed(&lost).unwrap().errors;
        assert_eq!(
            errors.as_deref(),
            Some("3 data errors, use '-v' for a list")
        );
        // A disk that answers late, and has no errors (`-s`).
        let slow = said
            .replace("WRITE CKSUM", "WRITE CKSUM  SLOW")
            .replace(
                "tank        ONLINE       0     0     0",
                "tank        ONLINE       0     0     0     -",
            )
            .replace(
                "sda       ONLINE       0     0     0",
                "sda       ONLINE       0     0     0     7",
            );
        let troubled = parsed(&slow).unwrap().troubled;
        assert_eq!((troubled.len(), troubled[0].slow), (1, 7));
        assert_eq!(parsed("cannot open 'tank': no such pool\n"), None);
    }
}
