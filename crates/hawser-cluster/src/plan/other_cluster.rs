//! A corosync.conf or CIB of another cluster than the file's, such as the example in the package of a new head. It says nothing
//! of this cluster.

use std::collections::BTreeMap;
use std::net::IpAddr;

use hawser_model::cluster_file::{ClusterFile, NodeEntry};
use hawser_model::names::HostName;

use super::Problem;
use super::facts::{Facts, NodeFacts};
use crate::corosync::Conf;
use crate::host::StoredCib;
use crate::xml::Element;

/// What a cluster is called that has no name.
const NAMELESS: &str = "without a name";

/// Whether it names fewer than two nodes of the file, and with the file's cluster none. Where it names nodes by what only
/// their hosts can look up, nobody can say.
fn is_of_another(file: &ClusterFile, conf: &Conf) -> bool {
    let lists = conf.sections("nodelist");
    let nodes: Vec<&Conf> = lists.flat_map(|list| list.sections("node")).collect();
    let is = |node: &Conf, wanted: &NodeEntry| {
        let name = wanted.name.as_str();
        let own = |at: &str| {
            let mut addresses = wanted.addresses.values();
            at == name || addresses.any(|own| at.parse() == Ok(**own))
        };
        node.value("name") == Some(name) || rings(node).any(own)
    };
    let tells = |node: &&Conf| {
        node.value("name").is_some() || rings(node).all(|at| at.parse::<IpAddr>().is_ok())
    };
    let all = file.nodes.iter();
    let known = all.filter(|wanted| nodes.iter().any(|node| is(node, wanted)));
    let enough = enough(file, cluster(conf));
    !nodes.is_empty() && nodes.iter().all(tells) && known.count() < enough
}

/// So many nodes of the file make a cluster with this name the file's.
fn enough(file: &ClusterFile, cluster: Option<&str>) -> usize {
    match cluster == Some(file.cluster.name.as_str()) {
        true => 1,
        false => 2,
    }
}

/// Where a node is, on each of Corosync's eight links.
fn rings(node: &Conf) -> impl Iterator<Item = &str> {
    (0..8).filter_map(|ring| node.value(&format!("ring{ring}_addr")))
}

fn cluster(conf: &Conf) -> Option<&str> {
    let mut totem = conf.sections("totem");
    totem.find_map(|totem| totem.value("cluster_name"))
}

/// The name of the other cluster that a node's corosync.conf is of.
pub(super) fn named<'a>(file: &ClusterFile, conf: &'a Conf) -> Option<&'a str> {
    is_of_another(file, conf).then(|| cluster(conf).unwrap_or(NAMELESS))
}

/// Whether the engine that runs on a node is another cluster's.
pub(crate) fn runs_another(file: &ClusterFile, there: &NodeFacts) -> bool {
    let conf = there.corosync_conf.as_deref();
    let conf = conf.and_then(|text| Conf::parse(text).ok());
    there.running && conf.is_some_and(|conf| is_of_another(file, &conf))
}

/// Whether a CIB knows fewer than two nodes of the file, and with the file's cluster none. One that knows no node has never been
/// Pacemaker's.
pub(super) fn has_cib(file: &ClusterFile, cib: &StoredCib) -> bool {
    let all = file.nodes.iter().map(|node| node.name.as_str());
    let known = all.filter(|name| cib.nodes.iter().any(|node| node == name));
    !cib.nodes.is_empty() && known.count() < enough(file, cib.cluster.as_deref())
}

/// The name of the other cluster that a live CIB is of. A file that names no nodes knows none of another. Where a CIB has no name,
/// one node of the file is enough: Pacemaker writes the name when it has chosen a DC, and there may be only one node yet.
pub(crate) fn of_cib(file: &ClusterFile, cib: &str) -> Option<String> {
    let cib = StoredCib::of(&Element::parse(cib, "the live CIB").ok()?)?;
    let mut names = file.nodes.iter().map(|node| node.name.as_str());
    let begins = cib.cluster.is_none() && names.any(|name| cib.nodes.iter().any(|it| it == name));
    let is_another = !file.nodes.is_empty() && !begins && has_cib(file, &cib);
    is_another.then(|| cib.cluster.unwrap_or_else(|| NAMELESS.to_owned()))
}

/// The corosync.conf that numbers the nodes: of a head that runs, if one does.
pub(super) fn of_this<'a>(
    file: &ClusterFile,
    facts: &Facts,
    confs: &'a BTreeMap<HostName, Conf>,
) -> Option<&'a Conf> {
    let ours = || confs.iter().filter(|(_, conf)| !is_of_another(file, conf));
    let runs = |name: &HostName| facts.nodes.get(name).is_some_and(|node| node.running);
    let first = ours()
        .find(|(name, _)| runs(name))
        .or_else(|| ours().next());
    first.map(|(_, conf)| conf)
}

/// Heads that run another cluster.
pub(super) fn problems(file: &ClusterFile, facts: &Facts) -> Vec<Problem> {
    let runs = facts
        .nodes
        .iter()
        .filter(|(_, there)| runs_another(file, there));
    let problem = |(node, there): (&HostName, &NodeFacts)| {
        let conf = Conf::parse(there.corosync_conf.as_deref()?).ok()?;
        Some(Problem::AnotherCluster {
            node: node.clone(),
            cluster: named(file, &conf)?.to_owned(),
        })
    };
    runs.filter_map(problem).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> ClusterFile {
        let text = include_str!("../../../../examples/lab/hawser.toml");
        hawser_model::cluster_file::parse(text, "hawser.toml").unwrap()
    }

    /// A corosync.conf of this cluster's name and these nodes: their names, and where they are.
    fn named_with(cluster: &str, nodes: &[(&str, &str)]) -> Option<String> {
        let node = |(name, at): &(&str, &str)| {
            let name = match *name {
                "" => String::new(),
                name => format!("name: {name}\n"),
            };
            format!("node {{\n{name}ring0_addr: {at}\n}}\n")
        };
        let nodes: String = nodes.iter().map(node).collect();
        let text = format!("totem {{\ncluster_name: {cluster}\n}}\nnodelist {{\n{nodes}}}\n");
        let conf = Conf::parse(&text).unwrap();
        named(&file(), &conf).map(str::to_owned)
    }

    #[test]
    fn a_live_cib_is_known_by_its_nodes_and_its_name() {
        let of = |cluster: &str, nodes: &[&str]| {
            let name = match cluster {
                "" => String::new(),
                cluster => format!(r#"<nvpair id="n" name="cluster-name" value="{cluster}"/>"#),
            };
            let node = |name: &&str| format!(r#"<node id="{name}" uname="{name}"/>"#);
            let nodes: String = nodes.iter().map(node).collect();
            let text = format!(
                r#"<cib><configuration><crm_config><cluster_property_set id="s">{name}</cluster_property_set></crm_config>
                <nodes>{nodes}</nodes></configuration></cib>"#
            );
            of_cib(&file(), &text)
        };
        assert_eq!(of("debian", &["node1"]).as_deref(), Some("debian"));
        assert_eq!(of("debian", &["head1"]).as_deref(), Some("debian"));
        assert_eq!(of("", &["node1"]).as_deref(), Some("without a name"));
        assert_eq!(of("other", &["head1", "head2"]), None);
        assert_eq!(of("lab", &["head1"]), None);
        // One that just begins.
        assert_eq!(of("", &["head1"]), None);
        assert_eq!(of("", &[]), None);
        assert_eq!(of_cib(&file(), "<cib"), None);
    }

    #[test]
    fn a_conf_is_known_by_two_nodes_or_by_one_and_the_cluster() {
        let (head1, head2) = (("head1", "10.72.0.1"), ("head2", "10.72.0.2"));
        let gone = ("head9", "10.72.0.9");
        // The cluster has another name in the file, or a node of it is another one.
        assert_eq!(named_with("other", &[head1, head2]), None);
        assert_eq!(named_with("lab", &[head1, gone]), None);
        assert_eq!(
            named_with("other", &[("", "10.72.0.1"), ("", "head2")]),
            None
        );
        // Only their hosts know who these are.
        assert_eq!(
            named_with("other", &[("", "a-ring0"), ("", "b-ring0")]),
            None
        );
        // As the package has it, also where a head has that very name.
        let example = [("node1", "127.0.0.1")];
        assert_eq!(named_with("debian", &example).as_deref(), Some("debian"));
        let own_name = [("head1", "127.0.0.1")];
        assert_eq!(named_with("debian", &own_name).as_deref(), Some("debian"));
        assert_eq!(
            named_with("other", &[head1, gone]).as_deref(),
            Some("other")
        );
        assert_eq!(named_with("lab", &[gone]).as_deref(), Some("lab"));
    }
}
