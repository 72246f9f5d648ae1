//! The facts of a host that do not change during a check.

mod bonds;
mod bridge_vlans;
mod bridges;
mod certificates;
mod clock;
mod corosync;
mod follower;
mod hardware;
mod interfaces;
mod pcie;
mod secrets;
mod setup;
mod storage;
mod surroundings;
mod sysctls;
mod tunnels;
mod virtualization;

use std::collections::BTreeMap;
use std::path::Path;

use hawser_model::host::{HostFacts, Interface};
use hawser_model::names::InterfaceName;
use hawser_model::port_traffic::PortTraffic;

use crate::KernelError;
use crate::proc;

pub use certificates::{CertificateReader, validity};
pub use clock::clock;
pub use corosync::{LostPings, corosync_facts, corosync_pid, corosync_stats};
pub(crate) use hardware::cpu_group;
pub use hardware::hardware;
pub use setup::host_setup;
pub use storage::{StorageReader, storage_client};
pub use surroundings::surroundings;
pub(crate) use sysctls::path as sysctl_path;

/// The facts of the calling thread's host: its network, pid and mount namespaces.
///
/// What cannot be read is absent. `collectors` is empty: the [`crate::Observer`] knows them; and so are `storage`, which a
/// [`StorageReader`] reads, and `certificates`, which a [`CertificateReader`] and a watch read.
pub fn host_facts() -> HostFacts {
    let names = nix::sys::utsname::uname().ok();
    let name = |of: fn(&nix::sys::utsname::UtsName) -> &std::ffi::OsStr| {
        names
            .as_ref()
            .map_or_else(String::new, |n| of(n).to_string_lossy().into_owned())
    };
    let (interfaces, _) = interfaces::read().unwrap_or_default();
    HostFacts {
        hostname: name(nix::sys::utsname::UtsName::nodename),
        kernel: name(nix::sys::utsname::UtsName::release),
        machine: name(nix::sys::utsname::UtsName::machine),
        cpus: cpus(),
        sysctls: sysctls::read(interfaces.keys()),
        bonds: bonds::read().unwrap_or_default(),
        bridges: bridges::read().unwrap_or_default(),
        interfaces,
        collectors: Vec::new(),
        corosync: corosync_facts(),
        virtualization: virtualization::read(Path::new("/")),
        storage: None,
        certificates: Vec::new(),
        secrets: secrets::read(),
    }
}

/// The network interfaces of the calling thread's network namespace.
///
/// # Errors
/// [`KernelError`] when the kernel refuses to list them.
pub fn interfaces() -> Result<BTreeMap<InterfaceName, Interface>, KernelError> {
    Ok(interfaces_and_counts()?.0)
}

/// The same, and what they have carried until now, which the kernel tells with them; absent without a clock.
///
/// # Errors
/// [`KernelError`] when the kernel refuses to list them.
pub fn interfaces_and_counts()
-> Result<(BTreeMap<InterfaceName, Interface>, Option<PortTraffic>), KernelError> {
    interfaces::read()
}

/// Online CPUs, not only those that this process may use.
fn cpus() -> u32 {
    proc::file("/proc/stat").map_or(1, |text| {
        let numbered = |line: &&str| {
            line.strip_prefix("cpu")
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        text.lines().filter(numbered).count() as u32
    })
}
