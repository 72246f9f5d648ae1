//! Packets left one host and never reached the other, and both hosts are clean: a cable, a
//! transceiver, a switch port, a switch. Which one shows in what the affected directions have
//! in common, over all hosts and links.
//!
//! Evidence: the sender's tap saw them leave and the receiver's did not see them arrive
//! (certain), or the two interfaces' own counters say so (likely). What to do follows the shape of the loss: packets here and
//! there are a cable's, one long outage is a port's that stopped forwarding, flows that are lost whole are a bundle's dead
//! member or an access list's, and a part of all multicast is a limit's. If about as many packets arrived meanwhile at a port that nobody has, they may be the same with
//! another port: possible, and no more said of cables. An error.
//! Cases: `loss-between-hosts-direction`, `-cable`, `-one-host`, `-everything`,
//! `counters-only-wire`, `loss-between-hosts-right-neighbour`, `loss-between-hosts-outage`,
//! `loss-between-hosts-bursts`, `loss-between-hosts-flows`, `loss-between-hosts-storm-control`,
//! `loss-between-hosts-port-rewritten`, `loss-between-hosts-port-of-others`, `loss-between-hosts-later-fragments`.

mod rewritten;
mod shape;

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::account::Layer;
use hawser_model::case::PhaseKind;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::units::{Nanos, Packets, PacketsPerSec};
use serde::Serialize;

use self::shape::Shape;
use crate::cause::{Cause, CheckCause, Found, Words, as_number, counted};
use crate::causes::claims::{Lost, confidence, links};
use crate::causes::pattern::{Pattern, localize};
use crate::compare::topic::{About, Topic};
use crate::losses::{Loss, Losses, packets};
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
    /// Packets that died at their sender waiting for the neighbour's address, whose requests were lost on the way.
    #[serde(skip_serializing_if = "Option::is_none")]
    waited_for_neighbour: Option<Packets>,
    /// Packets that arrived meanwhile at ports that nobody has, where they are about as many.
    #[serde(skip_serializing_if = "Option::is_none")]
    at_no_port_packets: Option<Packets>,
    shape: Shape,
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
            // What `neighbour-unresolved` left: its requests were lost with the rest.
            let waited = losses.claim(Self::CODE, |l| {
                l.layer == Some(Layer::Neighbour) && spot.paths.contains(&l.path)
            });
            let multicast_only = multicast_only(view, &group);
            let runs = Runs::of(view, &group);
            let mut place = spot.place;
            if let (Pattern::Link, Some(link)) = (spot.pattern, &place.link) {
                place.object = view.switch(link);
            }
            let at_no_port = rewritten::at_no_port(view, &group);
            found.push(Found {
                severity: Severity::Error,
                confidence: match at_no_port {
                    Some(_) => Confidence::Possible,
                    None => confidence(&group),
                },
                place,
                evidence: Self {
                    pattern: spot.pattern,
                    lost: Lost::of(view, &group),
                    directions_affected: spot.paths.len() as u64,
                    directions_measured: measured.len() as u64,
                    links_affected: links(&group).len() as u64,
                    multicast_only,
                    waited_for_neighbour: (!waited.is_empty()).then(|| Packets(packets(&waited))),
                    at_no_port_packets: at_no_port,
                    shape: Shape::of(view, &group, multicast_only, &runs),
                    runs,
                },
            });
        }
        found
    }

    fn cost(&self) -> Packets {
        self.lost.lost_packets + self.waited_for_neighbour.unwrap_or_default()
    }
}

impl Cause for LossBetweenHosts {
    const CODE: &'static str = "loss-between-hosts";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[Topic::Speed.any(), Topic::Duplex.any(), Topic::Pause.any()];

    fn words(&self, at: &Place) -> Words {
        let (lost, suspect) = (&self.lost, self.pattern.suspect(at));
        let shape = self.shape.text(&self.runs);
        let mut fix = self.shape.fix().to_owned();
        if self.at_no_port_packets.is_some() {
            fix = format!("{} {fix}", rewritten::FIX);
        }
        let text = match (self.multicast_only, self.at_no_port_packets) {
            (_, Some(packets)) => format!("{}{suspect}{shape}", rewritten::text(lost, packets)),
            (true, None) => format!(
                "Only multicast is lost between the hosts: {lost}; unicast passes. {suspect}{shape}"
            ),
            (false, None) => format!(
                "{lost} left one host and never reached the other, and neither host dropped them. \
                 {suspect}{shape}"
            ),
        };
        let waited = self.waited_for_neighbour.map_or_else(String::new, |waited| {
            format!(
                " {} more died at the sender waiting for the neighbour's address: the requests for it were lost too.",
                counted(waited.0, "packet")
            )
        });
        let text = text + &waited;
        Words { text, fix }
    }
}

/// Runs of consecutive losses in the phases that lost packets between the hosts, nine in ten of them at least: a phase's runs
/// do not say where each of its packets went.
#[derive(Serialize)]
struct Runs {
    loss_runs: u64,
    single_loss_runs: u64,
    longest_loss_run_packets: Packets,
    /// How long that was, at the flow's rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    longest_loss_run_ns: Option<Nanos>,
    /// Of multicast, if that alone is lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    passed_packets_per_s: Option<PacketsPerSec>,
}

impl Runs {
    fn of(view: &View<'_>, group: &[Loss]) -> Self {
        let mut here: BTreeMap<usize, u64> = BTreeMap::new();
        for loss in group {
            let sum = here.entry(loss.phase).or_default();
            *sum = sum.saturating_add(loss.packets);
        }
        let mut lengths: BTreeMap<u64, u64> = BTreeMap::new();
        let mostly = |(phase, lost): &(usize, u64)| {
            let all = view.phases[*phase].account.lost.0;
            lost.saturating_mul(10) >= all.saturating_mul(9)
        };
        let phases: Vec<usize> = here.into_iter().filter(mostly).map(|(i, _)| i).collect();
        let of = |index: &usize| view.phases[*index].facts.phase;
        let longest_loss_run_ns = phases.iter().filter_map(|i| shape::lasted(of(i))).max();
        let passed = phases.iter().filter_map(|i| shape::passed(of(i))).max();
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
            longest_loss_run_ns,
            passed_packets_per_s: passed,
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
