//! What `zpool status -p` says of one pool (OpenZFS 2, `print_status_config` in cmd/zpool/zpool_main.c): with `-p` counts are
//! whole numbers, with `-P` devices have their paths.

/// What it says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZpoolStatus {
    /// The pool's state; empty: the text is of no pool.
    pub state: String,
    /// Of a scrub or a resilver, its lines joined; empty if none was made.
    pub scan: String,
    /// Of errors in data.
    pub errors: String,
    /// The pool itself, the groups of its devices and these, in the order of the list.
    pub devices: Vec<Device>,
}

/// A line of the list of devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its name: `mirror-0`, `sda`.
    pub name: String,
    /// Its state: `ONLINE`.
    pub state: String,
    /// What was read, written and checked in vain.
    pub errors: [u64; 3],
    /// What ended late (`-s`); 0 where it was not asked for.
    pub slow: u64,
    /// How deep it stands below the pool, in blanks: 2 for what is right below it.
    pub depth: usize,
    /// Whether it holds the pool's data: it stands below none of `logs`, `cache` and `spares`.
    pub is_data: bool,
}

impl ZpoolStatus {
    /// Reads it.
    pub fn parse(said: &str) -> Self {
        let mut status = Self::default();
        let (mut field, mut is_data, mut with_slow) = ("", true, false);
        let mut scan: Vec<&str> = Vec::new();
        for line in said.lines() {
            // A field's name ends in the eighth column; what follows it is indented by a tab.
            let named = line.split_once(':').filter(|(name, _)| {
                !line.starts_with('\t')
                    && name.len() <= 8
                    && name.trim().chars().all(char::is_alphabetic)
            });
            let text = match named {
                Some((name, text)) => {
                    field = name.trim();
                    text.trim()
                }
                None => line.trim(),
            };
            match field {
                "state" if named.is_some() => text.clone_into(&mut status.state),
                "scan" if !text.is_empty() => scan.push(text),
                "errors" if named.is_some() => text.clone_into(&mut status.errors),
                "config" => match line.strip_prefix('\t').map(|line| (line, Device::of(line))) {
                    Some((_, Some(device))) => status.devices.push(Device {
                        is_data,
                        // Else that column is a remark, which may be a number.
                        slow: if with_slow { device.slow } else { 0 },
                        ..device
                    }),
                    // `logs`, `cache` and `spares` are headings, and so is the first line.
                    Some((line, None)) => {
                        is_data &= line.split_whitespace().count() != 1;
                        with_slow |= line.trim_end().ends_with("SLOW");
                    }
                    None => {}
                },
                _ => {}
            }
        }
        status.scan = scan.join(", ");
        status
    }
}

impl Device {
    /// A line of the list, without what it is a part of; none for a heading.
    fn of(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let (name, state) = (words.next()?, words.next()?);
        let mut count = || words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
        let device = Self {
            name: name.to_owned(),
            state: state.to_owned(),
            errors: [count(), count(), count()],
            slow: count(),
            depth: line.len() - line.trim_start().len(),
            is_data: true,
        };
        Some(device).filter(|_| (name, state) != ("NAME", "STATE"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_with_its_depths_and_its_headings() {
        let said = "  pool: tank\n state: DEGRADED\n  scan: resilver in progress since Thu\n\t300G resilvered, 14.70% done\n\
            config:\n\n\tNAME          STATE     READ WRITE CKSUM\n\ttank          DEGRADED     0     0     0\n\
            \t  mirror-0    DEGRADED     0     0     0\n\t    /dev/sda  FAULTED      3    12     0  too many errors\n\
            \t    /dev/sdb  ONLINE       0     0     0\n\tlogs\t\n\t  /dev/sdc    ONLINE       0     0     0\n\
            \tspares\n\t  /dev/sdd    AVAIL\n\nerrors: No known data errors\n";
        let status = ZpoolStatus::parse(said);
        assert_eq!(status.state, "DEGRADED");
        assert_eq!(
            status.scan,
            "resilver in progress since Thu, 300G resilvered, 14.70% done"
        );
        assert_eq!(status.errors, "No known data errors");
        let devices: Vec<_> = status
            .devices
            .iter()
            .map(|it| (it.name.as_str(), it.depth, it.is_data))
            .collect();
        assert_eq!(
            devices,
            [
                ("tank", 0, true),
                ("mirror-0", 2, true),
                ("/dev/sda", 4, true),
                ("/dev/sdb", 4, true),
                ("/dev/sdc", 2, false),
                ("/dev/sdd", 2, false)
            ]
        );
        assert_eq!(status.devices[2].errors, [3, 12, 0]);
        assert_eq!(
            ZpoolStatus::parse("cannot open 'tank': no such pool\n"),
            ZpoolStatus::default()
        );
    }
}
