//! Settings of an interface that are one file each below `/sys/class/net`: MTU, queue length,
//! threaded NAPI, packet and flow steering, a bridge's multicast.

use std::path::{Path, PathBuf};

use hawser_model::knob::Knob;
use hawser_model::names::InterfaceName;

use crate::{KernelError, proc};

/// A smaller MTU takes the interface's IPv6 addresses away, and putting it back does not return
/// them (RFC 8200, 5).
const SMALLEST_MTU: u32 = 1_280;

/// What of a bridge may be turned.
const BRIDGE: [&str; 6] = [
    "multicast_snooping",
    "multicast_querier",
    "multicast_query_use_ifaddr",
    "multicast_igmp_version",
    "multicast_mld_version",
    "multicast_router",
];

pub(super) fn read(knob: &Knob) -> Result<String, KernelError> {
    Ok(proc::file(path(knob)?)?.trim_end().to_owned())
}

pub(super) fn write(knob: &Knob, value: &str) -> Result<(), KernelError> {
    let too_small = value.parse::<u32>().is_ok_and(|mtu| mtu < SMALLEST_MTU);
    if matches!(knob, Knob::Mtu { .. }) && too_small {
        return Err(KernelError::Absent(format!(
            "{knob}: {value} is less than {SMALLEST_MTU}, which IPv6 needs"
        )));
    }
    proc::put(path(knob)?, value)
}

/// Whether the interface has it.
pub(super) fn exists(knob: &Knob) -> bool {
    path(knob).is_ok_and(|path| path.exists())
}

fn path(knob: &Knob) -> Result<PathBuf, KernelError> {
    let unknown =
        matches!(knob, Knob::Bridge { setting, .. } if !BRIDGE.contains(&setting.as_str()));
    match (knob.interface(), knob.attribute()) {
        (Some(interface), Some(file)) if !unknown => Ok(of(interface)?.join(file)),
        _ => Err(KernelError::Absent(format!("{knob}: no such file"))),
    }
}

fn of(interface: &InterfaceName) -> Result<PathBuf, KernelError> {
    let name = interface.as_str();
    if name.is_empty() || name.starts_with('.') || name.contains('/') {
        return Err(KernelError::Absent(format!("`{name}` names no interface")));
    }
    Ok(Path::new("/sys/class/net").join(name))
}
