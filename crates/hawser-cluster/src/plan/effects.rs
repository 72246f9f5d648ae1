//! What `apply` does, in order. Each effect names what is to be true afterwards, so doing one again is
//! doing nothing, and a run that was killed is finished by planning anew. To apply is to plan and to
//! do what the plan says until the plan is empty: what comes after a start is planned after it.

use std::fmt;

use hawser_model::names::HostName;

use super::diff::ObjectChange;
use crate::cib::secrets::NodeFile;
use crate::host::{DeviceAction, StoredCib, WatchAction};

/// Where Corosync's key is.
pub const AUTHKEY: &str = "/etc/corosync/authkey";

/// Where Corosync's configuration is.
pub const COROSYNC_CONF: &str = "/etc/corosync/corosync.conf";

/// The length of a new key, in bytes: what `corosync-keygen` makes (256 of 128 to 4096 allowed).
pub const AUTHKEY_BYTES: usize = 256;

/// One thing to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A file on a node, in one step (written beside it and renamed), owned by root.
    WriteFile {
        /// The node.
        node: HostName,
        /// The file.
        file: NodeFile,
    },
    /// A file on a node is gone.
    RemoveFile {
        /// The node.
        node: HostName,
        /// The file.
        path: String,
    },
    /// A key of so many random bytes on all these nodes, mode 0400. It is made once, on the
    /// machine that applies, and kept nowhere else.
    NewAuthkey {
        /// The nodes.
        nodes: Vec<HostName>,
        /// Its length.
        bytes: usize,
    },
    /// The key of one node on others.
    CopyAuthkey {
        /// The node that has it.
        from: HostName,
        /// The nodes that do not.
        to: Vec<HostName>,
    },
    /// The mode of the key.
    AuthkeyMode {
        /// The node.
        node: HostName,
    },
    /// The text of corosync.conf on a node.
    WriteCorosyncConf {
        /// The node.
        node: HostName,
        /// The text.
        text: String,
    },
    /// The CIB of another cluster that a node keeps is no longer where Pacemaker starts with it.
    SetAsideCib {
        /// The node.
        node: HostName,
        /// The CIB.
        cib: StoredCib,
    },
    /// Hawser's own resource agent on these nodes, and the program it runs.
    InstallExports {
        /// The nodes.
        nodes: Vec<HostName>,
    },
    /// The last node has its `corosync.conf`, and the running Corosync of all nodes reads it anew (`corosync-cfgtool -R`): as one
    /// step, since the files are all that the next plan sees.
    ReloadCorosync {
        /// The node, on which it runs.
        node: HostName,
        /// The text.
        text: String,
    },
    /// Corosync and Pacemaker are stopped on all nodes, pools first, the last node has its `corosync.conf`, and they are started
    /// again.
    RestartCluster {
        /// The node.
        node: HostName,
        /// The text.
        text: String,
    },
    /// Corosync and Pacemaker are started on these nodes.
    Start {
        /// The nodes.
        nodes: Vec<HostName>,
    },
    /// corosync-qdevice of these nodes runs, or not.
    Device {
        /// What it is told.
        action: DeviceAction,
        /// The nodes.
        nodes: Vec<HostName>,
    },
    /// The watch of these nodes runs by the unit that an apply installs, or not.
    Watch {
        /// What is to be.
        action: WatchAction,
        /// The nodes.
        nodes: Vec<HostName>,
    },
    /// The live CIB with these changes, as one change of its own: read, merged ([`merge`]) and sent as
    /// the difference (`crm_diff`, `cibadmin --patch`), so that a CIB that changed meanwhile
    /// refuses it and nobody's change is lost.
    ///
    /// [`merge`]: super::merge
    PatchCib {
        /// Why in a step of its own.
        stage: Stage,
        /// The changes.
        changes: Vec<ObjectChange>,
    },
    /// Pacemaker has nothing left to do (`crm_resource --wait`).
    WaitSettled,
}

impl Effect {
    /// The `corosync.conf` that it writes, and the node.
    pub fn corosync_conf(&self) -> Option<(&HostName, &str)> {
        match self {
            Self::WriteCorosyncConf { node, text }
            | Self::ReloadCorosync { node, text }
            | Self::RestartCluster { node, text } => Some((node, text)),
            _ => None,
        }
    }
}

/// What it is, for whoever watches.
impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |nodes: &[HostName]| {
            let names: Vec<&str> = nodes.iter().map(HostName::as_str).collect();
            names.join(", ")
        };
        let words = match self {
            Self::WriteFile { node, file } => format!("{} on {node}", file.path),
            Self::RemoveFile { node, path } => format!("no {path} on {node}"),
            Self::NewAuthkey { nodes, .. } => format!("a new key on {}", names(nodes)),
            Self::CopyAuthkey { from, to } => format!("the key of {from} on {}", names(to)),
            Self::AuthkeyMode { node } => format!("mode of {AUTHKEY} on {node}"),
            Self::WriteCorosyncConf { node, .. } => format!("{COROSYNC_CONF} on {node}"),
            Self::SetAsideCib { node, .. } => format!("the old CIB of {node} is set aside"),
            Self::InstallExports { nodes } => {
                format!("the exports agent on {}", names(nodes))
            }
            Self::ReloadCorosync { node, .. } => {
                format!("{COROSYNC_CONF} on {node}, and Corosync reads its configuration again")
            }
            Self::RestartCluster { node, .. } => {
                format!(
                    "{COROSYNC_CONF} on {node}, and Corosync and Pacemaker restart on all nodes"
                )
            }
            Self::Start { nodes } => format!("Corosync and Pacemaker start on {}", names(nodes)),
            Self::Device { action, nodes } => {
                let what = match action {
                    DeviceAction::Start => "starts",
                    DeviceAction::Stop | DeviceAction::Withdraw => "ends",
                };
                format!("corosync-qdevice {what} on {}", names(nodes))
            }
            Self::Watch { action, nodes } => {
                let what = match action {
                    WatchAction::Install => "runs",
                    WatchAction::Withdraw => "ends",
                };
                format!("the watch {what} on {}", names(nodes))
            }
            Self::PatchCib { changes, .. } => match changes.len() {
                1 => "1 change to the CIB".into(),
                several => format!("{several} changes to the CIB"),
            },
            Self::WaitSettled => "waiting until what is to go has stopped".into(),
        };
        f.write_str(&words)
    }
}

/// The steps in which the CIB is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Devices, levels, and the properties that switch fencing on. Before anything stands on them.
    Fencing,
    /// What is to go is stopped while its constraints still say in which order: without them a
    /// pool would be exported under its own exports.
    StopWhatGoes,
    /// Everything else.
    Rest,
}
