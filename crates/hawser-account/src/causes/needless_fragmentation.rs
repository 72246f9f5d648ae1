//! Datagrams are cut into fragments, or refused, although the link would carry them whole: a
//! route or a learnt path MTU is smaller than what passes (`ip route … mtu`, a stale ICMP), or
//! a bridge between the hosts reassembles and cuts them anew for its filter
//! (`bridge-nf-call-iptables`). Each fragment is one more packet to lose.
//!
//! Evidence: the sender's tap sees fragments of datagrams that fit its interface, or finer
//! ones than its MTU needs; or the receiver's tap sees fragments of what left whole; or the
//! kernel says less than an echo-confirmed size. Certain by taps, likely otherwise. A
//! warning; an error when packets were refused. Cases: `needless-fragmentation-route`,
//! `needless-fragmentation-on-the-way`.

use std::collections::BTreeMap;

use hawser_model::account::Layer;
use hawser_model::finding::{Confidence, Finding, Place, Severity};

use super::Cause;
use super::mtu_mismatch::refused_as_too_big;
use super::support::Draft;
use crate::losses::{Losses, packets};
use crate::packets::facts::Side;
use crate::view::{Path, PhaseView, View};

pub(super) const CAUSE: Cause = Cause {
    code: "needless-fragmentation",
    find,
};

#[derive(Default)]
struct Seen {
    cut_by_sender: u64,
    cut_on_the_way: u64,
    by_counter: bool,
    told: Option<u64>,
    passed: Option<u64>,
    interface: Option<u64>,
}

fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Finding> {
    let mut seen: BTreeMap<Path, Seen> = BTreeMap::new();
    for phase in &view.phases {
        look(phase, seen.entry(phase.path()).or_default());
    }
    for m in &view.case.measurements {
        let Some(found) = &m.path_mtu else {
            continue;
        };
        let path = Path {
            link: m.link.clone(),
            from: m.from.clone(),
            to: m.to.clone(),
        };
        let seen = seen.entry(path).or_default();
        seen.interface = Some(u64::from(found.interface_mtu.0));
        seen.passed = found.passed.map(|m| u64::from(m.0));
        seen.told = found.told.map(|m| u64::from(m.0));
    }
    seen.into_iter()
        .filter_map(|(path, seen)| finding(losses, path, &seen))
        .collect()
}

/// What the taps, or without them the counters, saw of fragments in one phase.
fn look(phase: &PhaseView<'_>, seen: &mut Seen) {
    let facts = &phase.facts;
    let due = facts.fragments();
    match (facts.tap(Side::Sender), facts.tap(Side::Receiver)) {
        (Some(out), into) => {
            let needed = out.packets.saturating_mul(due - 1);
            // A first fragment lost below the tap's layer leaves later ones that are needed.
            let all_first = facts.sent().saturating_mul(due - 1).max(needed);
            seen.cut_by_sender += out.later_fragments.saturating_sub(all_first);
            // Of datagrams cut by the sender more pieces may arrive because some came twice.
            if let (Some(into), 1) = (into, due) {
                seen.cut_on_the_way += into.later_fragments.saturating_sub(out.later_fragments);
            }
        }
        (None, _) if due == 1 => {
            let (_, ip) = facts.families();
            let created = facts.counter(Side::Sender, &format!("{ip}/FragCreates"));
            let joined = facts.counter(Side::Receiver, &format!("{ip}/ReasmOKs"));
            // Other programs fragment too; only what reaches our own numbers is ours.
            let (sent, received) = (facts.sent().max(1), facts.received().max(1));
            if created >= sent {
                seen.cut_by_sender += created;
                seen.by_counter = true;
            } else if created == 0 && joined >= received {
                seen.cut_on_the_way += joined;
                seen.by_counter = true;
            }
        }
        (None, _) => {}
    }
}

fn finding(losses: &mut Losses, path: Path, seen: &Seen) -> Option<Finding> {
    let told_less = match (seen.told, seen.passed) {
        (Some(told), Some(passed)) => told < passed,
        _ => false,
    };
    let refused = match told_less {
        true => losses.claim(CAUSE.code, |l| {
            l.path == path && l.layer == Some(Layer::SenderIp) && refused_as_too_big(&l.reason)
        }),
        false => Vec::new(),
    };
    if seen.cut_by_sender == 0 && seen.cut_on_the_way == 0 && !told_less {
        return None;
    }
    let severity = match refused.is_empty() {
        true => Severity::Warning,
        false => Severity::Error,
    };
    let by_tap = seen.cut_by_sender + seen.cut_on_the_way > 0 && !seen.by_counter;
    let confidence = match by_tap {
        true => Confidence::Certain,
        false => Confidence::Likely,
    };
    let place = Place {
        host: Some(path.from),
        peer: Some(path.to),
        link: Some(path.link),
        ..Place::default()
    };
    let told = seen.told.filter(|_| told_less);
    Some(
        Draft::new(CAUSE.code, severity, confidence, place)
            .number("fragments_cut_by_sender", seen.cut_by_sender)
            .number("fragments_cut_on_the_way", seen.cut_on_the_way)
            .maybe("told_mtu_bytes", told)
            .maybe("passed_mtu_bytes", seen.passed)
            .maybe("interface_mtu_bytes", seen.interface)
            .number("lost_packets", packets(&refused))
            .done(),
    )
}
