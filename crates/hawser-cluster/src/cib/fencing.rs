//! Fence devices, where they may run, and in which order they are tried.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::cluster_file::{
    Bmc, ClusterFile, FenceDevice, Fencing, NodeEntry, Period, SecretRef, bmc_id, is_ipmi_agent,
};

use super::OWN_CONSTRAINT;
use super::build::{Op, avoids, pair, primitive};
use super::secrets::{Handed, NodeFile, as_parameter, through_ipmitool};
use crate::timing::EngineTiming;
use crate::xml::Element;

/// How often a device is asked whether it still answers: a BMC that lost its network is found
/// before the day it is needed, and not asked so often that it becomes slow.
const MONITOR_INTERVAL: Period = Period::from_secs(60);

/// BMCs take several seconds for a status when they are busy.
const TIMEOUT: Period = Period::from_secs(60);

/// Whether an agent shuts a node out from disks by their reservations: a node must be let in (unfenced) before it may run
/// anything, and one that is shut out keeps its power.
pub fn is_by_reservation(agent: &str) -> bool {
    ["fence_scsi", "fence_mpath"].contains(&agent)
}

/// The same of a fence device of a file.
pub fn acts_by_reservation(file: &ClusterFile, device: &str) -> bool {
    let mut devices = file.fencing.iter().flat_map(|fencing| &fencing.devices);
    devices.any(|it| it.name.get() == device && is_by_reservation(&it.agent))
}

/// What fencing adds to the CIB.
pub(super) struct FencingXml {
    pub devices: Vec<Element>,
    pub constraints: Vec<Element>,
    pub topology: Option<Element>,
}

/// What must be on every node before the devices of a file work: secrets and wrappers.
pub fn node_files(file: &ClusterFile) -> Vec<NodeFile> {
    device_files(file).into_values().flatten().collect()
}

/// The same, by device.
pub fn device_files(file: &ClusterFile) -> BTreeMap<String, Vec<NodeFile>> {
    let files = |secrets: Vec<Handed>| secrets.into_iter().flat_map(|handed| handed.files);
    handed(file)
        .into_iter()
        .map(|(id, secrets)| (id, files(secrets).collect()))
        .collect()
}

/// Devices that work only when Pacemaker was built with the feature `cibsecrets`.
pub fn need_cibsecrets(file: &ClusterFile) -> Vec<String> {
    let needs = |secrets: &Vec<Handed>| secrets.iter().any(|handed| handed.needs_cibsecrets);
    handed(file)
        .into_iter()
        .filter(|(_, secrets)| needs(secrets))
        .map(|(id, _)| id)
        .collect()
}

/// Each device's secrets.
fn handed(file: &ClusterFile) -> BTreeMap<String, Vec<Handed>> {
    let mut all = BTreeMap::new();
    for node in &file.nodes {
        if let Some(bmc) = &node.bmc {
            let id = bmc_id(node.name.as_str());
            let secret = bmc_secret(&id, bmc);
            all.insert(id, vec![secret]);
        }
    }
    for device in file.fencing.iter().flat_map(|fencing| &fencing.devices) {
        let secrets = device_secrets(device);
        all.insert(device.name.to_string(), secrets);
    }
    all
}

fn bmc_secret(id: &str, bmc: &Bmc) -> Handed {
    secret(id, bmc.agent_name(), "password", &bmc.password)
}

fn device_secrets(device: &FenceDevice) -> Vec<Handed> {
    let secrets = device.secrets.iter();
    secrets
        .map(|(name, reference)| secret(&device.name, &device.agent, name, reference))
        .collect()
}

fn secret(device: &str, agent: &str, parameter: &str, reference: &SecretRef) -> Handed {
    match is_ipmi_agent(agent) && parameter == "password" {
        true => through_ipmitool(device, reference),
        false => as_parameter(device, parameter, reference),
    }
}

/// The fence devices, as primitives.
pub(crate) fn devices(file: &ClusterFile) -> Vec<Element> {
    generate(file).devices
}

pub(super) fn generate(file: &ClusterFile) -> FencingXml {
    let default = Fencing::default();
    let fencing = file.fencing.as_ref().unwrap_or(&default);
    let mut xml = FencingXml {
        devices: Vec::new(),
        constraints: Vec::new(),
        topology: None,
    };
    for node in &file.nodes {
        let Some(bmc) = &node.bmc else { continue };
        let id = bmc_id(node.name.as_str());
        xml.devices.push(bmc_device(file, fencing, node, bmc));
        // Nobody can be trusted to shoot himself: the node that must be shot is the one that
        // no longer answers.
        xml.constraints.push(avoids(&id, node.name.as_str()));
    }
    let levels = levels(file, fencing);
    for device in &fencing.devices {
        xml.devices.push(other_device(fencing, device, &levels));
    }
    // Without levels Pacemaker is content with one device, whichever succeeds first.
    let several = |levels: &BTreeMap<u8, Vec<String>>| levels.values().flatten().count() > 1;
    xml.topology = levels.values().any(several).then(|| topology(&levels));
    xml
}

fn delay_of(fencing: &Fencing, node: &str) -> Option<Period> {
    Some(fencing.delay_of(node)).filter(|delay| *delay > Period::from_secs(0))
}

fn bmc_device(file: &ClusterFile, fencing: &Fencing, node: &NodeEntry, bmc: &Bmc) -> Element {
    let name = node.name.as_str();
    let id = bmc_id(name);
    let secret = bmc_secret(&id, bmc);
    let mut parameters = vec![
        pair("ip", &bmc.address),
        pair("username", &bmc.username),
        (secret.parameter, secret.value),
        pair("pcmk_host_list", name),
        pair("pcmk_host_check", "static-list"),
    ];
    if let Some(delay) = delay_of(fencing, name) {
        parameters.push(pair("pcmk_delay_base", delay));
    }
    if bmc.is_ipmi() {
        let lanplus = bmc.lanplus.as_ref().is_none_or(|lanplus| **lanplus);
        parameters.push(pair("lanplus", u8::from(lanplus)));
        // The agent's other method, `cycle`, can report success before the power is off.
        parameters.push(pair("method", "onoff"));
        parameters.extend(bmc.cipher.as_ref().map(|cipher| pair("cipher", cipher)));
    }
    let tuned = EngineTiming::of(file).power_wait.filter(|_| bmc.is_ipmi());
    if let Some(wait) = bmc.power_wait.or(tuned) {
        // The agents take whole seconds.
        parameters.push(pair("power_wait", wait.as_millis().div_ceil(1000)));
    }
    parameters.extend(bmc.options.iter().map(|(name, value)| pair(name, value)));
    let agent = bmc.agent_name();
    device(&id, agent, &format!("cuts the power of {name}"), parameters)
}

fn other_device(
    fencing: &Fencing,
    entry: &FenceDevice,
    levels: &BTreeMap<String, BTreeMap<u8, Vec<String>>>,
) -> Element {
    let mut parameters: Vec<_> = entry
        .options
        .iter()
        .map(|(name, value)| pair(name, value))
        .collect();
    for secret in device_secrets(entry) {
        parameters.push((secret.parameter, secret.value));
    }
    let ports = entry.ports.iter().filter(|(_, port)| !port.is_empty());
    let map: Vec<String> = ports.map(|(node, port)| format!("{node}:{port}")).collect();
    let nodes: Vec<&str> = entry.ports.keys().map(|node| node.as_str()).collect();
    if !map.is_empty() {
        parameters.push(pair("pcmk_host_map", map.join(";")));
    }
    parameters.push(pair("pcmk_host_list", nodes.join(",")));
    parameters.push(pair("pcmk_host_check", "static-list"));
    // Only the first shot is held back; what is tried after it, of its level or of a later one, would
    // win nothing by waiting again.
    let first = |node: &str| {
        let mut devices = levels
            .get(node)
            .into_iter()
            .flat_map(BTreeMap::values)
            .flatten();
        devices.next() == Some(entry.name.get())
    };
    let delays = nodes
        .iter()
        .filter(|node| first(node))
        .filter_map(|node| Some(format!("{node}:{}", delay_of(fencing, node)?)));
    let delays: Vec<String> = delays.collect();
    if !delays.is_empty() {
        parameters.push(pair("pcmk_delay_base", delays.join(";")));
    }
    let description = format!("cuts off {}", nodes.join(", "));
    device(&entry.name, &entry.agent, &description, parameters)
}

fn device(
    id: &str,
    agent: &str,
    description: &str,
    mut parameters: Vec<(String, String)>,
) -> Element {
    parameters.sort();
    let ops = [
        Op::once("start", TIMEOUT),
        Op::monitor(MONITOR_INTERVAL, TIMEOUT),
    ];
    let mut element = primitive(
        id,
        &format!("stonith:{agent}"),
        description,
        &parameters,
        &ops,
    );
    if is_by_reservation(agent) {
        let meta = super::build::nvpairs(
            "meta_attributes",
            &format!("{id}-meta"),
            &[pair("provides", "unfencing")],
        );
        element.children.push(meta);
    }
    element
}

/// For each node its levels, and the devices of each.
fn levels(file: &ClusterFile, fencing: &Fencing) -> BTreeMap<String, BTreeMap<u8, Vec<String>>> {
    let mut all: BTreeMap<String, BTreeMap<u8, Vec<String>>> = BTreeMap::new();
    for node in &file.nodes {
        let name = node.name.to_string();
        let levels = all.entry(name.clone()).or_default();
        if node.bmc.is_some() {
            levels.entry(1).or_default().push(bmc_id(&name));
        }
        for device in &fencing.devices {
            if device.ports.keys().any(|port| port.as_str() == name) {
                let default = if node.bmc.is_some() { 2 } else { 1 };
                let level = device.level.unwrap_or(default);
                levels
                    .entry(level)
                    .or_default()
                    .push(device.name.to_string());
            }
        }
    }
    all
}

fn topology(levels: &BTreeMap<String, BTreeMap<u8, Vec<String>>>) -> Element {
    let mut topology = Element::new("fencing-topology");
    for (node, levels) in levels {
        for (index, devices) in levels {
            let level = Element::new("fencing-level")
                .with("id", format!("{OWN_CONSTRAINT}{node}-level-{index}"))
                .with("target", node.as_str())
                .with("index", index.to_string())
                .with("devices", devices.join(","));
            topology.children.push(level);
        }
    }
    topology
}

/// The names of the devices that fence a node, level by level.
pub fn levels_of(file: &ClusterFile, node: &str) -> Vec<Vec<String>> {
    let default = Fencing::default();
    let fencing = file.fencing.as_ref().unwrap_or(&default);
    let levels = levels(file, fencing).remove(node).unwrap_or_default();
    levels.into_values().collect()
}

/// The nodes that each device fences, for whoever asks the devices whether they answer.
pub fn targets(file: &ClusterFile) -> BTreeMap<String, BTreeSet<String>> {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let default = Fencing::default();
    let fencing = file.fencing.as_ref().unwrap_or(&default);
    for (node, levels) in levels(file, fencing) {
        for device in levels.into_values().flatten() {
            all.entry(device).or_default().insert(node.clone());
        }
    }
    all
}
