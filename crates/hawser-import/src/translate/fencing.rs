//! Fence devices: BMCs, others, and what the source itself has wrong about them.

use std::collections::{BTreeMap, BTreeSet};

use hawser_cluster::cib::secrets::PACEMAKER_MAGIC;
use hawser_model::cluster_file::{is_fence_parameter_secret, is_ipmi_agent};

use super::fence_delays;
use super::ipmi::{self, Plugin, address_fits, secret_name};
use super::levels::{Level, Levels};
use super::millis;
use super::node_names::NodeNames;
use crate::Secret;
use crate::crm::{Crm, Primitive};
use crate::page::Page;
use crate::picture::{Bmc, Device, Picture};
use crate::place::quoted;

/// Parameters that Hawser's file says by other keys, or makes by itself.
const OWN: [&str; 16] = [
    "action",
    "delay",
    "hostname",
    "ip",
    "ipaddr",
    "ipmitool_path",
    "lanplus",
    "login",
    "method",
    "pcmk_delay_base",
    "pcmk_delay_max",
    "pcmk_host_check",
    "pcmk_host_list",
    "pcmk_host_map",
    "power_wait",
    "username",
];

/// Agents that speak IPMI 2.0 unless they are told otherwise; `fence_ipmilan` and its other names speak 1.5 (`fence_ipmilan.py`).
const LANPLUS: [&str; 4] = [
    "fence_ilo3",
    "fence_ilo4",
    "fence_ilo5",
    "fence_ipmilanplus",
];

pub(super) fn translate(crm: &Crm, picture: &mut Picture, page: &mut Page) {
    let fences = || {
        crm.primitives
            .iter()
            .filter(|p| p.agent.starts_with("stonith:"))
    };
    let names = NodeNames::of(crm, picture);
    let mut targets: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut all: Vec<(&Primitive, &str, Vec<String>)> = Vec::new();
    for device in fences() {
        let agent = device.agent.trim_start_matches("stonith:");
        let named = fenced(device, agent, &names.all);
        let told = |name: &String| {
            let what = format!("{} fences {}", quoted(&device.id), quoted(name));
            names.told(name, &device.at, &what, page)
        };
        let known: BTreeSet<String> = named.iter().filter_map(told).collect();
        if known.is_empty() && !named.is_empty() {
            let what = format!("{}, {agent}", quoted(&device.id));
            let why = "it fences no node of the cluster: it is left out";
            page.unsaid(&device.at, what, why);
            targets.insert(&device.id, Vec::new());
            continue;
        }
        all.push((device, agent, known.into_iter().collect()));
    }
    let levels = Levels::new(levels(crm, &names, page), &all);
    for (device, agent, fenced) in all {
        off(device, page);
        match agent {
            "external/ipmi" => plugin(device, fenced.first(), picture, page),
            agent if agent.starts_with("fence_") => {
                let node = match &fenced[..] {
                    [node] if is_ipmi_agent(agent) => Some(node.clone()),
                    _ => None,
                };
                match node {
                    Some(node) => bmc(device, agent, &node, picture, page),
                    None => other(&levels, &names, device, agent, &fenced, picture, page),
                }
            }
            "external/sbd" => page.unsaid(
                &device.at,
                quoted(&device.id),
                "Hawser fences by power; it does not drive sbd",
            ),
            _ => page.unsaid(
                &device.at,
                format!("{}, {}", quoted(&device.id), quoted(agent)),
                "Pacemaker has no such plugin any more: write [node.bmc], or [[fencing.device]] with an agent of \
                 fence-agents",
            ),
        }
        fence_delays::of(device, &fenced, &names, picture, page);
        targets.insert(&device.id, fenced);
    }
    super::fence_places::check(crm, &targets, &names.all, page);
}

/// The levels of fencing, by nodes that there are.
fn levels(crm: &Crm, names: &NodeNames, page: &mut Page) -> Vec<Level> {
    let mut all = Vec::new();
    for (name, level, devices, at) in &crm.levels {
        // Patterns and attributes stand there as well, and of all nodes nothing.
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let node = match !name.is_empty() && name.chars().all(plain) {
            true => names.told(
                name,
                at,
                &format!("a level of fencing of {}", quoted(name)),
                page,
            ),
            false => Some(name.clone()),
        };
        all.extend(node.map(|node| (node, *level, devices.clone())));
    }
    all
}

/// The nodes that a device fences.
fn fenced(device: &Primitive, agent: &str, nodes: &[String]) -> Vec<String> {
    if agent == "external/ipmi" {
        return device
            .param(&["hostname"])
            .map(str::to_owned)
            .into_iter()
            .collect();
    }
    let list = device.param(&["pcmk_host_list"]).unwrap_or_default();
    let listed = list.split([' ', ',', ';']).filter(|name| !name.is_empty());
    let map = device.param(&["pcmk_host_map"]).unwrap_or_default();
    let mapped = map
        .split([';', ' '])
        .filter_map(|pair| Some(pair.split_once([':', '='])?.0));
    let mut found: BTreeSet<String> = listed.chain(mapped).map(str::to_owned).collect();
    // Without a list the agent is asked; an IPMI agent knows no names, so the device's own name is all there is.
    if found.is_empty() {
        found.extend(named(&device.id, nodes));
    }
    if found.is_empty() && !is_ipmi_agent(agent) {
        found.extend(nodes.iter().cloned());
    }
    found.into_iter().collect()
}

/// The node whose name a device's name has in it: as a word, and else the longest, of which `san1` is a part of `san10`.
fn named(device: &str, nodes: &[String]) -> Option<String> {
    let part = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let word = |node: &str| {
        device.match_indices(node).any(|(i, _)| {
            let (before, behind) = (&device[..i], &device[i + node.len()..]);
            !part(before.chars().next_back()) && !part(behind.chars().next())
        })
    };
    let within = nodes.iter().filter(|node| device.contains(node.as_str()));
    within.max_by_key(|node| (word(node), node.len())).cloned()
}

fn plugin(device: &Primitive, node: Option<&String>, picture: &mut Picture, page: &mut Page) {
    let param = |name: &str| device.param(&[name]);
    let all = (node, param("ipaddr"), param("userid"), param("passwd"));
    let (Some(node), Some(address), Some(user), Some(password)) = all else {
        page.unsaid(
            &device.at,
            quoted(&device.id),
            "external/ipmi needs hostname, ipaddr, userid and passwd: write [node.bmc]",
        );
        return;
    };
    let (interface, at) = (param("interface"), &device.at);
    let plugin = Plugin {
        at,
        address,
        user,
        interface,
    };
    if !address_fits(address, at, &quoted(&device.id), page) {
        return;
    }
    ipmi::give(node, plugin.bmc(), Secret(password.to_owned()), picture);
    page.changed(
        at,
        format!("{}, external/ipmi", quoted(&device.id)),
        format!("[node.bmc] of {node}: fence_ipmilan; its password is in a file of its own, not in the CIB"),
    );
}

fn bmc(device: &Primitive, agent: &str, node: &str, picture: &mut Picture, page: &mut Page) {
    let at = &device.at;
    let (Some(address), user) = (
        device.param(&["ip", "ipaddr"]),
        device.param(&["username", "login"]),
    ) else {
        page.unsaid(at, quoted(&device.id), "it has no ip: write [node.bmc]");
        return;
    };
    if !address_fits(address, at, &quoted(&device.id), page) {
        return;
    }
    match device.param(&["password", "passwd"]).and_then(said) {
        Some(password) => {
            let secret = Secret(password.to_owned());
            picture.secrets.insert(secret_name(node), secret);
            page.changed(
                at,
                format!("the password of {}", quoted(&device.id)),
                "it is in a file of its own, not in the CIB",
            );
        }
        None => page.unsaid(
            at,
            format!("the password of {}", quoted(&device.id)),
            format!(
                "the source does not have it: put it into the file that [node.bmc] of {node} names"
            ),
        ),
    }
    let flag = |name: &str| {
        device
            .param(&[name])
            .map(|v| matches!(v, "1" | "true" | "on" | "yes"))
    };
    let wait = device.param(&["power_wait"]).and_then(millis);
    let node_ = picture.add_node(node, at);
    node_.bmc = Some(Bmc {
        at: at.clone(),
        address: address.to_owned(),
        username: user.unwrap_or_default().to_owned(),
        agent: (agent != "fence_ipmilan").then(|| agent.to_owned()),
        // Hawser's default is IPMI 2.0.
        lanplus: match flag("lanplus").unwrap_or(LANPLUS.contains(&agent)) {
            true => None,
            false => Some(false),
        },
        cipher: device.param(&["cipher"]).and_then(|text| text.parse().ok()),
        power_wait: wait,
        options: options(device, &["cipher"]),
    });
    if device.id != format!("fence-{node}") {
        let why = format!("[node.bmc] of {node}; the device is called fence-{node}");
        page.changed(at, format!("{}, {agent}", quoted(&device.id)), why);
    } else {
        page.understood(
            at,
            format!("{}, {agent}", quoted(&device.id)),
            format!("[node.bmc] of {node}"),
        );
    }
}

/// A secret that the source has. `lrm://` is one that Pacemaker keeps elsewhere (`cib_secrets.c`).
fn said(secret: &str) -> Option<&str> {
    (secret != PACEMAKER_MAGIC).then_some(secret)
}

/// Parameters that neither are Hawser's own nor secrets.
fn options(device: &Primitive, more: &[&str]) -> BTreeMap<String, String> {
    let own =
        |name: &str| OWN.contains(&name) || more.contains(&name) || is_fence_parameter_secret(name);
    let script = |name: &str| name.ends_with("_script");
    let kept = device
        .params
        .iter()
        .filter(|(name, _)| !own(name) && !script(name));
    kept.map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn other(
    levels: &Levels<'_>,
    names: &NodeNames,
    device: &Primitive,
    agent: &str,
    fenced: &[String],
    picture: &mut Picture,
    page: &mut Page,
) {
    let levels = match levels.of(&device.id) {
        Ok(levels) => levels,
        Err(why) => {
            return page.unsaid(&device.at, format!("{}, {agent}", quoted(&device.id)), why);
        }
    };
    let map = device.param(&["pcmk_host_map"]).unwrap_or_default();
    let mapped: BTreeMap<String, &str> = map
        .split([';', ' '])
        .filter_map(|pair| pair.split_once([':', '=']))
        .filter_map(|(node, port)| Some((names.meant(node)?, port)))
        .collect();
    let port = device.param(&["plug", "port"]).unwrap_or_default();
    let ports = fenced.iter().map(|node| {
        let port = mapped.get(node).copied().unwrap_or(port);
        (node.clone(), port.to_owned())
    });
    let mut secrets = BTreeMap::new();
    let usable = super::super::picture::usable(&device.id).unwrap_or_else(|| "fence".into());
    for (name, value) in &device.params {
        let script = name.strip_suffix("_script");
        let name = script.unwrap_or(name);
        if !is_fence_parameter_secret(name) {
            if script.is_some() {
                let what = format!("{name}_script of {}", quoted(&device.id));
                page.unsaid(
                    &device.at,
                    what,
                    "Hawser has no scripts for what is no secret",
                );
            }
            continue;
        }
        let file = format!("{usable}-{name}");
        match said(value).filter(|_| script.is_none()) {
            Some(value) => {
                let secret = Secret(value.to_owned());
                picture.secrets.insert(file.clone(), secret);
            }
            None => page.unsaid(
                &device.at,
                format!("the {name} of {}", quoted(&device.id)),
                format!("the source does not have it: put it into the file {file}"),
            ),
        }
        secrets.insert(name.to_owned(), file);
    }
    let more = ["plug", "port"];
    let mut options = options(device, &more);
    for own in [
        "ip",
        "ipaddr",
        "lanplus",
        "login",
        "method",
        "power_wait",
        "username",
    ] {
        let given = device.params.get(own);
        options.extend(given.map(|value| (own.to_owned(), value.clone())));
    }
    if levels.len() > 1 {
        page.unsaid(
            &device.at,
            quoted(&device.id),
            "it stands on several levels of fencing; Hawser's file has one, the last",
        );
    }
    picture.devices.push(Device {
        at: device.at.clone(),
        name: device.id.clone(),
        agent: agent.to_owned(),
        ports: ports.collect(),
        level: levels.last().copied(),
        options,
        secrets,
    });
    page.understood(
        &device.at,
        format!("{}, {agent}", quoted(&device.id)),
        "[[fencing.device]]",
    );
}

/// A device that is switched off is one of Hawser's.
fn off(device: &Primitive, page: &mut Page) {
    let role = device.meta.get("target-role");
    if let Some(role) = role.filter(|role| !role.eq_ignore_ascii_case("started")) {
        let what = format!("target-role={} of {}", quoted(role), quoted(&device.id));
        page.unsaid(&device.at, what, "a device of Hawser's is on");
    }
}
