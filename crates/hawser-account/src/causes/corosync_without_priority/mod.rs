//! Corosync runs without real-time priority, or its memory may be paged out. It asks for both when it starts
//! (`SCHED_RR` with the highest priority, `mlockall`), and goes on without them when they are refused: a busy machine
//! then delays the token, and the others fence a healthy node.
//!
//! Evidence: `rt_priority` of its process, and `VmLck` against `VmRSS`: with `mlockall` all of what is mapped is
//! locked. Certain. A warning without priority, a note with it. Cases: `corosync-without-priority`,
//! `corosync-memory-not-locked`, `corosync-with-priority`.

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::units::Bytes;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, host};
use crate::losses::Losses;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct CorosyncWithoutPriority {
    realtime_priority: u32,
    locked_bytes: Bytes,
    resident_bytes: Bytes,
}

impl CorosyncWithoutPriority {
    /// Libraries lock a few pages for their keys: that is not `mlockall`.
    fn is_locked(&self) -> bool {
        self.locked_bytes.0 >= self.resident_bytes.0 / 2
    }
}

impl CheckCause for CorosyncWithoutPriority {
    const STANDING: bool = true;

    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let hosts = view.case.hosts.iter();
        let found = hosts.filter_map(|(host, facts)| {
            let process = facts.corosync.as_ref()?.process?;
            let evidence = Self {
                realtime_priority: process.realtime_priority,
                locked_bytes: process.locked,
                resident_bytes: process.resident,
            };
            let severity = match (evidence.realtime_priority, evidence.is_locked()) {
                (0, _) => Severity::Warning,
                (_, false) => Severity::Note,
                (_, true) => return None,
            };
            Some(Found {
                severity,
                confidence: Confidence::Certain,
                place: Place::of("corosync", Some(host)),
                evidence,
            })
        });
        found.collect()
    }
}

impl Cause for CorosyncWithoutPriority {
    const CODE: &'static str = "corosync-without-priority";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let host = host(at);
        let memory = format!(
            "{} of its {} of memory are locked",
            self.locked_bytes, self.resident_bytes
        );
        let unlocked = format!(
            "it could not raise RLIMIT_MEMLOCK: `LimitMEMLOCK=infinity` in a drop-in of corosync.service, and \
             CAP_IPC_LOCK and CAP_SYS_RESOURCE for a container. `journalctl -u corosync` on {host} has \"not locking memory\" \
             or \"Could not lock memory\""
        );
        match self.realtime_priority {
            0 => Words {
                text: format!(
                    "Corosync on {host} runs without real-time priority ({memory}): when the machine is busy it waits \
                     for its turn, the token comes late, and the others may fence a healthy node."
                ),
                fix: match self.is_locked() {
                    true => WITH_PRIORITY.to_owned(),
                    false => format!("{WITH_PRIORITY} Its memory: {unlocked}."),
                },
            },
            priority => Words {
                text: format!(
                    "Corosync on {host} has real-time priority {priority}, but only {memory}: when memory is short it \
                     waits for the disk, and the token comes late."
                ),
                fix: format!("Probably {unlocked}. Restart Corosync on this node after it."),
            },
        }
    }
}

const WITH_PRIORITY: &str = "`journalctl -u corosync` has \"Could not set SCHED_RR\" where it was refused: a control \
                             group without real-time budget (`system { move_to_root_cgroup: yes }` in corosync.conf), or \
                             a container without CAP_SYS_NICE. Else look for `sched_rr: no` in corosync.conf, or `-p` on \
                             its command line. Then restart Corosync on this node.";
