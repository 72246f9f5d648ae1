//! A copy falls when a disk does: a write cache that is full, a page cache that must be written
//! back before more may be dirtied (`vm.dirty_ratio`), a source that left its own cache behind.
//!
//! Evidence: after the change the streams spend most of their time in the write of the receiver or
//! the read of the sender, and more of it than before. Certain: it is our own calls that wait.
//! Cases: `copy/disk-stall-write`, `copy/disk-stall-read`.

use hawser_model::finding::{Confidence, Place};
use serde::Serialize;

use crate::cause::{Cause, CopyCause, Found, Words, as_number, host};
use crate::copy::View;
use crate::copy::fell::{Fell, at_receiver, at_sender, percent};

#[derive(Serialize)]
pub(crate) struct DiskStall {
    #[serde(flatten)]
    fell: Fell,
    #[serde(serialize_with = "as_number")]
    writing: bool,
    disk_percent_before: u64,
    disk_percent_after: u64,
}

/// Most of the time.
const MOST: f64 = 0.6;

/// More than before by this much of the time.
const MORE: f64 = 0.2;

impl CopyCause for DiskStall {
    fn find(view: &View<'_>, _: bool) -> Option<Found<Self>> {
        let (before, after) = view.parts?;
        let writing = after.write_share >= MOST && after.write_share >= before.write_share + MORE;
        let reading = after.read_share >= MOST && after.read_share >= before.read_share + MORE;
        let (place, was, is) = match (writing, reading) {
            (true, _) => (at_receiver(view), before.write_share, after.write_share),
            (_, true) => (at_sender(view), before.read_share, after.read_share),
            _ => return None,
        };
        let fell = Fell::of(view);
        Some(Found {
            severity: fell.severity(),
            confidence: Confidence::Certain,
            place,
            evidence: Self {
                fell,
                writing,
                disk_percent_before: percent(was),
                disk_percent_after: percent(is),
            },
        })
    }
}

impl Cause for DiskStall {
    const CODE: &'static str = "disk-stall";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let (what, fix) = match self.writing {
            true => (
                "writing to the destination",
                "This is what the disk can take once its cache or the page cache is full: look at \
                 it with `iostat -x 1` during a copy. `sysctl vm.dirty_bytes` and \
                 `vm.dirty_background_bytes` decide how much is held in memory before; smaller \
                 values make the rate even, not higher.",
            ),
            false => (
                "reading from the source",
                "This is what the disk can give beyond what was in memory: look at it with \
                 `iostat -x 1` during a copy, and at the read-ahead \
                 (`blockdev --getra`).",
            ),
        };
        Words {
            text: format!(
                "The copy {} because of the disk of {}: from there on {} % of the time went into {what}, \
                 before {} %. The network was not what it waited for.",
                self.fell,
                host(at),
                self.disk_percent_after,
                self.disk_percent_before,
            ),
            fix: fix.to_owned(),
        }
    }
}
