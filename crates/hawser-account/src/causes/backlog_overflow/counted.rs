//! Packets that found no room in a processor's backlog while nothing was measured.

use hawser_model::finding::Place;
use serde::Serialize;

use super::{BacklogOverflow, ONE_CPU, fix};
use crate::cause::{Cause, CheckCause, Found, Words, at_interface, counted};
use crate::causes::support::{Counted, counting};
use crate::compare::topic::About;
use crate::losses::Losses;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct CountedBacklog {
    #[serde(flatten)]
    counted: Counted,
    #[serde(skip_serializing_if = "Option::is_none")]
    netdev_max_backlog_packets: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpus: Option<u32>,
}

impl CheckCause for CountedBacklog {
    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let found = counting(view).into_iter();
        let found = found.filter_map(|(place, name, window)| {
            let host = place.host.clone()?;
            // The machine's count has other interfaces' packets too, the interface's own some that nobody wanted.
            let all = window.counters.under("softnet/");
            let all = all.filter(|(name, _)| name.ends_with("/dropped"));
            let machine = all.fold(0, |sum: u64, (_, n)| sum.saturating_add(n));
            let own = window.counters.or_zero(&format!("link/{name}/rx_dropped"));
            let both = ("softnet/dropped".to_owned(), machine.min(own));
            let evidence = Self {
                counted: Counted::of(window, both)?,
                netdev_max_backlog_packets: view.sysctl(&host, "net.core.netdev_max_backlog"),
                cpus: view.host(&host).map(|facts| facts.cpus),
            };
            Some(Counted::found(place, evidence))
        });
        found.collect()
    }
}

impl Cause for CountedBacklog {
    const CODE: &'static str = BacklogOverflow::CODE;
    const PAGE: &'static str = BacklogOverflow::PAGE;
    const ABOUT: &[About] = BacklogOverflow::ABOUT;

    fn words(&self, at: &Place) -> Words {
        let limit = self.netdev_max_backlog_packets;
        let full = limit.map_or(String::new(), |n| format!(" ({})", counted(n, "packet")));
        Words {
            text: format!(
                "{} lost {} within {} s because a CPU's input backlog was full{full}: they arrived faster than that CPU worked \
                 them off.",
                at_interface(at),
                counted(self.counted.counted, "packet"),
                self.counted.within_s,
            ),
            fix: fix(limit, self.cpus.unwrap_or(1), ONE_CPU, at),
        }
    }
}
