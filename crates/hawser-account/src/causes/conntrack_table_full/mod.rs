//! The table of tracked connections is full (`net.netfilter.nf_conntrack_max`): packets that would begin
//! a new entry are dropped, on a host that only routes or filters as on any other that has a rule
//! with a state in it. Established connections go on, which makes it look like a firewall's mood.
//!
//! Evidence: packets lost in the packet filter while `conntrack/drop` counted nearly as many
//! (`nf_conntrack: table full, dropping packet`; `__nf_conntrack_alloc`). Likely, since other flows
//! move that counter too. An error. Case: `conntrack-table-full`.

use hawser_model::account::Layer;
use hawser_model::finding::{Confidence, Place, Severity};
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, at_interface, host};
use crate::causes::support::{Lost, by_host, counter_over, place_on};
use crate::losses::{Loss, Losses, packets};
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct ConntrackTableFull {
    #[serde(flatten)]
    lost: Lost,
    refused_entries: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    nf_conntrack_max: Option<u64>,
}

/// What the table refused, of what the filter dropped, in per cent.
const MOST: u64 = 90;

fn is_filter(loss: &Loss) -> bool {
    matches!(
        loss.layer,
        Some(Layer::SenderFilter | Layer::ReceiverFilter)
    )
}

impl CheckCause for ConntrackTableFull {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let open: Vec<Loss> = losses.open().filter(|l| is_filter(l)).cloned().collect();
        let mut found = Vec::new();
        for (host, group) in by_host(open) {
            let refused = counter_over(view, &host, &group, |facts, side| {
                facts.counter(side, "conntrack/drop")
            });
            if refused.saturating_mul(100) < packets(&group).saturating_mul(MOST) {
                continue;
            }
            let group = losses.claim(Self::CODE, |l| {
                is_filter(l) && l.host.as_ref() == Some(&host)
            });
            let place = place_on(view, &host, &group);
            found.push(Found {
                severity: Severity::Error,
                confidence: Confidence::Likely,
                place,
                evidence: Self {
                    lost: Lost::of(view, &group),
                    refused_entries: refused,
                    nf_conntrack_max: view.sysctl(&host, "net.netfilter.nf_conntrack_max"),
                },
            });
        }
        found
    }
}

impl Cause for ConntrackTableFull {
    const CODE: &'static str = "conntrack-table-full";

    fn words(&self, at: &Place) -> Words {
        let most = self
            .nf_conntrack_max
            .map_or(String::new(), |n| format!(" of {n} entries"));
        Words {
            text: format!(
                "The table of tracked connections{most} on {} was full: it refused {} new entries, and {} \
                 went with them in the packet filter.",
                at_interface(at),
                self.refused_entries,
                self.lost,
            ),
            fix: format!(
                "On {}: `conntrack -C` against `sysctl net.netfilter.nf_conntrack_max`; raise it (320 bytes \
                 an entry), or let the interconnect pass untracked (`nft … notrack` in a raw chain), \
                 which it should be anyway.",
                host(at),
            ),
        }
    }
}
