//! What a bond sends through one member is lost, what it sends through another arrives: a dead cable behind a port that keeps its
//! carrier (a media converter, a switch that forwards nothing). `miimon` looks at the carrier and sees nothing, and the hash
//! goes on giving the member its share of the flows.
//!
//! Evidence: in phases of one direction nearly all packets left through one member (`link/MEMBER/tx_packets`); of those through this one
//! nothing arrived, of one through another most did. Likely, because counters are of a whole host. It explains what was lost in these phases
//! between the hosts, without a place or for want of a neighbour. An error. Cases: `bond-member-silent`,
//! `bond-same-member`.

use std::collections::BTreeMap;

use hawser_model::account::Layer;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::InterfaceName;
use hawser_model::units::Packets;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, counted, interface, way};
use crate::causes::bonds::{Bonded, bonds};
use crate::causes::claims::Lost;
use crate::losses::Losses;
use crate::packets::facts::Side;
use crate::view::{Path, PhaseView, View};

#[derive(Serialize)]
pub(crate) struct BondMemberSilent {
    members_up: usize,
    /// Phases of the direction whose packets left through it.
    phases_through_it: usize,
    /// Those through other members of which most arrived.
    phases_passed: usize,
    #[serde(flatten)]
    lost: Lost,
}

/// Of a phase's packets, through one member, in per cent.
const PINNED: u64 = 95;

/// What became of the phases that left through a member.
#[derive(Default)]
struct Through {
    dead: Vec<usize>,
    passed: usize,
}

/// The member through which nearly all of a phase left.
fn member_of<'a>(bonded: &Bonded<'a>, phase: &PhaseView<'_>) -> Option<&'a InterfaceName> {
    let sent = |member: &InterfaceName| {
        let name = format!("link/{member}/tx_packets");
        phase.facts.counter(Side::Sender, &name)
    };
    let all: Vec<(&InterfaceName, u64)> = bonded
        .bond
        .up()
        .map(|(name, _)| (name, sent(name)))
        .collect();
    let total = all.iter().fold(0u64, |sum, (_, n)| sum.saturating_add(*n));
    let (name, most) = all.into_iter().max_by_key(|(_, n)| *n)?;
    // The wire saw the phase at all.
    let fits = total.saturating_mul(phase.facts.sender_unit()) >= phase.account.sent.0
        && total > 0
        && most.saturating_mul(100) >= total.saturating_mul(PINNED);
    fits.then_some(name)
}

/// The directions that a bond sends, each with its members.
fn through<'a>(
    view: &View<'a>,
    bonded: &Bonded<'a>,
) -> BTreeMap<Path, BTreeMap<&'a InterfaceName, Through>> {
    let mut found: BTreeMap<Path, BTreeMap<&InterfaceName, Through>> = BTreeMap::new();
    for (index, phase) in view.phases.iter().enumerate() {
        let path = phase.path();
        let of_bond =
            path.from == bonded.host && phase.facts.devices(Side::Sender).contains(&bonded.name);
        let member = member_of(bonded, phase).filter(|_| of_bond);
        let (Some(member), sent) = (member, phase.account.sent.0) else {
            continue;
        };
        let through = found.entry(path).or_default().entry(member).or_default();
        match phase.account.received.0 {
            0 if sent > 0 => through.dead.push(index),
            // One that lost this much otherwise is neither.
            received if received.saturating_mul(2) >= sent => through.passed += 1,
            _ => {}
        }
    }
    found
}

impl CheckCause for BondMemberSilent {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let mut found = Vec::new();
        for bonded in bonds(view).iter().filter(|it| it.bond.up().count() > 1) {
            for (path, members) in through(view, bonded) {
                let passed: usize = members.values().map(|it| it.passed).sum();
                for (member, of) in &members {
                    if of.dead.is_empty() || of.passed > 0 || passed == 0 {
                        continue;
                    }
                    let explained = losses.claim(Self::CODE, |l| {
                        let quiet =
                            matches!(l.layer, None | Some(Layer::BetweenHosts | Layer::Neighbour));
                        quiet && of.dead.contains(&l.phase)
                    });
                    if explained.is_empty() {
                        continue;
                    }
                    found.push(Found {
                        severity: Severity::Error,
                        confidence: Confidence::Likely,
                        place: Place {
                            peer: Some(path.to.clone()),
                            link: Some(path.link.clone()),
                            ..bonded.member(member)
                        },
                        evidence: Self {
                            members_up: bonded.bond.up().count(),
                            phases_through_it: of.dead.len(),
                            phases_passed: passed,
                            lost: Lost::of(view, &explained),
                        },
                    });
                }
            }
        }
        found
    }

    fn cost(&self) -> Packets {
        self.lost.lost_packets
    }
}

impl Cause for BondMemberSilent {
    const CODE: &'static str = "bond-member-silent";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let member = at.object.as_deref().unwrap_or("a member");
        let name = member.strip_prefix("member ").unwrap_or(member);
        Words {
            text: format!(
                "What {} sends {} through {member} is lost, {}; what it sends through another member arrives ({}). The bond takes \
                 {name} for up.",
                interface(at),
                way(at),
                self.lost,
                counted(self.phases_passed as u64, "flow"),
            ),
            fix: format!(
                "Look at the way from {name}: cable, media converter, switch port and its VLANs; until then `ip link set {name} \
                 down`. A carrier that stays is not seen by `miimon`: LACP (802.3ad) or `arp_interval` with \
                 `arp_ip_target` see it."
            ),
        }
    }
}
