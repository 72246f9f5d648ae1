//! Mounting, activating or importing the pool took long: a journal to replay, a file system check, many
//! devices to look through, or ZFS's wait for the other host's activity (`multihost`).
//!
//! Evidence: the length of the start operation of the pool's storage. Certain; a warning from two
//! seconds on. Case: `drill/slow-import`.

use hawser_model::finding::{Confidence, Place, Severity};
use serde::Serialize;

use crate::cause::{Cause, Found, OutageCause, Words, host};
use crate::outage::millis::Millis;
use crate::outage::phase::Phase;
use crate::outage::view::DrillView;

#[derive(Serialize)]
pub(crate) struct SlowImport {
    pool_ms: Millis,
    agent: String,
    outage_ms: Millis,
}

const LEAST: Millis = Millis(2000);

impl OutageCause for SlowImport {
    fn find(view: &DrillView<'_>) -> Option<Found<Self>> {
        let took = view.ms(Phase::Pool);
        let span = view.of(Phase::Pool).last().filter(|_| took >= LEAST)?;
        let pool = view.own_pool()?;
        let storage = pool.resources.first();
        Some(Found {
            severity: Severity::Warning,
            confidence: Confidence::Certain,
            place: Place::of(&pool.name, Some(&span.host)),
            evidence: Self {
                pool_ms: took,
                agent: storage.map_or(String::new(), |r| r.agent.clone()),
                outage_ms: view.outage_ms(),
            },
        })
    }
}

impl Cause for SlowImport {
    const CODE: &'static str = "slow-import";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let fix = match self.agent.rsplit(':').next() {
            Some("ZFS") => {
                "Look at what the import waits for: with `multihost=on` OpenZFS watches the pool for \
                 another host's activity before it imports. Cluster fencing already excludes the other host; \
                 without `multihost` the import is shorter. Price: the pool's own guard against two hosts \
                 is gone, and fencing is the only one left. Fewer devices to look through \
                 (`import_options` with `-d` for each of the pool's own) cost nothing."
            }
            Some("LVM-activate") => {
                "Look at what the activation waits for: LVM reads every device that the head sees. A devices \
                 file, or `global_filter` in lvm.conf, leaves out what is no shelf. Price: a disk that is \
                 added later is not found until it is named there too. After it the pool's own files are \
                 mounted: a journal that is replayed, or a file system check (`run_fsck`), counts as well."
            }
            _ => {
                "Look at what the mount waits for: the journal that is replayed (a smaller journal, more \
                 frequent commits), or a file system check before it (`run_fsck`). Price: a smaller \
                 journal means more seeks under load; without a check a damaged file system is mounted."
            }
        };
        Words {
            text: format!(
                "{} took {} to come up on {}.",
                at.object.as_deref().unwrap_or("The pool"),
                self.pool_ms.of(self.outage_ms),
                host(at),
            ),
            fix: fix.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_pool_has_its_own_advice_and_none_lets_a_head_import_it_at_boot() {
        let fix = |agent: &str| {
            let slow = SlowImport {
                pool_ms: Millis(5000),
                agent: format!("ocf:heartbeat:{agent}"),
                outage_ms: Millis(9000),
            };
            slow.words(&Place::of("tank", None)).fix
        };
        assert!(fix("ZFS").contains("multihost") && fix("ZFS").contains("import_options"));
        assert!(!fix("ZFS").contains("cache"));
        assert!(fix("LVM-activate").contains("global_filter"));
        assert!(fix("Filesystem").contains("journal"));
    }
}
