//! The kernel has taken a SCSI disk out of use: commands to it fail at once (`offline`, `transport-offline`), or wait
//! (`blocked`, until its transport's timer ends).
//!
//! Evidence: `device/state` of the disk in sysfs (`scsi_sysfs.c`, `sdev_states`). Certain. An error, since it does not come
//! back by itself; a warning while it is blocked. A disk that is a path of a multipath device is told by
//! `multipath-path-lost`. Cases: `disk-offline`, `disk-of-a-path`.

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::storage::StorageFacts;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, host};
use crate::losses::Losses;
use crate::view::View;

/// The states in which a disk takes no commands. Others are those of a disk that comes or goes.
const STOPPED: [&str; 4] = ["offline", "transport-offline", "blocked", "created-blocked"];

#[derive(Serialize)]
pub(crate) struct DiskNotRunning {
    state: String,
    address: String,
}

/// Whether the kernel takes no commands for a disk in this state.
pub(crate) fn is_stopped(state: &str) -> bool {
    STOPPED.contains(&state)
}

fn is_a_path(storage: &StorageFacts, disk: &str) -> bool {
    let mut maps = storage.multipath.values();
    maps.any(|map| map.paths.contains_key(disk))
}

impl CheckCause for DiskNotRunning {
    const STANDING: bool = true;

    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let mut found = Vec::new();
        for (host, facts) in &view.case.hosts {
            let Some(storage) = &facts.storage else {
                continue;
            };
            for (name, disk) in &storage.disks {
                if !is_stopped(&disk.state) || is_a_path(storage, name) {
                    continue;
                }
                found.push(Found {
                    severity: match disk.state.ends_with("blocked") {
                        true => Severity::Warning,
                        false => Severity::Error,
                    },
                    confidence: Confidence::Certain,
                    place: Place::of(name, Some(host)),
                    evidence: Self {
                        state: disk.state.clone(),
                        address: disk.address.clone(),
                    },
                });
            }
        }
        found
    }
}

impl Cause for DiskNotRunning {
    const CODE: &'static str = "disk-not-running";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let (host, disk) = (host(at), at.object.as_deref().unwrap_or("a disk"));
        let Self { state, address } = self;
        let then = match state.ends_with("blocked") {
            true => "commands to it wait until its transport is back or gives up",
            false => "all commands to it fail, and it does not come back by itself",
        };
        Words {
            text: format!("The kernel of {host} has {disk} ({address}) as {state}: {then}."),
            fix: format!(
                "`journalctl -k -g '{disk}|{address}'` on {host} says what came before: an enclosure, a cable, a port of a \
                 controller, or the disk. When it answers again, `echo running >/sys/block/{disk}/device/state` takes it \
                 back into use."
            ),
        }
    }
}
