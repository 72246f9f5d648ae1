//! A bond speaks LACP and the other end does not, or not for all members: the ports of the switch are no group, they are two
//! groups, or two switches know nothing of each other. The kernel then takes each member for a link of its own, and uses one of
//! these aggregators: a bond of two that carries as much as one, while both have their link.
//!
//! Evidence: mode 802.3ad; the partner of the active aggregator is `00:00:00:00:00:00` (nobody has sent an LACPDU), or it has
//! fewer ports than the bond has members that are up (`AD_INFO`, `bond_3ad_get_active_agg_info`). A port without full duplex takes no
//! part (`AD_PORT_LACP_ENABLED`, drivers/net/bonding/bond_3ad.c). Certain: it is read. A warning. Cases: `lacp-no-partner`,
//! `lacp-two-groups`, `lacp-without-duplex`, `lacp-aggregated`.

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::InterfaceName;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, as_number, counted, host, interface};
use crate::causes::bonds::bonds;
use crate::losses::Losses;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct LacpNotAggregated {
    /// The other end answers.
    #[serde(serialize_with = "as_number")]
    partner: bool,
    members_up: usize,
    members_aggregated: u16,
    /// Their drivers tell no full duplex: the kernel speaks no LACP there.
    members_without_duplex: usize,
}

impl CheckCause for LacpNotAggregated {
    const STANDING: bool = true;

    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let all = bonds(view).into_iter().filter_map(|bonded| {
            let lacp = bonded.bond.lacp.as_ref()?;
            let up = bonded.bond.up().count();
            let full = |name: &InterfaceName| {
                let interface = bonded.facts.interfaces.get(name);
                interface.is_none_or(|i| i.duplex.as_deref() == Some("full"))
            };
            let whole = lacp.partner.is_some() && usize::from(lacp.ports) >= up;
            (up > 0 && !whole).then(|| Found {
                severity: Severity::Warning,
                confidence: Confidence::Certain,
                place: bonded.place(),
                evidence: Self {
                    partner: lacp.partner.is_some(),
                    members_up: up,
                    members_aggregated: lacp.ports,
                    members_without_duplex: bonded
                        .bond
                        .up()
                        .filter(|(name, _)| !full(name))
                        .count(),
                },
            })
        });
        all.collect()
    }
}

impl Cause for LacpNotAggregated {
    const CODE: &'static str = "lacp-not-aggregated";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let (speechless, partner) = (self.members_without_duplex > 0, self.partner);
        let why = match (speechless, partner) {
            (true, _) => format!(
                "{} no full duplex, and the kernel speaks LACP on no such port",
                match self.members_without_duplex {
                    1 => "the driver of one tells".to_owned(),
                    n => format!("the drivers of {n} tell"),
                }
            ),
            (_, true) => "the other end has the members in different groups".to_owned(),
            (_, false) => {
                "nobody answers LACP at the other end (partner 00:00:00:00:00:00)".to_owned()
            }
        };
        let fix = match partner {
            _ if speechless => {
                "A virtual card that has no speed cannot take part in LACP: use `active-backup` in a guest, and the bond on \
                 its host. On a real card see why it is not full duplex (`ethtool`)."
            }
            true => {
                "Put the switch's ports into one group; members on two switches need a group over both \
                 (MLAG, stacking). `/proc/net/bonding` shows the aggregator of each member."
            }
            false => {
                "Make one LACP group of the switch's ports (active, or passive with `lacp_active on` \
                 here). With a switch that has no LACP use `active-backup`, which needs none."
            }
        };
        Words {
            text: format!(
                "{} of {} aggregates {} of {} that have their link: {why}. The others carry nothing.",
                interface(at),
                host(at),
                self.members_aggregated,
                counted(self.members_up as u64, "member"),
            ),
            fix: fix.to_owned(),
        }
    }
}
