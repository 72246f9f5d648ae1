//! The wire or the whole path could not be measured: a port is filtered, a connection broke, a stream stands still.
//!
//! Evidence: the rung's own error. Certain; an error, since nothing about the path is known then.
//! Cases: `ladder-not-measured`, `ladder-stands-still`.

/// The same of one that varies too much.
pub(super) mod unsteady;

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::ladder::{Rung, RungKind};
use hawser_model::units::{Bytes, Nanos};
use serde::Serialize;

use crate::cause::{Before, Cause, Found, LadderCause, Words};
use crate::throughput::rates;
use crate::throughput::view::LadderView;

#[derive(Serialize)]
pub(crate) struct RungNotMeasured {
    error: String,
}

/// Rungs without which a ladder says little; of the others it is normal that one cannot run.
const NEEDED: [RungKind; 6] = [
    RungKind::SourceRead,
    RungKind::SinkWrite,
    RungKind::WireTcp,
    RungKind::WireTcpMany,
    RungKind::LoopbackTcp,
    RungKind::Whole,
];

impl LadderCause for RungNotMeasured {
    fn find(view: &LadderView<'_>, _: &Before<'_>) -> Vec<Found<Self>> {
        let rungs = view.run.rungs.iter().filter(|r| NEEDED.contains(&r.kind));
        rungs
            .filter_map(|rung| {
                let error = rung.unavailable.clone().or_else(|| stands_still(rung))?;
                Some(Found {
                    severity: Severity::Error,
                    confidence: Confidence::Certain,
                    place: Place {
                        peer: rung.host.is_none().then(|| view.run.to.clone()),
                        link: Some(view.run.link.clone()),
                        object: Some(view.name(rung)),
                        ..Place::on(rung.host.as_ref().unwrap_or(&view.run.from))
                    },
                    evidence: Self { error },
                })
            })
            .collect()
    }
}

/// What came of a stream of which nothing came after the start.
fn stands_still(rung: &Rung) -> Option<String> {
    let stream = matches!(
        rung.kind,
        RungKind::LoopbackTcp | RungKind::WireTcp | RungKind::WireTcpMany
    );
    let rate = rates::rate(&rung.samples).filter(|_| stream)?;
    if rate.mb_per_s > 0.0 {
        return None;
    }
    let last = rung.samples.iter().rposition(|s| !s.bytes.is_zero());
    let came = &rung.samples[..last.map_or(0, |last| last + 1)];
    let megabytes = came.iter().map(|s| s.bytes).sum::<Bytes>().0 as f64 / 1e6;
    let time: Nanos = came.iter().map(|s| s.elapsed).sum();
    Some(match megabytes >= 0.1 {
        true => format!(
            "{megabytes:.1} MB came in its first {:.2} s, and nothing later",
            time.as_secs_f64()
        ),
        // But the greeting.
        false => "nothing came".to_owned(),
    })
}

impl Cause for RungNotMeasured {
    const CODE: &'static str = "rung-not-measured";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        Words {
            text: format!(
                "The rung `{}` could not be measured: {}.",
                at.object.as_deref().unwrap_or("of the path"),
                self.error,
            ),
            fix: "Remove what the message names and repeat the ladder. Between the hosts any TCP and \
                  UDP port must be open on this link."
                .to_owned(),
        }
    }
}
