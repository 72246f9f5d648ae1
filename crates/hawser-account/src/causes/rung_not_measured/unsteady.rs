//! A rung over the link whose slices vary so much that no rate can be told, while nothing else was found: a ladder with such
//! a rung is no clean one. Certain; a warning. Case: `ladder-unsteady`.

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::ladder::RungKind;
use hawser_model::output::RungReport;
use serde::Serialize;

use super::RungNotMeasured;
use crate::cause::{Before, Cause, Found, LadderCause, Words};
use crate::throughput::view::LadderView;

#[derive(Serialize)]
pub(crate) struct UnsteadyRung {
    spread_percent: u64,
}

/// Those that what is said of a path rests on.
const RESTS_ON: [RungKind; 3] = [RungKind::WireTcp, RungKind::WireTcpMany, RungKind::Whole];

impl LadderCause for UnsteadyRung {
    fn find(view: &LadderView<'_>, before: &Before<'_>) -> Vec<Found<Self>> {
        if !before.0.is_empty() {
            return Vec::new();
        }
        let rungs = view.run.rungs.iter().filter(|r| RESTS_ON.contains(&r.kind));
        let found = rungs.filter_map(|rung| {
            let rate = view.rate(rung.kind)?;
            (rate.spread > RungReport::MEASURABLE).then(|| Found {
                severity: Severity::Warning,
                confidence: Confidence::Certain,
                place: Place {
                    object: Some(view.name(rung)),
                    ..view.path()
                },
                evidence: Self {
                    spread_percent: (rate.spread * 100.0).round() as u64,
                },
            })
        });
        found.collect()
    }
}

impl Cause for UnsteadyRung {
    const CODE: &'static str = RungNotMeasured::CODE;
    const PAGE: &'static str = RungNotMeasured::PAGE;

    fn words(&self, at: &Place) -> Words {
        Words {
            text: format!(
                "The rung `{}` is not measurable: its slices vary by ±{} % of their median, so no rate can be told, and \
                 nothing that was looked at says why.",
                at.object.as_deref().unwrap_or("of the path"),
                self.spread_percent,
            ),
            fix: "Repeat the ladder when the hosts and the link are quiet. If it stays so, look \
                  for other traffic of the link and for programs that come and go."
                .to_owned(),
        }
    }
}
