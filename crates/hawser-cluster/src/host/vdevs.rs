//! What a ZFS pool is made of, as `zpool status -pP` lists it.

use hawser_model::zpool::{Device, ZpoolStatus};

/// A disk of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Leaf {
    device: Device,
    /// What it is a part of: `mirror-0`.
    of: Option<String>,
}

/// The disks of a pool, and what it says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Vdevs {
    leaves: Vec<Leaf>,
    state: String,
    scan: String,
}

/// The state of what is well.
const ONLINE: &str = "ONLINE";

/// That of a pool which has stopped for want of its disks.
const SUSPENDED: &str = "SUSPENDED";

/// States of a disk that its administrator has not chosen.
const GONE: [&str; 4] = ["UNAVAIL", "FAULTED", "REMOVED", "DEGRADED"];

/// What keeps the same on all its disks, or enough to have it again. Not a log, a cache or a spare.
const COPIES: [&str; 3] = ["mirror-", "raidz", "draid"];

impl Vdevs {
    /// The words of `zpool` that list it.
    pub fn asked(pool: &str) -> [&str; 3] {
        ["status", "-pP", pool]
    }

    /// Reads the list.
    pub fn parse(said: &str) -> Self {
        let status = ZpoolStatus::parse(said);
        let (mut leaves, mut of) = (Vec::new(), None);
        // What is at the margin is the pool itself, or a vdev of a heading.
        let inside = |device: &Device| device.depth > 0 && device.is_data;
        for device in status.devices.into_iter().filter(inside) {
            if device.name.starts_with('/') {
                let of = of.clone().filter(|_| device.depth > 2);
                leaves.push(Leaf { device, of });
            } else if device.depth == 2 {
                // A disk that is being replaced is below a mirror, and so is what replaces it.
                of = Some(device.name);
            }
        }
        Self {
            leaves,
            state: status.state,
            scan: status.scan,
        }
    }

    /// Its disks.
    pub fn devices(&self) -> Vec<String> {
        let leaves = self.leaves.iter();
        leaves.map(|leaf| leaf.device.name.clone()).collect()
    }

    /// Whether another disk has what is on it.
    pub fn has_copy(&self, device: &str) -> bool {
        let leaf = self.leaves.iter().find(|leaf| leaf.device.name == device);
        let of = leaf.and_then(|leaf| leaf.of.as_deref());
        of.is_some_and(|of| COPIES.iter().any(|kind| of.starts_with(kind)))
    }

    /// What it lacks to be whole; nothing if it is. The pool's own state says less: OpenZFS 2.3.2 calls a mirror with a faulted
    /// disk `ONLINE` (seen).
    pub fn lacks(&self) -> Option<String> {
        if let Some(leaf) = self.leaves.iter().find(|leaf| leaf.device.state != ONLINE) {
            return Some(format!("{} is {}", leaf.device.name, leaf.device.state));
        }
        if self.state != ONLINE {
            return Some(format!("it is {}", self.state));
        }
        let resilvers = self.scan.contains("resilver in progress");
        resilvers.then(|| "it resilvers".to_owned())
    }

    /// Whether it waits for its disks with all that it is asked (`failmode=wait`): `zpool clear` has it go on.
    pub fn is_suspended(&self) -> bool {
        self.state == SUSPENDED
    }

    /// Disks that it has lost and that nobody took from it.
    pub fn gone(&self) -> Vec<&str> {
        let leaves = self.leaves.iter();
        let gone = leaves.filter(|leaf| GONE.contains(&leaf.device.state.as_str()));
        gone.map(|leaf| leaf.device.name.as_str()).collect()
    }

    /// Whether errors of a disk are counted.
    pub fn has_errors(&self, device: &str) -> bool {
        let leaf = self.leaves.iter().find(|leaf| leaf.device.name == device);
        leaf.is_some_and(|leaf| leaf.device.errors != [0; 3])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEGRADED: &str = "  pool: tank
 state: DEGRADED
status: One or more devices could not be used because the label is missing or
\tinvalid.
  scan: resilvered 12K in 00:00:01 with 0 errors on Thu Nov 26 05:00:00 2026
config:

\tNAME                            STATE     READ WRITE CKSUM
\ttank                            DEGRADED     0     0     0
\t  mirror-0                      DEGRADED     0     0     0
\t    /dev/mapper/shelf1-1-part1  UNAVAIL      3    12     0
\t    /dev/mapper/shelf2-1-part1  ONLINE       0     0     0
\t  /dev/mapper/shelf3-1-part1    ONLINE       0     0     0
\tlogs\t
\t  /dev/nvme0n1                  ONLINE       0     0     0

errors: No known data errors
";

    #[test]
    fn the_disks_of_a_mirror_have_copies_and_one_beside_it_has_none() {
        let vdevs = Vdevs::parse(DEGRADED);
        assert_eq!(vdevs.devices().len(), 3, "{vdevs:?}");
        assert!(vdevs.has_copy("/dev/mapper/shelf2-1-part1"));
        assert!(!vdevs.has_copy("/dev/mapper/shelf3-1-part1"));
        assert!(!vdevs.has_copy("/dev/nvme0n1"));
    }

    #[test]
    fn what_is_lost_is_named_and_what_an_administrator_took_is_not_brought_back() {
        let vdevs = Vdevs::parse(DEGRADED);
        assert_eq!(vdevs.gone(), ["/dev/mapper/shelf1-1-part1"]);
        assert!(vdevs.has_errors("/dev/mapper/shelf1-1-part1"));
        let why = vdevs.lacks().unwrap();
        assert_eq!(why, "/dev/mapper/shelf1-1-part1 is UNAVAIL");
        let taken = Vdevs::parse(&DEGRADED.replace("UNAVAIL", "OFFLINE"));
        assert_eq!(taken.gone(), Vec::<&str>::new());
        assert!(taken.lacks().is_some());
    }

    #[test]
    fn one_that_has_stopped_for_want_of_its_disks_is_told_from_one_that_goes_on_without() {
        assert!(!Vdevs::parse(DEGRADED).is_suspended());
        // As OpenZFS 2.2 and later say it of the pool; older ones say UNAVAIL.
        let stopped = DEGRADED.replacen("DEGRADED", "SUSPENDED", 1);
        assert!(Vdevs::parse(&stopped).is_suspended());
    }

    #[test]
    fn one_that_resilvers_is_not_whole_yet() {
        let whole = DEGRADED
            .replace("DEGRADED", "ONLINE")
            .replace("UNAVAIL", "ONLINE");
        assert_eq!(Vdevs::parse(&whole).lacks(), None);
        let busy = whole.replace("resilvered 12K", "resilver in progress since");
        assert_eq!(Vdevs::parse(&busy).lacks().unwrap(), "it resilvers");
    }
}
