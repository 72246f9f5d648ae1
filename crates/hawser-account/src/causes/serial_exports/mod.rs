//! Exports of one pool were started one after the other, although none needs another.
//!
//! As a group in Pacemaker does it: each member waits for the one before it.
//!
//! Evidence: the starts of two or more of the pool's exports, none of which overlaps another, in
//! the controller's log. Certain; a warning when all but the longest took 200 ms or more. Case:
//! `drill/serial-exports`; `drill/grace-of-old-client` has one that was started twice.

use hawser_model::finding::{Confidence, Place, Severity};
use serde::Serialize;

use crate::cause::{Cause, Found, OutageCause, Words};
use crate::outage::millis::Millis;
use crate::outage::spans::{Part, own_pool, part, ran, started};
use crate::outage::view::DrillView;

#[derive(Serialize)]
pub(crate) struct SerialExports {
    exports: usize,
    exports_ms: Millis,
    longest_ms: Millis,
    saved_ms: Millis,
    outage_ms: Millis,
}

const LEAST: Millis = Millis(200);

impl OutageCause for SerialExports {
    const IN_LOGS: bool = true;

    fn find(view: &DrillView<'_>) -> Option<Found<Self>> {
        let facts = view.facts();
        let pool = own_pool(&facts)?;
        let resources = pool
            .resources
            .iter()
            .filter(|r| part(pool, r) == Part::Exports);
        let ran = ran(&facts);
        let starts = resources.filter_map(|resource| started(&ran, resource));
        let mut starts: Vec<_> = starts.collect();
        starts.sort_by_key(|ran| ran.from);
        let serial = starts.len() >= 2 && starts.windows(2).all(|pair| pair[0].to <= pair[1].from);
        let lengths = || starts.iter().map(|ran| (ran.to.0 - ran.from.0) / 1000);
        let (all, longest) = (lengths().sum::<u64>(), lengths().max()?);
        let saved = Millis(all - longest);
        let host = starts.first().map(|ran| &ran.operation.host);
        (serial && saved >= LEAST).then(|| Found {
            severity: Severity::Warning,
            confidence: Confidence::Certain,
            place: Place::of(&pool.name, host),
            evidence: Self {
                exports: starts.len(),
                exports_ms: Millis(all),
                longest_ms: Millis(longest),
                saved_ms: saved,
                outage_ms: view.outage_ms(),
            },
        })
    }
}

impl Cause for SerialExports {
    const CODE: &'static str = "serial-exports";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        Words {
            text: format!(
                "{} exports of {} were started one after the other, {} in all; the longest takes {}. {} could \
                 be saved.",
                self.exports,
                at.object.as_deref().unwrap_or("the pool"),
                self.exports_ms.of(self.outage_ms),
                self.longest_ms,
                self.saved_ms,
            ),
            fix: "Take them out of the group and let each follow the pool by an order and a colocation \
                  of its own, or offer them all by one resource, as `ocf:hawser:exports` does. Price: none \
                  known; a member of a group that fails also stops those behind it."
                .to_owned(),
        }
    }
}
