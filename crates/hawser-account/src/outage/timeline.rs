//! Everything that happened, from all nodes, on the drill's own clock.

use hawser_model::drill::{Clock, DrillCase, Moment};
use hawser_model::names::HostName;

use super::marks::{self, Mark};
use super::stamp::stamped;

/// A mark and when it was.
#[derive(Clone, Debug)]
pub(super) struct At {
    /// By the drill's clock.
    pub(super) at: Moment,
    /// The node that wrote it.
    pub(super) host: HostName,
    /// What.
    pub(super) mark: Mark,
}

/// All marks of all nodes in the order of time.
pub(super) fn timeline(case: &DrillCase) -> Vec<At> {
    let mut all = Vec::new();
    for (host, logs) in &case.logs {
        let mut put = |line: &str, mark: &dyn Fn(&str) -> Option<Mark>| {
            let Some((at, text)) = stamped(line, case.recorded, logs.utc_offset_s) else {
                return;
            };
            if let Some(mark) = mark(text) {
                all.push(At {
                    at: on_drills_clock(at, logs.clock),
                    host: host.clone(),
                    mark,
                });
            }
        };
        for line in &logs.corosync {
            put(line, &marks::corosync);
        }
        for line in &logs.pacemaker {
            put(line, &marks::pacemaker);
        }
    }
    all.sort_by_key(|mark| mark.at);
    all
}

/// A moment of a machine's clock on the drill's.
pub(super) fn on_drills_clock(at: Moment, clock: Clock) -> Moment {
    at.shifted(clock.offset_us)
}

/// How far off two moments of different machines may be from each other.
pub(super) fn clock_error_us(case: &DrillCase) -> u64 {
    let nodes = case.logs.values().map(|logs| logs.clock.error_us).max();
    nodes.unwrap_or(0) + case.client.clock.error_us
}
