//! Why a plan cannot be applied as things stand. Nothing is installed or repaired silently.

use std::collections::BTreeSet;
use std::net::IpAddr;

use hawser_model::cluster_file::{Backend, ClusterFile, CryptoHash, ExportKind, QdeviceTls};
use hawser_model::names::HostName;

use super::facts::{Facts, NodeFacts};
use super::grouped::Grouped;
use super::renamed::renamed;
use crate::cib::fencing::{acts_by_reservation, need_cibsecrets, targets};
use crate::cib::services::agent;
use crate::exports::ocf;
use crate::hooks;
use crate::numbering::Numbering;
use crate::units::WATCH_PROGRAM;
use crate::xml::Element;

/// Why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// A node of the file was not reached.
    #[error("{0} was not reached, and a cluster is only changed when all its nodes are")]
    NotReached(HostName),
    /// A node has another name in the file than in the running cluster.
    #[error(
        "{new} has an address that the running cluster knows as {old}: a node is not renamed while it is a member, \
         {new} would be a new node and {old} a lost one. Write {old} again; or take {old} out of the cluster first \
         (`hawser standby {old}`, then a file without it), and add {new} afterwards"
    )]
    Renamed {
        /// Its name in the cluster.
        old: String,
        /// Its name in the file.
        new: HostName,
    },
    /// A program is not installed.
    #[error("{node} has no {program}: install the package {package}")]
    NoProgram {
        /// The node.
        node: HostName,
        /// The program.
        program: &'static str,
        /// Debian's package.
        package: &'static str,
    },
    /// An agent is not installed.
    #[error("{node} has no agent {agent}: install {package}")]
    NoAgent {
        /// The node.
        node: HostName,
        /// The agent.
        agent: String,
        /// Where it comes from.
        package: &'static str,
    },
    /// The iSCSI target that the file wants cannot be had.
    #[error("{node} cannot offer its pools by LIO: {said}")]
    NoLio {
        /// The node.
        node: HostName,
        /// What was tried there.
        said: String,
    },
    /// A node cannot speak TLS with the quorum device.
    #[error(
        "{node} has no certificate for the quorum device: `corosync-qdevice-net-certutil -Q -n {cluster} {host} \
         {nodes}` makes one for all nodes, by ssh as root; or write tls = \"off\" in [quorum.device]"
    )]
    NoCertificate {
        /// The node.
        node: HostName,
        /// The cluster's name.
        cluster: String,
        /// The machine with corosync-qnetd.
        host: String,
        /// All nodes.
        nodes: String,
    },
    /// Nodes have different keys.
    #[error(
        "{} have different keys in /etc/corosync/authkey: keep the one of the running cluster and \
         remove the others", names(.0)
    )]
    KeysDiffer(Vec<HostName>),
    /// A fence device does not answer.
    #[error(
        "fence device {device} does not answer its status: {said}; are its address, its account and its \
         password right?"
    )]
    FenceDevice {
        /// The device.
        device: String,
        /// The agent's own words.
        said: String,
    },
    /// A fence device that acts by reservations would not shut a node out.
    #[error("fence device {device} would not shut a node out from its disks: {said}")]
    Registrations {
        /// The device.
        device: String,
        /// What is wrong with which disk.
        said: String,
    },
    /// A resource that others made has what the file gives to a pool.
    #[error(
        "resource {id} ({agent}), which Hawser did not make, has {what}, which the file gives to {ours}: two resources \
         that have it would stop each other's. Take {id} out of the cluster first (docs/import.md, \"Taking a cluster over\")"
    )]
    Theirs {
        /// The resource.
        id: String,
        /// Its agent.
        agent: String,
        /// What it has.
        what: String,
        /// The resource of the file.
        ours: String,
    },
    /// A group that others made has what the file gives to a pool, or the name of a resource of the file.
    #[error("{0}")]
    Grouped(Grouped),
    /// A group that is kept is not what the file says.
    #[error(
        "the file keeps {resource} in group {group}, and on the cluster {what}: a resource changes its place only by being \
         stopped. Correct `adopted` in the file, or the group on the cluster"
    )]
    NotAsKept {
        /// The resource.
        resource: String,
        /// The group.
        group: String,
        /// How it is there.
        what: String,
    },
    /// The watch's unit has nothing to run.
    #[error(
        "{0} has no {WATCH_PROGRAM}, which hawser-watch.service runs: install the package hawser there, or take `unit` \
         out of [watch] in the file"
    )]
    NoWatchProgram(HostName),
    /// Somebody wants no watch on a node.
    #[error(
        "hawser-watch.service is masked on {0}: `systemctl unmask hawser-watch` there, or take `unit` out of [watch] in \
         the file"
    )]
    WatchMasked(HostName),
    /// A hook cannot be run.
    #[error("{node}: the {moment} hook of pool {pool}, {program}, {why}")]
    Hook {
        /// The node.
        node: HostName,
        /// When it runs.
        moment: &'static str,
        /// The pool.
        pool: String,
        /// The program.
        program: String,
        /// Why.
        why: String,
    },
    /// An interface that an address of a pool goes on is not there.
    #[error(
        "{node} has no interface {nic}, on which pool {pool} has its address {address}: it has {has}. Correct `nic`, or leave \
         it out, and each head takes the interface that is on the link's network"
    )]
    NoInterface {
        /// The node.
        node: HostName,
        /// The interface.
        nic: String,
        /// The pool.
        pool: String,
        /// Its address.
        address: IpAddr,
        /// What there is.
        has: String,
    },
    /// A device's secret needs a feature that a node's Pacemaker does not have.
    #[error(
        "{node}'s Pacemaker was built without cibsecrets, which fence device {device} needs for its secret"
    )]
    NoCibSecrets {
        /// The device.
        device: String,
        /// The node.
        node: HostName,
    },
}

fn names(nodes: &[HostName]) -> String {
    let names: Vec<&str> = nodes.iter().map(HostName::as_str).collect();
    names.join(", ")
}

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
    let mut found = renamed(file, facts);
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
