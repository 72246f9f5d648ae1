//! What is installed on this machine and what runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::IpAddr;
use std::path::Path;

use hawser_tool::processes;
use serde::{Deserialize, Serialize};

use super::stored_cib::{self, StoredCib};
use super::{boot, device, engine, exports_agent, ports, run, watch_unit};
use crate::exports::lio;
use crate::plan::boot::BootFacts;
use crate::plan::{DeviceFacts, PortFacts, WatchFacts};

/// What is installed and what runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inventory {
    /// Resource and fence agents: `ocf:heartbeat:ZFS`, `stonith:fence_ipmilan`.
    pub agents: BTreeSet<String>,
    /// Programs that were looked for and found.
    pub programs: BTreeSet<String>,
    /// Features that Pacemaker was built with.
    pub features: BTreeSet<String>,
    /// Whether Corosync and Pacemaker run.
    pub running: bool,
    /// Whether the resource agent of the exports is one that an apply put there and is of another
    /// Hawser than the one that looks.
    #[serde(default)]
    pub exports_outdated: bool,
    /// Why the kernel's own iSCSI target cannot be had here; none when it can.
    #[serde(default)]
    pub no_lio: Option<String>,
    /// Whether systemd manages the services here.
    #[serde(default)]
    pub systemd: bool,
    /// Whether systemd starts the engine at boot; none where it is not systemd who does.
    #[serde(default)]
    pub starts_at_boot: Option<bool>,
    /// Its part of a quorum device.
    #[serde(default)]
    pub device: DeviceFacts,
    /// What the machine would do by itself at its next boot.
    #[serde(default)]
    pub boot: BootFacts,
    /// The interface that has each of its addresses.
    #[serde(default)]
    pub ports: BTreeMap<IpAddr, PortFacts>,
    /// The unit of the watch; none where systemd does not run.
    #[serde(default)]
    pub watch: Option<WatchFacts>,
    /// The CIB that Pacemaker would start with; none while it runs.
    #[serde(default)]
    pub stored_cib: Option<StoredCib>,
}

/// Where OCF agents are, a folder a provider (the OCF standard's `OCF_ROOT`).
const RESOURCE_AGENTS: &str = "/usr/lib/ocf/resource.d";

/// Where fence agents are, on Debian and on Red Hat's systems.
const FENCE_AGENTS: &[&str] = &["/usr/sbin", "/sbin"];

/// Programs that are looked for.
const PROGRAMS: &[&str] = &[
    "corosync",
    "pacemakerd",
    "ipmitool",
    "tgtd",
    "fuser",
    "lvm",
    "zpool",
    "exportfs",
    "corosync-qdevice",
];

pub(super) fn take() -> Inventory {
    let mut agents = BTreeSet::new();
    for provider in entries(Path::new(RESOURCE_AGENTS)) {
        for agent in entries(&Path::new(RESOURCE_AGENTS).join(&provider)) {
            agents.insert(format!("ocf:{provider}:{agent}"));
        }
    }
    for folder in FENCE_AGENTS {
        let fence = entries(Path::new(folder)).into_iter();
        let fence = fence.filter(|name| name.starts_with("fence_"));
        agents.extend(fence.map(|name| format!("stonith:{name}")));
    }
    let programs = PROGRAMS.iter().filter(|it| has(it));
    let programs = programs.map(|it| (*it).to_owned());
    let features = run::tool("pacemakerd", &["--features"], None).unwrap_or_default();
    Inventory {
        agents,
        programs: programs.collect(),
        // ` Supporting v3.16.1: agent-manpages cibsecrets corosync-ge-2 …`
        features: features
            .lines()
            .filter_map(|line| line.trim().strip_prefix("Supporting")?.split_once(": "))
            .flat_map(|(_, words)| words.split_whitespace())
            .map(str::to_owned)
            .collect(),
        running: runs("corosync") && runs("pacemakerd"),
        exports_outdated: exports_agent::outdated(),
        no_lio: lio::lacking().map(|why| why.to_string()),
        systemd: engine::by_systemd(),
        starts_at_boot: engine::starts_at_boot(),
        device: device::look(),
        boot: boot::look(Path::new("/")),
        ports: ports::look(),
        watch: watch_unit::look(),
        stored_cib: stored_cib::look(),
    }
}

/// Whether a program of the system is there.
pub(super) fn has(program: &str) -> bool {
    ["/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/sbin"]
        .iter()
        .any(|folder| Path::new(folder).join(program).exists())
}

fn entries(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.'))
        .collect()
}

/// Whether a program of that name runs on this machine. Processes of containers and labs, which
/// have process numbers of their own, are not this machine's.
pub(super) fn runs(name: &str) -> bool {
    !processes::own(name).is_empty()
}
