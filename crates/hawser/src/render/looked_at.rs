//! What a check has measured, so that an all-clear says of what; and what of it its findings count.

use std::collections::BTreeSet;

use hawser_model::case::{Case, Phase, PhaseKind};
use hawser_model::finding::WordedFinding;
use hawser_model::units::counted;

/// The parts of a measurement that are asked for by an option.
const OPTIONAL: [PhaseKind; 2] = [PhaseKind::Multicast, PhaseKind::Stream];

/// `Looked at: 4 directions (path MTU, heartbeat, bulk, fragmented), 2 fence devices. Not: multicast, stream.`
pub(super) fn looked_at(case: &Case) -> String {
    let measured = &case.measurements;
    let kinds: BTreeSet<PhaseKind> = measured
        .iter()
        .flat_map(|m| m.phases.iter().map(|phase| phase.kind))
        .collect();
    let mtu = measured.iter().any(|m| m.path_mtu.is_some());
    let parts: Vec<&str> = mtu.then_some("path MTU").into_iter().collect();
    let parts: Vec<&str> = parts
        .into_iter()
        .chain(kinds.iter().map(|kind| kind.word()))
        .collect();
    let mut all = vec![match parts[..] {
        [] => counted(measured.len() as u64, "direction"),
        _ => {
            let directions = counted(measured.len() as u64, "direction");
            format!("{directions} ({})", parts.join(", "))
        }
    }];
    match case.fencing.len() {
        0 => {}
        n => all.push(counted(n as u64, "fence device")),
    }
    let missing = OPTIONAL.iter().filter(|kind| !kinds.contains(kind));
    let missing: Vec<&str> = missing.map(|kind| kind.word()).collect();
    let missing = match missing[..] {
        [] => String::new(),
        _ => format!(" Not: {}.", missing.join(", ")),
    };
    format!("Looked at: {}.{missing}", all.join(", "))
}

/// Why the packets of a finding are fewer than those of its directions in the table: a finding counts the phases that
/// lost some. Nothing where all of them did, or no finding counts packets.
pub(super) fn left_out(case: &Case, findings: &[WordedFinding]) -> String {
    let counts = |it: &WordedFinding| it.finding.evidence.contains_key("sent_packets");
    if !findings.iter().any(counts) {
        return String::new();
    }
    let is_packets = |p: &&Phase| p.kind != PhaseKind::Stream;
    let lossless = |p: &&Phase| p.receiver.received >= p.sender.sent;
    let mut kinds = BTreeSet::new();
    let mut packets = 0;
    for measured in &case.measurements {
        let phases: Vec<&Phase> = measured.phases.iter().filter(is_packets).collect();
        if phases.iter().all(lossless) {
            continue;
        }
        for phase in phases.into_iter().filter(lossless) {
            kinds.insert(phase.kind.word());
            packets += phase.sender.sent.get();
        }
    }
    match packets {
        0 => String::new(),
        packets => format!(
            "Findings count the phases that lost packets. Of the directions with losses that leaves out {}: {}.\n\n",
            counted(packets, "packet"),
            kinds.into_iter().collect::<Vec<_>>().join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_all_clear_says_what_was_not_looked_at() {
        let streams: Case = hawser_cases::read("stream-both-rings");
        assert_eq!(
            looked_at(&streams),
            "Looked at: 4 directions (path MTU, heartbeat, bulk, stream). Not: multicast."
        );
        let mut none = streams;
        none.measurements.clear();
        assert_eq!(
            looked_at(&none),
            "Looked at: 0 directions. Not: multicast, stream."
        );
    }
}
