//! The heartbeat links as the nodes' Corosync sees them.

use std::collections::BTreeMap;

use hawser_model::cluster_file::ClusterFile;
use hawser_model::host::CorosyncFacts;
use hawser_model::names::{HostName, LinkName};

use crate::numbering::Numbering;

/// What is to be said of the heartbeat links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Links {
    /// Those that are down, in words.
    pub down: Vec<String>,
    /// Whether any one can be lost: every pair of members has two that are up.
    pub redundant: bool,
}

impl Links {
    /// Judges kronosnet's own statistics (`stats.knet.nodeN.linkL.connected`). Links to a node that
    /// is no member are down with it, which is said of the node.
    pub fn of(
        file: &ClusterFile,
        corosync: &BTreeMap<HostName, CorosyncFacts>,
        member: &impl Fn(&HostName) -> bool,
    ) -> Self {
        let numbering = Numbering::of(file, None);
        let mut down: BTreeMap<(LinkName, [HostName; 2]), ()> = BTreeMap::new();
        let mut redundant = true;
        for (from, facts) in corosync.iter().filter(|(from, _)| member(from)) {
            for (to, id) in numbering
                .nodes
                .iter()
                .filter(|(to, _)| *to != from && member(to))
            {
                let mut up = 0;
                for (link, number) in &numbering.links {
                    let key = format!("stats.knet.node{id}.link{number}.connected");
                    match facts.stats.get(&key).map(String::as_str) {
                        Some("1") => up += 1,
                        Some(_) => {
                            let mut pair = [from.clone(), to.clone()];
                            pair.sort();
                            down.insert((link.clone(), pair), ());
                        }
                        // A Corosync that says nothing of it says nothing against it.
                        None => {}
                    }
                }
                redundant &= up >= 2;
            }
        }
        let words = |(link, [a, b]): (LinkName, [HostName; 2])| {
            format!("heartbeat link {link} between {a} and {b} is down")
        };
        Self {
            down: down.into_keys().map(words).collect(),
            redundant,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_model::cluster_file::parse_complete;

    fn judged(second_link: &str) -> Links {
        let text = include_str!("../../../../examples/lab/hawser.toml");
        let file = parse_complete(text, "hawser.toml").unwrap();
        let stats = [("link0", "1"), ("link1", second_link)];
        let stats =
            stats.map(|(link, up)| (format!("stats.knet.node2.{link}.connected"), up.to_owned()));
        let facts = CorosyncFacts {
            pid: 1,
            token: None,
            stats: stats.into(),
        };
        Links::of(&file, &[(HostName::from("head1"), facts)].into(), &|_| true)
    }

    #[test]
    fn one_link_of_two_is_down_and_nothing_more_may_be_lost() {
        let links = judged("0");
        assert_eq!(
            links.down,
            ["heartbeat link ring1 between head1 and head2 is down"]
        );
        assert!(!links.redundant);
    }

    #[test]
    fn two_links_that_are_up_are_enough() {
        let links = judged("1");
        assert!(links.down.is_empty() && links.redundant);
    }
}
