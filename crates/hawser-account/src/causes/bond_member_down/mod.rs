//! A member of a bond carries nothing, and the others carry all: nothing is lost, and the next cable that goes is the last.
//! A bond that does not look at its members goes on sending through the dead one.
//!
//! Evidence: the bond takes the member's link for down (`MII Status`), or the interface is set down or has no carrier, while
//! another member is up. Certain: it is read. A warning; an error where the bond takes a member without carrier for up, since
//! what its mode sends there is lost. A bond without any member is `link-down`. Cases: `bond-member-down`,
//! `bond-member-unseen`, `bond-without-members`, `bond-members-up`.

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::InterfaceName;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, as_number, host, interface};
use crate::causes::bonds::bonds;
use crate::losses::Losses;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct BondMemberDown {
    members: usize,
    members_up: usize,
    /// Somebody set the interface down.
    #[serde(serialize_with = "as_number")]
    set_down: bool,
    /// The bond sends nothing through it.
    #[serde(serialize_with = "as_number")]
    noticed: bool,
    link_failures: u32,
}

impl CheckCause for BondMemberDown {
    const STANDING: bool = true;

    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let mut found = Vec::new();
        for bonded in bonds(view) {
            let bond = bonded.bond;
            let alive = |name: &InterfaceName| {
                let interface = bonded.facts.interfaces.get(name);
                interface.is_none_or(|i| i.up && i.carrier)
            };
            let up = bond.up().filter(|(name, _)| alive(name)).count();
            // A bond without carrier is a dead link, whatever became of each member.
            if up == 0 {
                continue;
            }
            for (name, member) in &bond.members {
                if member.up && alive(name) {
                    continue;
                }
                let interface = bonded.facts.interfaces.get(name);
                found.push(Found {
                    severity: match member.up {
                        true => Severity::Error,
                        false => Severity::Warning,
                    },
                    confidence: Confidence::Certain,
                    place: bonded.member(name),
                    evidence: Self {
                        members: bond.members.len(),
                        members_up: up,
                        set_down: interface.is_some_and(|i| !i.up),
                        noticed: !member.up,
                        link_failures: member.link_failures,
                    },
                });
            }
        }
        found
    }
}

impl Cause for BondMemberDown {
    const CODE: &'static str = "bond-member-down";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let member = at.object.as_deref().unwrap_or("a member");
        let name = member.strip_prefix("member ").unwrap_or(member);
        let state = match self.set_down {
            true => "is set down",
            false => "has no link",
        };
        let cost = match self.noticed {
            true => match self.members_up {
                1 => "the next one that goes takes the link with it".to_owned(),
                up => format!("{up} carry all of it"),
            },
            false => "the bond takes it for up, and what it sends there is lost".to_owned(),
        };
        let fix = match (self.set_down, self.noticed) {
            (true, true) => format!("On {}: `ip link set {name} up`.", host(at)),
            (false, true) => format!(
                "Cable, transceiver, switch port: `ethtool {name}` on {} should say \"Link detected: yes\". With \
                 `arp_interval` it means that no target answers through it.",
                host(at),
            ),
            (_, false) => format!(
                "Let the bond look at its members (`miimon 100`), then see to {name} on {}: cable, transceiver, switch port.",
                host(at),
            ),
        };
        Words {
            text: format!(
                "Member {name} of {} on {} {state}: {} of {} members are left, and {cost}.",
                interface(at),
                host(at),
                self.members_up,
                self.members,
            ),
            fix,
        }
    }
}
