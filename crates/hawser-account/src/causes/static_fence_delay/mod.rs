//! The fencing of a dead node waited for a static delay.
//!
//! `pcmk_delay_base` keeps two nodes that lost sight of each other from fencing each other; the
//! fencer cannot know that the other one is dead and waits all the same.
//!
//! Evidence: the delay in the fencer's log. Certain; a note where two nodes need such a delay, else a warning. Case:
//! `drill/power-cut`.

use hawser_model::finding::{Confidence, Place, Severity};
use serde::Serialize;

use crate::cause::{Cause, Found, OutageCause, Words, host};
use crate::outage::millis::Millis;
use crate::outage::phase::Phase;
use crate::outage::view::DrillView;

#[derive(Serialize)]
pub(crate) struct StaticFenceDelay {
    delay_ms: Millis,
    outage_ms: Millis,
    nodes: usize,
    pools_of_the_dead: usize,
    pools: usize,
}

impl OutageCause for StaticFenceDelay {
    fn find(view: &DrillView<'_>) -> Option<Found<Self>> {
        let cluster = &view.case.cluster;
        let delayed = view.ms(Phase::FenceDelay);
        let target = view.fenced.first()?;
        let mut devices = cluster.fence_devices.iter();
        let device = devices.find(|device| {
            let given = ["pcmk_delay_base", "pcmk_delay_max"];
            let mut given = given.iter().map(|name| device.parameters.get(*name));
            device.targets.contains(target) && given.any(|delay| delay.is_some())
        })?;
        let pools = cluster.pools.iter();
        let theirs = pools.filter(|pool| pool.active_on.as_ref() == Some(target));
        (delayed.0 > 0).then(|| Found {
            severity: match cluster.nodes.len() {
                ..=2 => Severity::Note,
                _ => Severity::Warning,
            },
            confidence: Confidence::Certain,
            place: Place::of(&device.name, Some(target)),
            evidence: Self {
                delay_ms: delayed,
                outage_ms: view.outage_ms(),
                nodes: cluster.nodes.len(),
                pools_of_the_dead: theirs.count(),
                pools: cluster.pools.len(),
            },
        })
    }
}

impl Cause for StaticFenceDelay {
    const CODE: &'static str = "static-fence-delay";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        Words {
            text: format!(
                "The fencing of {} was delayed by {}, although it was dead: its fence device has a static delay.{} \
                 It had {} of {} pools.",
                host(at),
                self.delay_ms.of(self.outage_ms),
                match self.nodes {
                    ..=2 => {
                        " Two nodes need one, so that only one of them is fenced when they lose sight of each other."
                    }
                    _ => "",
                },
                self.pools_of_the_dead,
                self.pools,
            ),
            fix: "To spare this time: the cluster property `priority-fencing-delay` (Pacemaker 2.0.4) with priorities \
                  for the pools instead of `[fencing] delay` delays only the fencing of the head that has more. \
                  Price: when that head is really dead the delay still applies, and where both have the same, both \
                  may be fenced. A third vote (`[quorum] device`) needs no delay: one side never has quorum."
                .to_owned(),
        }
    }
}
