//! Why a plan cannot be applied as things stand. Nothing is installed or repaired silently.

use std::collections::BTreeSet;

use hawser_model::cluster_file::{Backend, ClusterFile, CryptoHash, ExportKind, QdeviceTls};
use hawser_model::names::HostName;

use super::Problem;
use super::facts::{Facts, NodeFacts};
use super::{members, other_cluster};
use crate::cib::fencing::{acts_by_reservation, need_cibsecrets, targets};
use crate::cib::services::agent;
use crate::exports::ocf;
use crate::hooks;
use crate::numbering::Numbering;
use crate::xml::Element;

/// The programs a node needs, and Debian's packages.
const PROGRAMS: &[(&str, &str)] = &[("corosync", "corosync"), ("pacemakerd", "pacemaker")];

/// Programs without which an agent refuses every operation (its `check_binary`), and which resource-agents
/// only recommends: the pool would be made and run nowhere.
const OF_AGENTS: &[(&str, &str, &str)] = &[
    ("ocf:heartbeat:Filesystem", "fuser", "psmisc"),
    ("ocf:heartbeat:LVM-activate", "lvm", "lvm2"),
    ("ocf:heartbeat:ZFS", "zpool", "zfsutils-linux"),
    ("ocf:heartbeat:exportfs", "exportfs", "nfs-kernel-server"),
];

/// The agents that a plan installs.
const OWN_AGENTS: [&str; 2] = [ocf::AGENT, hooks::AGENT];

/// An agent of our own that is to be put on a node, and whether there is one that it replaces.
pub(super) fn own_agents_on(
    file: &ClusterFile,
    facts: &Facts,
) -> Vec<(HostName, &'static str, bool)> {
    let cib = crate::cib::generate(file, &Numbering::of(file, None));
    let mut found = Vec::new();
    for name in file.nodes.iter().map(|node| node.name.get()) {
        let Some(there) = facts.nodes.get(name) else {
            continue;
        };
        let needed = needed_agents(&cib, name.as_str());
        let needed = OWN_AGENTS.into_iter().filter(|it| needed.contains(*it));
        found.extend(
            needed.filter_map(|agent| match there.agents.contains(agent) {
                false => Some((name.clone(), agent, false)),
                true => there.exports_outdated.then(|| (name.clone(), agent, true)),
            }),
        );
    }
    found
}

/// What keeps a node from asking the quorum device for its vote.
fn no_device(file: &ClusterFile, node: &HostName, there: &NodeFacts) -> Option<Problem> {
    let device = file.quorum.device.as_ref()?;
    let (program, node) = ("corosync-qdevice", node.clone());
    if !there.programs.contains(program) {
        return Some(Problem::NoProgram {
            node,
            program,
            package: program,
        });
    }
    // corosync-qdevice(8): `off` is the only mode that needs no certificates.
    (device.tls != QdeviceTls::Off && !there.device.certificate).then(|| Problem::NoCertificate {
        node,
        cluster: file.cluster.name.to_string(),
        host: device.host.to_string(),
        nodes: {
            let all: Vec<&str> = file.nodes.iter().map(|node| node.name.as_str()).collect();
            all.join(" ")
        },
    })
}

/// Whether a pool that may run on this node is offered by iSCSI.
fn offers_volumes(file: &ClusterFile, node: &HostName) -> bool {
    file.pools_on(node)
        .any(|pool| *pool.exports == ExportKind::Iscsi)
}

/// An exports resource that is started where its target is missing fails, and its pool moves.
fn no_target(backend: Backend, node: &HostName, there: &NodeFacts) -> Option<Problem> {
    let node = node.clone();
    match backend {
        Backend::Lio => there
            .no_lio
            .clone()
            .map(|said| Problem::NoLio { node, said }),
        Backend::Tgt => (!there.programs.contains("tgtd")).then_some(Problem::NoProgram {
            node,
            program: "tgtd",
            package: "tgt",
        }),
    }
}

/// Looks.
pub fn problems(file: &ClusterFile, facts: &Facts) -> Vec<Problem> {
    let mut found = members::problems(file, facts);
    found.extend(other_cluster::problems(file, facts));
    let (ports, _) = super::ports::watched(file, |node| facts.ports_of(node), &Element::new("cib"));
    let cib = crate::cib::generate_watching(file, &Numbering::of(file, None), &ports);
    for node in &file.nodes {
        let name = node.name.get();
        let Some(there) = facts.nodes.get(name) else {
            found.push(Problem::NotReached(name.clone()));
            continue;
        };
        let missing = PROGRAMS
            .iter()
            .filter(|(program, _)| !there.programs.contains(*program));
        found.extend(missing.map(|(program, package)| Problem::NoProgram {
            node: name.clone(),
            program,
            package,
        }));
        found.extend(no_device(file, name, there));
        let needed = needed_agents(&cib, name.as_str());
        if offers_volumes(file, name) {
            found.extend(no_target(file.exports.backend, name, there));
        }
        let lacking = OF_AGENTS.iter().filter(|(agent, program, _)| {
            needed.contains(*agent) && !there.programs.contains(*program)
        });
        found.extend(lacking.map(|(_, program, package)| Problem::NoProgram {
            node: name.clone(),
            program,
            package,
        }));
        for agent in needed {
            // Our own is put there by the plan itself.
            if !OWN_AGENTS.contains(&agent.as_str()) && !there.agents.contains(&agent) {
                let package = package_of(&agent);
                found.push(Problem::NoAgent {
                    node: name.clone(),
                    agent,
                    package,
                });
            }
        }
        let ipmi = cib
            .walk()
            .iter()
            .any(|pair| pair.get("name") == Some("ipmitool_path"));
        if ipmi && !there.programs.contains("ipmitool") {
            let (program, package) = ("ipmitool", "ipmitool");
            found.push(Problem::NoProgram {
                node: name.clone(),
                program,
                package,
            });
        }
        found.extend(super::watch_unit::problem(file, name, there));
        found.extend(super::hooks::problems(file, name, there));
        found.extend(super::nics::problems(file, name, there));
        if !there.features.contains("cibsecrets") {
            let devices = need_cibsecrets(file).into_iter();
            found.extend(devices.map(|device| Problem::NoCibSecrets {
                device,
                node: name.clone(),
            }));
        }
    }
    keys(file, facts, &mut found);
    let devices = targets(file);
    for (device, said) in &facts.fence_status {
        if let (Some(said), true) = (said, devices.contains_key(device)) {
            let (device, said) = (device.clone(), said.clone());
            found.push(match acts_by_reservation(file, &device) {
                true => Problem::Registrations { device, said },
                false => Problem::FenceDevice { device, said },
            });
        }
    }
    found
}

fn keys(file: &ClusterFile, facts: &Facts, found: &mut Vec<Problem>) {
    if file.cluster.crypto.hash == CryptoHash::None {
        return;
    }
    let with_key = facts
        .nodes
        .iter()
        .filter_map(|(node, there)| Some((node, there.authkey.as_ref()?)));
    let (nodes, sums): (Vec<_>, BTreeSet<_>) = with_key
        .map(|(node, key)| (node.clone(), &key.sha256))
        .unzip();
    if sums.len() > 1 {
        found.push(Problem::KeysDiffer(nodes));
    }
}

/// The agents that a node must have: all, but for those of pools that never run there.
fn needed_agents(cib: &Element, node: &str) -> BTreeSet<String> {
    let elements = cib.walk();
    let never: BTreeSet<&str> = elements
        .iter()
        .filter(|element| {
            element.get("resource-discovery") == Some("never") && element.get("node") == Some(node)
        })
        .flat_map(|constraint| constraint.walk())
        .filter(|element| element.name == "resource_ref")
        .filter_map(|reference| reference.get("id"))
        .collect();
    let needed = elements
        .iter()
        .filter(|element| element.name == "primitive");
    let needed =
        needed.filter(|primitive| !never.contains(primitive.get("id").unwrap_or_default()));
    needed.map(|primitive| agent(primitive)).collect()
}

fn package_of(agent: &str) -> &'static str {
    match agent.split(':').collect::<Vec<_>>()[..] {
        ["stonith", ..] => "the package fence-agents",
        ["ocf", "pacemaker", ..] => "the package pacemaker-resource-agents",
        _ => "the package resource-agents, on Ubuntu resource-agents-base and -extra",
    }
}
