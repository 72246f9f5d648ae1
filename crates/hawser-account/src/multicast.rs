//! The multicast flows of a case with what was heard of multicast control meanwhile.

use std::fmt;
use std::net::IpAddr;

use hawser_model::account::Layer;
use hawser_model::case::PhaseKind;
use hawser_model::probe::MulticastHeard;
use serde::Serialize;

use crate::losses::Loss;
use crate::view::{Path, PhaseView, View};

/// What hosts use to tell a link which groups they are in.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) enum Protocol {
    /// Of IPv4 (RFC 3376).
    #[serde(rename = "IGMP")]
    Igmp,
    /// Of IPv6 (RFC 3810).
    #[serde(rename = "MLD")]
    Mld,
}

impl Protocol {
    /// The one that goes with an address.
    pub(crate) fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Self::Igmp,
            IpAddr::V6(_) => Self::Mld,
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Igmp => "IGMP",
            Self::Mld => "MLD",
        })
    }
}

/// One direction's multicast flow.
pub(crate) struct Group<'a, 'v> {
    pub(crate) path: Path,
    pub(crate) heard: &'a MulticastHeard,
    pub(crate) flow: &'v PhaseView<'a>,
}

impl Group<'_, '_> {
    /// The switch sends a group only where it was asked for: what nobody joined did not come.
    pub(crate) fn filtered(&self) -> bool {
        !self.heard.unjoined_sent.is_zero() && self.heard.unjoined_heard.is_zero()
    }

    /// It does so, and nothing of this group came.
    pub(crate) fn is_shut(&self) -> bool {
        self.received() == 0 && self.filtered()
    }

    pub(crate) fn received(&self) -> u64 {
        self.flow.account.received.0
    }
}

/// Every multicast flow during which multicast control was listened to, and whose path lets unicast
/// pass: where nothing passes, multicast is not what is wrong.
pub(crate) fn groups<'a, 'v>(view: &'v View<'a>) -> Vec<Group<'a, 'v>> {
    let multicast = |p: &&PhaseView<'a>| p.facts.phase.kind == PhaseKind::Multicast;
    view.phases
        .iter()
        .filter(multicast)
        .filter_map(|flow| {
            let path = flow.path();
            let unicast = view
                .on(&path)
                .any(|p| !multicast(&p) && p.account.received.0 > 0);
            Some(Group {
                heard: flow
                    .facts
                    .measurement
                    .multicast
                    .as_ref()
                    .filter(|_| unicast)?,
                path,
                flow,
            })
        })
        .collect()
}

/// Lost to a group on the way, or nobody knows where.
pub(crate) fn lost_on_the_way(view: &View<'_>, loss: &Loss) -> bool {
    matches!(loss.layer, None | Some(Layer::BetweenHosts))
        && view.phases[loss.phase].facts.phase.kind == PhaseKind::Multicast
}
