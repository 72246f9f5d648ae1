//! What a plan must know about the nodes. Whoever reaches the nodes fills it in; every field can be
//! empty, which means a cluster that is not there yet.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::names::HostName;
use serde::{Deserialize, Serialize};

use super::boot::BootFacts;
use super::ports::HeadPorts;
use crate::host::StoredCib;
use crate::host::view::PoolView;

/// What is known about the nodes and the cluster they form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Each node that was reached.
    pub nodes: BTreeMap<HostName, NodeFacts>,
    /// The live CIB (`cibadmin --query`), from any node whose Pacemaker runs.
    pub cib: Option<String>,
    /// For each fence device, what its agent said to `status`: absent when it answered, else its words.
    #[serde(default)]
    pub fence_status: BTreeMap<String, Option<String>>,
}

impl Facts {
    /// What takes seconds is as it was before.
    pub fn take_slow(&mut self, before: &Self) {
        self.fence_status.clone_from(&before.fence_status);
        for (name, node) in &mut self.nodes {
            if let Some(before) = before.nodes.get(name) {
                node.pools.clone_from(&before.pools);
            }
        }
    }

    /// The interface that has each address of a node; none when the node was not reached.
    pub fn ports_of(&self, node: &HostName) -> Option<&HeadPorts> {
        self.nodes.get(node).map(|facts| &facts.ports)
    }
}

/// What is known about a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeFacts {
    /// The text of `/etc/corosync/corosync.conf`.
    pub corosync_conf: Option<String>,
    /// The key, by the SHA-256 of its content and its mode.
    pub authkey: Option<KeyFacts>,
    /// Files that fencing needs, by path: their mode and whether their content is the wanted one.
    #[serde(default)]
    pub files: BTreeMap<String, FileFacts>,
    /// Resource and fence agents that are installed: `ocf:heartbeat:ZFS`, `stonith:fence_ipmilan`.
    #[serde(default)]
    pub agents: BTreeSet<String>,
    /// Programs that were looked for and found: `corosync`, `pacemakerd`, `ipmitool`, …
    #[serde(default)]
    pub programs: BTreeSet<String>,
    /// Features that Pacemaker was built with (`pacemakerd --features`).
    #[serde(default)]
    pub features: BTreeSet<String>,
    /// Whether Corosync and Pacemaker run.
    #[serde(default)]
    pub running: bool,
    /// Whether a resource agent of Hawser's own was put there by an apply of another Hawser.
    #[serde(default)]
    pub exports_outdated: bool,
    /// Why each program of a hook that root must not run there is one, in words that follow its path.
    #[serde(default)]
    pub unfit_programs: BTreeMap<String, String>,
    /// Its interfaces; none: nobody has asked.
    #[serde(default)]
    pub interfaces: Option<BTreeSet<String>>,
    /// Why the kernel's own iSCSI target cannot be had there; none when it can.
    #[serde(default)]
    pub no_lio: Option<String>,
    /// Whether systemd manages its services.
    #[serde(default)]
    pub systemd: bool,
    /// Whether systemd starts the engine at boot; none where it is not systemd who does.
    #[serde(default)]
    pub starts_at_boot: Option<bool>,
    /// Its part of a quorum device.
    #[serde(default)]
    pub device: DeviceFacts,
    /// What it would do by itself at its next boot; none: nobody has looked.
    #[serde(default)]
    pub boot: Option<BootFacts>,
    /// The interface that has each of its addresses.
    #[serde(default)]
    pub ports: HeadPorts,
    /// The unit of its watch; none where systemd does not run.
    #[serde(default)]
    pub watch: Option<WatchFacts>,
    /// The CIB that its Pacemaker would start with; none while it runs.
    #[serde(default)]
    pub stored_cib: Option<StoredCib>,
    /// How it sees the pools that it may run; empty: nobody has looked.
    #[serde(default)]
    pub pools: BTreeMap<String, PoolView>,
}

/// The unit of the watch on a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchFacts {
    /// Whether the program that it runs is there.
    pub program: bool,
    /// Whose unit stands where an apply installs its own.
    pub unit: WatchUnitFile,
    /// What the cluster file is that it judges by: the wanted one, another, or none.
    pub file: Option<bool>,
    /// Whether systemd starts it at boot.
    pub enabled: bool,
    /// Whether it runs.
    pub running: bool,
    /// Whether the program that runs is another than the one that is there now.
    pub replaced: bool,
}

/// Whose unit of the watch it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WatchUnitFile {
    /// There is none.
    #[default]
    None,
    /// An apply's, with the text that it would have now.
    Ours,
    /// An apply's, with another text.
    Outdated,
    /// The site's own.
    Theirs,
    /// Somebody wants no such unit to run (`systemctl mask`).
    Masked,
}

/// An interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortFacts {
    /// Its name.
    pub interface: String,
    /// Why `ocf:pacemaker:ifspeed` cannot tell whether it has a carrier; none when it can.
    #[serde(default)]
    pub blind: Option<String>,
}

/// corosync-qdevice on a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceFacts {
    /// Whether it runs.
    pub running: bool,
    /// Whether systemd starts it at boot; none where it is not systemd who does.
    pub starts_at_boot: Option<bool>,
    /// Whether the node has the cluster's certificate for it.
    pub certificate: bool,
}

/// A node's key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyFacts {
    /// SHA-256 of the key, in hexadecimal.
    pub sha256: String,
    /// Its mode.
    pub mode: u32,
}

/// A file on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFacts {
    /// Its mode.
    pub mode: u32,
    /// Whether its content is the wanted one, compared by whoever knows the secret.
    pub same: bool,
}
