//! Nodes with a kernel of their own: Debian with systemd under user-mode Linux, on the switches of the lab.
//!
//! Such a node has what every node of a lab has: a first process with namespaces of its own, and in its network namespace
//! one end of each cable, under the link's name. They are the *case* of the machine. In it runs the kernel, whose network
//! cards are taps; what comes in by a cable goes out by its tap, and back. So cables are cut, faults planted and power is
//! taken as from any node, and all of the machine's processes end with its case.
//!
//! Whoever works in a machine comes in by ssh, over a cable that only the case and the machine have.

mod boot;
mod case;
pub(crate) mod disk_trouble;
mod disks;
pub(crate) mod door;
mod folder;
pub mod image;
mod kernel;
mod make;
mod mconsole;
mod plan;
mod processor;
mod recipe;
mod registers;
mod release;
mod room;
mod sources;
mod zfs;

pub(crate) use boot::{has_booted, wait_until_up};
pub(crate) use case::{prepare, run};
pub(crate) use folder::keys;
pub(crate) use plan::{case_cards, case_filters};
pub use release::Release;
pub(crate) use room::check as check_room;

use std::time::Duration;

use hawser_tool::is_installed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::LabError;

/// What the nodes of a lab are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Namespaces of this machine's kernel.
    #[default]
    Namespace,
    /// Debian under user-mode Linux: a kernel of its own.
    Uml,
}

impl Kind {
    /// How many times longer than elsewhere what is done on it may take.
    pub(crate) fn slowness(self) -> u32 {
        match self {
            Self::Namespace => 1,
            Self::Uml => SLOWNESS,
        }
    }

    /// Whether it is that of a lab without machines.
    pub(crate) fn is_namespace(&self) -> bool {
        *self == Self::Namespace
    }
}

/// Starting a program takes the kernel of a machine 4 ms instead of 1, and several times that beside other machines; with the rest
/// of what agents do, a takeover takes five times as long, and more on a busy host.
const SLOWNESS: u32 = 5;

/// How long a machine may take to shut down in good order: systemd has to stop some twenty services, on a kernel that
/// starts programs slowly.
pub(crate) const SHUTS_DOWN: Duration = Duration::from_secs(120);

/// Fails on a machine without the programs that machines of a lab need.
///
/// # Errors
/// What is missing, and how it is installed.
pub(crate) fn need_programs(programs: &[&str]) -> Result<(), LabError> {
    let programs = programs.iter().copied();
    let missing: Vec<&str> = programs.filter(|it| !is_installed(it)).collect();
    match missing.is_empty() {
        true => Ok(()),
        false => Err(LabError::Machines(format!(
            "a lab of machines needs {}, which this host has not: `packaging/setup machines`, or `apt install \
             mmdebstrap debian-archive-keyring openssh-client e2fsprogs`",
            missing.join(", ")
        ))),
    }
}
