//! How a host is set up beside its facts: what may differ from its neighbour although nobody meant it to.
//!
//! Nothing here names one host alone: no serial number, no MAC address.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ladder::Hardware;
use crate::names::InterfaceName;
use crate::units::Bytes;

/// What of a host is compared with its neighbours, beside its [facts](crate::host::HostFacts). What could not be read is
/// absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostSetup {
    /// Interfaces by name.
    pub interfaces: BTreeMap<InterfaceName, InterfaceSetup>,
    /// Sysctls that no account needs but that decide about speed, by their dotted name.
    pub sysctls: BTreeMap<String, String>,
    /// Parameters of the loaded modules that matter (`/sys/module/*/parameters`): of the cards' drivers and of
    /// storage and exports.
    pub modules: Option<BTreeMap<String, BTreeMap<String, String>>>,
    /// Of the same release, which build (`uname -v`).
    pub kernel_build: Option<String>,
    /// Those options of the kernel's command line that decide about speed; an option without a value is empty.
    pub boot_options: Option<BTreeMap<String, String>>,
    /// The policies by which processors choose their frequency (`scaling_governor`); empty where nothing is to be chosen.
    pub governors: Option<BTreeSet<String>>,
    /// What the kernel takes the time from (`current_clocksource`): `tsc`, `hpet`, …
    pub clocksource: Option<String>,
    /// `MemTotal` of `/proc/meminfo`.
    pub memory: Option<Bytes>,
    /// Processors and the limits set on them.
    pub hardware: Hardware,
}

/// How an interface is set up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InterfaceSetup {
    /// The driver's own version (`ETHTOOL_GDRVINFO`), unless it is the kernel's.
    pub driver_version: Option<String>,
    /// The card's firmware (`ETHTOOL_GDRVINFO`).
    pub firmware: Option<String>,
    /// Which card: vendor and device, and those of the board, as sysfs has them (`8086:1572 8086:0007`).
    pub card: Option<String>,
    /// The receive ring (`ethtool -g`).
    pub rx_ring: Option<Ring>,
    /// The transmit ring.
    pub tx_ring: Option<Ring>,
    /// Interrupt coalescing of what is received (`ethtool -c`): `adaptive on usecs 3`.
    pub rx_coalescing: Option<String>,
    /// The same of what is sent.
    pub tx_coalescing: Option<String>,
    /// Queues (`ethtool -l`): `rx 0 tx 0 other 1 combined 8`.
    pub channels: Option<String>,
    /// Pause frames (`ethtool -a`): `autoneg on rx on tx on`.
    pub pause: Option<String>,
    /// Settings of the device below `/sys/class/net/IF`, by the file's name: `tx_queue_len`, `threaded`, …
    pub settings: BTreeMap<String, String>,
}

/// A ring of descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ring {
    /// As it is set.
    pub size: u32,
    /// As large as the driver makes it.
    pub largest: u32,
}
