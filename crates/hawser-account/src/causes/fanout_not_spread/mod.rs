//! The interfaces of a host's own receivers are set so that it serves fewer than when their work is
//! spread: nothing is set, or all of them hand their packets to one processor.
//!
//! Evidence: the same host, flow and processors serve a fifth more with each receiver's interface
//! handing its copy to a processor of its own than with the settings that were found on the host; and
//! the packets were lost at a processor's backlog (certain), or the other processors had time to spare
//! (likely). A warning. Measured by a tune alone, which can do something about it. Case:
//! `fanout-not-spread`.

use hawser_model::fanout::Spread;
use hawser_model::finding::Place;
use serde::Serialize;

use crate::cause::{Cause, FanoutCause, Found, Words};
use crate::fanout::FanoutView;
use crate::fanout::gain::Gain;

#[derive(Serialize)]
pub(crate) struct FanoutNotSpread {
    receivers_as_set: u32,
    #[serde(flatten)]
    pub(crate) gain: Gain,
}

impl FanoutCause for FanoutNotSpread {
    fn find(view: &FanoutView<'_>) -> Vec<Found<Self>> {
        let as_set = view.results.iter().filter(|r| r.spread == Spread::AsSet);
        let found = as_set.filter_map(|as_set| {
            let bridge = view.run.hosts.get(&as_set.host)?.bridge.clone();
            let mut found = Gain::found(view, as_set, |served, gain| Self {
                receivers_as_set: served,
                gain,
            })?;
            found.place.interface = bridge;
            Some(found)
        });
        found.collect()
    }
}

impl Cause for FanoutNotSpread {
    const CODE: &'static str = "fanout-not-spread";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let (how, fix) = match &at.interface {
            Some(bridge) => (
                format!("when each is set as those behind {bridge} are now"),
                "`hawser tune --multicast-fanout` tries that on them, and keeps it when it is proven."
                    .to_owned(),
            ),
            None => (
                "as the kernel makes their interfaces".to_owned(),
                format!(
                    "{} Nothing on this host receives behind a bridge now, so there was nothing to turn.",
                    self.gain.advice()
                ),
            ),
        };
        Words {
            text: self.gain.text(at, self.receivers_as_set, &how),
            fix,
        }
    }
}
