//! A fence device that was asked for its status does not give it: the password was changed on the BMC alone, its
//! cable is out, its address belongs to another. Nothing shows it until a node dies; then the node cannot be
//! switched off, and nothing is taken over from it.
//!
//! Evidence: the answer of the very agent that Pacemaker would use, from a node that the device does not fence.
//! Certain, an error. A device that could not be asked, because its secret cannot be read where the check was
//! started, is a warning: nothing is known of it. Cases: `fence-device-fails`, `fence-device-not-asked`.

use hawser_model::case::FenceAnswer;
use hawser_model::finding::{Confidence, Finding, Place, Severity};

use super::Cause;
use super::support::Draft;
use crate::losses::Losses;
use crate::view::View;

pub(super) const CAUSE: Cause = Cause {
    code: "fence-device-fails",
    find,
};

fn find(view: &View<'_>, _: &mut Losses) -> Vec<Finding> {
    view.case.fencing.iter().filter_map(finding).collect()
}

fn finding(answer: &FenceAnswer) -> Option<Finding> {
    let failure = answer.failure.as_ref()?;
    let (severity, confidence) = match answer.asked_from {
        Some(_) => (Severity::Error, Confidence::Certain),
        None => (Severity::Warning, Confidence::Possible),
    };
    let place = Place {
        host: answer.asked_from.clone(),
        object: Some(answer.device.clone()),
        ..Place::default()
    };
    let nodes: Vec<&str> = answer.nodes.iter().map(|node| node.as_str()).collect();
    let draft = Draft::new(CAUSE.code, severity, confidence, place)
        .name("failure", failure)
        .name("fences", &nodes.join(", "));
    Some(draft.done())
}
