//! Packets arrive more than once: a loop in layer 2, two bridges in parallel, a bond that
//! broadcasts, a mirror port patched back in. Harmless to TCP, doubled work for everybody
//! else, and the first sign of a storm.
//!
//! Evidence: further copies of sequence numbers already received, or of one hello frame. From
//! the first copy on; a clean path makes none. Certain; a warning. Case: `duplicated-path`.

use std::collections::BTreeMap;

use hawser_model::finding::{Confidence, Finding, Severity};

use super::Cause;
use super::pattern::localize;
use super::support::Draft;
use crate::losses::Losses;
use crate::view::{Path, View};

pub(super) const CAUSE: Cause = Cause {
    code: "duplicated-path",
    find,
};

fn find(view: &View<'_>, _: &mut Losses) -> Vec<Finding> {
    let mut copies: BTreeMap<Path, (u64, u64)> = BTreeMap::new();
    for phase in &view.phases {
        let duplicates = phase.facts.phase.receiver.duplicates.0;
        if duplicates > 0 {
            let entry = copies.entry(phase.path()).or_default();
            entry.0 = entry.0.saturating_add(duplicates);
        }
    }
    for hello in view.case.hellos.iter().flatten() {
        if hello.copies > 1 && hello.from_link == hello.on_link && hello.from != hello.by {
            let path = Path {
                link: hello.on_link.clone(),
                from: hello.from.clone(),
                to: hello.by.clone(),
            };
            copies.entry(path).or_default().1 += u64::from(hello.copies) - 1;
        }
    }
    let affected = copies.keys().cloned().collect();
    let mut measured = view.paths();
    measured.extend(copies.keys().cloned());
    localize(&affected, &measured)
        .into_iter()
        .map(|spot| {
            let of = |pick: fn(&(u64, u64)) -> u64| -> u64 {
                let paths = spot.paths.iter().filter_map(|p| copies.get(p));
                paths.map(pick).fold(0, u64::saturating_add)
            };
            let (packets, hellos) = (of(|c| c.0), of(|c| c.1));
            let received: u64 = spot.paths.iter().map(|p| view.received(p)).sum();
            Draft::new(
                CAUSE.code,
                Severity::Warning,
                Confidence::Certain,
                spot.place,
            )
            .name("pattern", spot.pattern.name())
            .number("duplicate_packets", packets)
            .number("received_packets", received)
            .percent("duplicate_percent", packets, received)
            .number("duplicate_hellos", hellos)
            .done()
        })
        .collect()
}
