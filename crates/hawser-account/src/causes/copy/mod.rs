//! Why a copy was slow: one file a cause, one line each in [`COPY_CAUSES`].
//!
//! Causes are asked in the order of the list, the ones with direct evidence before the ones that
//! are seen by their effect on the rate alone; a later one is told whether something was found.

use hawser_model::finding::{Finding, Place, Severity};
use hawser_model::output::copy::ChangePoint;

use super::support::Draft;
use crate::copy::View;

mod disk_stall;
mod receive_merging;
mod receive_window;
mod retransmits;
mod token_bucket;

/// A cause.
pub(crate) struct CopyCause {
    /// Its code: kebab-case, documented by its page, never renamed.
    pub(crate) code: &'static str,
    /// Looks for it; `explained` says that an earlier one was found.
    pub(crate) find: fn(&View<'_>, bool) -> Option<Finding>,
}

/// All causes, in the order in which they are asked.
pub(crate) const COPY_CAUSES: &[CopyCause] = &[
    disk_stall::CAUSE,
    receive_window::CAUSE,
    receive_merging::CAUSE,
    token_bucket::CAUSE,
    retransmits::CAUSE,
];

/// At the receiver, coming from the sender.
fn at_receiver(view: &View<'_>) -> Place {
    Place {
        host: Some(view.case.to.clone()),
        peer: Some(view.case.from.clone()),
        link: Some(view.case.link.clone()),
        interface: view
            .case
            .receiver
            .interface
            .as_ref()
            .map(|(n, _)| n.clone()),
        object: None,
    }
}

/// At the sender, going to the receiver.
fn at_sender(view: &View<'_>) -> Place {
    Place {
        host: Some(view.case.from.clone()),
        peer: Some(view.case.to.clone()),
        link: Some(view.case.link.clone()),
        interface: view.case.sender.interface.as_ref().map(|(n, _)| n.clone()),
        object: None,
    }
}

/// Per cent, whole.
pub(super) fn percent(share: f64) -> u64 {
    (share * 100.0).round() as u64
}

/// Bytes a second.
pub(super) fn rate(mb_per_s: f64) -> u64 {
    (mb_per_s * 1e6).round() as u64
}

impl Draft {
    /// Adds where the rate fell, from what to what, or what it was.
    fn change(self, view: &View<'_>) -> Self {
        match &view.change {
            Some(change) => self.fall(change),
            None => self.number("bytes_per_s", rate(view.whole.mb_per_s())),
        }
    }

    /// Adds where the rate fell, from what to what.
    pub(super) fn fall(self, change: &ChangePoint) -> Self {
        self.number("at_bytes", change.at_bytes)
            .number("at_ms", (change.at_s * 1e3).round() as u64)
            .number("before_bytes_per_s", rate(change.before_mb_per_s))
            .number("after_bytes_per_s", rate(change.after_mb_per_s))
    }
}

/// A copy that fell is an error of something; one that was slow all the time may be as intended.
fn severity(view: &View<'_>) -> Severity {
    match view.change {
        Some(_) => Severity::Error,
        None => Severity::Warning,
    }
}
