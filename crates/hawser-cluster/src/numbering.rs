//! The numbers that Corosync has for nodes and links. A number that a running cluster has given
//! out stays, whatever happens to the order of the file: a node that changed its number would
//! be a new node to Pacemaker, with the old one left unclean.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use hawser_model::cluster_file::{ClusterFile, NodeEntry, Role};
use hawser_model::names::{HostName, LinkName};

use crate::corosync::Conf;
use crate::host::view::Told;
use crate::xml::Element;

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
        Self::beside(file, live, &BTreeSet::new())
    }

    /// The same in a cluster that has this CIB. A number under which it knows another node is not free: what is left there of
    /// that node, such as its standby, would be the new one's.
    pub fn in_cluster(file: &ClusterFile, live: Option<&Conf>, cib: &Element) -> Self {
        let nodes = cib.at(&["configuration", "nodes"]);
        let nodes = nodes.into_iter().flat_map(|nodes| nodes.all("node"));
        let others =
            nodes.filter(|node| file.node(node.get("uname").unwrap_or_default()).is_none());
        let ids = others.filter_map(|node| node.get("id")?.parse().ok());
        Self::beside(file, live, &ids.collect())
    }

    fn beside(file: &ClusterFile, live: Option<&Conf>, others: &BTreeSet<u32>) -> Self {
        let live = live.map(LiveNodes::of_conf).unwrap_or_default();
        let mut nodes = BTreeMap::new();
        for node in &file.nodes {
            let given = node.id.as_ref().map(|id| **id);
            let known = || live.of(node).map(|known| known.id);
            if let Some(id) = given.or_else(known) {
                nodes.insert(node.name.get().clone(), id);
            }
        }
        let gone = live.0.iter().map(|known| known.id);
        let others: BTreeSet<u32> = others.iter().copied().chain(gone).collect();
        for node in &file.nodes {
            if !nodes.contains_key(node.name.get()) {
                let is_free = |id: &u32| !others.contains(id) && !nodes.values().any(|it| it == id);
                let free = (1..).find(is_free);
                nodes.insert(node.name.get().clone(), free.unwrap_or(u32::MAX));
            }
        }
        let links = links(file, &live);
        Self { nodes, links }
    }

    /// The numbers that a running cluster has given to the file's nodes and links. What the two do not have in common has none,
    /// and neither has a link that several numbers, or a number that several links may be.
    pub fn running(file: &ClusterFile, live: &Conf) -> Self {
        Self::given(file, &LiveNodes::of_conf(live))
    }

    /// The same by what a Corosync itself says, if it was asked. Of one that does not answer no number is known.
    pub fn said(file: &ClusterFile, nodes: Option<&Told<BTreeMap<String, String>>>) -> Self {
        match nodes {
            None => Self::of(file, None),
            Some(Told::Said(map)) => Self::listed(file, map),
            Some(Told::Silent(_) | Told::Failed(_)) => Self::default(),
        }
    }

    /// The same by Corosync's map (`nodelist.node.` and `runtime.members.` of cmap_keys(7)). Where it says nothing of nodes, the
    /// numbers are taken to be those that the file gives.
    pub fn listed(file: &ClusterFile, map: &BTreeMap<String, String>) -> Self {
        let live = LiveNodes::of_map(map);
        match live.0.is_empty() {
            true => Self::of(file, None),
            false => Self::given(file, &live),
        }
    }

    fn given(file: &ClusterFile, live: &LiveNodes) -> Self {
        let nodes = file.nodes.iter().filter_map(|node| {
            let known = live.of(node)?;
            Some((node.name.get().clone(), known.id))
        });
        let links = file.links_with(Role::Heartbeat).filter_map(|link| {
            let numbers: BTreeSet<u8> = rings(file, link.name.as_str(), live).collect();
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
    live: &'a LiveNodes,
) -> impl Iterator<Item = u8> + 'a {
    file.nodes.iter().filter_map(move |node| {
        let address = Address::Known(**node.address_on(link)?);
        let mut known = live.of(node)?.rings.iter();
        known.find_map(|(number, known)| (*known == address).then_some(*number))
    })
}

/// Links are known again by the addresses that nodes have on them.
fn links(file: &ClusterFile, live: &LiveNodes) -> BTreeMap<LinkName, u8> {
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

/// A node of a running cluster.
struct LiveNode {
    /// Absent: it is known by its addresses alone.
    name: Option<String>,
    id: u32,
    rings: BTreeMap<u8, Address>,
}

/// Of a node on a ring.
#[derive(PartialEq)]
enum Address {
    Known(IpAddr),
    /// A name, which Corosync looks up when it starts.
    Name,
}

impl Address {
    fn of(text: &str) -> Self {
        text.parse().map_or(Self::Name, Self::Known)
    }
}

impl LiveNode {
    /// By what the list of nodes has of it.
    fn of<'a>(value: impl Fn(&str) -> Option<&'a str>) -> Option<Self> {
        let rings = (0..=7).filter_map(|n| {
            let address = value(&format!("ring{n}_addr"))?;
            Some((n, Address::of(address)))
        });
        Some(Self {
            name: value("name").map(str::to_owned),
            id: value("nodeid")?.parse().ok()?,
            rings: rings.collect(),
        })
    }
}

#[derive(Default)]
struct LiveNodes(Vec<LiveNode>);

impl LiveNodes {
    fn of_conf(conf: &Conf) -> Self {
        let lists = conf.sections("nodelist");
        let nodes = lists.flat_map(|list| list.sections("node"));
        Self(
            nodes
                .filter_map(|node| LiveNode::of(|key| node.value(key)))
                .collect(),
        )
    }

    fn of_map(map: &BTreeMap<String, String>) -> Self {
        let mut nodes: BTreeMap<&str, BTreeMap<&str, &str>> = BTreeMap::new();
        for (key, value) in map {
            let of_node = key.strip_prefix("nodelist.node.");
            if let Some((position, key)) = of_node.and_then(|rest| rest.split_once('.')) {
                nodes.entry(position).or_default().insert(key, value);
            }
        }
        let nodes = nodes.values();
        let nodes = nodes.filter_map(|node| LiveNode::of(|key| node.get(key).copied()));
        let resolved = nodes.map(|mut node| {
            let member = map.get(&format!("runtime.members.{}.ip", node.id));
            let member = member.map(String::as_str).unwrap_or_default();
            for (number, address) in &mut node.rings {
                if let (Address::Name, Some(found)) = (&address, member_address(member, *number)) {
                    *address = Address::of(found);
                }
            }
            node
        });
        Self(resolved.collect())
    }

    /// The node of the file.
    fn of(&self, node: &NodeEntry) -> Option<&LiveNode> {
        let named = |live: &&LiveNode| live.name.as_deref() == Some(node.name.as_str());
        let has = |ring: &Address| {
            let mut addresses = node.addresses.values();
            addresses.any(|address| *ring == Address::Known(**address))
        };
        let has_one_of = |live: &&LiveNode| live.name.is_none() && live.rings.values().any(has);
        let mut all = self.0.iter();
        all.find(named).or_else(|| self.0.iter().find(has_one_of))
    }
}

/// The address of a ring in `r(0) ip(10.0.0.1) r(1) ip(10.0.1.1)`.
fn member_address(member: &str, ring: u8) -> Option<&str> {
    let (_, rest) = member.split_once(&format!("r({ring}) ip("))?;
    Some(rest.split_once(')')?.0)
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
        // Corosync would take one with the number of "a" for "a" with other addresses.
        assert_eq!(numbers.nodes["c"], 3);
        assert_eq!(numbers.links["r1"], 1);
        assert_eq!(numbers.links["r9"], 0);
    }

    #[test]
    fn a_number_under_which_the_cluster_knows_another_node_is_not_given_out() {
        let file = file(&[("b", 2), ("c", 3)], &[("r0", 1)]);
        let nodes = r#"<cib><configuration><nodes><node id="1" uname="a"/><node id="2" uname="b"/>
            <node id="far" uname="far"/></nodes></configuration></cib>"#;
        let cib = Element::parse(nodes, "the CIB").unwrap();
        let conf = "nodelist {\n node {\n name: b\n nodeid: 2\n ring0_addr: 10.0.1.2\n }\n}\n";
        let conf = Conf::parse(conf).unwrap();
        let numbers = Numbering::in_cluster(&file, Some(&conf), &cib);
        assert_eq!(numbers.nodes, [("b".into(), 2), ("c".into(), 3)].into());
        // Once it is forgotten (`crm_node --remove`), the number is free.
        let numbers = Numbering::of(&file, Some(&conf));
        assert_eq!(numbers.nodes["c"], 1);
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

    fn map(text: &str) -> BTreeMap<String, String> {
        hawser_model::cmap::chosen(text, |_| true)
    }

    #[test]
    fn what_a_corosync_says_of_its_nodes_numbers_them_and_not_the_order_of_the_file() {
        // Corosync 3.1.7. The file names both the other way round, and a link and a node that do not run yet.
        let file = file(
            &[("c", 3), ("b", 2), ("a", 1)],
            &[("r9", 9), ("r1", 2), ("r0", 1)],
        );
        let said = "nodelist.node.0.name (str) = a\nnodelist.node.0.nodeid (u32) = 1\n\
                    nodelist.node.0.ring0_addr (str) = 10.0.1.1\nnodelist.node.0.ring1_addr (str) = 10.0.2.1\n\
                    nodelist.node.1.name (str) = b\nnodelist.node.1.nodeid (u32) = 2\n\
                    nodelist.node.1.ring0_addr (str) = 10.0.1.2\nnodelist.node.1.ring1_addr (str) = 10.0.2.2\n";
        let numbers = Numbering::listed(&file, &map(said));
        assert_eq!(numbers.nodes, [("a".into(), 1), ("b".into(), 2)].into());
        assert_eq!(numbers.links, [("r0".into(), 0), ("r1".into(), 1)].into());
        // It said nothing.
        let numbers = Numbering::listed(&file, &BTreeMap::new());
        assert_eq!(numbers, Numbering::of(&file, None));
        // It was asked, and does not answer.
        let silent = Numbering::said(&file, Some(&Told::Silent(5)));
        assert_eq!(silent, Numbering::default());
    }

    #[test]
    fn names_in_place_of_addresses_are_those_that_corosync_has_looked_up() {
        let file = file(&[("b", 2), ("a", 1)], &[("r1", 2), ("r0", 1)]);
        let said = "nodelist.node.0.nodeid (u32) = 1\nnodelist.node.0.name (str) = a\n\
                    nodelist.node.0.ring0_addr (str) = a-r0\nnodelist.node.0.ring1_addr (str) = a-r1\n\
                    nodelist.node.1.nodeid (u32) = 2\nnodelist.node.1.ring0_addr (str) = 10.0.1.2\n\
                    runtime.members.1.ip (str) = r(0) ip(10.0.1.1) r(1) ip(10.0.2.1) \n";
        let numbers = Numbering::listed(&file, &map(said));
        assert_eq!(numbers.nodes, [("a".into(), 1), ("b".into(), 2)].into());
        assert_eq!(numbers.links, [("r0".into(), 0), ("r1".into(), 1)].into());
        // A node whose names were never looked up gives no number.
        let gone = said.replace("runtime.members.1", "runtime.members.7");
        let numbers = Numbering::listed(&file, &map(&gone));
        assert_eq!(numbers.links, [("r0".into(), 0)].into());
    }
}
