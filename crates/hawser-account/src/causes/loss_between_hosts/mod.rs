//! Packets left one host and never reached the other, and both hosts are clean: a cable, a
//! transceiver, a switch port, a switch. Which one shows in what the affected directions have
//! in common, over all hosts and links.
//!
//! Evidence: the sender's tap saw them leave and the receiver's did not see them arrive
//! (certain), or the two interfaces' own counters say so (likely). An error.
//! Cases: `loss-between-hosts-direction`, `-cable`, `-one-host`, `-everything`,
//! `counters-only-wire`, `loss-between-hosts-right-neighbour`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use hawser_model::account::Layer;
use hawser_model::case::PhaseKind;
use hawser_model::finding::{Place, Severity};
use hawser_model::units::Packets;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, as_number};
use crate::causes::pattern::{Pattern, localize};
use crate::causes::support::{Lost, confidence, links};
use crate::compare::topic::{About, Topic};
use crate::losses::{Loss, Losses};
use crate::view::{Path, View};

#[derive(Serialize)]
pub(crate) struct LossBetweenHosts {
    pattern: Pattern,
    #[serde(flatten)]
    lost: Lost,
    directions_affected: u64,
    directions_measured: u64,
    links_affected: u64,
    #[serde(serialize_with = "as_number")]
    multicast_only: bool,
    #[serde(flatten)]
    runs: Runs,
}

impl CheckCause for LossBetweenHosts {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let is_between = |l: &Loss| l.layer == Some(Layer::BetweenHosts);
        let affected: BTreeSet<Path> = losses
            .open()
            .filter(|l| is_between(l))
            .map(|l| l.path.clone())
            .collect();
        let measured = view.paths();
        let mut found = Vec::new();
        for spot in localize(&affected, &measured) {
            let group = losses.claim(Self::CODE, |l| {
                is_between(l) && spot.paths.contains(&l.path)
            });
            let mut place = spot.place;
            if let (Pattern::Link, Some(link)) = (spot.pattern, &place.link) {
                let switch = view.case.topology.link(link).and_then(|l| l.switch.clone());
                place.object = switch.map(|s| format!("switch {s}"));
            }
            found.push(Found {
                severity: Severity::Error,
                confidence: confidence(&group),
                place,
                evidence: Self {
                    pattern: spot.pattern,
                    lost: Lost::of(view, &group),
                    directions_affected: spot.paths.len() as u64,
                    directions_measured: measured.len() as u64,
                    links_affected: links(&group).len() as u64,
                    multicast_only: multicast_only(view, &group),
                    runs: Runs::of(view, &group),
                },
            });
        }
        found
    }

    fn cost(&self) -> Packets {
        self.lost.lost_packets
    }
}

impl Cause for LossBetweenHosts {
    const CODE: &'static str = "loss-between-hosts";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[Topic::Speed.any(), Topic::Duplex.any(), Topic::Pause.any()];

    fn words(&self, at: &Place) -> Words {
        let (lost, suspect) = (&self.lost, self.pattern.suspect(at));
        if self.multicast_only {
            return Words {
                text: format!(
                    "Only multicast is lost between the hosts: {lost}; unicast passes. {suspect}"
                ),
                fix: "IGMP snooping without a querier stops a group when its membership ages out: \
                      enable a querier on the switch, or turn snooping off on this VLAN, and see \
                      that all hosts speak the same IGMP version."
                    .to_owned(),
            };
        }
        Words {
            text: format!(
                "{lost} left one host and never reached the other, and neither host dropped them. \
                 {suspect}{}",
                self.runs,
            ),
            fix:
                "Look at the switch's counters of the ports concerned (CRC errors, discards), then \
                  exchange cable and transceiver one at a time and repeat the check after each. \
                  Discards without errors are congestion: pause frames, or traffic of others."
                    .to_owned(),
        }
    }
}

/// Runs of consecutive losses in the phases that lost packets between the hosts.
#[derive(Serialize)]
struct Runs {
    loss_runs: u64,
    single_loss_runs: u64,
    longest_loss_run_packets: Packets,
}

/// What they look like, as a sentence after others; nothing where there are none.
impl fmt::Display for Runs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let longest = self.longest_loss_run_packets;
        match () {
            () if self.loss_runs == 0 => Ok(()),
            () if longest.0 <= 1 => write!(f, " They went one at a time."),
            // Random loss also hits neighbours now and then; bursts are when it mostly does.
            () if self.single_loss_runs * 2 >= self.loss_runs => {
                write!(
                    f,
                    " Most went one at a time, at most {} in a row.",
                    longest.0
                )
            }
            () => write!(f, " They went in bursts, up to {longest} in a row."),
        }
    }
}

impl Runs {
    fn of(view: &View<'_>, group: &[Loss]) -> Self {
        let phases: BTreeSet<usize> = group.iter().map(|l| l.phase).collect();
        let mut lengths: BTreeMap<u64, u64> = BTreeMap::new();
        for phase in phases {
            let report = &view.phases[phase].facts.phase.receiver;
            for (length, count) in &report.loss_runs_by_length {
                let sum = lengths.entry(*length).or_default();
                *sum = sum.saturating_add(*count);
            }
        }
        Self {
            loss_runs: lengths.values().fold(0, |sum, n| sum.saturating_add(*n)),
            single_loss_runs: lengths.get(&1).copied().unwrap_or(0),
            longest_loss_run_packets: Packets(lengths.keys().max().copied().unwrap_or(0)),
        }
    }
}

/// Only multicast is lost, while unicast on the same paths was measured and passes.
fn multicast_only(view: &View<'_>, group: &[Loss]) -> bool {
    let is_multicast = |kind| kind == PhaseKind::Multicast;
    let lost_unicast = group
        .iter()
        .any(|l| !is_multicast(view.phases[l.phase].facts.phase.kind));
    let unicast_measured = group.iter().all(|l| {
        view.on(&l.path)
            .any(|p| !is_multicast(p.facts.phase.kind) && p.account.received.0 > 0)
    });
    !lost_unicast && unicast_measured
}
