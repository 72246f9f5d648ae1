//! A head would import, mount or offer a pool of the cluster file at its next boot, whichever head has it then: the
//! pool is on two heads, and its file system is destroyed. The boot after a fencing is the worst moment for it.
//!
//! Evidence: the files and units of the head, read by its agent. An error when it happens by itself, or lets another
//! mistake happen unhindered; a note when something else must go wrong first. A head that does not say what it would
//! do is a warning: nothing is known of it. Cases: `pool-at-boot`, `pool-at-boot-unknown`.

use hawser_model::case::BootDanger;
use hawser_model::finding::{Confidence, Finding, Place, Severity};

use super::Cause;
use super::support::Draft;
use crate::losses::Losses;
use crate::view::View;

pub(super) const CAUSE: Cause = Cause {
    code: "pool-at-boot",
    find,
};

fn find(view: &View<'_>, _: &mut Losses) -> Vec<Finding> {
    view.case.boots.iter().map(finding).collect()
}

fn finding(danger: &BootDanger) -> Finding {
    let (severity, confidence) = match (&danger.file, danger.by_itself) {
        (None, _) => (Severity::Warning, Confidence::Possible),
        (Some(_), true) => (Severity::Error, Confidence::Certain),
        (Some(_), false) => (Severity::Note, Confidence::Certain),
    };
    let place = Place {
        host: Some(danger.host.clone()),
        object: danger.file.clone(),
        ..Place::default()
    };
    Draft::new(CAUSE.code, severity, confidence, place)
        .name("what", &danger.what)
        .name("remedy", &danger.remedy)
        .done()
}
