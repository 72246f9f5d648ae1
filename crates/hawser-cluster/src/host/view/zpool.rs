//! Whether a head could import a pool, as `zpool import` without a name tells it: that only looks.
//!
//! It lists a pool whose log device is missing as one that "can be imported despite missing or damaged devices", and then
//! refuses to import it without `-m` (seen with OpenZFS 2.3.2): so its list of devices is read as well.

use super::pools::Disks;

/// Whether it has looked. It ends with an error when it finds no pool at all, and when it could not look; what it then says
/// on standard error tells the one from the other.
pub(super) fn is_answer(well: bool, complaint: &str) -> bool {
    well || complaint == "no pools available to import"
}

/// The disks of the pool of this name.
pub(super) fn disks(said: &str, name: &str) -> Disks {
    let mut found = said.split("pool: ").skip(1).filter(|text| {
        let called = text.lines().next().unwrap_or_default();
        called.trim() == name
    });
    let Some(pool) = found.next() else {
        return Disks::Missing(format!("`zpool import` does not see {name} there"));
    };
    if found.next().is_some() {
        return Disks::Missing(format!(
            "`zpool import` sees two pools called {name} there and takes neither by that name; `zpool import -d …` lists \
             their numbers"
        ));
    }
    let devices = devices(pool);
    if let Some(log) = devices.iter().find(|it| it.is_log && it.is_gone()) {
        return Disks::Missing(format!(
            "its log device {} is {} there, so that `zpool import` refuses it, and with -m what clients were told is \
             written would be lost; connect it to every head, or `zpool remove` it",
            log.name, log.state
        ));
    }
    let gone = devices.iter().filter(|it| it.is_gone() && it.name != name);
    let gone: Vec<String> = gone
        .map(|it| format!("{} is {}", it.name, it.state))
        .collect();
    let gone = gone.join(", ");
    match (
        pool.contains("The pool cannot be imported"),
        gone.is_empty(),
    ) {
        (false, true) => Disks::There,
        (false, false) => Disks::Short(gone),
        (true, true) => {
            Disks::Missing("`zpool import` says there that it cannot be imported".into())
        }
        (true, false) => Disks::Missing(format!(
            "`zpool import` says there that it cannot be imported: {gone}"
        )),
    }
}

/// A line of the list of devices.
struct Device<'a> {
    name: &'a str,
    state: &'a str,
    /// Whether the pool writes to it what clients wait for.
    is_log: bool,
}

impl Device<'_> {
    /// A part of a mirror may be gone: the mirror is then degraded.
    fn is_gone(&self) -> bool {
        ["UNAVAIL", "FAULTED", "REMOVED", "OFFLINE"].contains(&self.state)
    }
}

/// The devices, and of a log those that it is made of itself: what a mirror of it is made of may be gone.
fn devices(pool: &str) -> Vec<Device<'_>> {
    let list = pool.split_once("config:").map_or("", |(_, list)| list);
    let mut is_log = false;
    let mut found = Vec::new();
    for line in list.lines() {
        let Some(line) = line.strip_prefix('\t') else {
            continue;
        };
        let deep = line.len() - line.trim_start().len();
        let mut words = line.split_whitespace();
        let Some(name) = words.next() else { continue };
        // `logs`, `cache` and `spares` are headings.
        let Some(state) = words.next() else {
            is_log = name == "logs";
            continue;
        };
        found.push(Device {
            name,
            state,
            is_log: is_log && deep == 2,
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_could_not_look_has_not_seen_that_there_is_nothing() {
        assert!(is_answer(true, ""));
        assert!(is_answer(false, "no pools available to import"));
        for failed in [
            "",
            "cannot discover pools: permission denied",
            "/dev/zfs and /proc/self/mounts are required.",
        ] {
            assert!(!is_answer(false, failed), "{failed}");
        }
    }

    /// What OpenZFS 2.3.2 said on head2 of pools that head1 had: one with a log that only head1 saw, one with a disk of its
    /// own only there.
    const SAID: &str = "  pool: vmpool01
    id: 15474232138303181555
 state: DEGRADED
status: The pool was last accessed by another system.
action: The pool can be imported despite missing or damaged devices.  The
\tfault tolerance of the pool may be compromised if imported.
   see: https://openzfs.github.io/openzfs-docs/msg/ZFS-8000-EY
config:

\tvmpool01          DEGRADED
\t  mirror-0        ONLINE
\t    ubd-shelf1-1  ONLINE
\t    ubd-shelf2-1  ONLINE
\tlogs\t
\t  /root/log.img   UNAVAIL  cannot open

  pool: vmpool02
    id: 6625930236240768001
 state: UNAVAIL
status: The pool was last accessed by another system.
action: The pool cannot be imported due to damaged devices or data.
   see: https://openzfs.github.io/openzfs-docs/msg/ZFS-8000-EY
config:

\tvmpool02          UNAVAIL  insufficient replicas
\t  mirror-0        ONLINE
\t    ubd-shelf1-2  ONLINE
\t    ubd-shelf2-2  ONLINE
\t  /root/data.img  UNAVAIL  cannot open
";

    #[track_caller]
    fn why(said: &str, name: &str) -> String {
        match disks(said, name) {
            Disks::Missing(why) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_log_that_only_another_head_has_keeps_a_pool_from_being_imported() {
        let said = why(SAID, "vmpool01");
        assert!(
            said.starts_with("its log device /root/log.img is UNAVAIL there"),
            "{said}"
        );
        // One of a mirror of logs is enough.
        let mirrored = SAID.replace(
            "\t  /root/log.img   UNAVAIL",
            "\t  mirror-1 DEGRADED\n\t    a ONLINE\n\t    b   UNAVAIL",
        );
        let short = Disks::Short("b is UNAVAIL".into());
        assert_eq!(disks(&mirrored, "vmpool01"), short);
    }

    #[test]
    fn a_disk_that_only_another_head_has_is_named() {
        assert_eq!(
            why(SAID, "vmpool02"),
            "`zpool import` says there that it cannot be imported: /root/data.img is UNAVAIL"
        );
        let without = SAID.split("config:").next().unwrap();
        let without = without.replace("can be imported", "cannot be imported");
        assert!(why(&without, "vmpool01").ends_with("that it cannot be imported"));
    }

    #[test]
    fn a_pool_whose_mirror_is_half_there_could_be_imported_without_the_other_half() {
        let whole = SAID.replace("UNAVAIL  cannot open", "ONLINE");
        assert_eq!(disks(&whole, "vmpool01"), Disks::There);
        let half = whole.replace("ubd-shelf2-1  ONLINE", "ubd-shelf2-1  UNAVAIL");
        let short = Disks::Short("ubd-shelf2-1 is UNAVAIL".into());
        assert_eq!(disks(&half, "vmpool01"), short);
    }

    #[test]
    fn a_pool_is_told_from_others_by_its_whole_name() {
        assert_eq!(why("", "tank"), "`zpool import` does not see tank there");
        assert!(why(SAID, "vmpool0").contains("does not see vmpool0 there"));
        let twice = SAID.replace("pool: vmpool02", "pool: vmpool01");
        assert!(why(&twice, "vmpool01").contains("two pools called vmpool01"));
    }
}
