//! A hop takes smaller packets than the interfaces before it: the smallest hop wins, and jumbo
//! frames everywhere else gain nothing (case `jumbo`).
//!
//! Evidence: an echo-confirmed search with the don't-fragment bit, and the MTUs of the two
//! interfaces. Certain; a warning. What it costs is predicted as in `small-frames`: nothing where
//! the hosts hand the interface super-packets. Case: `ladder-path-mtu`.

use hawser_model::finding::{Confidence, Finding, Severity};

use super::LadderCause;
use super::small_frames::{offload, predicted_gain};
use crate::causes::support::Draft;
use crate::throughput::view::LadderView;

pub(super) const CAUSE: LadderCause = LadderCause {
    code: "path-mtu-below-interface",
    find,
};

fn find(view: &LadderView<'_>, _: &[Finding]) -> Vec<Finding> {
    let mtu = |host| view.port(host)?.1.mtu;
    let [from, to] = view.hosts();
    let (Some(ours), Some(theirs)) = (mtu(from), mtu(to)) else {
        return Vec::new();
    };
    let passed = view.run.path_mtu.as_ref().and_then(|p| p.passed);
    let smallest = passed.map_or(theirs, |p| p.min(theirs)).min(ours);
    let largest = ours.max(theirs);
    if smallest >= largest {
        return Vec::new();
    }
    let place = match smallest {
        s if s == theirs => view.place(to),
        s if s == ours => view.place(from),
        _ => view.path(),
    };
    let offload = offload(view);
    let gain = match offload {
        true => 1.0,
        false => predicted_gain(view, largest).unwrap_or(1.0),
    };
    vec![
        Draft::new(CAUSE.code, Severity::Warning, Confidence::Certain, place)
            .number("smallest_mtu", u64::from(smallest.0))
            .number("largest_mtu", u64::from(largest.0))
            .number("offload", u64::from(offload))
            .decimal("predicted_gain", gain)
            .done(),
    ]
}
