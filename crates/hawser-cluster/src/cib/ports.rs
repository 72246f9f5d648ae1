//! The heads' own SAN ports. A head that has lost all of them serves nobody, and nothing of the engine notices:
//! membership goes over other links, and `IPaddr2` looks at addresses and not at cables.
//!
//! On each head, for each SAN, Pacemaker's own agent `ocf:pacemaker:ifspeed` keeps a node attribute: the speed of the
//! port, 0 without a carrier. It is not a clone, since a clone has one interface name on all heads, and heads differ.
//! `ocf:heartbeat:ethmonitor` would do but for one thing: it cannot hold an attribute back. When a switch dies, all heads
//! lose their ports within one interval of the monitor and not at the same moment; only the dampening, which writes
//! all heads' values at once, keeps the pools from moving to a head that is about to say the same.
//! `ocf:pacemaker:ping` asks the other head, and of two heads neither can tell whose cable is out.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::cluster_file::{ClusterFile, LinkEntry, Period, Pool, Role, watcher_id};
use hawser_model::names::{HostName, LinkName};

use super::OWN_CONSTRAINT;
use super::build::{Op, only_on, pair, primitive};
use super::properties::stickiness;
use crate::xml::Element;

/// How often a port is looked at.
const LOOKS: Period = Period::from_secs(2);

/// How long a change must have lasted before it counts. More than the time between two looks, or one head's
/// loss would be acted upon before the other's is seen.
const DAMPEN: Period = Period::from_secs(3);

/// As the agent itself advises.
const TIMEOUT: Period = Period::from_secs(30);

/// The greatest score that is not infinite.
const FINITE: u32 = 999_999;

/// How the constraint's id ends by which a pool leaves a head without SAN ports.
pub(crate) const NEEDS_A_SAN: &str = "-needs-a-san";

/// The interfaces that are watched: of each head, its port to each SAN.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ports(pub BTreeMap<(HostName, LinkName), String>);

impl Ports {
    /// Whether any head's port to that SAN is watched.
    fn watch(&self, link: &LinkName) -> bool {
        self.0.keys().any(|(_, watched)| watched == link)
    }
}

/// The node attribute that holds the speed of a head's port to a SAN: `"0"` when it has no carrier.
pub fn port_attribute(link: &str) -> String {
    format!("hawser-{link}")
}

/// The SAN that a node attribute is about.
pub(crate) fn link_of_attribute(attribute: &str) -> &str {
    attribute.strip_prefix("hawser-").unwrap_or(attribute)
}

/// The SANs over which a pool is reached.
fn sans<'a>(file: &'a ClusterFile, pool: &'a Pool) -> impl Iterator<Item = &'a LinkEntry> {
    let has = |link: &&LinkEntry| pool.addresses.keys().any(|name| **name == *link.name);
    file.links_with(Role::San).filter(has)
}

/// The resources that watch, and the constraints that act on what they see.
pub(super) fn generate(file: &ClusterFile, ports: &Ports) -> (Vec<Element>, Vec<Element>) {
    let (mut resources, mut constraints) = (Vec::new(), Vec::new());
    let used: BTreeSet<&LinkName> = file
        .pools
        .iter()
        .flat_map(|pool| sans(file, pool).map(|link| link.name.get()))
        .collect();
    for ((node, link), interface) in &ports.0 {
        if used.contains(link) {
            let id = watcher_id(node.as_str(), link.as_str());
            resources.push(watcher(&id, node, link, interface));
            constraints.push(only_on(&id, node.as_str()));
        }
    }
    let rules = file
        .pools
        .iter()
        .filter_map(|pool| needs_a_san(file, pool, ports));
    constraints.extend(rules);
    (resources, constraints)
}

fn watcher(id: &str, node: &HostName, link: &LinkName, interface: &str) -> Element {
    let parameters = [
        pair("dampen", DAMPEN),
        pair("iface", interface),
        pair("name", port_attribute(link.as_str())),
    ];
    let ops = [
        Op::once("start", TIMEOUT),
        // Whatever becomes of the one who looks is no reason to shoot the head.
        Op::once("stop", TIMEOUT).on_fail(Some("ignore")),
        Op::monitor(LOOKS, TIMEOUT),
    ];
    let what = format!("watches the port of {node} to {link}");
    primitive(id, "ocf:pacemaker:ifspeed", &what, &parameters, &ops)
}

/// The pool leaves a head that has lost every SAN over which it is reached, since it prefers every other head by more than
/// all that holds it. A head without SANs gets nothing, not a negative score: a negative sum forbids a node
/// altogether, and when all heads have lost their SANs the pools would stop everywhere. An attribute that is not there is
/// not 0, so a port of which nothing is known counts as well.
fn needs_a_san(file: &ClusterFile, pool: &Pool, ports: &Ports) -> Option<Element> {
    let sans: Vec<&LinkEntry> = sans(file, pool).collect();
    if sans.is_empty() || !sans.iter().all(|link| ports.watch(link.name.get())) {
        return None;
    }
    let id = format!("{OWN_CONSTRAINT}{}{NEEDS_A_SAN}", pool.name);
    let expressions = sans.iter().map(|link| {
        Element::new("expression")
            .with("id", format!("{id}-{}", link.name))
            .with("attribute", port_attribute(link.name.as_str()))
            .with("operation", "ne")
            .with("value", "0")
    });
    let rule = Element::new("rule")
        .with("id", format!("{id}-rule"))
        .with("score", weight(file, pool).to_string())
        .with("boolean-op", "or")
        .children(expressions);
    let constraint = Element::new("rsc_location")
        .with("id", id)
        .with("rsc", pool.placed_id());
    Some(constraint.child(rule))
}

/// What others may have in the group of a pool, each of which sticks as well.
const OTHERS: u32 = 50;

/// More than all that holds a pool where it is: each of its parts sticks there, and it may prefer the head.
fn weight(file: &ClusterFile, pool: &Pool) -> u32 {
    let parts = u32::try_from(pool.resource_ids().len()).unwrap_or(u32::MAX);
    let grouped = pool.group_of(&pool.storage_id()).is_some();
    let parts = parts.saturating_add(if grouped { OTHERS } else { 0 });
    let holds = stickiness(file).saturating_mul(parts);
    holds
        .saturating_add(pool.preference())
        .saturating_add(1)
        .min(FINITE)
}
