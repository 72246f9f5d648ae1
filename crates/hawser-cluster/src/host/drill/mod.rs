//! What a drill asks of a head, and the faults that a head makes on itself.
//!
//! A fault is a value: the same one makes it, shows it and mends it. Before it is made a process of its own
//! stands guard ([`dead_man`]), which mends it when the agent is gone, however it went.

mod busy;
mod clock;
pub mod dead_man;
mod disks;
mod full;
mod imports;
pub mod logs;
pub(super) mod look;
mod memory;
mod nfs_server;
mod password;
mod processes;
mod reboot;
mod silence;
pub(super) mod stamp;
mod upgrade;

use std::fs;
use std::net::IpAddr;
use std::time::Duration;

use hawser_model::drill::ClockStep;
use hawser_model::mountinfo::{self, mounted};
use serde::{Deserialize, Serialize};

use super::view::Storage;
use super::{NodeError, engine};

pub use disks::Extent;
pub use look::Look;
pub use stamp::StampedLine;

/// The logs of Corosync and Pacemaker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogTexts {
    /// How long each is now, in bytes.
    pub lengths: [u64; 2],
    /// What they hold, from where it was asked.
    pub texts: [String; 2],
    /// What ZFS says of imports of pools; left out where only lengths or ends were asked for.
    #[serde(default)]
    pub imports: String,
    /// The head's time zone in seconds east of UTC.
    pub utc_offset_s: i32,
    /// How its clock was stepped since; asked for the lengths alone, it is forgotten.
    #[serde(default)]
    pub step: Option<ClockStep>,
    /// Why that is not all.
    pub problem: Option<String>,
}

/// A fault that a head makes on itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostFault {
    /// A program dies, or stands still.
    Program {
        /// Which.
        program: Program,
        /// What becomes of it.
        how: How,
    },
    /// Its wall clock is set.
    Clock {
        /// So many seconds ahead of what it would be.
        ahead_s: i32,
    },
    /// It reboots, once its cluster has stopped in good order.
    Reboot,
    /// Packages are brought to another version, its cluster stopped meanwhile.
    OtherPackages {
        /// As apt-get takes them: `NAME`, `NAME=VERSION`, or the path of a file.
        packages: Vec<String>,
    },
    /// Packets of interfaces vanish.
    Silence {
        /// An address of each of the interfaces.
        addresses: Vec<IpAddr>,
        /// Those that come.
        incoming: bool,
        /// Those that are sent.
        outgoing: bool,
        /// So many of a hundred.
        percent: u8,
    },
    /// Nothing can be unmounted.
    NothingUnmounts,
    /// No room is left where Pacemaker keeps its configuration.
    NoRoomForPacemaker,
    /// Nearly all memory is used up.
    NoMemory,
    /// The password of a fence device, as this head knows it, is not the right one.
    WrongPassword {
        /// The device.
        device: String,
    },
    /// The NFS server has no threads.
    NoNfsThreads {
        /// Where the pool is mounted that it serves.
        root: String,
    },
    /// Disks of a pool, or paths to them, are gone.
    Disks {
        /// The pool's.
        storage: Storage,
        /// How much of them.
        extent: Extent,
    },
}

/// A program that a drill may hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Program {
    /// Corosync.
    Corosync,
    /// Pacemaker's first process.
    Pacemakerd,
    /// Its controller.
    Controld,
    /// Its fencer.
    Fenced,
    /// The iSCSI target in user space.
    Tgtd,
}

impl Program {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Corosync => "corosync",
            Self::Pacemakerd => "pacemakerd",
            Self::Controld => "pacemaker-controld",
            Self::Fenced => "pacemaker-fenced",
            Self::Tgtd => "tgtd",
        }
    }
}

/// How long mending most of them may take.
const MENDS: Duration = Duration::from_secs(100);

/// What becomes of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// `SIGKILL`.
    Killed,
    /// `SIGSTOP`.
    Stopped,
}

/// Whether a file system of this name is mounted there.
fn is_mounted(name: &str, place: &str) -> Result<bool, NodeError> {
    let path = mountinfo::OWN;
    let text = fs::read_to_string(path).map_err(NodeError::file("read", path))?;
    Ok(mounted(&text).any(|it| it.source == name && it.place == place))
}

impl HostFault {
    /// How long making it may take, where that is longer than usual.
    pub(super) fn takes(&self) -> Option<Duration> {
        match self {
            Self::Reboot => Some(reboot::TAKES),
            Self::NoMemory => Some(memory::TAKES),
            Self::OtherPackages { .. } => Some(upgrade::TAKES),
            _ => None,
        }
    }

    /// How long mending it may take.
    pub(super) fn mends(&self) -> Duration {
        match self {
            Self::OtherPackages { .. } => upgrade::TAKES,
            _ => MENDS,
        }
    }

    /// Why it cannot be made here; nothing if it can.
    pub(super) fn unfit(&self) -> Result<Option<String>, NodeError> {
        match self {
            Self::Disks { storage, extent } => disks::unfit(storage, extent),
            Self::NoNfsThreads { root } => nfs_server::unfit(root),
            Self::OtherPackages { packages } => upgrade::unfit(packages),
            Self::Silence { .. } => Ok(silence::unfit()),
            Self::Program { program, .. } => Ok(processes::unfit(*program)),
            _ => Ok(None),
        }
    }

    pub(super) fn make(&self) -> Result<(), NodeError> {
        match self {
            Self::Program { program, how } => processes::hit(*program, *how),
            Self::Clock { ahead_s } => clock::make(*ahead_s),
            Self::Reboot => reboot::make(),
            Self::OtherPackages { packages } => upgrade::make(packages),
            Self::Silence {
                addresses,
                incoming,
                outgoing,
                percent,
            } => silence::make(addresses, *incoming, *outgoing, *percent),
            Self::NothingUnmounts => busy::make(),
            Self::NoRoomForPacemaker => full::make(),
            Self::NoMemory => memory::make(),
            Self::WrongPassword { device } => password::make(device),
            Self::NoNfsThreads { .. } => nfs_server::make(),
            Self::Disks { storage, extent } => disks::make(storage, extent),
        }
    }

    pub(super) fn shown(&self) -> Result<Option<String>, NodeError> {
        match self {
            Self::Program { program, how } => processes::shown(*program, *how),
            Self::Clock { .. } => clock::shown(),
            Self::Reboot => Ok(reboot::shown()),
            Self::OtherPackages { .. } => upgrade::shown(),
            Self::Silence {
                addresses,
                outgoing,
                ..
            } => silence::shown(addresses, *outgoing),
            Self::NothingUnmounts => Ok(busy::shown()),
            Self::NoRoomForPacemaker => full::shown(),
            Self::NoMemory => memory::shown(),
            Self::WrongPassword { device } => password::shown(device),
            Self::NoNfsThreads { .. } => nfs_server::shown(),
            Self::Disks { .. } => disks::shown(),
        }
    }

    /// Takes it back, also when it is not there.
    pub(super) fn mend(&self) -> Result<(), NodeError> {
        match self {
            Self::Program { program, how } => {
                if *how == How::Stopped && processes::go_on(*program)? {
                    return Ok(());
                }
                // What systemd would have done by itself, or an operator.
                match program {
                    Program::Tgtd => engine::start_target(),
                    _ => engine::start(),
                }
            }
            Self::Clock { .. } => clock::mend(),
            Self::Reboot => reboot::mend(),
            Self::OtherPackages { .. } => upgrade::mend(),
            Self::Silence { .. } => silence::mend(),
            Self::NothingUnmounts => busy::mend(),
            Self::NoRoomForPacemaker => full::mend(),
            Self::NoMemory => memory::mend(),
            Self::WrongPassword { device } => password::mend(device),
            Self::NoNfsThreads { .. } => nfs_server::mend(),
            Self::Disks { storage, extent } => disks::mend(storage, extent),
        }
    }
}
