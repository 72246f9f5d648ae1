//! One of the path's two interfaces runs slower than the other: a bad pair in the cable, a fixed
//! setting, the wrong transceiver. The cause of `hawser check` by the same name, for one path.
//!
//! Evidence: the speed the drivers report. Certain; a warning. Case: `ladder-speed-below-peer`.

use hawser_model::finding::{Confidence, Finding, Severity};

use super::LadderCause;
use crate::causes::support::Draft;
use crate::throughput::view::LadderView;

pub(super) const CAUSE: LadderCause = LadderCause {
    code: "speed-below-peer",
    find,
};

fn find(view: &LadderView<'_>, _: &[Finding]) -> Vec<Finding> {
    let speed = |host| view.port(host)?.1.speed.filter(|s| s.0 > 0);
    let [from, to] = view.hosts();
    let (Some(a), Some(b)) = (speed(from), speed(to)) else {
        return Vec::new();
    };
    if a == b {
        return Vec::new();
    }
    let slower = if a < b { from } else { to };
    vec![
        Draft::new(
            CAUSE.code,
            Severity::Warning,
            Confidence::Certain,
            view.place(slower),
        )
        .number("speed_bits_per_s", a.min(b).0)
        .number("peer_speed_bits_per_s", a.max(b).0)
        .done(),
    ]
}
