//! A hop on the way silently drops packets larger than its own MTU: a switch port left at
//! 1500 on a jumbo link, a tunnel, a bridge (`br_dev_queue_push_xmit`), and no ICMP message
//! tells. Small heartbeats pass, so the link looks healthy until real traffic comes; traffic
//! that avoids fragmentation (DF) then hangs.
//!
//! Evidence: the echo-confirmed size search: the largest size that passed is below the
//! interface's MTU, the next one was taken by the kernel and never arrived, and nobody said
//! why; and no packet above that size arrived in any phase, or the silence was mere loss.
//! Where the other end's own MTU explains the size it is `mtu-mismatch`. An error.
//! Certain when a phase of larger packets lost all of them while smaller ones passed, else
//! likely. Cases: `mtu-black-hole`, `mtu-black-hole-one-direction`,
//! `mtu-black-hole-one-family`.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::account::Layer;
use hawser_model::case::Measurement;
use hawser_model::finding::{Confidence, Finding, Place, Severity};
use hawser_model::probe::PathMtu;
use hawser_model::units::Mtu;

use super::Cause;
use super::pattern::{Pattern, Spot, localize};
use super::support::Draft;
use crate::losses::{Losses, packets};
use crate::packets::facts::{Side, frames_a_block};
use crate::view::{Path, PhaseView, View};

pub(super) const CAUSE: Cause = Cause {
    code: "mtu-black-hole",
    find,
};

/// A receiver takes a frame that is larger than its MTU by up to a link header and a VLAN tag
/// (`__is_skb_forwardable`: `hard_header_len` 14 + `VLAN_HLEN` 4; real NICs similar).
const FRAME_SLACK: u32 = 22;

fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Finding> {
    let mut by_size: BTreeMap<(Mtu, Mtu, Mtu), BTreeSet<Path>> = BTreeMap::new();
    for m in &view.case.measurements {
        let path = Path {
            link: m.link.clone(),
            from: m.from.clone(),
            to: m.to.clone(),
        };
        if let Some(sizes) = m
            .path_mtu
            .as_ref()
            .and_then(|p| silent_below(view, &path, p))
        {
            by_size.entry(sizes).or_default().insert(path);
        }
    }
    let measured = view.paths();
    let mut found = of_other_family(view);
    for ((passed, silent, interface), paths) in by_size {
        let on_paths = paths.iter().cloned().chain(measured.iter().cloned());
        let measured: BTreeSet<Path> = on_paths.collect();
        for spot in localize(&paths, &measured) {
            found.extend(finding(view, losses, (passed, silent, interface), spot));
        }
    }
    found
}

/// What goes silent in the family that the flows did not use, where theirs passes: a filter or a
/// tunnel of one family.
fn of_other_family(view: &View<'_>) -> Vec<Finding> {
    let one = |m: &Measurement| {
        let (own, other) = (m.path_mtu.as_ref()?, m.path_mtu_other.as_ref()?);
        let (passed, silent) = (other.passed?, other.silent?);
        let told = other.told.is_some_and(|told| told <= passed);
        if passed >= other.interface_mtu || told || own.passed? <= passed {
            return None;
        }
        let place = Place {
            host: Some(m.from.clone()),
            peer: Some(m.to.clone()),
            link: Some(m.link.clone()),
            ..Place::default()
        };
        let draft = Draft::new(CAUSE.code, Severity::Error, Confidence::Likely, place)
            .name("pattern", Pattern::Direction.name())
            .number("ip_version", if other.source.is_ipv4() { 4 } else { 6 })
            .number("directions_affected", 1)
            .number("lost_packets", 0);
        Some(sizes(draft, passed, silent, other.interface_mtu).done())
    };
    view.case.measurements.iter().filter_map(one).collect()
}

/// The sizes, and in how many frames an 8 KiB block goes through each.
fn sizes(draft: Draft, passed: Mtu, silent: Mtu, interface: Mtu) -> Draft {
    draft
        .number("passed_mtu_bytes", passed.0.into())
        .number("silent_mtu_bytes", silent.0.into())
        .number("interface_mtu_bytes", interface.0.into())
        .maybe("frames_a_block_passed", frames_a_block(passed))
        .maybe("frames_a_block_interface", frames_a_block(interface))
}

/// The sizes of a path that goes silent below its interface's MTU: passed, silent, interface.
fn silent_below(view: &View<'_>, path: &Path, found: &PathMtu) -> Option<(Mtu, Mtu, Mtu)> {
    let (passed, silent) = (found.passed?, found.silent?);
    let told = found.told.is_some_and(|told| told <= passed);
    let larger_arrived = view
        .on(path)
        .any(|p| largest_frame(p) > passed && p.account.received.0 > 0);
    let receiver = view
        .on(path)
        .find_map(|p| p.facts.interface(Side::Receiver))
        .and_then(|(_, i)| i.mtu);
    let receivers_own = receiver.is_some_and(|mtu| {
        mtu < found.interface_mtu && passed >= mtu && passed.0 <= mtu.0.saturating_add(FRAME_SLACK)
    });
    let holds = passed < found.interface_mtu && !told && !larger_arrived && !receivers_own;
    holds.then_some((passed, silent, found.interface_mtu))
}

/// The largest IP packet that a phase put on the link.
fn largest_frame(phase: &PhaseView<'_>) -> Mtu {
    let size = phase.facts.packet_size();
    let mtu = phase.facts.interface(Side::Sender).and_then(|(_, i)| i.mtu);
    mtu.map_or(size, |mtu| size.min(mtu))
}

/// The finding, unless larger packets were sent and something else is known to have lost them
/// all: a filter by length looks like a black hole to the search.
fn finding(
    view: &View<'_>,
    losses: &mut Losses,
    (passed, silent, interface): (Mtu, Mtu, Mtu),
    spot: Spot,
) -> Option<Finding> {
    let tried = spot
        .paths
        .iter()
        .flat_map(|path| view.on(path))
        .any(|p| largest_frame(p) > passed && p.facts.sent() > 0);
    let explained = losses.claim(CAUSE.code, |l| {
        spot.paths.contains(&l.path)
            && largest_frame(&view.phases[l.phase]) > passed
            && matches!(
                l.layer,
                None | Some(Layer::BetweenHosts | Layer::ReceiverNic | Layer::Reassembly)
            )
    });
    if tried && explained.is_empty() {
        return None;
    }
    let smaller_arrived = spot.paths.iter().all(|path| {
        view.on(path)
            .any(|p| largest_frame(p) <= passed && p.account.received.0 > 0)
    });
    let confidence = match !explained.is_empty() && smaller_arrived {
        true => Confidence::Certain,
        false => Confidence::Likely,
    };
    let mut place = spot.place;
    if let (Some(link), None) = (&place.link, &place.host) {
        let switch = view.case.topology.link(link).and_then(|l| l.switch.clone());
        place.object = switch.map(|s| format!("switch {s}"));
    }
    let draft = Draft::new(CAUSE.code, Severity::Error, confidence, place)
        .name("pattern", spot.pattern.name())
        .number("directions_affected", spot.paths.len() as u64)
        .number("lost_packets", packets(&explained));
    Some(sizes(draft, passed, silent, interface).done())
}
