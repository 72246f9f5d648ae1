//! A port runs slower than the cluster file says: a bad pair in the cable, a fixed setting, the wrong
//! transceiver. The link works and carries a tenth.
//!
//! Evidence: the speed the driver reports (`ETHTOOL_GLINKSETTINGS`), of ports with carrier. Certain; a
//! warning. Case: `speed-below-file`.

use std::collections::BTreeMap;

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::{HostName, InterfaceName, LinkName};
use hawser_model::units::BitsPerSec;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, at_interface, host, interface};
use crate::compare::topic::{About, Topic};
use crate::losses::Losses;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct SpeedBelowFile {
    speed_bits_per_s: BitsPerSec,
    file_speed_bits_per_s: BitsPerSec,
}

/// A port that reports a speed.
pub(super) struct Port<'a> {
    host: HostName,
    name: &'a InterfaceName,
    pub(super) speed: BitsPerSec,
}

impl Port<'_> {
    pub(super) fn place(&self, link: &LinkName) -> Place {
        Place::port(&self.host, link, self.name)
    }
}

/// The ports of each link that report a speed.
pub(super) fn ports<'a>(view: &View<'a>) -> BTreeMap<LinkName, Vec<Port<'a>>> {
    let mut by_link: BTreeMap<LinkName, Vec<Port<'a>>> = BTreeMap::new();
    for ((link, host), (name, interface)) in view.ports() {
        let speed = interface.speed.filter(|s| s.0 > 0);
        if let (Some(speed), true, true) = (speed, interface.up, interface.carrier) {
            by_link
                .entry(link)
                .or_default()
                .push(Port { host, name, speed });
        }
    }
    by_link
}

impl CheckCause for SpeedBelowFile {
    const STANDING: bool = true;

    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let mut found = Vec::new();
        for (link, ports) in ports(view) {
            let Some(due) = view.case.topology.link(&link).and_then(|l| l.speed) else {
                continue;
            };
            let slow = ports.iter().filter(|port| port.speed < due);
            found.extend(slow.map(|port| Found {
                severity: Severity::Warning,
                confidence: Confidence::Certain,
                place: port.place(&link),
                evidence: Self {
                    speed_bits_per_s: port.speed,
                    file_speed_bits_per_s: due,
                },
            }));
        }
        found
    }
}

impl Cause for SpeedBelowFile {
    const CODE: &'static str = "speed-below-file";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[
        Topic::Speed.any(),
        Topic::Card.any(),
        Topic::Firmware.any(),
        Topic::Slot.any(),
    ];

    fn words(&self, at: &Place) -> Words {
        let due = format!("the cluster file says {}", self.file_speed_bits_per_s);
        slower(at, self.speed_bits_per_s, &due)
    }
}

/// What is said of a port that is slower than what is due.
pub(super) fn slower(at: &Place, speed: BitsPerSec, due: &str) -> Words {
    Words {
        text: format!("{} runs at {speed}; {due}.", at_interface(at)),
        fix: format!(
            "`ethtool {}` on {} shows what both ends advertise. A damaged pair in a copper cable, \
             a wrong transceiver or a fixed speed on the switch port are the usual reasons.",
            interface(at),
            host(at),
        ),
    }
}
