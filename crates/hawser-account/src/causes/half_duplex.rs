//! A port runs half duplex: one end was fixed by hand and the other negotiates, which then
//! falls back to half (IEEE 802.3, clause 28). Collisions and late collisions under load.
//!
//! Evidence: the duplex the driver reports. Certain; a warning. Case: `half-duplex`.

use hawser_model::finding::{Confidence, Finding, Place, Severity};

use super::Cause;
use super::support::Draft;
use crate::losses::Losses;
use crate::view::View;

pub(super) const CAUSE: Cause = Cause {
    code: "half-duplex",
    find,
};

fn find(view: &View<'_>, _: &mut Losses) -> Vec<Finding> {
    view.ports()
        .into_iter()
        .filter(|(_, (_, i))| i.carrier && i.duplex.as_deref() == Some("half"))
        .map(|((link, host), (name, interface))| {
            let place = Place {
                host: Some(host),
                link: Some(link),
                interface: Some(name.clone()),
                ..Place::default()
            };
            Draft::new(CAUSE.code, Severity::Warning, Confidence::Certain, place)
                .maybe("speed_bits_per_s", interface.speed.map(|s| s.0))
                .done()
        })
        .collect()
}
