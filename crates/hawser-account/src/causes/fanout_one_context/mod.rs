//! One processor copies a flow for all receivers of a host and delivers to all of them, and others that
//! could help do not: a card's one interrupt for the flow. The case of
//! "Multicast Performance on vSphere 5.0": 20 receivers, and 28 when the work was split.
//!
//! Evidence: the same host, flow and processors serve a fifth more receivers when each receiver's
//! interface hands its copy to a processor of its own; and the packets were lost at that processor's
//! backlog (certain), or the other processors had time to spare (likely). A warning. Case:
//! `fanout-one-context`.

use hawser_model::fanout::Spread;
use hawser_model::finding::Place;
use serde::Serialize;

use crate::cause::{Cause, FanoutCause, Found, Words};
use crate::fanout::FanoutView;
use crate::fanout::gain::Gain;

#[derive(Serialize)]
pub(crate) struct FanoutOneContext {
    receivers_one_context: u32,
    #[serde(flatten)]
    gain: Gain,
}

impl FanoutCause for FanoutOneContext {
    fn find(view: &FanoutView<'_>) -> Vec<Found<Self>> {
        let results = view.results.iter();
        let ones = results.filter(|r| r.spread == Spread::OneContext);
        let found = ones.filter_map(|one| {
            Gain::found(view, one, |served, gain| Self {
                receivers_one_context: served,
                gain,
            })
        });
        found.collect()
    }
}

impl Cause for FanoutOneContext {
    const CODE: &'static str = "fanout-one-context";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let how = "when one processor copies for all of them";
        Words {
            text: self.gain.text(at, self.receivers_one_context, how),
            fix: format!(
                "{} On containers behind a bridge of this host `hawser tune --multicast-fanout` tries it; in guests \
                 with a kernel of their own it is not applied by Hawser.",
                self.gain.advice()
            ),
        }
    }
}
