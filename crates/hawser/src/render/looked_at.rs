//! What a check has measured, so that an all-clear says of what.

use std::collections::BTreeSet;

use hawser_model::case::{Case, PhaseKind};

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
    let parts: Vec<&str> = parts.into_iter().chain(kinds.iter().map(word)).collect();
    let mut all = vec![match parts[..] {
        [] => format!("{} directions", measured.len()),
        _ => format!("{} directions ({})", measured.len(), parts.join(", ")),
    }];
    match case.fencing.len() {
        0 => {}
        n => all.push(format!("{n} fence devices")),
    }
    let missing = OPTIONAL.iter().filter(|kind| !kinds.contains(kind));
    let missing: Vec<&str> = missing.map(word).collect();
    let missing = match missing[..] {
        [] => String::new(),
        _ => format!(" Not: {}.", missing.join(", ")),
    };
    format!("Looked at: {}.{missing}", all.join(", "))
}

fn word(kind: &PhaseKind) -> &'static str {
    match kind {
        PhaseKind::Heartbeat => "heartbeat",
        PhaseKind::Bulk => "bulk",
        PhaseKind::Fragmented => "fragmented",
        PhaseKind::Multicast => "multicast",
        PhaseKind::Stream => "stream",
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
