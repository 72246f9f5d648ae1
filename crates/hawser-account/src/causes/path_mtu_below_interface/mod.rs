//! A hop takes smaller packets than the interfaces before it: the smallest hop wins, and jumbo
//! frames everywhere else gain nothing (case `jumbo`).
//!
//! Evidence: an echo-confirmed search with the don't-fragment bit, and the MTUs of the two
//! interfaces. Certain; a warning. What it costs is predicted as in `small-frames`: nothing where
//! the hosts hand the interface super-packets. Case: `ladder-path-mtu`.

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::units::Mtu;
use serde::Serialize;

use super::small_frames::{offload, predicted_gain};
use crate::cause::{Before, Cause, Found, LadderCause, Tenths, Words, as_number, at_interface};
use crate::compare::topic::{About, Topic};
use crate::throughput::view::LadderView;

#[derive(Serialize)]
pub(crate) struct PathMtuBelowInterface {
    smallest_mtu: Mtu,
    largest_mtu: Mtu,
    #[serde(serialize_with = "as_number")]
    offload: bool,
    predicted_gain: Tenths,
}

impl LadderCause for PathMtuBelowInterface {
    fn find(view: &LadderView<'_>, _: &Before<'_>) -> Vec<Found<Self>> {
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
        let offload = offload(view);
        let gain = match offload {
            true => 1.0,
            false => predicted_gain(view, largest).unwrap_or(1.0),
        };
        vec![Found {
            severity: Severity::Warning,
            confidence: Confidence::Certain,
            place: match smallest {
                s if s == theirs => view.place(to),
                s if s == ours => view.place(from),
                _ => view.path(),
            },
            evidence: Self {
                smallest_mtu: smallest,
                largest_mtu: largest,
                offload,
                predicted_gain: Tenths::of(gain),
            },
        }]
    }
}

impl Cause for PathMtuBelowInterface {
    const CODE: &'static str = "path-mtu-below-interface";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[Topic::Mtu.any()];

    fn words(&self, at: &Place) -> Words {
        let (smallest, largest) = (self.smallest_mtu.0, self.largest_mtu.0);
        let cost = match self.offload {
            true => {
                "The sender hands its interface super-packets (segmentation offload is on), so the \
                 smaller frames cost its processors nothing."
                    .to_owned()
            }
            false => format!(
                "The sender has no segmentation offload: each frame passes its whole stack, and frames \
                 of {largest} bytes would be {:.1} times as fast.",
                self.predicted_gain.0,
            ),
        };
        Words {
            text: format!(
                "At {} packets of at most {smallest} bytes pass, though an interface of the path sends up to \
                 {largest}. {cost}",
                at_interface(at),
            ),
            fix: format!(
                "Set the MTU to {largest} on every port of the link, switch ports included; or lower all of \
                 them to {smallest}."
            ),
        }
    }
}
