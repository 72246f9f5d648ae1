//! A copy falls when a disk does: a write cache that is full, a page cache that must be written
//! back before more may be dirtied (`vm.dirty_ratio`), a source that left its own cache behind.
//!
//! Evidence: after the change the streams spend most of their time in the write of the receiver or
//! the read of the sender, and more of it than before. Certain: it is our own calls that wait.
//! Cases: `copy/disk-stall-write`, `copy/disk-stall-read`.

use hawser_model::finding::{Confidence, Finding};

use super::{CopyCause, at_receiver, at_sender, percent, severity};
use crate::causes::support::Draft;
use crate::copy::View;

pub(super) const CAUSE: CopyCause = CopyCause {
    code: "disk-stall",
    find,
};

/// Most of the time.
const MOST: f64 = 0.6;

/// More than before by this much of the time.
const MORE: f64 = 0.2;

fn find(view: &View<'_>, _: bool) -> Option<Finding> {
    let (before, after) = view.parts?;
    let writing = after.write_share >= MOST && after.write_share >= before.write_share + MORE;
    let reading = after.read_share >= MOST && after.read_share >= before.read_share + MORE;
    let (place, was, is) = match (writing, reading) {
        (true, _) => (at_receiver(view), before.write_share, after.write_share),
        (_, true) => (at_sender(view), before.read_share, after.read_share),
        _ => return None,
    };
    let draft = Draft::new(CAUSE.code, severity(view), Confidence::Certain, place)
        .change(view)
        .number("writing", u64::from(writing))
        .number("disk_percent_before", percent(was))
        .number("disk_percent_after", percent(is));
    Some(draft.done())
}
