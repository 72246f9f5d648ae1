//! A port runs half duplex: one end was fixed by hand and the other negotiates, which then
//! falls back to half (IEEE 802.3, clause 28). Collisions and late collisions under load.
//!
//! Evidence: the duplex the driver reports. Certain; a warning. Case: `half-duplex`.

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::units::BitsPerSec;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, at_interface, host, interface};
use crate::compare::topic::{About, Topic};
use crate::losses::Losses;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct HalfDuplex {
    #[serde(skip_serializing_if = "Option::is_none")]
    speed_bits_per_s: Option<BitsPerSec>,
}

impl CheckCause for HalfDuplex {
    const STANDING: bool = true;

    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        view.ports()
            .into_iter()
            .filter(|(_, (_, i))| i.carrier && i.duplex.as_deref() == Some("half"))
            .map(|((link, host), (name, interface))| Found {
                severity: Severity::Warning,
                confidence: Confidence::Certain,
                place: Place::port(&host, &link, name),
                evidence: Self {
                    speed_bits_per_s: interface.speed,
                },
            })
            .collect()
    }
}

impl Cause for HalfDuplex {
    const CODE: &'static str = "half-duplex";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[Topic::Duplex.told(), Topic::Speed.any()];

    fn words(&self, at: &Place) -> Words {
        let speed = self.speed_bits_per_s;
        Words {
            text: format!(
                "{} runs half duplex{}: it cannot send and receive at once, and collides under load.",
                at_interface(at),
                speed.map_or(String::new(), |speed| format!(" at {speed}")),
            ),
            fix: format!(
                "Let both ends negotiate: `ethtool -s {} autoneg on` on {}, and no fixed speed on \
                 the switch port either. One fixed and one negotiating end gives half duplex.",
                interface(at),
                host(at),
            ),
        }
    }
}
