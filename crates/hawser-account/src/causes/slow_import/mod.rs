//! Mounting, activating or importing the pool took long: a journal to replay, a file system check, many
//! devices to look through, or ZFS's wait for the other host's activity (`multihost`).
//!
//! Evidence: the length of the start operation of the pool's storage; of a ZFS pool, where its own messages were kept, what
//! it was made of. Certain; a warning from two seconds on. Cases: `drill/slow-import`, `drill/import-watched`;
//! `drill/slow-import-exports-refused`, where the exports failed after it.

use hawser_model::finding::{Confidence, Place, Severity};
use serde::Serialize;

use crate::cause::{Cause, Found, OutageCause, Words, host};
use crate::outage::imports::{self, ImportParts};
use crate::outage::millis::Millis;
use crate::outage::phase::Phase;
use crate::outage::spans::{Part, part, ran};
use crate::outage::view::DrillView;

#[derive(Serialize)]
pub(crate) struct SlowImport {
    pool_ms: Millis,
    agent: String,
    outage_ms: Millis,
    #[serde(flatten)]
    import: Option<ImportParts>,
}

const LEAST: Millis = Millis(2000);

const MULTIHOST: &str = "With `multihost=on` OpenZFS watches the pool for another host's activity before it imports. Cluster \
     fencing already excludes the other host; without `multihost` the import is shorter. Price: the pool's own guard against two hosts is gone, and fencing is the only one left.";

const FEWER_DEVICES: &str = "Fewer devices to look through (`import_options` with `-d` for each of the pool's own, where it \
     has none) cost nothing.";

impl OutageCause for SlowImport {
    const IN_LOGS: bool = true;

    fn find(view: &DrillView<'_>) -> Option<Found<Self>> {
        let pool = view.own_pool()?;
        let span = view.of(Phase::Pool).last()?;
        // What was tried before is another cause's.
        let ran = ran(&view.facts());
        let before = ran.iter().filter(|it| it.is_failed_start(pool));
        let refused = before.map(|it| it.to).filter(|at| *at <= span.from).max();
        let spans = || {
            let since = view.of(Phase::Pool).filter(|it| it.host == span.host);
            since.filter(|it| refused.is_none_or(|at| it.from >= at))
        };
        let took = Millis::together(spans());
        if took < LEAST {
            return None;
        }
        let resources = pool.resources.iter();
        let mut storages = resources.filter(|resource| part(pool, resource) == Part::Storage);
        let storage = storages.next();
        // Of several, or of one that was started twice, the parts would not be those of `took`.
        let is_one = storages.next().is_none() && spans().count() == 1;
        let zfs = storage.filter(|resource| is_one && resource.agent.ends_with(":ZFS"));
        let import = zfs.and_then(|storage| {
            let zpool = storage.parameters.get("pool").unwrap_or(&pool.name);
            imports::parts(view.case, &span.host, zpool, (span.from, span.to))
        });
        Some(Found {
            severity: Severity::Warning,
            confidence: Confidence::Certain,
            place: Place::of(&pool.name, Some(&span.host)),
            evidence: Self {
                pool_ms: took,
                agent: storage.map_or(String::new(), |r| r.agent.clone()),
                outage_ms: view.outage_ms(),
                import,
            },
        })
    }
}

impl Cause for SlowImport {
    const CODE: &'static str = "slow-import";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let fix = match self.agent.rsplit(':').next() {
            Some("ZFS") => self.import.map_or_else(unknown_import, longest_parts),
            Some("LVM-activate") => {
                "Look at what the activation waits for: LVM reads every device that the head sees. A devices \
                 file, or `global_filter` in lvm.conf, leaves out what is no shelf. Price: a disk that is \
                 added later is not found until it is named there too. After it the pool's own files are \
                 mounted: a journal that is replayed, or a file system check (`run_fsck`), counts as well."
                    .to_owned()
            }
            _ => "Look at what the mount waits for: the journal that is replayed (a smaller journal, more \
                  frequent commits), or a file system check before it (`run_fsck`). Price: a smaller \
                  journal means more seeks under load; without a check a damaged file system is mounted."
                .to_owned(),
        };
        let mut text = format!(
            "{} took {} to come up on {}.",
            at.object.as_deref().unwrap_or("The pool"),
            self.pool_ms.of(self.outage_ms),
            host(at),
        );
        if let Some(parts) = self.import {
            let parts = [
                (parts.before, "until ZFS was asked for the pool"),
                (parts.watched, "to watch for another host's activity"),
                (parts.loading, "to load the pool"),
                (parts.after, "for what follows"),
            ];
            let parts = parts.into_iter().filter(|(seconds, _)| *seconds > 0);
            let parts: Vec<_> = parts
                .map(|(seconds, what)| format!("{seconds} s {what}"))
                .collect();
            text += &format!(
                " By ZFS's own messages, in whole seconds: {}.",
                parts.join(", "),
            );
        }
        Words { text, fix }
    }
}

/// Of an import whose messages nobody kept.
fn unknown_import() -> String {
    format!("Look at what the import waits for. {MULTIHOST} {FEWER_DEVICES}")
}

/// What shortens the part that took longest, and those that may have taken as long: the seconds are whole ones.
fn longest_parts(parts: ImportParts) -> String {
    let fewer_devices = format!(
        "Look at what is done before ZFS is asked for the pool: the agent starts, and `zpool import` reads the labels of \
         devices. {FEWER_DEVICES}"
    );
    let load = "ZFS reads the pool's space maps and claims what its log holds: its messages (`/proc/spl/kstat/zfs/dbgmsg`) name \
         each step. A pool of a head that died takes longer than one that was exported; beside that only faster disks help.";
    let after = "Look at what follows the import: keys are loaded, volumes appear, `zpool import` mounts the pool's file \
         systems, and the agent looks at the pool. Price of `canmount=noauto` for file systems that no client uses: they must \
         be mounted by hand.";
    let all = [
        (parts.watched, MULTIHOST),
        (parts.before, fewer_devices.as_str()),
        (parts.loading, load),
        (parts.after, after),
    ];
    let most = all.iter().map(|(seconds, _)| *seconds).max();
    let most = most.unwrap_or_default();
    let longest = all
        .iter()
        .filter(|(seconds, _)| *seconds > 0 && seconds + 1 >= most);
    let longest: Vec<&str> = longest.map(|(_, fix)| *fix).collect();
    longest.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slow(agent: &str, import: Option<ImportParts>) -> Words {
        let slow = SlowImport {
            pool_ms: Millis(5000),
            agent: format!("ocf:heartbeat:{agent}"),
            outage_ms: Millis(9000),
            import,
        };
        slow.words(&Place::of("tank", None))
    }

    #[test]
    fn each_kind_of_pool_has_its_own_advice_and_none_lets_a_head_import_it_at_boot() {
        let fix = |agent: &str| slow(agent, None).fix;
        assert!(fix("ZFS").contains("multihost") && fix("ZFS").contains("import_options"));
        assert!(!fix("ZFS").contains("cache"));
        assert!(fix("LVM-activate").contains("global_filter"));
        assert!(fix("Filesystem").contains("journal"));
    }

    #[test]
    fn the_advice_is_for_the_part_that_took_longest() {
        let fix = |before, watched, loading, after| {
            let parts = ImportParts {
                before,
                watched,
                loading,
                after,
            };
            slow("ZFS", Some(parts)).fix
        };
        assert!(fix(1, 3, 1, 0).contains("without `multihost`"));
        assert!(fix(3, 1, 1, 0).contains("import_options"));
        assert!(fix(1, 0, 1, 3).contains("canmount"));
        assert!(fix(1, 0, 3, 1).contains("space maps"));
        for other in [fix(3, 1, 1, 0), fix(1, 0, 1, 3), fix(1, 0, 3, 1)] {
            assert!(!other.contains("multihost"), "{other}");
        }
        // A second may be the stamps'.
        let both = fix(0, 0, 1, 2);
        assert!(both.contains("space maps") && both.contains("canmount"));
        assert!(!both.contains("multihost") && !both.contains("import_options"));
    }
}
