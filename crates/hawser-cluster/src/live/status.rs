//! What a person wants to know at three in the morning: is it redundant now, what is degraded, and
//! what would happen if a node died this second.

use std::collections::BTreeMap;

use hawser_model::cluster_file::{ClusterFile, Pool};
use hawser_model::host::CorosyncFacts;
use hawser_model::names::HostName;
use hawser_model::output::cluster::{
    ClusterStatus, NodeCondition, NodeStatus, PoolAddress, PoolExport, PoolStatus,
    QuorumDeviceStatus,
};

use super::links::Links;
use super::{Heads, LiveError, device, failures, live_cib, on_all, takeover};
use crate::cib::fencing::targets;
use crate::host::{Answer, Order};
use crate::simulate::{NodeState, Picture, Report, Scenario, Simulator, Story, lines_of, what_if};
use crate::xml::Element;

/// What is known of a cluster at a moment.
#[derive(Clone, Debug, Default)]
pub struct StatusFacts {
    /// The live CIB; absent when Pacemaker runs on no node that was reached.
    pub cib: Option<String>,
    /// What the fencer has done, as its own XML.
    pub fence_history: Option<String>,
    /// What the Corosync of each node that was reached says.
    pub corosync: BTreeMap<HostName, CorosyncFacts>,
    /// The nodes that were not reached, and why.
    pub unreached: BTreeMap<HostName, String>,
    /// For each fence device that was asked: absent when it answered, else its agent's words.
    pub fence_status: BTreeMap<String, Option<String>>,
    /// For each node that was asked, why the quorum device has no vote there: absent where it votes.
    pub device: BTreeMap<HostName, Option<String>>,
}

/// Asks the nodes that were reached.
///
/// # Errors
/// A node that was reached and cannot answer.
pub fn observe(
    heads: &mut Heads,
    unreached: BTreeMap<HostName, String>,
) -> Result<StatusFacts, LiveError> {
    let corosync = on_all(heads, |_, head| Ok(head.corosync()?))?;
    let mut facts = StatusFacts {
        unreached,
        corosync: corosync
            .into_iter()
            .filter_map(|(name, facts)| Some((name, facts?)))
            .collect(),
        ..StatusFacts::default()
    };
    if let Some((name, cib)) = live_cib(heads)? {
        facts.cib = Some(cib);
        if let Some(head) = heads.get_mut(&name) {
            if let Answer::Text(history) = head.order(&Order::FenceHistory)? {
                facts.fence_history = Some(history);
            }
        }
    }
    Ok(facts)
}

/// Judges. Asks the simulator once for each node.
///
/// # Errors
/// What Pacemaker said cannot be read; the simulator.
pub fn status(
    file: &ClusterFile,
    facts: &StatusFacts,
    simulator: &dyn Simulator,
) -> Result<ClusterStatus, LiveError> {
    let Some(text) = &facts.cib else {
        return Ok(nothing_runs(file, facts));
    };
    let cib = Element::parse(text, "the live CIB")?;
    let now = Report::parse(&simulator.simulate(text, &[])?.report)?.before;
    let nodes: Vec<NodeStatus> = file
        .nodes
        .iter()
        .map(|node| node_now(&node.name, &now))
        .collect();
    let online = |node: &HostName| {
        let state = nodes.iter().find(|status| status.name == *node);
        state.is_some_and(|status| status.state == NodeCondition::Online)
    };
    let links = Links::of(file, &facts.corosync, &online);
    let mut degraded = Vec::new();
    degraded.extend(nodes.iter().filter_map(|node| wrong_node(node, facts)));
    degraded.extend(links.down.iter().cloned());
    degraded.extend(wrong_properties(&cib));
    let maintenance = property(&cib, "maintenance-mode") == Some("true");
    let quorate = cib.get("have-quorum") == Some("1");
    if !quorate {
        degraded
            .push("there is no quorum: pools that run are stopped, and none is taken over".into());
    }
    let device = device_now(file, facts);
    let device_votes = device.as_ref().is_some_and(|device| device.votes);
    degraded.extend(device::silent(file, &facts.device));
    let blind = blind(file, &now, facts);
    degraded.extend(blind.iter().cloned());
    let history = facts.fence_history.as_deref();
    let history = history.and_then(|text| Element::parse(text, "the fencing history").ok());
    degraded.extend(history.iter().flat_map(takeover::failed_shots));
    let pools: Vec<PoolStatus> = file.pools.iter().map(|pool| pool_now(pool, &now)).collect();
    for pool in &file.pools {
        degraded.extend(wrong_pool(pool, &now));
        degraded.extend(why_idle(pool, &now, &cib));
    }
    let unmanaged: Vec<String> = match maintenance {
        true => Vec::new(),
        false => file
            .pools
            .iter()
            .flat_map(|pool| unmanaged(pool, &now))
            .collect(),
    };
    degraded.extend(unmanaged.iter().cloned());

    let mut if_lost = BTreeMap::new();
    let mut survives = true;
    let members = nodes.iter().filter(|node| member(node)).count();
    let left = members.saturating_sub(1);
    let enough = device::quorum(file, left, device_votes);
    for node in &nodes {
        let (lines, safe) = match online(&node.name) {
            _ if member(node) && left > 0 && !enough => (vec![OUTVOTED.to_owned()], false),
            false => (vec!["it runs nothing now".to_owned()], true),
            true => lost(simulator, &cib, &node.name)?,
        };
        survives &= safe;
        if_lost.insert(node.name.clone(), lines);
    }
    Ok(ClusterStatus {
        cluster: file.cluster.name.to_string(),
        quorate,
        redundant: quorate
            && survives
            && pools.iter().all(|pool| pool.active_on.is_some())
            && blind.is_empty()
            && !maintenance
            && unmanaged.is_empty()
            && links.redundant
            && enough,
        degraded,
        quorum_device: device,
        nodes,
        pools,
        if_lost,
        last_takeover: takeover::last(&cib, history.as_ref()),
    })
}

/// The fence devices that would not do their work, in words.
fn blind(file: &ClusterFile, now: &Picture, facts: &StatusFacts) -> Vec<String> {
    let mut blind = Vec::new();
    for (device, victims) in targets(file) {
        let victims = victims.into_iter().collect::<Vec<_>>().join(", ");
        if !runs(now, &device) {
            blind.push(format!(
                "fence device {device} does not run: {victims} could not be switched off"
            ));
        } else if let Some(Some(said)) = facts.fence_status.get(&device) {
            blind.push(format!(
                "fence device {device} does not answer ({said}): {victims} could not be switched off"
            ));
        }
    }
    blind
}

/// Whether a node has its vote in the cluster, whatever runs there.
fn member(node: &NodeStatus) -> bool {
    !matches!(node.state, NodeCondition::Offline | NodeCondition::Unclean)
}

/// What becomes of pools when too few are left.
const OUTVOTED: &str =
    "those that are left have no quorum: what they run stops, and nothing is taken over";

/// The quorum device, if the file has one. One that was asked nowhere is not known to vote.
fn device_now(file: &ClusterFile, facts: &StatusFacts) -> Option<QuorumDeviceStatus> {
    let device = file.quorum.device.as_ref()?;
    let mut said = facts.device.values();
    Some(QuorumDeviceStatus {
        host: device.host.to_string(),
        votes: !facts.device.is_empty() && said.all(Option::is_none),
    })
}

fn nothing_runs(file: &ClusterFile, facts: &StatusFacts) -> ClusterStatus {
    let nodes = file.nodes.iter().map(|node| NodeStatus {
        name: node.name.get().clone(),
        state: NodeCondition::Offline,
    });
    let pools = file
        .pools
        .iter()
        .map(|pool| pool_now(pool, &Picture::default()));
    let mut degraded = vec!["Pacemaker runs on no node that was reached".to_owned()];
    degraded.extend(
        facts
            .unreached
            .iter()
            .map(|(node, why)| format!("{node}: {why}")),
    );
    ClusterStatus {
        cluster: file.cluster.name.to_string(),
        quorate: false,
        redundant: false,
        degraded,
        quorum_device: device_now(file, facts),
        nodes: nodes.collect(),
        pools: pools.collect(),
        if_lost: BTreeMap::new(),
        last_takeover: None,
    }
}

fn node_now(name: &HostName, now: &Picture) -> NodeStatus {
    let state = match now.nodes.get(name.as_str()) {
        Some(NodeState { unclean: true, .. }) => NodeCondition::Unclean,
        Some(NodeState { online: false, .. }) | None => NodeCondition::Offline,
        Some(NodeState {
            maintenance: true, ..
        }) => NodeCondition::Maintenance,
        Some(NodeState { standby: true, .. }) => NodeCondition::Standby,
        Some(_) => NodeCondition::Online,
    };
    let name = name.clone();
    NodeStatus { name, state }
}

fn wrong_node(node: &NodeStatus, facts: &StatusFacts) -> Option<String> {
    let name = &node.name;
    let what = match node.state {
        NodeCondition::Unclean => {
            return Some(format!(
                "{name} is lost and not known to be off: nothing is taken over from it until it is. When its \
                 fence devices fail, switch it off by hand, see that it is off, and then run \
                 `stonith_admin --confirm={name}` on a node that is a member; run while {name} is alive, that \
                 destroys its pools"
            ));
        }
        NodeCondition::Online => {
            let why = facts.unreached.get(name)?;
            return Some(format!("{name} is a member but was not reached: {why}"));
        }
        NodeCondition::Standby => "is in standby: nothing runs there",
        NodeCondition::Maintenance => "is in maintenance: nothing is watched there",
        NodeCondition::Offline => "is not a member of the cluster",
    };
    Some(format!("{name} {what}"))
}

/// A property of the live cluster.
fn property<'a>(cib: &'a Element, name: &str) -> Option<&'a str> {
    let pairs = cib.at(&["configuration", "crm_config"]).map(Element::walk);
    let mut pairs = pairs.into_iter().flatten();
    pairs
        .find(|pair| pair.get("name") == Some(name))
        .and_then(|pair| pair.get("value"))
}

fn wrong_properties(cib: &Element) -> Vec<String> {
    let mut wrong = Vec::new();
    if property(cib, "stonith-enabled") == Some("false") {
        wrong.push("fencing is switched off".to_owned());
    }
    if property(cib, "maintenance-mode") == Some("true") {
        wrong.push(
            "the cluster is in maintenance mode: nothing is watched or taken over".to_owned(),
        );
    }
    wrong
}

fn runs(now: &Picture, resource: &str) -> bool {
    now.resources
        .get(resource)
        .is_some_and(|nodes| !nodes.is_empty())
}

fn pool_now(pool: &Pool, now: &Picture) -> PoolStatus {
    let active_on = now.runs_on(&pool.storage_id()).map(HostName::from);
    let here = |id: &str| {
        let on = now.runs_on(id);
        on.is_some() && on == active_on.as_ref().map(HostName::as_str)
    };
    let mut addresses = Vec::new();
    for (link, of_link) in &pool.addresses {
        let ids = pool.address_ids(link.as_str(), of_link);
        for (address, id) in of_link.as_slice().iter().zip(ids) {
            let (address, up) = (*address, here(&id));
            addresses.push(PoolAddress { address, up });
        }
    }
    let storage = [pool.storage_id(), pool.files_id()];
    let offers = pool.resource_ids().into_iter().filter(|id| {
        let is_address = pool
            .addresses
            .iter()
            .any(|(link, of_link)| pool.address_ids(link.as_str(), of_link).contains(id));
        !storage.contains(id) && !is_address
    });
    let exports = offers.map(|resource| PoolExport {
        up: here(&resource),
        resource,
    });
    PoolStatus {
        name: pool.name.to_string(),
        exports: exports.collect(),
        addresses,
        active_on,
    }
}

/// What is to run and does not, each with the words of whatever failed: for somebody who has just
/// changed a cluster. Nothing in a cluster in maintenance, where nobody starts anything.
///
/// # Errors
/// What Pacemaker said cannot be read; the simulator.
pub(super) fn not_running(
    file: &ClusterFile,
    cib: &str,
    simulator: &dyn Simulator,
) -> Result<Vec<String>, LiveError> {
    let now = Report::parse(&simulator.simulate(cib, &[])?.report)?.before;
    let cib = Element::parse(cib, "the live CIB")?;
    if property(&cib, "maintenance-mode") == Some("true") {
        return Ok(Vec::new());
    }
    let mut missing = Vec::new();
    if cib.get("have-quorum") != Some("1") {
        missing.push("there is no quorum, so nothing is started".to_owned());
    }
    missing.extend(blind(file, &now, &StatusFacts::default()));
    for pool in &file.pools {
        missing.extend(idle_parts(pool, &now));
        missing.extend(why_idle(pool, &now, &cib));
    }
    Ok(missing)
}

/// The words of the operations after which parts of a pool do not run.
fn why_idle(pool: &Pool, now: &Picture, cib: &Element) -> Vec<String> {
    let ids = pool.resource_ids().into_iter();
    let idle = ids.filter(|id| !runs(now, id));
    idle.flat_map(|id| failures::of(cib, &id)).collect()
}

/// The parts of a pool that do not run where it is, or the whole of one that is nowhere.
fn idle_parts(pool: &Pool, now: &Picture) -> Vec<String> {
    let Some(node) = now.runs_on(&pool.storage_id()) else {
        return vec![format!("pool {} is active nowhere", *pool.name)];
    };
    let ids = pool.resource_ids().into_iter();
    let away = ids.filter(|id| now.runs_on(id) != Some(node));
    away.map(|id| format!("{id} does not run on {node}, where its pool is"))
        .collect()
}

fn wrong_pool(pool: &Pool, now: &Picture) -> Vec<String> {
    let mut wrong = idle_parts(pool, now);
    let ids = pool.resource_ids();
    let blocked = ids.iter().filter(|id| now.blocked.contains(*id));
    wrong.extend(blocked.map(|id| format!("{id} failed and Pacemaker no longer touches it")));
    let failed = ids
        .iter()
        .filter(|id| now.failed.contains(*id) && !now.blocked.contains(*id));
    wrong.extend(failed.map(|id| format!("the last operation of {id} failed")));
    wrong
}

/// The parts of a pool that nobody starts, stops or moves, but for those on nodes where nothing is
/// touched, which is said of the node or the cluster.
fn unmanaged(pool: &Pool, now: &Picture) -> Vec<String> {
    let in_maintenance = |node: &String| now.nodes.get(node).is_some_and(|node| node.maintenance);
    let ids = pool.resource_ids().into_iter();
    let alone = ids.filter(|id| {
        let on = now.resources.get(id);
        now.unmanaged.contains(id) && !on.is_some_and(|nodes| nodes.iter().any(in_maintenance))
    });
    alone
        .map(|id| format!("{id} is not managed: nobody starts, stops or moves it"))
        .collect()
}

/// What follows from the loss of a node, and whether every pool survives it.
fn lost(
    simulator: &dyn Simulator,
    cib: &Element,
    node: &HostName,
) -> Result<(Vec<String>, bool), LiveError> {
    let prediction = what_if(simulator, cib, &Scenario::Dies(node.to_string()))?;
    let stories: Vec<&Story> = prediction
        .chapters
        .iter()
        .filter_map(|chapter| chapter.story.as_ref())
        .collect();
    let lines = stories.iter().flat_map(|story| lines_of(story)).collect();
    let kept = |story: &&Story| {
        let mut places = story.pools.values();
        places.all(|place| {
            place.before.is_none() || (place.after.is_some() && place.missing.is_empty())
        })
    };
    Ok((lines, stories.last().is_none_or(kept)))
}
