//! The heartbeat links as the nodes' Corosync sees them.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::{HostName, LinkName};

use super::status::signs::{Mark, Said, Sign};
use crate::host::HeadView;
use crate::numbering::Numbering;

/// So many pings of each end without an answer may be on their way when the statistics are read: one is answered long before
/// the next.
const ON_ITS_WAY: u64 = 1;

/// Fewer lost than one in so many is not told.
const WORTH_TELLING: u64 = 20;

/// Two nodes, in order.
type Pair = [HostName; 2];

/// What is to be said of the heartbeat links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Links {
    /// Those that are down.
    down: BTreeSet<(LinkName, Pair)>,
    /// Pings while the links were watched.
    pings: BTreeMap<(LinkName, Pair), Pings>,
    /// Pairs of members that fewer than two links join.
    single: BTreeMap<Pair, usize>,
}

/// What the ends of a link that were asked have sent over it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Pings {
    ends: u64,
    sent: u64,
    answered: u64,
}

impl Links {
    /// Judges kronosnet's own statistics (`stats.knet.nodeN.linkL…`). Links to a node that is no member are down with
    /// it, which is said of the node.
    pub fn of(
        file: &ClusterFile,
        views: &BTreeMap<HostName, HeadView>,
        member: &impl Fn(&HostName) -> bool,
    ) -> Self {
        let mut links = Self::default();
        let members = views.iter().filter(|(from, _)| member(from));
        for (from, view) in members {
            // A Corosync that says nothing of its links says nothing against them.
            let Some(last) = view.links.last() else {
                continue;
            };
            let numbering = Numbering::said(file, view.nodes.as_ref());
            let others = numbering.nodes.iter();
            for (to, id) in others.filter(|(to, _)| *to != from && member(to)) {
                let mut pair = [from.clone(), to.clone()];
                pair.sort();
                for (link, number) in &numbering.links {
                    let key = |name: &str| format!("stats.knet.node{id}.link{number}.{name}");
                    let of_pair = (link.clone(), pair.clone());
                    match last.get(&key("connected")).map(String::as_str) {
                        Some("1") => {
                            let grew = |name: &str| grew(&view.links, &key(name));
                            if let (Some(sent), Some(answered)) =
                                (grew("tx_ping_packets"), grew("rx_pong_packets"))
                            {
                                let sum = links.pings.entry(of_pair).or_default();
                                sum.ends += 1;
                                sum.sent = sum.sent.saturating_add(sent);
                                sum.answered = sum.answered.saturating_add(answered);
                            }
                        }
                        Some(_) => {
                            links.down.insert(of_pair);
                        }
                        None => {}
                    }
                }
                let up = connected(last, *id);
                if up < 2 {
                    links.single.insert(pair, up);
                }
            }
        }
        links
    }

    /// Says each thing that costs the redundancy.
    pub fn told(&self, say: &mut dyn FnMut(Mark, String)) {
        for (link, pair) in &self.down {
            let [a, b] = pair;
            let text = format!("heartbeat link {link} between {a} and {b} is down");
            say(Sign::LinkDown.between(pair, Some(link)), text);
        }
        for ((link, pair), pings) in &self.pings {
            let [a, b] = pair;
            let Pings {
                ends,
                sent,
                answered,
            } = *pings;
            let lost = sent.saturating_sub(answered);
            if lost > ends * ON_ITS_WAY && lost.saturating_mul(WORTH_TELLING) >= sent {
                let text = format!(
                    "heartbeat link {link} between {a} and {b} loses packets: {lost} of {sent} pings were not \
                     answered; `hawser check` says where they are lost"
                );
                say(Sign::LinkLossy.between(pair, Some(link)), text);
            }
        }
        for (pair, up) in &self.single {
            let [a, b] = pair;
            if !self.down.iter().any(|(_, down)| down == pair) {
                let text = format!(
                    "{a} and {b} are joined by {up} heartbeat link: the loss of it splits the cluster"
                );
                say(Sign::LinkSingle.between(pair, None), text);
            }
        }
    }
}

/// What a status says of the heartbeat links by these views alone, for whoever reads them more often than all else.
pub fn links_said(
    file: &ClusterFile,
    views: &BTreeMap<HostName, HeadView>,
    member: &impl Fn(&HostName) -> bool,
) -> Vec<Said> {
    let mut said = Vec::new();
    Links::of(file, views, member).told(&mut |mark, text| {
        let severity = mark.sign.severity();
        said.push(Said {
            mark,
            severity,
            text,
        });
    });
    said
}

/// How many links to this node are up, whatever the file calls them.
fn connected(stats: &BTreeMap<String, String>, node: u32) -> usize {
    let of_node = format!("stats.knet.node{node}.link");
    let up = stats.iter().filter(|(key, value)| {
        key.starts_with(&of_node) && key.ends_with(".connected") && *value == "1"
    });
    up.count()
}

/// By how much a counter of the links grew while they were watched.
pub fn grew(samples: &[BTreeMap<String, String>], key: &str) -> Option<u64> {
    let of = |sample: &BTreeMap<String, String>| sample.get(key)?.parse::<u64>().ok();
    match samples {
        [first, .., last] => of(last)?.checked_sub(of(first)?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::view::Told;
    use hawser_model::cluster_file::parse_complete;

    fn said(samples: &[&[(&str, &str)]]) -> Vec<String> {
        said_by(&[], samples)
    }

    /// Where Corosync's own list of nodes says this.
    fn said_by(nodes: &[(&str, &str)], samples: &[&[(&str, &str)]]) -> Vec<String> {
        let text = include_str!("../../../../examples/lab/hawser.toml");
        let file = parse_complete(text, "hawser.toml").unwrap();
        let sample = |pairs: &&[(&str, &str)]| {
            let pairs = pairs.iter();
            pairs
                .map(|(key, value)| (format!("stats.knet.node2.{key}"), (*value).to_owned()))
                .collect()
        };
        let view = HeadView {
            links: samples.iter().map(sample).collect(),
            nodes: (!nodes.is_empty()).then(|| {
                let nodes = nodes.iter().map(|(k, v)| ((*k).into(), (*v).into()));
                Told::Said(nodes.collect())
            }),
            ..HeadView::default()
        };
        let mut said = Vec::new();
        let links = Links::of(&file, &[(HostName::from("head1"), view)].into(), &|_| true);
        links.told(&mut |_, text| said.push(text));
        said
    }

    #[test]
    fn one_link_of_two_is_down_and_nothing_more_may_be_lost() {
        assert_eq!(
            said(&[&[("link0.connected", "1"), ("link1.connected", "0")]]),
            ["heartbeat link ring1 between head1 and head2 is down"]
        );
    }

    #[test]
    fn a_link_has_the_number_that_corosync_gave_it() {
        // The file names the links the other way round.
        let nodes = [
            ("nodelist.node.0.name", "head1"),
            ("nodelist.node.0.nodeid", "1"),
            ("nodelist.node.0.ring0_addr", "10.72.1.1"),
            ("nodelist.node.0.ring1_addr", "10.72.0.1"),
            ("nodelist.node.1.name", "head2"),
            ("nodelist.node.1.nodeid", "2"),
        ];
        let down = [("link0.connected", "1"), ("link1.connected", "0")];
        assert_eq!(
            said_by(&nodes, &[&down]),
            ["heartbeat link ring0 between head1 and head2 is down"]
        );
        // What runs under addresses that the file does not have is no link of it, and joins the nodes all the same.
        let others = nodes.map(|(key, value)| {
            (
                key,
                value.strip_prefix("10.72").map_or(value, |_| "192.0.2.9"),
            )
        });
        let both = [("link0.connected", "1"), ("link1.connected", "1")];
        assert_eq!(said_by(&others, &[&both]), Vec::<String>::new());
    }

    #[test]
    fn two_links_that_are_up_are_enough_and_one_is_not() {
        let both = [("link0.connected", "1"), ("link1.connected", "1")];
        assert_eq!(said(&[&both]), Vec::<String>::new());
        assert_eq!(
            said(&[&both[..1]]),
            ["head1 and head2 are joined by 1 heartbeat link: the loss of it splits the cluster"]
        );
        assert_eq!(said(&[]), Vec::<String>::new());
    }

    #[test]
    fn a_link_that_loses_pings_while_it_is_watched_is_told() {
        let at = |pings: &'static str, pongs: &'static str| {
            [
                ("link0.connected", "1"),
                ("link0.tx_ping_packets", pings),
                ("link0.rx_pong_packets", pongs),
                ("link1.connected", "1"),
            ]
        };
        let watched = |pongs| said(&[&at("1000", "400"), &at("1012", pongs)]);
        // What was lost long ago is no news, and one of each end may be on its way.
        assert_eq!(watched("412"), Vec::<String>::new());
        assert_eq!(watched("411"), Vec::<String>::new());
        assert_eq!(
            watched("410"),
            [
                "heartbeat link ring0 between head1 and head2 loses packets: 2 of 12 pings were not answered; \
              `hawser check` says where they are lost"
            ]
        );
    }
}
