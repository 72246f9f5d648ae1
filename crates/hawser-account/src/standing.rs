//! What is wrong with hosts as they stand, without any traffic: what `hawser watch` reads all the time.

use hawser_model::case::{Case, Intensity};
use hawser_model::finding::WordedFinding;
use hawser_model::host::HostFacts;
use hawser_model::names::HostName;
use hawser_model::probe::PathEcho;
use hawser_model::sockets::SocketFacts;
use hawser_model::topology::Topology;

use std::collections::BTreeMap;

use crate::causes::STANDING;
use crate::losses::Losses;
use crate::view::View;

/// The codes of the causes that need no traffic.
pub fn standing_codes() -> impl Iterator<Item = &'static str> {
    STANDING.iter().map(|cause| cause.code)
}

/// Asks those causes of a check that judge what stands on the hosts, by what was read of them and of their UDP sockets and
/// by their echoes: the same code, evidence and words as `hawser check` has for it. Worst first.
pub fn standing(
    topology: &Topology,
    hosts: &BTreeMap<HostName, HostFacts>,
    sockets: &BTreeMap<HostName, Vec<SocketFacts>>,
    echoes: &[PathEcho],
) -> Vec<WordedFinding> {
    let mut case = Case::new(0, Intensity::Gentle, topology.clone(), hosts.clone());
    case.sockets = sockets.clone();
    case.echoes = echoes.to_vec();
    let view = View::new(&case);
    let mut losses = Losses::of(&view);
    let mut found: Vec<_> = STANDING
        .iter()
        .flat_map(|cause| (cause.find)(&view, &mut losses))
        .collect();
    found.sort_by(|a, b| a.rank().cmp(&b.rank()));
    found.into_iter().map(|found| found.worded()).collect()
}
