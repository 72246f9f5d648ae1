//! The numbers that Corosync has for nodes and links. A number that a running cluster has given
//! out stays, whatever happens to the order of the file: a node that changed its number would
//! be a new node to Pacemaker, with the old one left unclean.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::cluster_file::{ClusterFile, Role};
use hawser_model::names::{HostName, LinkName};

use crate::corosync::Conf;

/// Numbers of nodes (from 1) and of heartbeat links (0 to 7).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Numbering {
    /// Corosync's `nodeid`.
    pub nodes: BTreeMap<HostName, u32>,
    /// Corosync's `linknumber`: the N of `ringN_addr`.
    pub links: BTreeMap<LinkName, u8>,
}

impl Numbering {
    /// Numbers for a file: what the file says, else what the live corosync.conf has, else the
    /// lowest free one in the file's order.
    pub fn of(file: &ClusterFile, live: Option<&Conf>) -> Self {
        let live_nodes = live.map(live_nodes).unwrap_or_default();
        let mut nodes = BTreeMap::new();
        for node in &file.nodes {
            let given = node.id.as_ref().map(|id| **id);
            let known = || live_nodes.get(node.name.as_str()).map(|known| known.id);
            if let Some(id) = given.or_else(known) {
                nodes.insert(node.name.get().clone(), id);
            }
        }
        for node in &file.nodes {
            if !nodes.contains_key(node.name.get()) {
                let free = (1..).find(|id| !nodes.values().any(|taken| taken == id));
                nodes.insert(node.name.get().clone(), free.unwrap_or(u32::MAX));
            }
        }
        let links = links(file, &live_nodes);
        Self { nodes, links }
    }

    /// The numbers that a running cluster has given to the file's nodes and links. What the two do not have in common has none,
    /// and neither has a link that several numbers, or a number that several links may be.
    pub fn running(file: &ClusterFile, live: &Conf) -> Self {
        let live_nodes = live_nodes(live);
        let nodes = file.nodes.iter().filter_map(|node| {
            let known = live_nodes.get(node.name.as_str())?;
            Some((node.name.get().clone(), known.id))
        });
        let links = file.links_with(Role::Heartbeat).filter_map(|link| {
            let numbers: BTreeSet<u8> = rings(file, link.name.as_str(), &live_nodes).collect();
            let mut numbers = numbers.into_iter();
            match (numbers.next(), numbers.next()) {
                (Some(only), None) => Some((link.name.get().clone(), only)),
                _ => None,
            }
        });
        Self {
            nodes: alone(nodes.collect()),
            links: alone(links.collect()),
        }
    }
}

/// Those whose number nobody else has.
fn alone<K: Ord, N: Ord + Copy>(numbers: BTreeMap<K, N>) -> BTreeMap<K, N> {
    let mut times: BTreeMap<N, usize> = BTreeMap::new();
    for number in numbers.values() {
        *times.entry(*number).or_default() += 1;
    }
    let numbers = numbers.into_iter();
    numbers
        .filter(|(_, number)| times.get(number) == Some(&1))
        .collect()
}

/// The numbers of a link in a running cluster, by the address of each node on it.
fn rings<'a>(
    file: &'a ClusterFile,
    link: &'a str,
    live: &'a BTreeMap<String, LiveNode>,
) -> impl Iterator<Item = u8> + 'a {
    file.nodes.iter().filter_map(move |node| {
        let address = node.address_on(link)?.to_string();
        let rings = &live.get(node.name.as_str())?.rings;
        let mut known = rings.iter().filter(|(_, known)| **known == address);
        known.next().map(|(number, _)| *number)
    })
}

/// Links are known again by the addresses that nodes have on them.
fn links(file: &ClusterFile, live: &BTreeMap<String, LiveNode>) -> BTreeMap<LinkName, u8> {
    let heartbeat: Vec<_> = file.links_with(Role::Heartbeat).collect();
    let mut numbers = BTreeMap::new();
    for link in &heartbeat {
        let known = rings(file, link.name.as_str(), live).next();
        if let Some(number) = known {
            numbers.insert(link.name.get().clone(), number);
        }
    }
    for link in &heartbeat {
        if !numbers.contains_key(link.name.get()) {
            let free = (0..=7).find(|n| !numbers.values().any(|taken| taken == n));
            // The file's rules allow eight heartbeat links, so there is a free number.
            numbers.insert(link.name.get().clone(), free.unwrap_or(7));
        }
    }
    numbers
}

struct LiveNode {
    id: u32,
    rings: BTreeMap<u8, String>,
}

fn live_nodes(conf: &Conf) -> BTreeMap<String, LiveNode> {
    let mut nodes = BTreeMap::new();
    for node in conf
        .sections("nodelist")
        .flat_map(|list| list.sections("node"))
    {
        let rings = (0..=7).filter_map(|n| {
            let address = node.value(&format!("ring{n}_addr"))?;
            Some((n, address.to_owned()))
        });
        let id = node.value("nodeid").and_then(|id| id.parse().ok());
        if let (Some(name), Some(id)) = (node.value("name"), id) {
            let rings = rings.collect();
            nodes.insert(name.to_owned(), LiveNode { id, rings });
        }
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(nodes: &[(&str, u8)], links: &[(&str, u8)]) -> ClusterFile {
        let mut text = String::from("[cluster]\nname = \"t\"\n");
        for (link, net) in links {
            text += &format!("[[link]]\nname = \"{link}\"\nnetwork = \"10.0.{net}.0/24\"\n");
        }
        for (node, host) in nodes {
            text += &format!("[[node]]\nname = \"{node}\"\n[node.addresses]\n");
            for (link, net) in links {
                text += &format!("{link} = \"10.0.{net}.{host}\"\n");
            }
        }
        hawser_model::cluster_file::parse(&text, "test").unwrap()
    }

    #[test]
    fn the_order_of_the_file_numbers_a_new_cluster() {
        let numbers = Numbering::of(&file(&[("b", 1), ("a", 2)], &[("r1", 1), ("r0", 2)]), None);
        assert_eq!(numbers.nodes["b"], 1);
        assert_eq!(numbers.nodes["a"], 2);
        assert_eq!(numbers.links["r1"], 0);
        assert_eq!(numbers.links["r0"], 1);
    }

    #[test]
    fn a_running_cluster_keeps_its_numbers_when_the_file_is_reordered() {
        let before = file(&[("a", 1), ("b", 2)], &[("r0", 1), ("r1", 2)]);
        let live = crate::corosync::generate(&before, &Numbering::of(&before, None));
        let live = Conf::parse(&live).unwrap();
        // Node "a" and link "r0" are gone, "c" is new and stands first.
        let after = file(&[("c", 3), ("b", 2)], &[("r9", 9), ("r1", 2)]);
        let numbers = Numbering::of(&after, Some(&live));
        assert_eq!(numbers.nodes["b"], 2);
        assert_eq!(numbers.nodes["c"], 1);
        assert_eq!(numbers.links["r1"], 1);
        assert_eq!(numbers.links["r9"], 0);
    }

    #[test]
    fn what_runs_has_only_the_numbers_that_it_gave() {
        let before = file(&[("a", 1), ("b", 2)], &[("r0", 1), ("r1", 2)]);
        let live = crate::corosync::generate(&before, &Numbering::of(&before, None));
        let live = Conf::parse(&live).unwrap();
        let after = file(&[("c", 3), ("b", 2)], &[("r9", 9), ("r1", 2)]);
        let numbers = Numbering::running(&after, &live);
        assert_eq!(numbers.nodes, [("b".into(), 2)].into());
        assert_eq!(numbers.links, [("r1".into(), 1)].into());
        // One node's addresses were swapped, the other's not: nobody can say which link is which.
        let swapped = "nodelist { \n node { \n name: a\n nodeid: 1\n ring0_addr: 10.0.2.1\n ring1_addr: 10.0.1.1\n }\n \
                       node {\n name: b\n nodeid: 2\n ring0_addr: 10.0.1.2\n ring1_addr: 10.0.2.2\n }\n}\n";
        let numbers = Numbering::running(&before, &Conf::parse(swapped).unwrap());
        assert_eq!(numbers.links, BTreeMap::new());
        assert_eq!(numbers.nodes.len(), 2);
    }
}
