//! What a head counts, in a reading: Corosync's token, and what the kernel drops.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::drops::DropRecord;
use crate::names::InterfaceName;

/// No more kinds of dropped packets are in one reading: those with the most packets.
const KINDS: usize = 16;

/// A kind of which fewer were dropped within a minute is none of them: a host drops what it never asked for all the time.
const LEAST: u64 = 10;

/// How Corosync's token goes round (`stats.srp`, cmap_keys(7)), and what was lost with it since Corosync began. What Corosync does
/// not say is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotedToken {
    /// The mean time from one token to the next, in milliseconds.
    pub interval_ms: Option<u64>,
    /// How often it was lost, in whatever state Corosync was.
    pub lost: Option<u64>,
    /// How often the nodes did not agree in time on who is a member.
    pub consensus_timeouts: Option<u64>,
    /// Messages that were sent again.
    pub retransmitted: Option<u64>,
    /// Messages that were received and dropped.
    pub dropped: Option<u64>,
}

impl NotedToken {
    /// Of Corosync's statistics; nothing of those that have none of it.
    pub fn of(stats: &BTreeMap<String, String>) -> Option<Self> {
        let number = |key: &str| stats.get(&format!("stats.srp.{key}"))?.parse::<u64>().ok();
        let lost = [
            "operational_token_lost",
            "gather_token_lost",
            "commit_token_lost",
            "recovery_token_lost",
        ];
        let lost = lost.into_iter().filter_map(number);
        let token = Self {
            interval_ms: number("mtt_rx_token"),
            lost: lost.reduce(u64::saturating_add),
            consensus_timeouts: number("consensus_timeouts"),
            retransmitted: number("mcast_retx"),
            dropped: number("rx_msg_dropped"),
        };
        (token != Self::default()).then_some(token)
    }

    /// Whether nothing was lost from one to the other.
    pub(super) fn is_as(&self, other: &Self) -> bool {
        let interval_ms = None;
        let lost = |token: &Self| Self {
            interval_ms,
            ..token.clone()
        };
        lost(self) == lost(other)
    }
}

impl fmt::Display for NotedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            ("comes each", self.interval_ms, "ms"),
            ("was lost", self.lost, "times"),
            ("consensus timed out", self.consensus_timeouts, "times"),
            ("sent again", self.retransmitted, "messages"),
            ("dropped", self.dropped, "messages"),
        ];
        let said = parts.into_iter().filter_map(|(what, number, unit)| {
            let number = number?;
            Some(format!("{what} {number} {unit}"))
        });
        let said: Vec<String> = said.collect();
        write!(f, "token, since Corosync began: {}", said.join(", "))
    }
}

/// What the kernel dropped of one kind within a minute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotedDrops {
    /// The kernel's own word, with the function where the word says nothing.
    pub why: String,
    /// The interface, where the packets had one.
    pub interface: Option<InterfaceName>,
    /// How many.
    pub packets: u64,
}

impl NotedDrops {
    /// Those of the last minute that are worth a place.
    pub fn of(drops: &[DropRecord]) -> Vec<Self> {
        let mut kinds: BTreeMap<(String, Option<InterfaceName>), u64> = BTreeMap::new();
        for drop in drops {
            let packets = kinds
                .entry((drop.words(), drop.interface.clone()))
                .or_default();
            *packets = packets.saturating_add(drop.packets.0);
        }
        let all = kinds.into_iter().filter(|(_, packets)| *packets >= LEAST);
        let mut all: Vec<Self> = all
            .map(|((why, interface), packets)| Self {
                why,
                interface,
                packets,
            })
            .collect();
        all.sort_by_key(|drops| std::cmp::Reverse(drops.packets));
        all.truncate(KINDS);
        all
    }

    /// Whether the two are of one kind and of one order of magnitude.
    pub(super) fn is_as(&self, other: &Self) -> bool {
        let kind = (&self.why, &self.interface) == (&other.why, &other.interface);
        kind && self.packets.checked_ilog10() == other.packets.checked_ilog10()
    }
}

impl fmt::Display for NotedDrops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { why, packets, .. } = self;
        write!(f, "the kernel dropped {packets} packets in a minute")?;
        if let Some(interface) = &self.interface {
            write!(f, " of {interface}")?;
        }
        write!(f, ": {why}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drops::{DropScope, DropSubject};
    use crate::units::Packets;

    #[test]
    fn a_loss_of_the_token_is_a_change_and_its_time_is_none() {
        let token = |lost: u64, interval: u64| {
            let stats = [
                ("stats.srp.operational_token_lost", lost),
                ("stats.srp.commit_token_lost", 1),
                ("stats.srp.mtt_rx_token", interval),
                ("stats.knet.node2.link0.connected", 1),
            ];
            let stats = stats.map(|(key, value)| (key.to_owned(), value.to_string()));
            NotedToken::of(&stats.into()).unwrap()
        };
        assert!(token(2, 183).is_as(&token(2, 190)));
        assert!(!token(2, 183).is_as(&token(3, 183)));
        assert_eq!(
            token(2, 183).to_string(),
            "token, since Corosync began: comes each 183 ms, was lost 3 times"
        );
        assert_eq!(NotedToken::of(&BTreeMap::new()), None);
    }

    #[test]
    fn the_most_frequent_drops_have_a_place_and_few_of_a_kind_have_none() {
        let drop = |n: usize, packets| DropRecord {
            reason: "NO_SOCKET".into(),
            location: String::new(),
            scope: DropScope::ThisHost,
            interface: Some(format!("eth{n}").as_str().into()),
            subject: DropSubject::Other,
            packets: Packets(packets),
        };
        let many: Vec<_> = (0..30).map(|n| drop(n, n as u64)).collect();
        let noted = NotedDrops::of(&many);
        assert_eq!(noted.len(), KINDS);
        assert_eq!(
            noted[0].to_string(),
            "the kernel dropped 29 packets in a minute of eth29: NO_SOCKET"
        );
        assert_eq!(NotedDrops::of(&[drop(1, 9)]), []);
        // Two places that drop for one reason are one kind.
        assert_eq!(NotedDrops::of(&[drop(1, 9), drop(1, 9)])[0].packets, 18);
        let of = |packets| NotedDrops::of(&[drop(1, packets)]).remove(0);
        assert!(of(20).is_as(&of(80)) && !of(20).is_as(&of(200)));
    }
}
