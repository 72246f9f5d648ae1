//! One stream's cipher is slower than the link, on a processor that has the instructions for it:
//! one processor is not enough.
//!
//! Evidence: the bare cipher rung, by the processor time that it had, below what the link carried, its
//! speed at most, by more than both vary. Certain; a warning. Cases: `ladder-cipher-below-link`, and
//! two in which it only looks so: `ladder-cipher-waiting`, `ladder-cipher-noisy`.

use hawser_model::finding::{Confidence, Finding, Place, Severity};
use hawser_model::ladder::RungKind;

use super::{LadderCause, any};
use crate::causes::support::Draft;
use crate::throughput::view::LadderView;

pub(super) const CAUSE: LadderCause = LadderCause {
    code: "cipher-below-link",
    find,
};

fn find(view: &LadderView<'_>, found: &[Finding]) -> Vec<Finding> {
    let (Some(cipher), Some(link)) = (view.run.cipher, view.link()) else {
        return Vec::new();
    };
    if any(found, &["cipher-without-instructions", "cipher-chained"]) {
        return Vec::new();
    }
    let ends = [
        (&view.run.from, RungKind::Encrypt),
        (&view.run.to, RungKind::Decrypt),
    ];
    ends.into_iter()
        .filter_map(|(host, kind)| Some((host, view.undisturbed(kind)?)))
        .filter(|(_, rate)| rate.clearly_below(0.95, link))
        .map(|(host, rate)| {
            let place = Place {
                host: Some(host.clone()),
                ..Place::default()
            };
            Draft::new(CAUSE.code, Severity::Warning, Confidence::Certain, place)
                .name("cipher", &cipher.name())
                .decimal("cipher_mb_per_s", rate.mb_per_s)
                .decimal("link_mb_per_s", link.mb_per_s)
                .done()
        })
        .collect()
}
