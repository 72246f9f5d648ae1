//! The watchers of the heads' SAN ports: without one, pools stay on a head that has lost its clients.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::cluster_file::{ClusterFile, Role};
use hawser_model::names::HostName;
use hawser_model::output::cluster::{NodeCondition, NodeStatus};

use super::findings::Findings;
use super::signs::Sign;
use super::{property, runs};
use crate::cib::services::primitive;
use crate::cib::watcher_id;
use crate::live::failures;
use crate::live::orders::left_orders;
use crate::live::views::StatusFacts;
use crate::plan::{HeadPorts, PortFacts, watched};
use crate::simulate::{Executed, Report};
use crate::xml::Element;

/// Each head, each SAN that pools are reached over, and the resource that watches the one's port to the other.
pub(super) fn known(file: &ClusterFile) -> impl Iterator<Item = (&HostName, &str, String)> {
    let used = |link: &str| {
        let mut pools = file.pools.iter();
        pools.any(|pool| pool.addresses.keys().any(|name| name.as_str() == link))
    };
    let sans = file.links_with(Role::San).map(|link| link.name.as_str());
    let sans = sans.filter(move |link| used(link));
    sans.flat_map(|link| {
        let nodes = file.nodes.iter().map(|node| node.name.get());
        nodes.map(move |node| (node, link, watcher_id(node.as_str(), link)))
    })
}

/// The ports of each head that answered.
pub(super) fn ports(file: &ClusterFile, facts: &StatusFacts) -> BTreeMap<HostName, HeadPorts> {
    let of = |head: &HostName| {
        let node = file.nodes.iter().find(|node| node.name.get() == head)?;
        let seen = facts.views[head].ports.iter();
        let ports = seen.filter_map(|(link, port)| {
            let there = PortFacts {
                interface: port.interface.clone()?,
                blind: port.blind.clone(),
            };
            Some((*node.address_on(link)?.get(), there))
        });
        Some((head.clone(), ports.collect()))
    };
    facts.views.keys().filter_map(of).collect()
}

/// Judges them, and gives those of which the last word is said.
pub(super) fn judge(
    file: &ClusterFile,
    facts: &StatusFacts,
    nodes: &[NodeStatus],
    report: &Report,
    cib: &Element,
    found: &mut Findings,
) -> BTreeSet<String> {
    let now = &report.before;
    let heads = ports(file, facts);
    let (wanted, unwatched) = watched(file, |head| heads.get(head), cib);
    let asked = |head: &str| {
        let view = facts.views.iter().find(|(name, _)| name.as_str() == head);
        view.is_some_and(|(_, view)| !view.ports.is_empty())
    };
    for port in unwatched.iter().filter(|port| asked(&port.node)) {
        let mark = Sign::WatcherUnknown.of(&format!("port {} {}", port.node, port.link));
        found.note(mark, port.to_string());
    }
    let mut said = BTreeSet::new();
    for (node, link, id) in known(file) {
        let unseen = format!("when {node} loses {link}, nobody sees it and pools stay there");
        let Some(watcher) = primitive(cib, &id) else {
            let key = (node.clone(), link.into());
            if wanted.0.contains_key(&key) {
                found.costs(
                    Sign::WatcherMissing.of_on(&id, node),
                    format!("{id} is missing: {unseen}; `hawser apply` puts it back"),
                );
                said.insert(id);
            }
            continue;
        };
        let online = nodes
            .iter()
            .any(|status| status.name == *node && status.state == NodeCondition::Online);
        if !online || property(cib, "maintenance-mode") == Some("true") {
            continue;
        }
        if runs(now, &id) && !now.blocked.contains(&id) && !now.failed.contains(&id) {
            if now.unmanaged.contains(&id) {
                let remedy =
                    format!("`crm_resource --resource {id} --meta --delete-parameter is-managed`");
                found.wrong(
                    Sign::Unmanaged.of(&id),
                    format!("{id} is not managed; {remedy} ends that"),
                );
            }
            continue;
        }
        let (why, remedy) = match starts(report, &id) && failures::of(cib, &id).is_empty() {
            true => (" yet".into(), "Pacemaker is about to start it".into()),
            false => cause(cib, &id, watcher),
        };
        found.costs(
            Sign::WatcherStopped.of_on(&id, node),
            format!("{id} does not run{why}: {unseen}; {remedy}"),
        );
        said.insert(id);
    }
    said
}

/// Whether Pacemaker is about to start it.
fn starts(report: &Report, id: &str) -> bool {
    let starts = |executed: &Executed| matches!(executed, Executed::Resource { resource, operation, .. } if resource == id && operation == "start");
    report.executed.iter().any(starts)
}

/// Why a watcher does not run, and what makes it run.
fn cause(cib: &Element, id: &str, watcher: &Element) -> (String, String) {
    let meta = watcher.all("meta_attributes").flat_map(Element::walk);
    let mut roles = meta.filter(|pair| pair.get("name") == Some("target-role"));
    if roles.any(|pair| pair.get("value") == Some("Stopped")) {
        let remedy =
            format!("`crm_resource --resource {id} --meta --delete-parameter target-role`");
        return (
            " since somebody stopped it".into(),
            format!("{remedy} starts it"),
        );
    }
    if let Some(order) = left_orders(cib).into_iter().find(|it| it.resource == id) {
        return (
            format!(", since {order}"),
            format!("{} ends that", order.remedy()),
        );
    }
    let why = failures::of(cib, id);
    let why = match why.is_empty() {
        true => String::new(),
        false => format!(" ({})", why.join("; ")),
    };
    let remedy = format!("when the cause is mended, `crm_resource --cleanup --resource {id}`");
    (why, remedy)
}
