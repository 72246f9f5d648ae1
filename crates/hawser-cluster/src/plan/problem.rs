//! Why a plan cannot be applied, in words.

use std::net::IpAddr;

use hawser_model::names::HostName;

use super::grouped::Grouped;
use crate::units::WATCH_PROGRAM;

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
         (docs/heads.md, \"Taking a node out\"), and add {new} afterwards"
    )]
    Renamed {
        /// Its name in the cluster.
        old: String,
        /// Its name in the file.
        new: HostName,
    },
    /// A member of the running cluster that the file lacks.
    #[error(
        "{0} is a member of the running cluster and not in the file: it would be lost with nothing left that can fence \
         it, and no pool would start anywhere. Write it again; or stop its engine first (`systemctl disable --now \
         pacemaker corosync` there; of one that is off for good `stonith_admin --confirm {0}` on another head), then apply, \
         then `crm_node --remove {0} --force` on another head"
    )]
    LeftOut(HostName),
    /// A head that runs another cluster.
    #[error(
        "{node} runs the engine of another cluster, {cluster} by its corosync.conf, which names no other node of the file: if \
         nobody needs that, `systemctl stop pacemaker corosync` there ends it"
    )]
    AnotherCluster {
        /// The node.
        node: HostName,
        /// The other cluster's name.
        cluster: String,
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
