//! A port runs slower than another port of its link: a bad pair in the cable, a fixed setting, the wrong
//! transceiver.
//!
//! Evidence: the speed the drivers report (`ETHTOOL_GLINKSETTINGS`). In a check a port that is also below what
//! the file says is told by that. Certain; a warning. Cases: `speed-below-peer`, `ladder-speed-below-peer`.

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::units::BitsPerSec;
use serde::Serialize;

use super::speed_below_file::{Port, ports, slower};
use crate::cause::{Before, Cause, CheckCause, Found, LadderCause, Words};
use crate::compare::topic::{About, Topic};
use crate::losses::Losses;
use crate::throughput::view::LadderView;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct SpeedBelowPeer {
    speed_bits_per_s: BitsPerSec,
    peer_speed_bits_per_s: BitsPerSec,
}

fn found(place: Place, speed: BitsPerSec, of_peer: BitsPerSec) -> Found<SpeedBelowPeer> {
    Found {
        severity: Severity::Warning,
        confidence: Confidence::Certain,
        place,
        evidence: SpeedBelowPeer {
            speed_bits_per_s: speed,
            peer_speed_bits_per_s: of_peer,
        },
    }
}

impl CheckCause for SpeedBelowPeer {
    const STANDING: bool = true;

    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let mut all = Vec::new();
        for (link, ports) in ports(view) {
            let due = view.case.topology.link(&link).and_then(|l| l.speed);
            let Some(fastest) = ports.iter().map(|p| p.speed).max() else {
                continue;
            };
            let told_by_file = |p: &Port<'_>| due.is_some_and(|due| p.speed < due);
            let slow = ports.iter().filter(|p| p.speed < fastest);
            let slow = slow.filter(|port| !told_by_file(port));
            all.extend(slow.map(|port| found(port.place(&link), port.speed, fastest)));
        }
        all
    }
}

impl LadderCause for SpeedBelowPeer {
    fn find(view: &LadderView<'_>, _: &Before<'_>) -> Vec<Found<Self>> {
        let speed = |host| view.port(host)?.1.speed.filter(|s| s.0 > 0);
        let [from, to] = view.hosts();
        match (speed(from), speed(to)) {
            (Some(a), Some(b)) if a < b => vec![found(view.place(from), a, b)],
            (Some(a), Some(b)) if b < a => vec![found(view.place(to), b, a)],
            _ => Vec::new(),
        }
    }
}

impl Cause for SpeedBelowPeer {
    const CODE: &'static str = "speed-below-peer";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[
        Topic::Speed.told(),
        Topic::Card.any(),
        Topic::Firmware.any(),
        Topic::Slot.any(),
    ];

    fn words(&self, at: &Place) -> Words {
        let due = format!(
            "another port of the link has {}",
            self.peer_speed_bits_per_s
        );
        slower(at, self.speed_bits_per_s, &due)
    }
}
