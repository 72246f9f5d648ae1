//! A fence device that was asked for its status does not give it: the password was changed on the BMC alone, its
//! cable is out, its address belongs to another. Nothing shows it until a node dies; then the node cannot be
//! switched off, and nothing is taken over from it.
//!
//! Evidence: the answer of the very agent that Pacemaker would use, from a node that the device does not fence.
//! Certain, an error. A device that could not be asked, because its secret cannot be read where the check was
//! started, is a warning: nothing is known of it. Cases: `fence-device-fails`, `fence-device-not-asked`.

use hawser_model::case::FenceAnswer;
use hawser_model::finding::{Confidence, Place, Severity};
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words};
use crate::losses::Losses;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct FenceDeviceFails {
    failure: String,
    /// The nodes that it fences, one after the other.
    fences: String,
}

impl CheckCause for FenceDeviceFails {
    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        view.case.fencing.iter().filter_map(found).collect()
    }
}

fn found(answer: &FenceAnswer) -> Option<Found<FenceDeviceFails>> {
    let failure = answer.failure.clone()?;
    let (severity, confidence) = match answer.asked_from {
        Some(_) => (Severity::Error, Confidence::Certain),
        None => (Severity::Warning, Confidence::Possible),
    };
    let nodes: Vec<&str> = answer.nodes.iter().map(|node| node.as_str()).collect();
    Some(Found {
        severity,
        confidence,
        place: Place::of(&answer.device, answer.asked_from.as_ref()),
        evidence: FenceDeviceFails {
            failure,
            fences: nodes.join(", "),
        },
    })
}

impl Cause for FenceDeviceFails {
    const CODE: &'static str = "fence-device-fails";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let device = at.object.as_deref().unwrap_or("a fence device");
        let (nodes, failure) = (&self.fences, &self.failure);
        // One device may fence several.
        let each = match nodes.split_once(", ") {
            Some(_) => format!("If one of {nodes} died now, it"),
            None => format!("If {nodes} died now it"),
        };
        match &at.host {
            Some(host) => Words {
                text: format!(
                    "{device}, asked from {host}, does not answer: {failure}. {each} could not be \
                     switched off, and nothing would be taken over from it."
                ),
                fix: "A wrong password or user: set the same in the device and where the cluster file's `password` \
                      points, then `hawser apply`. No answer: its address, its cable and its switch; on IPMI \
                      `lanplus` and `cipher` too. `hawser status` asks again."
                    .to_owned(),
            },
            None => Words {
                text: format!(
                    "{device} was not asked whether it would switch {nodes} off: {failure}. Nothing is known of it."
                ),
                fix: "Run the check on a host that can read the secret, or fix the problem in the message.".to_owned(),
            },
        }
    }
}
