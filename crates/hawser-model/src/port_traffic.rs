//! What the ports of a host have carried, and how fast.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::names::InterfaceName;
use crate::units::{Bytes, BytesPerSec, Nanos, Packets, PacketsPerSec};

/// Two readings that are further apart say nothing of this moment.
const APART: f64 = 5.0;

/// What all ports of a host have carried until a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortTraffic {
    /// The moment, by the host's clock that nobody sets. It begins again when the host boots.
    pub at: Nanos,
    /// The ports.
    pub ports: BTreeMap<InterfaceName, Carried>,
}

/// What a port has carried since it is there (`struct rtnl_link_stats64`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Carried {
    /// The kernel's number of the interface: another one of the same name has another number.
    pub index: u32,
    /// What it received.
    pub received: Bytes,
    /// In so many packets.
    pub received_packets: Packets,
    /// What it sent.
    pub sent: Bytes,
    /// In so many packets.
    pub sent_packets: Packets,
}

/// How fast a port receives and sends at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortRates {
    /// What it receives.
    pub received: BytesPerSec,
    /// In so many packets.
    pub received_packets: PacketsPerSec,
    /// What it sends.
    pub sent: BytesPerSec,
    /// In so many packets.
    pub sent_packets: PacketsPerSec,
}

impl PortTraffic {
    /// How fast each port was from the reading before to this one. Nothing is said of a port that is new or has begun to count
    /// again, nor if the readings are further apart than 5 s or of two boots.
    pub fn rates_since(&self, before: &Self) -> BTreeMap<InterfaceName, PortRates> {
        let elapsed = self.at.0.checked_sub(before.at.0).map(Nanos);
        let elapsed = elapsed.map(Nanos::as_secs_f64);
        let Some(elapsed) = elapsed.filter(|it| *it > 0.0 && *it <= APART) else {
            return BTreeMap::new();
        };
        let rates = |(name, now): (&InterfaceName, &Carried)| {
            let before = before.ports.get(name).filter(|it| it.index == now.index)?;
            let rate = |now: u64, before: u64| {
                let gained = now.checked_sub(before)?;
                Some((gained as f64 / elapsed).round() as u64)
            };
            let rates = PortRates {
                received: BytesPerSec(rate(now.received.0, before.received.0)?),
                received_packets: PacketsPerSec(rate(
                    now.received_packets.0,
                    before.received_packets.0,
                )?),
                sent: BytesPerSec(rate(now.sent.0, before.sent.0)?),
                sent_packets: PacketsPerSec(rate(now.sent_packets.0, before.sent_packets.0)?),
            };
            Some((name.clone(), rates))
        };
        self.ports.iter().filter_map(rates).collect()
    }
}

impl PortRates {
    /// What it receives and what it sends, a line each.
    pub fn words(&self) -> [String; 2] {
        [
            format!("in {}, {}", self.received, self.received_packets),
            format!("out {}, {}", self.sent, self.sent_packets),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn at(nanos: u64, index: u32, carried: u64) -> PortTraffic {
        let carried = Carried {
            index,
            received: Bytes(carried * 1000),
            received_packets: Packets(carried),
            sent: Bytes(carried * 100),
            sent_packets: Packets(carried * 2),
        };
        PortTraffic {
            at: Nanos(nanos),
            ports: [("eth0".into(), carried)].into(),
        }
    }

    #[test]
    fn a_rate_is_what_came_in_the_time_between_two_readings() {
        let rates = at(3 * SECOND, 2, 500).rates_since(&at(SECOND, 2, 100));
        let words = rates["eth0"].words();
        assert_eq!(
            words,
            ["in 200 kB/s, 200 pkt/s", "out 20.0 kB/s, 400 pkt/s"]
        );
    }

    #[test]
    fn nothing_is_said_where_no_second_reading_is_of_the_same_port_and_near() {
        let before = at(SECOND, 2, 100);
        let none = [
            (at(SECOND, 2, 100), "the same moment"),
            (at(7 * SECOND, 2, 500), "too late"),
            (at(SECOND / 2, 2, 500), "another boot"),
            (at(2 * SECOND, 3, 500), "another port of that name"),
            (at(2 * SECOND, 2, 99), "it counts again from the beginning"),
        ];
        for (now, why) in none {
            assert!(now.rates_since(&before).is_empty(), "{why}");
        }
        let new = at(2 * SECOND, 2, 500).rates_since(&PortTraffic {
            at: Nanos(SECOND),
            ..PortTraffic::default()
        });
        assert!(new.is_empty());
    }
}
