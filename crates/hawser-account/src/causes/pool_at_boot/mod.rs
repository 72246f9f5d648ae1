//! A head would import, mount or offer a pool of the cluster file at its next boot, whichever head has it then: the
//! pool is on two heads, and its file system is destroyed. The boot after a fencing is the worst moment for it.
//!
//! Evidence: the files and units of the head, read by its agent. An error when it happens by itself, or lets another
//! mistake happen unhindered; a note when something else must go wrong first. A head that does not say what it would
//! do is a warning: nothing is known of it. Cases: `pool-at-boot`, `pool-at-boot-unknown`.

use hawser_model::finding::{Confidence, Place, Severity};
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words};
use crate::losses::Losses;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct PoolAtBoot {
    what: String,
    remedy: String,
}

impl CheckCause for PoolAtBoot {
    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let dangers = view.case.boots.iter();
        let found = dangers.map(|danger| {
            let (severity, confidence) = match (&danger.file, danger.by_itself) {
                (None, _) => (Severity::Warning, Confidence::Possible),
                (Some(_), true) => (Severity::Error, Confidence::Certain),
                (Some(_), false) => (Severity::Note, Confidence::Certain),
            };
            Found {
                severity,
                confidence,
                place: Place {
                    object: danger.file.clone(),
                    ..Place::on(&danger.host)
                },
                evidence: Self {
                    what: danger.what.clone(),
                    remedy: danger.remedy.clone(),
                },
            }
        });
        found.collect()
    }
}

impl Cause for PoolAtBoot {
    const CODE: &'static str = "pool-at-boot";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, _: &Place) -> Words {
        let mut fix = format!("{}.", self.remedy);
        // `plan` and `status` print it as the second half of a sentence.
        if let Some(first) = fix.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        Words {
            text: format!("{}.", self.what),
            fix,
        }
    }
}
