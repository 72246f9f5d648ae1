//! The network of a running lab: plugging nodes in, cutting, healing, and seeing that it works.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use hawser_model::names::{HostName, LinkName};
use hawser_tool::Deadline;

use crate::error::LabError;
use crate::machines::{self, Kind};
use crate::plan;
use crate::process::ProcessId;
use crate::spec::NodeSpec;
use crate::state::{Port, State};
use crate::tool;

/// Carrier and bridge state settle in milliseconds; the kernel may hold link events back for
/// up to a second (`net/core/link_watch.c`).
const PATIENCE: Duration = Duration::from_secs(5);

/// `IFA_F_TENTATIVE` (`include/uapi/linux/if_addr.h`).
const TENTATIVE: u32 = 0x40;

/// Whether a node's cable on `link` is to carry anything.
pub(crate) fn is_cut(state: &State, node: &HostName, link: &LinkName) -> bool {
    let port = Port {
        node: node.clone(),
        link: link.clone(),
    };
    state.cut_ports.contains(&port)
        || state
            .spec
            .link(link.as_str())
            .is_some_and(|l| state.cut_switches.contains(&l.switch))
}

/// Makes the links of `nodes`, addresses included, and waits until they work.
pub(crate) fn plug(
    state: &State,
    switches: ProcessId,
    nodes: &[(&NodeSpec, ProcessId)],
) -> Result<(), LabError> {
    let spec = &state.spec;
    let mut lines = Vec::new();
    for (node, init) in nodes {
        lines.extend(plan::plug(spec, node, init.pid));
        let cut = |link: &LinkName| is_cut(state, &node.name, link);
        lines.extend(plan::connect(spec, node, cut));
    }
    // The switch's ends come up first: a node that sends (its kernel joins IPv6 groups at once)
    // into an end that is down counts the packet as dropped, and a new node is to be clean.
    tool::batch_across(switches, &lines)?;
    for (node, init) in nodes {
        match spec.kind {
            Kind::Namespace => tool::batch(*init, "ip", &plan::addresses(spec, node))?,
            Kind::Uml | Kind::Qemu => {
                tool::batch(*init, "ip", &machines::case_cards(spec, node))?;
                tool::batch(*init, "tc", &machines::case_filters(spec, node))?;
            }
        }
    }
    settle(state, switches, nodes)
}

/// Removes the switch's ends of a node's links, which the kernel does itself some time after
/// the node has ended; a new node needs their names now.
pub(crate) fn unplug(state: &State, switches: ProcessId, node: &NodeSpec) -> Result<(), LabError> {
    for port in &node.ports {
        let name = plan::port_name(&state.spec, &node.name, &port.link);
        let there = interface(switches, &name);
        if there.exists() {
            match tool::run(switches, &["ip", "link", "del", &name]) {
                Err(e) if there.exists() => return Err(e),
                _ => {}
            }
        }
    }
    Ok(())
}

/// Takes the carrier from all links of a node at once: what a power cut does to its peers.
pub(crate) fn drop_links(
    state: &State,
    switches: ProcessId,
    node: &NodeSpec,
) -> Result<(), LabError> {
    let lines: Vec<String> = existing_ports(state, switches)
        .iter()
        .filter(|port| port.node == node.name)
        .map(|port| plan::set_port(&state.spec, &port.node, &port.link, false))
        .collect();
    tool::batch(switches, "ip", &lines)
}

/// Brings ports and bridges into the state that `state.cut_*` says, and waits until healed
/// ones work.
pub(crate) fn apply_cuts(
    state: &State,
    switches: ProcessId,
    ports: &BTreeSet<Port>,
    bridge: Option<&str>,
) -> Result<(), LabError> {
    let there = existing_ports(state, switches);
    let mut lines: Vec<String> = ports
        .intersection(&there)
        .map(|port| {
            let up = !is_cut(state, &port.node, &port.link);
            plan::set_port(&state.spec, &port.node, &port.link, up)
        })
        .collect();
    if let Some(name) = bridge {
        let up = !state.cut_switches.contains(name);
        let word = if up { "up" } else { "down" };
        let at = if up { 0 } else { lines.len() };
        lines.insert(at, format!("link set {name} {word}"));
    }
    tool::batch(switches, "ip", &lines)?;
    let nodes: Vec<(&NodeSpec, ProcessId)> = state
        .spec
        .nodes
        .iter()
        .filter(|node| ports.iter().any(|port| port.node == node.name))
        .filter_map(|node| Some((node, state.nodes.get(&node.name)?.running()?)))
        .collect();
    settle(state, switches, &nodes)
}

/// The ports whose node runs and whose interface is there.
fn existing_ports(state: &State, switches: ProcessId) -> BTreeSet<Port> {
    all_ports(state)
        .filter(|port| {
            let name = plan::port_name(&state.spec, &port.node, &port.link);
            interface(switches, &name).exists()
        })
        .collect()
}

/// Every port of the lab.
pub(crate) fn all_ports(state: &State) -> impl Iterator<Item = Port> {
    state.spec.nodes.iter().flat_map(|node| {
        node.ports.iter().map(|port| Port {
            node: node.name.clone(),
            link: port.link.clone(),
        })
    })
}

/// An interface as the sysfs of a namespace shows it.
pub(crate) fn interface(place: ProcessId, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/{}/root/sys/class/net/{name}", place.pid))
}

/// Waits until every link that is not cut carries packets.
fn settle(
    state: &State,
    switches: ProcessId,
    nodes: &[(&NodeSpec, ProcessId)],
) -> Result<(), LabError> {
    let mut waiting = None;
    Deadline::after(PATIENCE).holds(Duration::from_millis(2), || {
        waiting = nodes.iter().find_map(|(node, init)| {
            let ports = node.ports.iter();
            let mut open = ports.filter(|port| !is_cut(state, &node.name, &port.link));
            open.find(|port| !works(state, switches, *init, &node.name, &port.link))
                .map(|port| format!("{}/{}", node.name, port.link))
        });
        waiting.is_none()
    });
    let late = |port| {
        let what = "wait for the carrier of";
        LabError::system(what, port, nix::errno::Errno::ETIMEDOUT)
    };
    waiting.map_or(Ok(()), |port| Err(late(port)))
}

fn works(
    state: &State,
    switches: ProcessId,
    init: ProcessId,
    node: &HostName,
    link: &LinkName,
) -> bool {
    let port = plan::port_name(&state.spec, node, link);
    let read = |path: PathBuf| fs::read_to_string(path).unwrap_or_default();
    // 3 is BR_STATE_FORWARDING (include/uapi/linux/if_bridge.h).
    read(interface(switches, &port).join("brport/state")).trim() == "3"
        && read(interface(init, link.as_str()).join("operstate")).trim() == "up"
        && !has_tentative(
            &read(format!("/proc/{}/net/if_inet6", init.pid).into()),
            link,
        )
}

/// Whether an address of `link` in `/proc/net/if_inet6` is still being tested; fields are
/// address, index, prefix, scope, flags, name, all numbers hexadecimal.
fn has_tentative(if_inet6: &str, link: &LinkName) -> bool {
    if_inet6.lines().any(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        fields.last() == Some(&link.as_str())
            && fields
                .get(4)
                .and_then(|flags| u32::from_str_radix(flags, 16).ok())
                .is_some_and(|flags| flags & TENTATIVE != 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_under_detection_is_seen_on_its_link_only() {
        let text = "fe8000000000000002687700000001aa 02 40 20 c0 ring0\n\
                    fe8000000000000002687700000001ab 03 40 20 80 ring1\n";
        assert!(has_tentative(text, &"ring0".into()));
        assert!(!has_tentative(text, &"ring1".into()));
    }
}
