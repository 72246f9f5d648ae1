//! A fan-out, or one way of spreading it, could not be measured on a host. A note where others were;
//! an error where nothing was. Case: `fanout-not-measured`.

use hawser_model::finding::{Confidence, Place, Severity};
use serde::Serialize;

use crate::cause::{Cause, FanoutCause, Found, Words, host};
use crate::fanout::FanoutView;

#[derive(Serialize)]
pub(crate) struct FanoutNotMeasured {
    error: String,
}

impl FanoutCause for FanoutNotMeasured {
    fn find(view: &FanoutView<'_>) -> Vec<Found<Self>> {
        let mut found = Vec::new();
        for (host, measured) in &view.run.hosts {
            let mut add = |severity, place, error: &str| {
                found.push(Found {
                    severity,
                    confidence: Confidence::Certain,
                    place,
                    evidence: Self {
                        error: error.to_owned(),
                    },
                });
            };
            if let Some(error) = &measured.problem {
                add(Severity::Error, Place::on(host), error);
            }
            for series in &measured.series {
                if let Some(error) = &series.problem {
                    let what = format!("{} at {}", series.spread.word(), series.rate);
                    add(Severity::Note, Place::of(&what, Some(host)), error);
                }
            }
        }
        found
    }
}

impl Cause for FanoutNotMeasured {
    const CODE: &'static str = "fanout-not-measured";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let what = at.object.as_ref();
        Words {
            text: format!(
                "The receivers that {} serves{} could not be measured: {}.",
                host(at),
                what.map_or(String::new(), |what| format!(" ({what})")),
                self.error,
            ),
            fix: "It needs root, network namespaces, veth and the program `ip`; threaded NAPI also `ethtool` and \
                  Linux 5.12 or newer."
                .to_owned(),
        }
    }
}
