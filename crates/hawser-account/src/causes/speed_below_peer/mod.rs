//! One of the path's two interfaces runs slower than the other: a bad pair in the cable, a fixed
//! setting, the wrong transceiver. The cause of `hawser check` by the same name, for one path.
//!
//! Evidence: the speed the drivers report. Certain; a warning. Case: `ladder-speed-below-peer`.

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::units::BitsPerSec;
use serde::Serialize;

use crate::cause::{Before, Cause, Found, LadderCause, Words, at_interface, host, interface};
use crate::throughput::view::LadderView;

#[derive(Serialize)]
pub(crate) struct SpeedBelowPeer {
    speed_bits_per_s: BitsPerSec,
    peer_speed_bits_per_s: BitsPerSec,
}

impl LadderCause for SpeedBelowPeer {
    fn find(view: &LadderView<'_>, _: &Before<'_>) -> Vec<Found<Self>> {
        let speed = |host| view.port(host)?.1.speed.filter(|s| s.0 > 0);
        let [from, to] = view.hosts();
        let (Some(a), Some(b)) = (speed(from), speed(to)) else {
            return Vec::new();
        };
        if a == b {
            return Vec::new();
        }
        vec![Found {
            severity: Severity::Warning,
            confidence: Confidence::Certain,
            place: view.place(if a < b { from } else { to }),
            evidence: Self {
                speed_bits_per_s: a.min(b),
                peer_speed_bits_per_s: a.max(b),
            },
        }]
    }
}

impl Cause for SpeedBelowPeer {
    const CODE: &'static str = "speed-below-peer";

    fn words(&self, at: &Place) -> Words {
        Words {
            text: format!(
                "{} runs at {}; another port of the link has {}.",
                at_interface(at),
                self.speed_bits_per_s,
                self.peer_speed_bits_per_s,
            ),
            fix: format!(
                "`ethtool {}` on {} shows what both ends advertise. A damaged pair in a copper cable, \
                 a wrong transceiver or a fixed speed on the switch port are the usual reasons.",
                interface(at),
                host(at),
            ),
        }
    }
}
