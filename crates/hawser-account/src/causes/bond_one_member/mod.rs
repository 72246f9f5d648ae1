//! One flow fills one member of a bond, and the others stay idle: a bond spreads flows, not packets
//! (`layer2+3`, `layer3+4`), and a single stream is no faster than a single member.
//!
//! Evidence: a stream's interface is a bond or lies upon one (VLAN, bridge), with several members that are up, all but a few of its
//! packets left through one of them (`link/MEMBER/tx_packets`), and its rate is nearly that member's speed. Certain
//! by the counters; a note, since it is how bonds work. Cases: `bond-one-member`, made up;
//! `bond-one-member-recorded`, two members of 10 Mbit/s in a lab of machines; `bond-one-member-vlan`; not `bridge-one-port`,
//! `bridge-beside-bond` and `bond-active-backup`.

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::InterfaceName;
use hawser_model::units::BitsPerSec;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, hundredths, interface, way};
use crate::causes::bonds::with_members;
use crate::compare::topic::{About, Topic};
use crate::losses::Losses;
use crate::packets::facts::Side;
use crate::stream::{StreamView, rates, streams};
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct BondOneMember {
    members: usize,
    /// With two decimals.
    through_one_percent: f64,
    member_bits_per_s: BitsPerSec,
    bits_per_s: BitsPerSec,
}

/// Of the stream's packets, through one member, in per cent.
const PINNED: u64 = 95;

/// Of the member's speed, payload only, in per cent.
const FULL: u64 = 85;

impl CheckCause for BondOneMember {
    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let streams = streams(view.case);
        let pinned = streams.iter().filter_map(|stream| pinned(view, stream));
        pinned.collect()
    }
}

pub(super) fn pinned(view: &View<'_>, stream: &StreamView<'_>) -> Option<Found<BondOneMember>> {
    let facts = &stream.facts;
    let host = facts.host(Side::Sender);
    let (top, _) = facts.interface(Side::Sender)?;
    let bonds = with_members(view.host(host)?, top).into_iter();
    let mut pinned = bonds.filter_map(|(bond, members)| pinned_to(view, stream, bond, &members));
    pinned.next()
}

/// The same of one of the bonds below the stream's interface.
fn pinned_to(
    view: &View<'_>,
    stream: &StreamView<'_>,
    bond: &InterfaceName,
    members: &[&InterfaceName],
) -> Option<Found<BondOneMember>> {
    let facts = &stream.facts;
    let host = facts.host(Side::Sender);
    let (top, _) = facts.interface(Side::Sender)?;
    let all = &view.host(host)?.interfaces;
    let sent_by =
        |name: &InterfaceName| facts.counter(Side::Sender, &format!("link/{name}/tx_packets"));
    let members: Vec<(&InterfaceName, u64)> = members
        .iter()
        .filter(|member| all.get(**member).is_some_and(|m| m.up && m.carrier))
        .map(|member| (*member, sent_by(member)))
        .collect();
    let total = members
        .iter()
        .fold(0u64, |sum, (_, n)| sum.saturating_add(*n));
    let (busiest, sent) = members.iter().max_by_key(|(_, sent)| *sent)?;
    let speed = all.get(*busiest)?.speed.filter(|s| s.0 > 0)?;
    let late = rates(facts.phase).late.0.saturating_mul(8);
    // A bridge may have sent it by another port. What is segmented below the interface only adds to the members' packets.
    let by_bond = total.saturating_mul(2) >= sent_by(top);
    let fits = members.len() > 1
        && total > 0
        && by_bond
        && sent.saturating_mul(100) >= total.saturating_mul(PINNED)
        && late.saturating_mul(100) >= speed.0.saturating_mul(FULL);
    fits.then(|| Found {
        severity: Severity::Note,
        confidence: Confidence::Certain,
        place: Place {
            peer: Some(facts.host(Side::Receiver).clone()),
            object: Some((*busiest).to_string()),
            ..Place::port(host, facts.link(), bond)
        },
        evidence: BondOneMember {
            members: members.len(),
            through_one_percent: hundredths(*sent, total),
            member_bits_per_s: speed,
            bits_per_s: BitsPerSec(late),
        },
    })
}

impl Cause for BondOneMember {
    const CODE: &'static str = "bond-one-member";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[Topic::Bond.any(), Topic::Members.any()];

    fn words(&self, at: &Place) -> Words {
        Words {
            text: format!(
                "The stream {} went through one of {} members of {}, {}, and reached {} of its \
                 {}: a bond spreads flows, not packets.",
                way(at),
                self.members,
                interface(at),
                at.object.as_deref().unwrap_or("a member"),
                self.bits_per_s,
                self.member_bits_per_s,
            ),
            fix: "Several connections (iSCSI with several sessions and multipath, `hawser copy --streams \
                  4`) under `xmit_hash_policy layer3+4` on both the hosts and the switch; or one faster \
                  link. `balance-rr` would reorder."
                .to_owned(),
        }
    }
}
