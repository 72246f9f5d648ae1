//! What a ZFS pool is made of, as `zpool status -P` lists it.

/// A disk of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Leaf {
    device: String,
    state: String,
    /// What was read, written and checked in vain.
    errors: [String; 3],
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

/// States of a disk that its administrator has not chosen.
const GONE: [&str; 4] = ["UNAVAIL", "FAULTED", "REMOVED", "DEGRADED"];

/// What keeps the same on all its disks, or enough to have it again. Not a log, a cache or a spare.
const COPIES: [&str; 3] = ["mirror-", "raidz", "draid"];

impl Vdevs {
    /// Reads the list.
    pub fn parse(said: &str) -> Self {
        let after = |key: &str| {
            let mut lines = said.lines().filter_map(|it| it.trim().strip_prefix(key));
            lines.next().unwrap_or_default().trim().to_owned()
        };
        let list = said.split_once("config:").map_or("", |(_, list)| list);
        let (mut leaves, mut of, mut is_data) = (Vec::new(), None, true);
        for line in list.lines() {
            let Some(line) = line.strip_prefix('\t') else {
                continue;
            };
            let deep = line.len() - line.trim_start().len();
            let words: Vec<&str> = line.split_whitespace().collect();
            let (Some(name), Some(state)) = (words.first(), words.get(1)) else {
                // `logs`, `cache` and `spares` are headings.
                is_data &= words.is_empty();
                continue;
            };
            // What is at the margin is the pool itself, or a vdev of such a heading.
            if deep == 0 || !is_data {
                continue;
            }
            if !name.starts_with('/') {
                // A disk that is being replaced is below a mirror, and so is what replaces it.
                if deep == 2 {
                    of = Some((*name).to_owned());
                }
                continue;
            }
            let count = |at: usize| words.get(at).map_or("0", |it| *it).to_owned();
            leaves.push(Leaf {
                device: (*name).to_owned(),
                state: (*state).to_owned(),
                errors: [count(2), count(3), count(4)],
                of: of.clone().filter(|_| deep > 2),
            });
        }
        Self {
            leaves,
            state: after("state:"),
            scan: after("scan:"),
        }
    }

    /// Its disks.
    pub fn devices(&self) -> Vec<String> {
        let leaves = self.leaves.iter();
        leaves.map(|leaf| leaf.device.clone()).collect()
    }

    /// Whether another disk has what is on it.
    pub fn has_copy(&self, device: &str) -> bool {
        let leaf = self.leaves.iter().find(|leaf| leaf.device == device);
        let of = leaf.and_then(|leaf| leaf.of.as_deref());
        of.is_some_and(|of| COPIES.iter().any(|kind| of.starts_with(kind)))
    }

    /// What it lacks to be whole; nothing if it is. The pool's own state says less: OpenZFS 2.3.2 calls a mirror with a faulted
    /// disk `ONLINE` (seen).
    pub fn lacks(&self) -> Option<String> {
        if let Some(leaf) = self.leaves.iter().find(|leaf| leaf.state != ONLINE) {
            return Some(format!("{} is {}", leaf.device, leaf.state));
        }
        if self.state != ONLINE {
            return Some(format!("it is {}", self.state));
        }
        let resilvers = self.scan.contains("resilver in progress");
        resilvers.then(|| "it resilvers".to_owned())
    }

    /// Disks that it has lost and that nobody took from it.
    pub fn gone(&self) -> Vec<&str> {
        let leaves = self.leaves.iter();
        let gone = leaves.filter(|leaf| GONE.contains(&leaf.state.as_str()));
        gone.map(|leaf| leaf.device.as_str()).collect()
    }

    /// Whether errors of a disk are counted.
    pub fn has_errors(&self, device: &str) -> bool {
        let leaf = self.leaves.iter().find(|leaf| leaf.device == device);
        leaf.is_some_and(|leaf| leaf.errors.iter().any(|count| count != "0"))
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
    fn one_that_resilvers_is_not_whole_yet() {
        let whole = DEGRADED
            .replace("DEGRADED", "ONLINE")
            .replace("UNAVAIL", "ONLINE");
        assert_eq!(Vdevs::parse(&whole).lacks(), None);
        let busy = whole.replace("resilvered 12K", "resilver in progress since");
        assert_eq!(Vdevs::parse(&busy).lacks().unwrap(), "it resilvers");
    }
}
