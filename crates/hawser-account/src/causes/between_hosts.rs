//! Packets left one host and never reached the other, and both hosts are clean: a cable, a
//! transceiver, a switch port, a switch. Which one shows in what the affected directions have
//! in common, over all hosts and links.
//!
//! Evidence: the sender's tap saw them leave and the receiver's did not see them arrive
//! (certain), or the two interfaces' own counters say so (likely). An error.
//! Cases: `loss-between-hosts-direction`, `-cable`, `-one-host`, `-everything`,
//! `counters-only-wire`.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::account::Layer;
use hawser_model::case::PhaseKind;
use hawser_model::finding::{Finding, Severity};

use super::Cause;
use super::pattern::{Pattern, localize};
use super::support::{Draft, confidence, links};
use crate::losses::{Loss, Losses};
use crate::view::{Path, View};

pub(super) const CAUSE: Cause = Cause {
    code: "loss-between-hosts",
    find,
};

fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Finding> {
    let is_between = |l: &Loss| l.layer == Some(Layer::BetweenHosts);
    let affected: BTreeSet<Path> = losses
        .open()
        .filter(|l| is_between(l))
        .map(|l| l.path.clone())
        .collect();
    let measured = view.paths();
    let mut found = Vec::new();
    for spot in localize(&affected, &measured) {
        let group = losses.claim(CAUSE.code, |l| {
            is_between(l) && spot.paths.contains(&l.path)
        });
        let mut place = spot.place;
        if let (Pattern::Link, Some(link)) = (spot.pattern, &place.link) {
            let switch = view.case.topology.link(link).and_then(|l| l.switch.clone());
            place.object = switch.map(|s| format!("switch {s}"));
        }
        let runs = Runs::of(view, &group);
        found.push(
            Draft::new(CAUSE.code, Severity::Error, confidence(&group), place)
                .name("pattern", spot.pattern.name())
                .losses(view, &group)
                .number("directions_affected", spot.paths.len() as u64)
                .number("directions_measured", measured.len() as u64)
                .number("links_affected", links(&group).len() as u64)
                .number("multicast_only", u64::from(multicast_only(view, &group)))
                .number("loss_runs", runs.count)
                .number("single_loss_runs", runs.single)
                .number("longest_loss_run_packets", runs.longest)
                .done(),
        );
    }
    found
}

/// Runs of consecutive losses in the phases that lost packets between the hosts.
#[derive(Default)]
struct Runs {
    count: u64,
    single: u64,
    longest: u64,
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
            count: lengths.values().fold(0, |sum, n| sum.saturating_add(*n)),
            single: lengths.get(&1).copied().unwrap_or(0),
            longest: lengths.keys().max().copied().unwrap_or(0),
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
