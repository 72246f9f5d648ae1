//! Members of the running cluster that are not in the file: a node that has another name there, and one that was left out.

use std::collections::BTreeSet;
use std::net::IpAddr;

use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::HostName;

use super::Problem;
use super::facts::Facts;
use crate::corosync::Conf;
use crate::xml::Element;

/// A node as a `corosync.conf` has it.
struct Known {
    name: String,
    addresses: BTreeSet<IpAddr>,
}

/// What is wrong with members that are not in the file.
pub(super) fn problems(file: &ClusterFile, facts: &Facts) -> Vec<Problem> {
    let mut found = renamed(file, facts);
    let named = |name: &HostName| {
        let is = |problem: &Problem| matches!(problem, Problem::Renamed { old, .. } if old == name.as_str());
        found.iter().any(is)
    };
    let left_out = left_out(file, facts).into_iter();
    let left_out: Vec<_> = left_out.filter(|name| !named(name)).collect();
    found.extend(left_out.into_iter().map(Problem::LeftOut));
    found
}

/// The nodes that were renamed in the file.
fn renamed(file: &ClusterFile, facts: &Facts) -> Vec<Problem> {
    let mut found: Vec<Problem> = Vec::new();
    for known in known(facts) {
        if file.node(&known.name).is_some() {
            continue;
        }
        let same = file.nodes.iter().find(|node| {
            let mut addresses = node.addresses.values();
            addresses.any(|address| known.addresses.contains(address.get()))
        });
        let Some(node) = same else { continue };
        let problem = Problem::Renamed {
            old: known.name,
            new: node.name.get().clone(),
        };
        if !found.contains(&problem) {
            found.push(problem);
        }
    }
    found
}

/// Members, as Pacemaker has them, that the file lacks. Without them in corosync.conf they would be lost, without their fence
/// devices they could not be fenced, and until a lost member is fenced Pacemaker starts nothing. One that left is none any
/// more (`expected` of `node_state`).
fn left_out(file: &ClusterFile, facts: &Facts) -> Vec<HostName> {
    let cib = facts.cib.as_deref();
    let Some(cib) = cib.and_then(|text| Element::parse(text, "the live CIB").ok()) else {
        return Vec::new();
    };
    let states = cib.first("status").into_iter();
    let members = states
        .flat_map(|status| status.all("node_state"))
        .filter(|state| state.get("expected") == Some("member"));
    let names = members.filter_map(|state| state.get("uname"));
    let missing = names.filter(|name| file.node(name).is_none());
    missing.map(HostName::from).collect()
}

fn known(facts: &Facts) -> impl Iterator<Item = Known> {
    let running = facts.nodes.values().filter(|node| node.running);
    let confs = running.filter_map(|node| Conf::parse(node.corosync_conf.as_deref()?).ok());
    confs.flat_map(|conf| {
        let nodes = conf
            .sections("nodelist")
            .flat_map(|list| list.sections("node"));
        let nodes = nodes.filter_map(|node| {
            // Eight links at most (corosync.conf(5)).
            let addresses = (0..8).filter_map(|link| node.value(&format!("ring{link}_addr")));
            Some(Known {
                name: node.value("name")?.to_owned(),
                addresses: addresses.filter_map(|it| it.parse().ok()).collect(),
            })
        });
        nodes.collect::<Vec<_>>()
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use hawser_model::cluster_file::parse;

    use super::*;
    use crate::plan::NodeFacts;

    #[test]
    fn a_renamed_node_is_known_by_its_address_however_that_is_written() {
        let text = "[cluster]\nname = \"t\"\n[[link]]\nname = \"r0\"\nnetwork = \"fd00::/64\"\n\
                    [[node]]\nname = \"new\"\naddresses = { r0 = \"fd00::1\" }\n\
                    [[node]]\nname = \"b\"\naddresses = { r0 = \"fd00::2\" }\n";
        let file = parse(text, "hawser.toml").unwrap();
        let conf =
            "nodelist {\n node {\n name: old\n nodeid: 1\n ring0_addr: fd00:0:0::0001\n }\n}\n";
        let node = NodeFacts {
            running: true,
            corosync_conf: Some(conf.into()),
            ..NodeFacts::default()
        };
        let facts = Facts {
            nodes: BTreeMap::from([("new".into(), node)]),
            ..Facts::default()
        };
        let found = problems(&file, &facts);
        assert!(
            matches!(&found[..], [Problem::Renamed { old, .. }] if old == "old"),
            "{found:?}"
        );
    }
}
