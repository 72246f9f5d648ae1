//! What a plan must know, read from the nodes.

use std::collections::BTreeMap;

use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::HostName;

use super::asks::questions;
use super::{Head, Heads, LiveError, Secrets, live_cib, on_all};
use crate::cib::fencing::node_files;
use crate::host::{Answer, Inventory, Order, OwnedFile};
use crate::plan::{AUTHKEY, COROSYNC_CONF, Facts, NodeFacts};
use crate::units;

/// Whether fence devices are asked for their status, which takes a second or two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Each device is asked once, from a node that it does not fence.
    FenceDevices,
    /// None is.
    NodesOnly,
}

/// How long a fence agent may take when a plan is made: BMCs take several seconds when they are
/// busy, and ipmitool tries four times.
const PATIENT: u32 = 40;

/// Reads everything, from all nodes at the same time.
///
/// # Errors
/// A node that cannot be asked; a secret that cannot be had.
pub fn gather(
    file: &ClusterFile,
    heads: &mut Heads,
    secrets: &Secrets,
    ask: Ask,
) -> Result<Facts, LiveError> {
    let mut wanted: BTreeMap<String, OwnedFile> = BTreeMap::new();
    for node_file in node_files(file).into_iter().chain(units::drop_in(file)) {
        wanted.insert(node_file.path.clone(), secrets.fill(&node_file)?);
    }
    let questions = match ask {
        Ask::FenceDevices => {
            let nodes: Vec<HostName> = heads.keys().cloned().collect();
            questions(file, &nodes)
        }
        Ask::NodesOnly => BTreeMap::new(),
    };
    let read = on_all(heads, |name, head| {
        let (facts, inventory) = node(head, name, &wanted)?;
        let mut said = BTreeMap::new();
        for question in questions.get(name).into_iter().flatten() {
            // Without the agent there is nobody to ask, which the plan says anyway.
            if inventory
                .agents
                .contains(&format!("stonith:{}", question.agent))
            {
                let answer = head.order(&Order::FenceStatus {
                    device: question.clone(),
                    files: wanted.clone(),
                    seconds: PATIENT,
                })?;
                if let Answer::Fence(words) = answer {
                    said.insert(question.name.clone(), words);
                }
            }
        }
        Ok((facts, said))
    })?;
    let mut facts = Facts::default();
    for (name, (node, said)) in read {
        facts.nodes.insert(name, node);
        facts.fence_status.extend(said);
    }
    if facts.nodes.values().any(|node| node.running) {
        facts.cib = live_cib(heads)?.map(|(_, cib)| cib);
    }
    Ok(facts)
}

fn node(
    head: &mut dyn Head,
    name: &HostName,
    wanted: &BTreeMap<String, OwnedFile>,
) -> Result<(NodeFacts, Inventory), LiveError> {
    let inventory = match head.order(&Order::Inventory)? {
        Answer::Inventory(inventory) => *inventory,
        _ => return Err(unexpected(name, &Order::Inventory)),
    };
    let mut read = |path: &str| -> Result<Option<OwnedFile>, LiveError> {
        let order = Order::Read {
            path: path.to_owned(),
        };
        match head.order(&order)? {
            Answer::File(file) => Ok(file),
            _ => Err(unexpected(name, &order)),
        }
    };
    let corosync_conf = read(COROSYNC_CONF)?;
    let authkey = read(AUTHKEY)?;
    let mut files = BTreeMap::new();
    for (path, wanted) in wanted {
        if let Some(there) = read(path)? {
            files.insert(path.clone(), there.facts(wanted));
        }
    }
    let facts = NodeFacts {
        corosync_conf: corosync_conf
            .map(|file| String::from_utf8_lossy(&file.content.0).into_owned()),
        authkey: authkey.map(|file| file.key_facts()),
        files,
        agents: inventory.agents.clone(),
        programs: inventory.programs.clone(),
        features: inventory.features.clone(),
        running: inventory.running,
        exports_outdated: inventory.exports_outdated,
        no_lio: inventory.no_lio.clone(),
        systemd: inventory.systemd,
        starts_at_boot: inventory.starts_at_boot,
        device: inventory.device,
        boot: Some(inventory.boot.clone()),
        ports: inventory.ports.clone(),
    };
    Ok((facts, inventory))
}

pub(super) fn unexpected(node: &HostName, order: &Order) -> LiveError {
    LiveError::Answer {
        node: node.to_string(),
        order: order.name(),
    }
}
