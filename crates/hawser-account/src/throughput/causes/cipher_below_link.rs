//! One stream's cipher is slower than the link, on a processor that has the instructions for it:
//! one processor is not enough.
//!
//! Evidence: the bare cipher rung and what the link carried, its speed at most. Certain; a
//! warning. Case: `ladder-cipher-below-link`.

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
    let (Some(cipher), Some(link)) = (view.run.cipher, view.link_mb()) else {
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
        .filter_map(|(host, kind)| Some((host, view.mb(kind)?)))
        .filter(|(_, mb)| *mb < 0.95 * link)
        .map(|(host, mb)| {
            let place = Place {
                host: Some(host.clone()),
                ..Place::default()
            };
            Draft::new(CAUSE.code, Severity::Warning, Confidence::Certain, place)
                .name("cipher", &cipher.name())
                .decimal("cipher_mb_per_s", mb)
                .decimal("link_mb_per_s", link)
                .done()
        })
        .collect()
}
