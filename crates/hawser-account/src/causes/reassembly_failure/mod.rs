//! Datagrams larger than the MTU could not be put together: a fragment is missing, or the
//! receiver's reassembly memory (`ipfrag_high_thresh`) is too small. One lost fragment costs
//! the whole datagram, so the loss of datagrams is a multiple of the loss of frames.
//!
//! Evidence: `ReasmFails`, the gauge of unfinished datagrams, or `FRAG_*` events, in excess of
//! what other layers of the same path explain. An error. Cases: `reassembly-failure`,
//! `reassembly-memory`; not `fragments-doubled`.

use crate::fixes::knobs::{At, KERNEL_DEFAULT, rmem_default, sysctl};
use crate::fixes::{Candidate, TrialValue};
use hawser_model::account::Layer;
use hawser_model::finding::Place;
use hawser_model::units::{Bytes, Packets};
use serde::Serialize;

use crate::cause::{
    Cause, CheckCause, Found, Words, as_number, counted, host, in_brackets, on_link, peer,
};
use crate::causes::claims::{Lost, by_host, counter_over, lost_on, main_reason};
use crate::compare::topic::{About, Topic};
use crate::losses::Losses;
use crate::packets::facts::PhaseFacts;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct ReassemblyFailure {
    /// The kernel's word for it.
    reason: String,
    #[serde(flatten)]
    lost: Lost,
    reassembly_failures: u64,
    unfinished_datagrams: u64,
    /// Packets of these paths arrived twice: a copy that comes when its datagram is complete waits too, and kills nothing.
    #[serde(serialize_with = "as_number")]
    copies_arrive: bool,
    fragments_per_datagram: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ipfrag_high_thresh_bytes: Option<Bytes>,
}

impl CheckCause for ReassemblyFailure {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let ip = |facts: &PhaseFacts<'_>| facts.families().1;
        let claimed = losses.claim(Self::CODE, |l| l.layer == Some(Layer::Reassembly));
        let found = by_host(claimed).into_iter().map(|(host, group)| {
            let fragments = group.iter().map(|l| view.phases[l.phase].facts.fragments());
            let evidence = Self {
                reason: main_reason(&group),
                lost: Lost::of(view, &group),
                reassembly_failures: counter_over(view, &host, &group, |facts, side| {
                    facts.counter(side, &format!("{}/ReasmFails", ip(facts)))
                }),
                unfinished_datagrams: counter_over(view, &host, &group, |facts, side| {
                    let gauge = match ip(facts) {
                        "ip" => "frag/inuse",
                        _ => "frag6/inuse",
                    };
                    facts.counter(side, gauge)
                }),
                copies_arrive: group.iter().any(|l| {
                    let phases = view.on(&l.path);
                    phases
                        .into_iter()
                        .any(|p| p.facts.phase.receiver.duplicates.0 > 0)
                }),
                fragments_per_datagram: fragments.max().unwrap_or(0),
                ipfrag_high_thresh_bytes: view
                    .sysctl(&host, "net.ipv4.ipfrag_high_thresh")
                    .map(Bytes),
            };
            lost_on(view, &host, &group, evidence)
        });
        found.collect()
    }

    fn cost(&self) -> Packets {
        self.lost.lost_packets
    }

    fn candidates(&self, at: &At<'_>) -> Vec<Option<Candidate>> {
        vec![
            at.largest_ring(),
            sysctl("net.ipv4.ipfrag_time", TrialValue::Value("60".to_owned())),
            sysctl("net.ipv4.ipfrag_high_thresh", TrialValue::AtLeast(4 << 20)),
            rmem_default(KERNEL_DEFAULT),
        ]
    }
}

impl Cause for ReassemblyFailure {
    const CODE: &'static str = "reassembly-failure";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[Topic::Sysctl.with("frag_")];

    fn words(&self, at: &Place) -> Words {
        let memory = match self.ipfrag_high_thresh_bytes {
            Some(bytes) => bytes.to_string(),
            None => "net.ipv4.ipfrag_high_thresh not read".to_owned(),
        };
        let waiting = match self.copies_arrive {
            true => "incomplete (packets arrive twice here, so left-over copies are among them)",
            false => "still waiting for a fragment",
        };
        Words {
            text: format!(
                "{} could not put together {} from {}{}{}: {} refused or timed out, {} {waiting}. A datagram of {} is lost with any one of them.",
                host(at),
                self.lost,
                peer(at),
                on_link(at),
                in_brackets(&self.reason),
                counted(self.reassembly_failures, "fragment"),
                counted(self.unfinished_datagrams, "datagram"),
                counted(self.fragments_per_datagram, "fragment"),
            ),
            fix: format!(
                "Send smaller datagrams or raise the link's MTU, so that nothing is cut. If memory \
                 is short ({memory} now): `sysctl -w net.ipv4.ipfrag_high_thresh=8388608`. A filter that \
                 drops later fragments, which carry no port, does the same."
            ),
        }
    }
}
