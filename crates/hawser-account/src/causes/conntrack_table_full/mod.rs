//! The table of tracked connections is full (`net.netfilter.nf_conntrack_max`): packets that would begin
//! a new entry are dropped, on a host that only routes or filters as on any other that has a rule
//! with a state in it. Established connections go on, which makes it look like a firewall's mood.
//!
//! Evidence: packets lost in the packet filter while `conntrack/drop` counted nearly as many
//! (`nf_conntrack: table full, dropping packet`; `__nf_conntrack_alloc`). Likely, since other flows
//! move that counter too. An error. Case: `conntrack-table-full`.

use crate::fixes::knobs::{At, KERNEL_DEFAULT, backlog, igmp_2, rmem_default, sysctl};
use crate::fixes::{Candidate, TrialValue};
use hawser_model::account::Layer;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::HostName;
use hawser_model::units::Packets;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, at_interface, host};
use crate::causes::claims::{Lost, claim_explained, counter_over, place_on};
use crate::compare::topic::{About, Topic};
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
        let refused = |host: &HostName, group: &[Loss]| {
            let refused = counter_over(view, host, group, |facts, side| {
                facts.counter(side, "conntrack/drop")
            });
            let dropped = packets(group).saturating_mul(MOST);
            (refused.saturating_mul(100) >= dropped).then_some(refused)
        };
        let claimed = claim_explained(losses, Self::CODE, is_filter, refused).into_iter();
        let found = claimed.map(|(host, group, refused_entries)| Found {
            severity: Severity::Error,
            confidence: Confidence::Likely,
            place: place_on(view, &host, &group),
            evidence: Self {
                lost: Lost::of(view, &group),
                refused_entries,
                nf_conntrack_max: view.sysctl(&host, "net.netfilter.nf_conntrack_max"),
            },
        });
        found.collect()
    }

    fn cost(&self) -> Packets {
        self.lost.lost_packets
    }

    fn candidates(&self, _: &At<'_>) -> Vec<Option<Candidate>> {
        vec![
            igmp_2(),
            rmem_default(KERNEL_DEFAULT),
            backlog(),
            sysctl("net.netfilter.nf_conntrack_max", TrialValue::Times(4)),
        ]
    }
}

impl Cause for ConntrackTableFull {
    const CODE: &'static str = "conntrack-table-full";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[
        Topic::Sysctl.with("nf_conntrack_max"),
        Topic::Module.with("nf_conntrack"),
    ];

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
