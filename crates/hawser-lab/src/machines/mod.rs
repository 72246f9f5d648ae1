//! Nodes with a kernel of their own: Debian with systemd under user-mode Linux or in QEMU, on the switches of the lab.
//!
//! Such a node has what every node of a lab has: a first process with namespaces of its own, and in its network namespace
//! one end of each cable, under the link's name. They are the *case* of the machine. In it runs the kernel, whose network
//! cards are taps; what comes in by a cable goes out by its tap, and back. So cables are cut, faults planted and power is
//! taken as from any node, and all of the machine's processes end with its case.
//!
//! Whoever works in a machine comes in by ssh, over a cable that only the case and the machine have.

mod boot;
mod card;
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
mod preload;
mod processor;
mod qemu;
mod qmp;
mod recipe;
mod release;
mod room;
mod serial;
mod sources;
mod uml;
mod zfs;

pub(crate) use boot::{has_booted, wait_until_up};
pub use card::Card;
pub(crate) use case::{prepare, run};
pub(crate) use folder::keys;
pub(crate) use plan::{case_cards, case_filters};
pub use release::Release;

use std::time::Duration;

use hawser_tool::is_installed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::paths::LabDir;
use crate::plan::links_of;
use crate::spec::{LabSpec, NodeSpec};

/// What a node of a lab is.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Namespaces of this machine's kernel.
    #[default]
    Namespace,
    /// Debian under user-mode Linux: a kernel of its own.
    Uml,
    /// Debian in a computer that QEMU emulates: its own kernel on processors and network cards as they are built.
    Qemu,
}

impl Kind {
    /// How many times longer than elsewhere what is done on it may take.
    pub(crate) fn slowness(self) -> u32 {
        match self {
            Self::Namespace => 1,
            Self::Uml => SLOWNESS,
            Self::Qemu => SLOWNESS_EMULATED,
        }
    }

    /// Whether it has a kernel of its own.
    pub fn is_machine(self) -> bool {
        self != Self::Namespace
    }

    /// Whether it is that of a lab without machines.
    pub(crate) fn is_namespace(&self) -> bool {
        !self.is_machine()
    }
}

/// Starting a program takes the kernel of a machine 4 ms instead of 1, and several times that beside other machines; with the rest
/// of what agents do, a takeover takes five times as long, and more on a busy host.
const SLOWNESS: u32 = 5;

/// Each instruction of an emulated processor costs several of the host's.
const SLOWNESS_EMULATED: u32 = 10;

/// How long a machine may take to shut down in good order, so many times as it is slower than a namespace: systemd has to stop
/// some twenty services, on a kernel that starts programs slowly.
pub(crate) const SHUTS_DOWN: Duration = Duration::from_secs(24);

/// What makes the images of machines.
const MAKES_IMAGES: &[&str] = &["mmdebstrap", "mke2fs", "depmod", "unshare", "ssh-keygen"];
const MAKES_IMAGES_SETUP: &str = "`packaging/setup machines`, or `apt install mmdebstrap debian-archive-keyring \
                                  openssh-client e2fsprogs`";

/// What runs machines in QEMU.
const EMULATES: &[&str] = &[qemu::PROGRAM, qemu::IMAGES];
const EMULATES_SETUP: &str = "`packaging/setup qemu`, or `apt install qemu-system-x86 qemu-utils`";

/// Fails on a host without these programs.
///
/// # Errors
/// What is missing, and how it is installed.
fn need(programs: &[&str], setup: &str) -> Result<(), LabError> {
    let programs = programs.iter().copied();
    let missing: Vec<&str> = programs.filter(|it| !is_installed(it)).collect();
    match missing.is_empty() {
        true => Ok(()),
        false => Err(LabError::Machines(format!(
            "a lab of machines needs {}, which this host has not: {setup}",
            missing.join(", ")
        ))),
    }
}

/// Fails on a host that cannot run the machines of a lab.
///
/// # Errors
/// What is missing, of programs, memory or disk; an MTU that no card takes.
pub(crate) fn check_host(spec: &LabSpec, dir: &LabDir) -> Result<(), LabError> {
    if spec.kinds().contains(&Kind::Qemu) {
        need(EMULATES, EMULATES_SETUP)?;
    }
    take_mtus(spec)?;
    have_serial_lines(spec)?;
    room::check(spec, dir.path())
}

/// Fails if a link that a machine in QEMU is on has an MTU that cards there do not take.
fn take_mtus(spec: &LabSpec) -> Result<(), LabError> {
    let emulated = spec.nodes.iter();
    let emulated = emulated.filter(|node| spec.kind_of(node) == Kind::Qemu);
    for node in emulated {
        let mut links = links_of(spec, node).map(|(_, link)| link);
        if let Some(link) = links.find(|link| link.mtu.0 > card::MOST_MTU) {
            return Err(LabError::Machines(format!(
                "link {} has mtu {}, and the cards of {} in QEMU take at most {}",
                link.name,
                link.mtu,
                node.name,
                card::MOST_MTU
            )));
        }
    }
    Ok(())
}

/// Fails if a machine in QEMU is at the end of a null-modem cable: its serial line is the console.
fn have_serial_lines(spec: &LabSpec) -> Result<(), LabError> {
    let mut emulated = spec.nodes.iter();
    let at_an_end = |node: &&NodeSpec| {
        spec.kind_of(node) == Kind::Qemu && !plan::serial_lines(spec, node).is_empty()
    };
    match emulated.find(at_an_end) {
        None => Ok(()),
        Some(node) => Err(LabError::Machines(format!(
            "{} is at the end of a null-modem cable (`serial`), which machines of user-mode Linux alone have",
            node.name
        ))),
    }
}

#[cfg(test)]
mod tests {
    use hawser_model::units::Mtu;

    use super::*;

    #[test]
    fn an_mtu_that_no_card_takes_is_refused_where_a_machine_in_qemu_is() {
        let mut spec = LabSpec::default();
        spec.links[1].mtu = Mtu(9001);
        for (kind, fits) in [
            (Kind::Namespace, true),
            (Kind::Uml, true),
            (Kind::Qemu, false),
        ] {
            spec.kind = kind;
            assert_eq!(take_mtus(&spec).is_ok(), fits, "{kind:?}");
        }
        let said = take_mtus(&spec).unwrap_err().to_string();
        assert!(said.contains("link ring1 has mtu 9001"), "{said}");
        spec.links[1].mtu = Mtu(9000);
        assert!(take_mtus(&spec).is_ok());
        spec.links[1].serial = true;
        let said = have_serial_lines(&spec).unwrap_err().to_string();
        assert!(
            said.contains("head1 is at the end of a null-modem cable"),
            "{said}"
        );
        spec.kind = Kind::Uml;
        assert!(have_serial_lines(&spec).is_ok());
    }
}
