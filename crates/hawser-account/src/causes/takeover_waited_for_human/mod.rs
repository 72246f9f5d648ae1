//! Fencing failed, and the takeover waited until somebody mended it or said that the node is off.
//!
//! Evidence: the fencer's own failure in its log and the moment of the healing, certain; or a fence
//! agent that came through only after it, likely. An error, unless the scenario had made fencing
//! impossible on purpose, in which waiting is right. Cases: `drill/fencing-failed`,
//! `drill/bmc-unreachable`.

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::HostName;
use serde::Serialize;

use crate::cause::{Cause, Found, OutageCause, Words};
use crate::outage::millis::Millis;
use crate::outage::phase::Phase;
use crate::outage::view::DrillView;

#[derive(Serialize)]
pub(crate) struct TakeoverWaitedForHuman {
    waited_ms: Millis,
    outage_ms: Millis,
}

impl OutageCause for TakeoverWaitedForHuman {
    const IN_LOGS: bool = true;

    fn find(view: &DrillView<'_>) -> Option<Found<Self>> {
        let (host, waited, confidence) = match view.of(Phase::Human).next() {
            Some(span) => (&span.host, view.ms(Phase::Human), Confidence::Certain),
            None => held_up(view)?,
        };
        Some(Found {
            severity: match view.case.scenario.promises.no_takeover {
                true => Severity::Note,
                false => Severity::Error,
            },
            confidence,
            place: Place::on(host),
            evidence: Self {
                waited_ms: waited,
                outage_ms: view.outage_ms(),
            },
        })
    }
}

/// A fence agent that had not failed yet, and came through only after a fault was healed.
fn held_up<'v>(view: &'v DrillView<'_>) -> Option<(&'v HostName, Millis, Confidence)> {
    let healed = view
        .case
        .faults
        .iter()
        .filter_map(|fault| fault.heal_ordered)
        .min()?;
    let span = view
        .of(Phase::FenceAgent)
        .find(|span| span.from < healed && healed < span.to)?;
    let waited = Millis((healed.0 - span.from.0) / 1000);
    Some((&span.host, waited, Confidence::Likely))
}

impl Cause for TakeoverWaitedForHuman {
    const CODE: &'static str = "takeover-waited-for-human";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, _: &Place) -> Words {
        Words {
            text: format!(
                "Fencing failed and nothing may be taken over without it: {} went by until it was mended, \
                 or an operator confirmed that the node is off.",
                self.waited_ms.of(self.outage_ms),
            ),
            fix: "Give the node a second fence device on a second level (`[[fencing.device]]`: a power \
                  switch, a storage switch), on a network and a power supply of its own. Price: the device, and \
                  up to the first device's time limit before the second is asked. Waiting was right: a \
                  takeover without fencing destroys pools."
                .to_owned(),
        }
    }
}
