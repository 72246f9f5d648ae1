//! A link's interface is administratively down (`ip link set down`, no `auto` line): the
//! kernel answers ENETUNREACH or drops at once, whatever the cable does.
//!
//! Evidence: `IFF_UP` is not set on the interface with the link's address
//! (`include/uapi/linux/if.h`). Certain; an error. Case: `interface-down`.

use hawser_model::finding::{Confidence, Finding, Place, Severity};

use super::Cause;
use super::support::Draft;
use crate::losses::{Losses, packets};
use crate::view::View;

pub(super) const CAUSE: Cause = Cause {
    code: "interface-down",
    find,
};

fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Finding> {
    let mut found = Vec::new();
    for ((link, host), (name, interface)) in view.ports() {
        if interface.up {
            continue;
        }
        let explained = losses.claim(CAUSE.code, |l| {
            l.path.link == link && (l.path.from == host || l.path.to == host)
        });
        let place = Place {
            host: Some(host),
            link: Some(link),
            interface: Some(name.clone()),
            ..Place::default()
        };
        found.push(
            Draft::new(CAUSE.code, Severity::Error, Confidence::Certain, place)
                .number("lost_packets", packets(&explained))
                .done(),
        );
    }
    found
}
