//! A link's interface is administratively down (`ip link set down`, no `auto` line): the
//! kernel answers ENETUNREACH or drops at once, whatever the cable does.
//!
//! Evidence: `IFF_UP` is not set on the interface with the link's address
//! (`include/uapi/linux/if.h`). Certain; an error. Case: `interface-down`.

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::units::Packets;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, host, interface};
use crate::losses::{Losses, packets};
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct InterfaceDown {
    lost_packets: Packets,
}

impl CheckCause for InterfaceDown {
    const STANDING: bool = true;

    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let mut found = Vec::new();
        for ((link, host), (name, interface)) in view.ports() {
            if interface.up {
                continue;
            }
            let explained = losses.claim(Self::CODE, |l| {
                l.path.link == link && (l.path.from == host || l.path.to == host)
            });
            found.push(Found {
                severity: Severity::Error,
                confidence: Confidence::Certain,
                place: Place::port(&host, &link, name),
                evidence: Self {
                    lost_packets: Packets(packets(&explained)),
                },
            });
        }
        found
    }

    fn cost(&self) -> Packets {
        self.lost_packets
    }
}

impl Cause for InterfaceDown {
    const CODE: &'static str = "interface-down";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let link = at.link.as_ref().map_or("it carries", |link| link.as_str());
        Words {
            text: format!(
                "The interface {} of {} is switched off: the host is not on link {link}.",
                interface(at),
                host(at),
            ),
            fix: format!(
                "`ip link set {} up` on {}, and see that the network configuration brings it up \
                 at boot.",
                interface(at),
                host(at),
            ),
        }
    }
}
