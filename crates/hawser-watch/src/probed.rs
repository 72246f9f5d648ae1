//! What is known of a head that is asked seldom: its fence devices, its ways for packets of full size, its addresses. Pure.

use std::collections::BTreeMap;

use hawser_cluster::live::{Ahead, StatusFacts};
use hawser_model::names::HostName;
use hawser_model::probe::{AddressAsked, PathEcho};
use serde::{Deserialize, Serialize};

/// What a head was asked last.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Probed {
    /// When, in seconds since 1970 UTC.
    pub at: Option<u64>,
    /// Fence devices that this head asked: absent when one would fence, else why not.
    pub fence_devices: BTreeMap<String, Option<String>>,
    /// Its ways to other heads.
    pub echoes: Vec<PathEcho>,
    /// Its addresses that were asked for, and whether somebody else answered.
    pub addresses: Vec<(AddressAsked, bool)>,
    /// By how much its clock is ahead of that of who asked.
    pub ahead: Option<Ahead>,
}

impl Probed {
    /// What was found of this head.
    pub fn of(facts: &StatusFacts, head: &HostName) -> Self {
        let own = facts.own_addresses.iter();
        let own = own.filter(|asked| asked.host == *head);
        let claimed = |asked: &AddressAsked| {
            let mut claims = facts.claims.iter();
            claims.any(|claim| claim.host == asked.host && claim.address == asked.address)
        };
        let echoes = facts.echoes.iter();
        let view = facts.views.get(head);
        Self {
            at: facts.rare_at.get(head).copied(),
            fence_devices: view
                .map(|view| view.fence_status.clone())
                .unwrap_or_default(),
            echoes: echoes.filter(|echo| echo.from == *head).cloned().collect(),
            addresses: own.map(|asked| (asked.clone(), claimed(asked))).collect(),
            ahead: facts.clocks.get(head).copied(),
        }
    }
}
