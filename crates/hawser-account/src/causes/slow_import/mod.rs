//! Mounting or importing the pool took long: a journal to replay, a file system check, many
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
        let fix = match self.agent.ends_with("ZFS") {
            true => {
                "Look at what the import waits for: with `multihost=on` OpenZFS watches the pool for \
                 another host's activity before it imports. Cluster fencing already excludes the other host; \
                 without `multihost` the import is shorter. Price: the pool's own guard against two hosts \
                 is gone, and fencing is the only one left. Fewer devices to look through \
                 (`-d`, a cache file) cost nothing."
            }
            false => {
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
