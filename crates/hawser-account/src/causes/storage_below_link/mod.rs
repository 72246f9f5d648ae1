//! The storage is slower than the link: whatever is done to the network, the path cannot be
//! faster.
//!
//! Evidence: its rung, bare, at less than four fifths of what the link carried. Memory that
//! stands for storage is not meant. Certain; a warning. Case: `ladder-slow-disk`.

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::ladder::RungKind;
use serde::Serialize;

use crate::cause::{Before, Cause, Found, LadderCause, Words, as_number, host};
use crate::compare::topic::{About, Topic};
use crate::throughput::mb::MbPerS;
use crate::throughput::view::LadderView;

#[derive(Serialize)]
pub(crate) struct StorageBelowLink {
    direction: Direction,
    storage_mb_per_s: MbPerS,
    link_mb_per_s: MbPerS,
    /// Whether it went past the page cache.
    #[serde(serialize_with = "as_number")]
    direct: bool,
}

#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Direction {
    Read,
    Write,
}

impl LadderCause for StorageBelowLink {
    fn find(view: &LadderView<'_>, _: &Before<'_>) -> Vec<Found<Self>> {
        let Some(link) = view.link_mb() else {
            return Vec::new();
        };
        let run = view.run;
        let (read, write) = (Direction::Read, Direction::Write);
        let ends = [
            (RungKind::SourceRead, &run.source, &run.from, read),
            (RungKind::SinkWrite, &run.sink, &run.to, write),
        ];
        let slow = ends
            .into_iter()
            .filter_map(|(kind, storage, host, direction)| {
                let (path, mb) = (storage.path.as_ref()?, view.mb(kind)?);
                (mb < 0.8 * link).then(|| Found {
                    severity: Severity::Warning,
                    confidence: Confidence::Certain,
                    place: Place::of(&path.display().to_string(), Some(host)),
                    evidence: Self {
                        direction,
                        storage_mb_per_s: MbPerS::of(mb),
                        link_mb_per_s: MbPerS::of(link),
                        direct: storage.direct,
                    },
                })
            });
        slow.collect()
    }
}

impl Cause for StorageBelowLink {
    const CODE: &'static str = "storage-below-link";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[Topic::Module.with("zfs "), Topic::Sysctl.with("vm.dirty")];

    fn words(&self, at: &Place) -> Words {
        let (what, way) = match self.direction {
            Direction::Read => ("read", "Reading"),
            Direction::Write => ("write", "Writing"),
        };
        let manner = match self.direct {
            true => " past the page cache",
            false => "",
        };
        Words {
            text: format!(
                "{way} {} on {}{manner} gives {}, the link takes {}: no change of the network makes \
                 this path faster.",
                at.object.as_deref().unwrap_or("the storage"),
                host(at),
                self.storage_mb_per_s,
                self.link_mb_per_s,
            ),
            fix: format!(
                "Look at the device while it works (`iostat -x 1`): its queue, its own cache, a \
                 rebuilding array, an I/O limit of a control group. A larger block or several \
                 requests at once ({what}-ahead, queue depth) help a disk that waits for each."
            ),
        }
    }
}
