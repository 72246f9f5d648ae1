//! What is done on a node: the orders that its agent obeys, each by a name of its own. There is no
//! order that runs an arbitrary command or touches an arbitrary file.

pub mod boot;
mod device;
mod device_names;
pub mod drill;
mod engine;
mod exports_agent;
mod fence_status;
mod files;
mod ifspeed;
mod inventory;
mod pacemaker;
mod ports;
mod reload;
mod run;
pub mod view;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::plan::{FileFacts, KeyFacts};
use crate::simulate::{Answer as Simulated, CrmSimulate, Event, Simulator};
use crate::units;

pub use device::DeviceWish;
pub use drill::{DrillAnswer, DrillOrder};
pub use inventory::Inventory;
pub use view::{HeadView, ViewQuestion};

/// What a node is told to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// What is installed and what runs. Answer: [`Answer::Inventory`].
    Inventory,
    /// One of the files that Hawser writes. Answer: [`Answer::File`].
    Read {
        /// Its path.
        path: String,
    },
    /// One of the files that Hawser writes, whole or not at all, owned by root. Answer:
    /// [`Answer::Done`].
    Write {
        /// Its path.
        path: String,
        /// The file.
        file: OwnedFile,
    },
    /// The live CIB. Answer: [`Answer::Cib`].
    Cib,
    /// What the head sees of the cluster, and whether it could take over. Answer: [`Answer::View`], whatever hangs.
    View(ViewQuestion),
    /// The difference between two CIBs made to the live one, which must still be the first.
    /// Answer: [`Answer::Patched`].
    PatchCib {
        /// The CIB as it was read.
        was: String,
        /// As it is to be.
        new: String,
    },
    /// A first CIB for a node that never had one and whose Pacemaker does not run. Answer:
    /// [`Answer::Done`], also when it has one.
    SeedCib {
        /// The CIB.
        cib: String,
    },
    /// What Pacemaker would do. Answer: [`Answer::Simulated`].
    Simulate {
        /// About this cluster.
        cib: String,
        /// When this happens.
        events: Vec<Event>,
    },
    /// Waits until Pacemaker has nothing left to do. Answer: [`Answer::Settled`].
    Settle {
        /// At most so long, in seconds.
        seconds: u32,
    },
    /// Corosync and Pacemaker are started, now and at each boot. Answer: [`Answer::Done`].
    Start,
    /// They are stopped, Pacemaker and what it runs first. Answer: [`Answer::Done`].
    Stop,
    /// What [`Self::Start`] did is taken back: they are stopped, and do not start at boot. Answer:
    /// [`Answer::Done`].
    Withdraw,
    /// One of the files that Hawser writes is removed. Answer: [`Answer::Done`], also when there
    /// was none.
    Remove {
        /// Its path.
        path: String,
    },
    /// The agent's own program is kept on the node, and with it the resource agent of the exports.
    /// Answer: [`Answer::Done`].
    InstallExports,
    /// The cluster's Corosync reads its configuration anew. Answer: [`Answer::Done`].
    ReloadCorosync,
    /// corosync-qdevice runs, or not. Answer: [`Answer::Done`].
    Device {
        /// What it is told.
        wish: DeviceWish,
    },
    /// Whether the quorum device votes on this node. Answer: [`Answer::Device`].
    DeviceVote,
    /// Asks a fence agent for the status of what it fences. Answer: [`Answer::Fence`].
    FenceStatus {
        /// The device.
        device: FenceQuestion,
        /// Files that the parameters name, by path; used from a private folder and then removed.
        /// None: those that are installed.
        files: BTreeMap<String, OwnedFile>,
        /// How long the agent may take, in seconds.
        seconds: u32,
    },
    /// What the fencer has done. Answer: [`Answer::Text`], XML.
    FenceHistory,
    /// A node is put in standby, or out of it. Answer: [`Answer::Done`].
    Standby {
        /// The node.
        node: String,
        /// In, or out.
        on: bool,
    },
    /// A resource, with all that hangs on it, is sent to a node. Answer: [`Answer::Done`].
    Move {
        /// The resource.
        resource: String,
        /// The node.
        node: String,
        /// After so many seconds the order ends by itself, whatever becomes of whoever gave it.
        seconds: u64,
    },
    /// The order to move a resource is forgotten, once it was carried out. Answer: [`Answer::Done`].
    ForgetMove {
        /// The resource.
        resource: String,
    },
    /// What a drill asks. Answer: [`Answer::Drill`].
    Drill(DrillOrder),
}

/// A fence device that is asked whether it would fence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FenceQuestion {
    /// Its name.
    pub name: String,
    /// Its agent: `fence_ipmilan`.
    pub agent: String,
    /// Its parameters, as they stand in the CIB.
    pub parameters: BTreeMap<String, String>,
}

/// What a node answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Done.
    Done,
    /// What is installed and what runs.
    Inventory(Box<Inventory>),
    /// The file, if there is one.
    File(Option<OwnedFile>),
    /// The live CIB; absent when Pacemaker does not run.
    Cib(Option<String>),
    /// What the head sees.
    View(Box<HeadView>),
    /// Whether the CIB was still the one that was read, and is now the new one.
    Patched(bool),
    /// Whether Pacemaker has nothing left to do; else time was over.
    Settled(bool),
    /// What Pacemaker would do.
    Simulated(Simulated),
    /// What the agent complained of; nothing when it answered.
    Fence(Option<String>),
    /// Why the quorum device has no vote there; nothing when it votes.
    Device(Option<String>),
    /// The words of a tool.
    Text(String),
    /// What a drill was answered.
    Drill(DrillAnswer),
}

/// A file that Hawser writes on nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnedFile {
    /// Its mode.
    pub mode: u32,
    /// What is in it.
    pub content: Content,
}

/// The content of a file, which may be a secret: never printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content(pub Vec<u8>);

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({} bytes, not shown)", self.0.len())
    }
}

impl OwnedFile {
    /// What a plan must know of it, beside the wanted one.
    pub fn facts(&self, wanted: &Self) -> FileFacts {
        FileFacts {
            mode: self.mode,
            same: self.content == wanted.content,
        }
    }

    /// What a plan must know of it when it is Corosync's key.
    pub fn key_facts(&self) -> KeyFacts {
        use sha2::{Digest, Sha256};
        let digest = Sha256::digest(&self.content.0);
        KeyFacts {
            sha256: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
            mode: self.mode,
        }
    }
}

/// Why a node could not obey.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// A file that is not one of Hawser's.
    #[error("{0} is not a file that Hawser writes")]
    NotOurs(String),
    /// A file operation failed.
    #[error("{call} {path}: {source}")]
    File {
        /// What was tried.
        call: &'static str,
        /// On what.
        path: String,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A file could not be written as a whole.
    #[error(transparent)]
    OnDisk(#[from] hawser_files::FileError),
    /// A tool failed.
    #[error("{command}: {said}")]
    Tool {
        /// The command line, which never holds a secret.
        command: String,
        /// What it said.
        said: String,
    },
    /// Pacemaker's simulator could not be asked.
    #[error(transparent)]
    Simulate(#[from] crate::simulate::SimulateError),
    /// Something did not happen in time.
    #[error("{what} did not happen within {seconds} s")]
    Late {
        /// What.
        what: String,
        /// How long it was waited for.
        seconds: u64,
    },
}

impl Order {
    /// What it is called in messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Inventory => "inventory",
            Self::Read { .. } => "read a file",
            Self::Write { .. } => "write a file",
            Self::Cib => "read the CIB",
            Self::View(_) => "say what it sees of the cluster",
            Self::PatchCib { .. } => "change the CIB",
            Self::SeedCib { .. } => "write a first CIB",
            Self::Simulate { .. } => "simulate",
            Self::Settle { .. } => "wait until Pacemaker is done",
            Self::Start => "start the cluster",
            Self::Stop => "stop the cluster",
            Self::Withdraw => "take the start of the cluster back",
            Self::Remove { .. } => "remove a file",
            Self::InstallExports => "install the exports agent",
            Self::ReloadCorosync => "reload Corosync",
            Self::Device { .. } => "start or stop corosync-qdevice",
            Self::DeviceVote => "ask for the quorum device's vote",
            Self::FenceStatus { .. } => "ask a fence agent",
            Self::FenceHistory => "read the fencing history",
            Self::Standby { .. } => "standby",
            Self::Move { .. } => "move a resource",
            Self::ForgetMove { .. } => "forget a move",
            Self::Drill(order) => order.name(),
        }
    }

    /// How long it may take.
    pub fn patience(&self) -> Duration {
        if let Self::Drill(order) = self {
            return order.patience();
        }
        Duration::from_secs(match self {
            // A stop waits for every pool of the node: as long as systemd waits (pacemaker.service has
            // `TimeoutStopSec=30min`).
            Self::Stop | Self::Withdraw => 1830,
            Self::Settle { seconds } => u64::from(*seconds) + 15,
            Self::FenceStatus { seconds, .. } => u64::from(*seconds) + 15,
            Self::View(question) => u64::from(question.limits.view()),
            // systemd has limits of its own (a minute for Pacemaker, 90 s for Corosync and for what they need),
            // and says better than we what did not start; enabling a service that also has an init
            // script has it read all its files several times.
            Self::Start | Self::Device { .. } => 300,
            _ => 45,
        })
    }
}

/// Does what is ordered, on this machine.
///
/// # Errors
/// See [`HostError`].
pub fn obey(order: &Order) -> Result<Answer, HostError> {
    match order {
        Order::Inventory => Ok(Answer::Inventory(Box::new(inventory::take()))),
        Order::Read { path } => files::read(path).map(Answer::File),
        Order::Write { path, file } => {
            files::write(path, file)?;
            told_of(path).map(|()| Answer::Done)
        }
        Order::Cib => Ok(Answer::Cib(pacemaker::cib())),
        Order::View(question) => Ok(Answer::View(Box::new(view::take(question)))),
        Order::PatchCib { was, new } => pacemaker::patch(was, new).map(Answer::Patched),
        Order::SeedCib { cib } => pacemaker::seed(cib).map(|()| Answer::Done),
        Order::Simulate { cib, events } => {
            Ok(Answer::Simulated(CrmSimulate.simulate(cib, events)?))
        }
        Order::Settle { seconds } => pacemaker::settle(*seconds).map(Answer::Settled),
        Order::Start => engine::start().map(|()| Answer::Done),
        Order::Stop => engine::stop().map(|()| Answer::Done),
        Order::Withdraw => engine::withdraw().map(|()| Answer::Done),
        Order::Remove { path } => {
            files::remove(path)?;
            told_of(path).map(|()| Answer::Done)
        }
        Order::InstallExports => exports_agent::install().map(|()| Answer::Done),
        Order::ReloadCorosync => reload::reload().map(|()| Answer::Done),
        Order::Device { wish } => engine::device(*wish).map(|()| Answer::Done),
        Order::DeviceVote => device::silent().map(Answer::Device),
        Order::FenceStatus {
            device,
            files,
            seconds,
        } => fence_status::ask(device, files, *seconds).map(Answer::Fence),
        Order::FenceHistory => pacemaker::fence_history().map(Answer::Text),
        Order::Standby { node, on } => pacemaker::standby(node, *on).map(|()| Answer::Done),
        Order::Move {
            resource,
            node,
            seconds,
        } => pacemaker::send_to(resource, node, *seconds).map(|()| Answer::Done),
        Order::ForgetMove { resource } => pacemaker::forget_move(resource).map(|()| Answer::Done),
        Order::Drill(order) => drill::obey(order).map(Answer::Drill),
    }
}

/// Whoever must know at once that a file has changed.
fn told_of(path: &str) -> Result<(), HostError> {
    match path {
        units::DROP_IN => engine::reload_units(),
        _ => Ok(()),
    }
}
