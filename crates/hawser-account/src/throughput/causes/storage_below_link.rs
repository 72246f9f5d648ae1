//! The storage is slower than the link: whatever is done to the network, the path cannot be
//! faster.
//!
//! Evidence: its rung, bare, at less than four fifths of what the link carried. Memory that
//! stands for storage is not meant. Certain; a warning. Case: `ladder-slow-disk`.

use hawser_model::finding::{Confidence, Finding, Place, Severity};
use hawser_model::ladder::RungKind;

use super::LadderCause;
use crate::causes::support::Draft;
use crate::throughput::view::LadderView;

pub(super) const CAUSE: LadderCause = LadderCause {
    code: "storage-below-link",
    find,
};

fn find(view: &LadderView<'_>, _: &[Finding]) -> Vec<Finding> {
    let Some(link) = view.link_mb() else {
        return Vec::new();
    };
    let run = view.run;
    let ends = [
        (RungKind::SourceRead, &run.source, &run.from, "read"),
        (RungKind::SinkWrite, &run.sink, &run.to, "write"),
    ];
    let mut found = Vec::new();
    for (kind, storage, host, what) in ends {
        let (Some(path), Some(mb)) = (&storage.path, view.mb(kind)) else {
            continue;
        };
        if mb >= 0.8 * link {
            continue;
        }
        let place = Place {
            host: Some(host.clone()),
            object: Some(path.display().to_string()),
            ..Place::default()
        };
        found.push(
            Draft::new(CAUSE.code, Severity::Warning, Confidence::Certain, place)
                .name("direction", what)
                .decimal("storage_mb_per_s", mb)
                .decimal("link_mb_per_s", link)
                .number("direct", u64::from(storage.direct))
                .done(),
        );
    }
    found
}
