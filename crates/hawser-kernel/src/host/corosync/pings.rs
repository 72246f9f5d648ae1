//! Which pings of Corosync's transport turn out to be lost, by what Corosync tells of its counters as they change. Pure.
//!
//! A ping that was sent and not answered is lost, or is on its way. Corosync compares its counters each 1.5 s
//! (`corosync_totem_stats_updater`) and tells those that have changed, the last that was asked for first
//! (`stats_trigger_trackers`, Corosync 3.1): what it tells up to the first that was asked for is one moment. That one is a
//! count of tokens, which always changes.

use std::collections::BTreeMap;

/// What was asked for first.
const TOKENS: &str = "stats.srp.orf_token_rx";

/// So many links are followed: Corosync compares each counter of them.
const MOST: usize = 64;

/// A node of Corosync and a link to it, by its numbers.
pub(super) type LinkTo = (u32, u8);

/// The pings of all links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pings(BTreeMap<LinkTo, Link>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Link {
    sent: u64,
    answered: u64,
    /// An answer came since the moment before.
    hears: bool,
    /// How many had no answer at the moment before.
    before: i128,
    /// How many have none that nobody waits for any more.
    lost: i128,
}

impl Pings {
    /// As Corosync's statistics have them.
    pub(super) fn of(stats: &BTreeMap<String, String>) -> Self {
        let mut links = BTreeMap::<LinkTo, Link>::new();
        for (key, value) in stats {
            if let (Some((link, counter)), Ok(value)) = (counter(key), value.parse()) {
                if links.len() < MOST || links.contains_key(&link) {
                    *links.entry(link).or_default().counter(counter) = value;
                }
            }
        }
        for link in links.values_mut() {
            link.before = link.unanswered();
            link.lost = link.before;
        }
        Self(links)
    }

    /// The links that there are.
    pub(super) fn links(&self) -> impl Iterator<Item = LinkTo> + '_ {
        self.0.keys().copied()
    }

    /// The keys that Corosync is asked to follow.
    pub(super) fn keys(&self) -> impl Iterator<Item = String> + '_ {
        let of_link = |(node, link): LinkTo| {
            ["tx_ping_packets", "rx_pong_packets"]
                .map(|counter| format!("stats.knet.node{node}.link{link}.{counter}"))
        };
        let of_links = self.links().flat_map(of_link);
        std::iter::once(TOKENS.to_owned()).chain(of_links)
    }

    /// Takes a line: `modify> KEY (TYPE) = VALUE`. Whether it ends a moment at which some link has lost pings that it had not
    /// lost before.
    pub(super) fn told(&mut self, line: &str) -> bool {
        let mut words = line.split_whitespace();
        let (Some("modify>"), Some(key)) = (words.next(), words.next()) else {
            return false;
        };
        if key == TOKENS {
            let lost = self.0.values_mut().map(Link::has_lost);
            return lost.fold(false, |one, other| one | other);
        }
        let value = words.nth(2).and_then(|value| value.parse().ok());
        if let (Some((link, counter)), Some(value)) = (counter(key), value) {
            if let Some(link) = self.0.get_mut(&link) {
                link.hears |= counter == Counter::Answered;
                *link.counter(counter) = value;
            }
        }
        false
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counter {
    Sent,
    Answered,
}

/// Which counter of which link a key names: `stats.knet.nodeN.linkL.NAME`.
fn counter(key: &str) -> Option<(LinkTo, Counter)> {
    let (node, rest) = key.strip_prefix("stats.knet.node")?.split_once(".link")?;
    let (link, name) = rest.split_once('.')?;
    let counter = match name {
        "tx_ping_packets" => Counter::Sent,
        "rx_pong_packets" => Counter::Answered,
        _ => return None,
    };
    Some(((node.parse().ok()?, link.parse().ok()?), counter))
}

impl Link {
    fn counter(&mut self, counter: Counter) -> &mut u64 {
        match counter {
            Counter::Sent => &mut self.sent,
            Counter::Answered => &mut self.answered,
        }
    }

    /// Fewer than none when answers come twice.
    fn unanswered(&self) -> i128 {
        i128::from(self.sent) - i128::from(self.answered)
    }

    /// A link from which no answer comes is down, and Corosync's log says so. Of the rest, one ping may be on its way at this
    /// moment and another one at the moment before: what had no answer at both is lost, and so are all but one.
    fn has_lost(&mut self) -> bool {
        if !std::mem::take(&mut self.hears) {
            return false;
        }
        let now = self.unanswered();
        let lost = now.min(self.before).max(now - 1);
        self.before = now;
        // Pings that were on their way when this was begun, answers that come twice, counters that begin again.
        let grew = lost > self.lost;
        self.lost = lost.max(self.lost).min(now);
        grew
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Corosync 3.1.7, `corosync-cmapctl -m stats -t` on a head of a lab cluster whose token is 1000 ms: a tenth of the packets
    /// to a port are lost, 2 of each 20 are, and a busy machine on which pings of both links were on their way at one moment.
    const TENTH: &str = include_str!("../../../tests/corosync/tenth-lost.txt");
    const TWO_OF_TWENTY: &str = include_str!("../../../tests/corosync/two-of-twenty.txt");
    const ON_ITS_WAY: &str = include_str!("../../../tests/corosync/on-its-way.txt");

    /// The moments, counted from the first one, which is where it begins, at which pings were newly lost.
    fn news(text: &str) -> Vec<usize> {
        let mut moments = text.split_inclusive("modify> stats.srp.orf_token_rx");
        let entry = |line: &str| {
            let (key, value) = line.strip_prefix("modify> ")?.split_once(" = ")?;
            Some((key.split(' ').next()?.to_owned(), value.to_owned()))
        };
        let first = moments.next().unwrap();
        let mut pings = Pings::of(&first.lines().filter_map(entry).collect());
        let numbered = (1..).zip(moments);
        let lost = numbered.filter(|(_, moment)| {
            // The rest of the line before comes first.
            let told: Vec<bool> = moment.lines().map(|line| pings.told(line)).collect();
            told.contains(&true)
        });
        lost.map(|(moment, _)| moment).collect()
    }

    /// Two moments for each pair of what link 0 to node 2 has sent and had answered; an absent number has not changed.
    fn moments(counters: &[(Option<u64>, Option<u64>)]) -> Vec<usize> {
        let line = |name: &str, value: &Option<u64>| {
            value.map_or_else(String::new, |value| {
                format!("modify> stats.knet.node2.link0.{name} (u64) = {value}\n")
            })
        };
        let moment = |(sent, answered): &(Option<u64>, Option<u64>)| {
            let [answered, sent] = [
                line("rx_pong_packets", answered),
                line("tx_ping_packets", sent),
            ];
            format!("{answered}{sent}modify> stats.srp.orf_token_rx (u64) = 1\n")
        };
        news(&counters.iter().map(moment).collect::<String>())
    }

    #[test]
    fn lost_pings_are_news_once_and_those_on_their_way_are_none() {
        // Unanswered: 0 0 1 1 1 2 3 3 3 4 4. Which of two one after the other is lost is known a moment later.
        assert_eq!(news(TENTH), [3, 6, 7, 10]);
        // 15 15 16 18 18 19 20 22: of two at once one is lost.
        assert_eq!(news(TWO_OF_TWENTY), [3, 4, 6, 7]);
        // 17 17 18 19 18 18 and so on; of the other link 0 0 1 0 0.
        assert_eq!(news(ON_ITS_WAY), [2]);
    }

    #[test]
    fn a_healthy_link_is_no_news_however_many_pings_are_on_their_way_at_times() {
        let healthy: Vec<_> = (0..500_u64)
            .map(|moment| {
                let sent = 100 + moment * 4;
                // At each third moment one is on its way.
                (Some(sent), Some(sent - u64::from(moment % 3 == 0)))
            })
            .collect();
        assert_eq!(moments(&healthy), [0; 0]);
    }

    #[test]
    fn a_dead_link_is_no_news_and_counters_that_begin_again_are_none() {
        let both = |sent, answered| (Some(sent), Some(answered));
        let dead: Vec<_> = (0..50)
            .map(|moment| (Some(104 + moment * 4), None))
            .collect();
        assert_eq!(moments(&[&[both(100, 100)], &dead[..]].concat()), [0; 0]);
        let cleared = [
            both(100, 90),
            both(104, 94),
            both(2, 2),
            both(6, 6),
            both(10, 9),
            both(14, 13),
        ];
        assert_eq!(moments(&cleared), [5]);
        // A link on which each packet comes twice.
        let twice: Vec<_> = (0..50).map(|moment| both(moment * 4, moment * 5)).collect();
        assert_eq!(moments(&twice), [0; 0]);
    }

    #[test]
    fn each_link_is_asked_for_by_its_numbers_after_the_tokens() {
        let stat = |key: &str| (key.to_owned(), "7".to_owned());
        let stats = [
            "stats.knet.handle.tx_crypt_packets",
            "stats.knet.node2.link1.tx_ping_packets",
            "stats.knet.node2.link1.latency_ave",
            "stats.knet.node2;reboot.link0.tx_ping_packets",
            "stats.knet.node2.link300.tx_ping_packets",
        ];
        let mut pings = Pings::of(&stats.map(stat).into());
        let keys: Vec<String> = pings.keys().collect();
        assert_eq!(
            keys,
            [
                "stats.srp.orf_token_rx",
                "stats.knet.node2.link1.tx_ping_packets",
                "stats.knet.node2.link1.rx_pong_packets"
            ]
        );
        let many =
            (0..200).map(|node| stat(&format!("stats.knet.node{node}.link0.tx_ping_packets")));
        assert_eq!(Pings::of(&many.collect()).links().count(), MOST);
        // What is no change of them changes nothing.
        let before = pings.clone();
        for line in [
            "Type \"q\" to finish",
            "modify> stats.knet.node2.link1.tx_ping_packets (u64) = many",
            "modify> stats.knet.node3.link1.tx_ping_packets (u64) = 8",
            "create> stats.knet.node2.link1.tx_ping_packets (u64) = 8",
            "modify> stats.knet.node2.link1.tx_ping_packets",
            "modify>",
            "",
        ] {
            assert!(!pings.told(line));
            assert_eq!(pings, before, "{line}");
        }
    }
}
