//! Sysctls of networking, in this network namespace or in the machine's first one.
//!
//! The kernel keeps some of them once for all namespaces: in another than the first they cannot
//! be written (`net.core.rmem_default`) or are absent (`net.core.netdev_max_backlog`).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use hawser_model::knob::{Scope, Setting};

use super::{Knobs, machine};
use crate::host::sysctl_path;
use crate::{KernelError, proc};

/// Those of `net.core` that each namespace has for itself (`net/core/sysctl_net_core.c`,
/// `netns_core_table`); the rest are the machine's.
const OWN_IN_CORE: [&str; 6] = [
    "net.core.optmem_max",
    "net.core.rps_default_mask",
    "net.core.somaxconn",
    "net.core.txrehash",
    "net.core.tstamp_allow_data",
    "net.core.xfrm",
];

/// Kept once outside of `net.core` (`net/ipv4/sysctl_net_ipv4.c`, `ipv4_table`; inet_fragment.c).
const MACHINE_ELSEWHERE: [&str; 4] = [
    "net.ipv4.inet_peer_threshold",
    "net.ipv4.ipfrag_secret_interval",
    "net.ipv4.tcp_mem",
    "net.ipv4.udp_mem",
];

/// Where a sysctl's one value is.
enum Home<'a> {
    Here,
    Machine(&'a Path),
}

pub(super) fn read(knobs: &Knobs, name: &str) -> Result<Setting, KernelError> {
    let path = path(knobs, name)?;
    let home = home(knobs, &path);
    let value = match home {
        Home::Here => proc::file(&path)?,
        Home::Machine(net) => machine::within(net, || proc::file(&path))?,
    };
    Ok(Setting {
        value: value.split_whitespace().collect::<Vec<_>>().join(" "),
        scope: match home {
            Home::Machine(_) => Scope::Machine,
            Home::Here => scope(name),
        },
        largest: None,
        at_boot: false,
    })
}

pub(super) fn write(knobs: &Knobs, name: &str, value: &str) -> Result<(), KernelError> {
    let path = path(knobs, name)?;
    let write = || proc::put(&path, value);
    match home(knobs, &path) {
        Home::Here => write(),
        Home::Machine(net) => machine::within(net, write),
    }
}

/// Whether the kernel has none of that name (any more).
pub(super) fn is_absent(knobs: &Knobs, name: &str) -> bool {
    let Ok(path) = path(knobs, name) else {
        return false;
    };
    let exists = match home(knobs, &path) {
        Home::Here => path.try_exists().ok(),
        Home::Machine(net) => machine::within(net, || Ok(path.try_exists().ok())).unwrap_or(None),
    };
    exists == Some(false)
}

fn path(knobs: &Knobs, name: &str) -> Result<PathBuf, KernelError> {
    if !name.starts_with("net.") || name.contains("..") {
        return Err(KernelError::Absent(format!(
            "sysctl {name}: only net.* can be turned"
        )));
    }
    Ok(knobs.root.join("proc/sys").join(sysctl_path(name)))
}

/// The machine's, when it cannot be written here and there is a way there.
fn home<'a>(knobs: &'a Knobs, path: &Path) -> Home<'a> {
    let writable = fs::metadata(path).is_ok_and(|m| m.permissions().mode() & 0o200 != 0);
    match &knobs.machine_net {
        Some(net) if !writable => Home::Machine(net),
        _ => Home::Here,
    }
}

fn scope(name: &str) -> Scope {
    let own = |list: &[&str]| list.iter().any(|n| name.starts_with(n));
    let interface = name
        .split_once(".conf.")
        .or_else(|| name.split_once(".neigh."))
        .map(|(_, rest)| !rest.starts_with("all.") && !rest.starts_with("default."));
    if interface == Some(true) {
        Scope::Interface
    } else if own(&MACHINE_ELSEWHERE) || (name.starts_with("net.core.") && !own(&OWN_IN_CORE)) {
        Scope::Machine
    } else {
        Scope::Namespace
    }
}
