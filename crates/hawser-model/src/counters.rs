//! A host's counters as one flat, named map: what was read, never what it means.
//!
//! Names are paths, most general part first, so that a prefix selects a family:
//!
//! | name | source |
//! | --- | --- |
//! | `udp/RcvbufErrors`, `udp6/…`, `udplite/…` | `/proc/net/snmp`, `/proc/net/snmp6` |
//! | `ip/ReasmFails`, `ip6/…`, `icmp/…`, `ipext/…`, `tcpext/…` | `/proc/net/snmp`, `snmp6`, `netstat` |
//! | `xfrm/XfrmInTmplMismatch` | `/proc/net/xfrm_stat`: what IPsec refused |
//! | `igmp/ring0/239.1.2.3/inuse` | `/proc/net/igmp`, `igmp6`: a gauge, sockets that joined |
//! | `link/ring0/rx_dropped` | the interface's 64-bit statistics (`IFLA_STATS64`) |
//! | `link/ring0/carrier_changes` | how often its carrier came or went (`IFLA_CARRIER_CHANGES`) |
//! | `driver/ring0/rx_queue_0_drops` | the driver's own (`ethtool -S`) |
//! | `queue/ring0/rx-0/hw-drops` | the driver's queues (`NETDEV_CMD_QSTATS_GET`) |
//! | `qdisc/ring0/8001:/tbf/drops` | root queueing disciplines, `clsact`, `ingress`: `TCA_STATS2` |
//! | `qdisc-inner/…`, `qdisc-class/…` | what is below a root, and counted in the root's too |
//! | `softnet/0/dropped` | `/proc/net/softnet_stat`, one per CPU, of the whole machine |
//! | `nft/inet/filter/input/4/packets` | counters of nftables rules, by handle |
//! | `nft/inet/filter/input/4/drops` | the same number, of a rule that drops or rejects |
//! | `iptables/filter/INPUT/3/drops` | the same of `iptables-legacy`, by place in the chain |
//! | `neigh/arp_cache/unresolved_discards` | `/proc/net/stat/arp_cache`, `ndisc_cache` |
//! | `conntrack/drop` | `/proc/net/stat/nf_conntrack` |
//! | `frag/inuse`, `frag6/inuse` | `/proc/net/sockstat`: a gauge, not a counter |
//! | `bridge/br0/igmp_v2queries_rx` | a bridge's multicast counters (`BRIDGE_XSTATS_MCAST`) |
//! | `event/kfree_skb/REASON/FUNCTION` | drop events of the whole kernel, when tracefs counts them |

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Counter values by name. A missing name means "not readable here", not zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Counters(pub BTreeMap<String, u64>);

impl Counters {
    /// The value, if it was read.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.0.get(name).copied()
    }

    /// The value, zero when it was not read.
    pub fn or_zero(&self, name: &str) -> u64 {
        self.get(name).unwrap_or(0)
    }

    /// All counters whose name starts with `prefix`.
    pub fn under<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, u64)> + 'a {
        self.0
            .range(prefix.to_owned()..)
            .take_while(move |(name, _)| name.starts_with(prefix))
            .map(|(name, value)| (name.as_str(), *value))
    }

    /// What each counter gained since `before`; counters that did not move are left out.
    ///
    /// A counter that is new counts from zero (a rule or qdisc made meanwhile); one that
    /// went back was reset and counts from zero too. Gauges (`…/inuse`) that fell are
    /// left out: less is pending than before.
    pub fn since(&self, before: &Self) -> Self {
        let mut gained = BTreeMap::new();
        for (name, after) in &self.0 {
            let start = before.get(name).unwrap_or(0);
            let gauge = name.ends_with("/inuse");
            let delta = match after.checked_sub(start) {
                Some(delta) => delta,
                None if gauge => 0,
                None => *after,
            };
            if delta > 0 {
                gained.insert(name.clone(), delta);
            }
        }
        Self(gained)
    }
}

impl<S: Into<String>> FromIterator<(S, u64)> for Counters {
    fn from_iter<I: IntoIterator<Item = (S, u64)>>(values: I) -> Self {
        Self(values.into_iter().map(|(n, v)| (n.into(), v)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_keeps_what_moved_and_counts_a_reset_from_zero() {
        let before = Counters::from_iter([("a", 5), ("b", 7), ("c", 9), ("frag/inuse", 3)]);
        let after =
            Counters::from_iter([("a", 8), ("b", 7), ("c", 2), ("d", 4), ("frag/inuse", 1)]);
        assert_eq!(
            after.since(&before),
            Counters::from_iter([("a", 3), ("c", 2), ("d", 4)])
        );
    }
}
