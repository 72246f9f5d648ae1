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
//! `mtu-black-hole-one-family`, `mtu-black-hole-one-family-both`, `mtu-black-hole-own-filter`,
//! `mtu-black-hole-switch-port`, `mtu-black-hole-router`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use hawser_model::account::Layer;
use hawser_model::case::{BLOCK, Case, Measurement};
use hawser_model::drops::NO_REASON;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::probe::PathMtu;
use hawser_model::units::{Bytes, Mtu, Packets};
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, counted, host, on_link};
use crate::causes::claims::only;
use crate::causes::pattern::{Pattern, Spot, localize};
use crate::compare::topic::{About, Topic};
use crate::losses::{Loss, Losses, packets};
use crate::packets::facts::Side;
use crate::packets::frames_a_block;
use crate::view::{Path, PhaseView, View};

#[derive(Serialize)]
pub(crate) struct MtuBlackHole {
    pattern: Pattern,
    /// The family that the flows did not use, when it is that one's.
    #[serde(skip_serializing_if = "Option::is_none")]
    ip_version: Option<u64>,
    directions_affected: u64,
    lost_packets: Packets,
    #[serde(flatten)]
    sizes: Sizes,
    #[serde(flatten)]
    hops: Option<Hops>,
}

/// Between which routers they vanish, if some are on the way and tell.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
struct Hops {
    /// The last one that such a packet reached; none when it did not reach the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_hop_reached: Option<IpAddr>,
    /// The next one, or the receiver, which small ones reached and it did not.
    first_hop_missed: IpAddr,
}

impl Hops {
    fn of(found: &PathMtu) -> Option<Self> {
        found.vanishes.map(|vanishes| Self {
            last_hop_reached: vanishes.reached,
            first_hop_missed: vanishes.not_reached,
        })
    }

    /// Where to look, as a sentence.
    fn words(self) -> String {
        let missed = self.first_hop_missed;
        match self.last_hop_reached {
            Some(reached) => format!(
                " One of that size reaches the router {reached} and not {missed} behind it, which a small one does: look at \
                 {reached}'s way out and at what lies between the two."
            ),
            None => format!(
                " One of that size does not even reach {missed}, the first router, which a small one does: look at the sender's side of it."
            ),
        }
    }
}

/// What passes, what does not, and what is meant to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Sizes {
    passed_mtu_bytes: Mtu,
    silent_mtu_bytes: Mtu,
    interface_mtu_bytes: Mtu,
    /// The sending host's own packet filter refuses them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    refused_by_sender: bool,
    /// In how many frames an 8 KiB block goes through.
    #[serde(skip_serializing_if = "Option::is_none")]
    frames_a_block_passed: Option<u64>,
    /// In how many it is meant to.
    #[serde(skip_serializing_if = "Option::is_none")]
    frames_a_block_interface: Option<u64>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    named: Option<NamedBlock>,
}

/// The same of the block that was named.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct NamedBlock {
    block_bytes: Bytes,
    frames_a_named_block_passed: u64,
    frames_a_named_block_interface: u64,
}

impl Sizes {
    fn of(case: &Case, found: &PathMtu, passed: Mtu, silent: Mtu) -> Self {
        let interface = found.interface_mtu;
        let named = case.block.and_then(|block| {
            Some(NamedBlock {
                block_bytes: block,
                frames_a_named_block_passed: frames_a_block(block, passed)?,
                frames_a_named_block_interface: frames_a_block(block, interface)?,
            })
        });
        Self {
            named,
            passed_mtu_bytes: passed,
            silent_mtu_bytes: silent,
            interface_mtu_bytes: interface,
            refused_by_sender: found.denied,
            frames_a_block_passed: frames_a_block(BLOCK, passed),
            frames_a_block_interface: frames_a_block(BLOCK, interface),
        }
    }
}

/// A receiver takes a frame that is larger than its MTU by up to a link header and a VLAN tag
/// (`__is_skb_forwardable`: `hard_header_len` 14 + `VLAN_HLEN` 4; real NICs similar).
const FRAME_SLACK: u32 = 22;

impl CheckCause for MtuBlackHole {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let mut by_size: BTreeMap<Sizes, BTreeSet<Path>> = BTreeMap::new();
        for m in &view.case.measurements {
            let path = Path::of(m);
            if let Some(sizes) = m
                .path_mtu
                .as_ref()
                .and_then(|p| silent_below(view, &path, p))
            {
                by_size.entry(sizes).or_default().insert(path);
            }
        }
        let measured = view.paths();
        let mut found = of_other_family(view, &measured);
        for (sizes, paths) in by_size {
            let on_paths = paths.iter().cloned().chain(measured.iter().cloned());
            let measured: BTreeSet<Path> = on_paths.collect();
            for spot in localize(&paths, &measured) {
                found.extend(finding(view, losses, sizes, spot));
            }
        }
        found
    }

    fn cost(&self) -> Packets {
        self.lost_packets
    }
}

impl Cause for MtuBlackHole {
    const CODE: &'static str = "mtu-black-hole";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[Topic::Mtu.any()];

    fn words(&self, at: &Place) -> Words {
        let sizes = &self.sizes;
        let lost = match self.lost_packets.0 {
            0 => String::new(),
            n => format!(" It cost {} of the check.", counted(n, "packet")),
        };
        let passed = sizes.passed_mtu_bytes;
        let kind = match self.ip_version {
            Some(version) => format!("IPv{version} packets"),
            None => "Packets".to_owned(),
        };
        let named = match sizes.named {
            Some(named)
                if named.frames_a_named_block_passed != named.frames_a_named_block_interface =>
            {
                format!(
                    " A block of {} goes through in {} frames, and is meant to in {}.",
                    named.block_bytes,
                    named.frames_a_named_block_passed,
                    named.frames_a_named_block_interface,
                )
            }
            _ => String::new(),
        };
        let frames = match (sizes.frames_a_block_passed, sizes.frames_a_block_interface) {
            (Some(passed), Some(meant)) if passed != meant => {
                format!(
                    " An 8 KiB block goes through in {passed} frames, and is meant to in {meant}."
                )
            }
            _ => String::new(),
        };
        let meant = sizes.interface_mtu_bytes;
        let hops = self.hops.map_or(String::new(), Hops::words);
        if sizes.refused_by_sender {
            let silent = sizes.silent_mtu_bytes;
            let host = host(at);
            return Words {
                text: format!(
                    "{kind} up to {passed} bytes pass{}; from {silent} bytes on {host}'s own packet filter refuses them \
                     (EPERM), so they never are on the link, whose interfaces are set to {meant}.{frames}{named}{lost} \
                     Heartbeats are small and pass, so the link looks healthy until data flows.",
                    on_link(at),
                ),
                fix: format!(
                    "`nft list ruleset` or `iptables-save` and `ip6tables-save` on {host}: a rule on output that matches \
                     a length."
                ),
            };
        }
        Words {
            text: format!(
                "{kind} up to {passed} bytes pass, from {} bytes on they vanish without a word, \
                 although the interfaces are set to {meant}.{hops}{frames}{named}{lost} {} Heartbeats are small and pass, so \
                 the link looks healthy until data flows.",
                sizes.silent_mtu_bytes,
                self.pattern.suspect(at),
            ),
            fix: format!(
                "Set the MTU of every switch port and bridge on the way to at least {meant} (switches \
                 often count {} with headers). Until then set the hosts' interfaces to what passes: \
                 `ip link set IF mtu {passed}` on all hosts of the link; do it on a console or over \
                 another link.",
                meant.0 + FRAME_SLACK,
            ),
        }
    }
}

/// What goes silent in the family that the flows did not use, where theirs passes: a filter or a
/// tunnel of one family.
fn of_other_family(view: &View<'_>, measured: &BTreeSet<Path>) -> Vec<Found<MtuBlackHole>> {
    let mut by_size: BTreeMap<(Sizes, u64), BTreeSet<Path>> = BTreeMap::new();
    for m in &view.case.measurements {
        if let Some(sizes) = one_family(view, m) {
            by_size.entry(sizes).or_default().insert(Path::of(m));
        }
    }
    let mut found = Vec::new();
    for ((sizes, version), paths) in by_size {
        for spot in localize(&paths, measured) {
            let of = |m: &&Measurement| spot.paths.contains(&Path::of(m));
            let searches = view.case.measurements.iter().filter(of);
            let hops = only(searches.map(|m| m.path_mtu_other.as_ref().and_then(Hops::of)));
            found.push(Found {
                severity: Severity::Error,
                confidence: Confidence::Likely,
                place: with_switch(view, spot.place),
                evidence: MtuBlackHole {
                    pattern: spot.pattern,
                    ip_version: Some(version),
                    directions_affected: spot.paths.len() as u64,
                    lost_packets: Packets(0),
                    sizes,
                    hops: hops.flatten(),
                },
            });
        }
    }
    found
}

/// What passes of the family that the flows did not use, and which version it is, where more passes of theirs.
fn one_family(view: &View<'_>, m: &Measurement) -> Option<(Sizes, u64)> {
    let (own, other) = (m.path_mtu.as_ref()?, m.path_mtu_other.as_ref()?);
    let (passed, silent) = (other.passed?, other.silent?);
    let told = other.told.is_some_and(|told| told <= passed);
    if passed >= other.interface_mtu || told || own.passed? <= passed {
        return None;
    }
    let sizes = Sizes::of(view.case, other, passed, silent);
    Some((sizes, other.ip_version()))
}

/// The place, with the switch of a link that is affected as a whole.
fn with_switch(view: &View<'_>, mut place: Place) -> Place {
    if let (Some(link), None) = (&place.link, &place.host) {
        place.object = view.switch(link);
    }
    place
}

/// The sizes of a path that goes silent below its interface's MTU.
fn silent_below(view: &View<'_>, path: &Path, found: &PathMtu) -> Option<Sizes> {
    let (passed, silent) = (found.passed?, found.silent?);
    let told = found.told.is_some_and(|told| told <= passed);
    // A router cuts what may be cut: its datagrams arrive, and not in frames of that size.
    let routed = found.vanishes.is_some();
    let larger_arrived = view.on(path).any(|p| {
        let whole = p.facts.phase.spec.dont_fragment || !routed;
        whole && largest_frame(p) > passed && p.account.received.0 > 0
    });
    let receiver = view
        .on(path)
        .find_map(|p| p.facts.interface(Side::Receiver))
        .and_then(|(_, i)| i.mtu);
    let receivers_own = receiver.is_some_and(|mtu| {
        mtu < found.interface_mtu && passed >= mtu && passed.0 <= mtu.0.saturating_add(FRAME_SLACK)
    });
    let holds = passed < found.interface_mtu && !told && !larger_arrived && !receivers_own;
    holds.then(|| Sizes::of(view.case, found, passed, silent))
}

/// What all these paths say of it alike.
fn hops(view: &View<'_>, paths: &BTreeSet<Path>) -> Option<Hops> {
    let all = view.case.measurements.iter();
    let of_paths = all.filter(|m| {
        paths
            .iter()
            .any(|path| path.link == m.link && path.from == m.from && path.to == m.to)
    });
    only(of_paths.map(|m| m.path_mtu.as_ref().and_then(Hops::of))).flatten()
}

/// The largest IP packet that a phase put on the link.
fn largest_frame(phase: &PhaseView<'_>) -> Mtu {
    let size = phase.facts.packet_size();
    let mtu = phase.facts.interface(Side::Sender).and_then(|(_, i)| i.mtu);
    mtu.map_or(size, |mtu| size.min(mtu))
}

/// Whether a hop can have taken these packets in silence. The sending kernel drops some of them itself, without a reason of its
/// own: a virtual interface whose other end is the small port (`__dev_forward_skb2`), and what was left of a datagram whose first
/// fragment went that way (`ip_do_fragment`).
fn swallowed(loss: &Loss) -> bool {
    match loss.layer {
        None | Some(Layer::BetweenHosts | Layer::ReceiverNic | Layer::Reassembly) => true,
        Some(Layer::SenderNic | Layer::SenderIp) => loss.reason.starts_with(NO_REASON),
        Some(_) => false,
    }
}

/// The finding, unless larger packets were sent and something else is known to have lost them
/// all: a filter by length looks like a black hole to the search.
fn finding(
    view: &View<'_>,
    losses: &mut Losses,
    sizes: Sizes,
    spot: Spot,
) -> Option<Found<MtuBlackHole>> {
    let passed = sizes.passed_mtu_bytes;
    let tried = spot
        .paths
        .iter()
        .flat_map(|path| view.on(path))
        .any(|p| largest_frame(p) > passed && p.facts.sent() > 0);
    let explained = losses.claim(MtuBlackHole::CODE, |l| {
        spot.paths.contains(&l.path)
            && largest_frame(&view.phases[l.phase]) > passed
            && swallowed(l)
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
    Some(Found {
        severity: Severity::Error,
        confidence,
        place: with_switch(view, spot.place),
        evidence: MtuBlackHole {
            pattern: spot.pattern,
            ip_version: None,
            directions_affected: spot.paths.len() as u64,
            lost_packets: Packets(packets(&explained)),
            sizes,
            hops: hops(view, &spot.paths),
        },
    })
}
