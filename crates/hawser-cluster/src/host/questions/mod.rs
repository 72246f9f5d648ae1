//! What a node of a cluster can be asked or told: a type a question. None runs an arbitrary command or touches an
//! arbitrary file.

mod cib;
mod drill;
mod engine;
mod exports;
mod fault;
mod fencing;
mod files;
mod logs;
mod moves;
mod node;
mod power;
mod quorum_device;
mod resources;
mod scheduler;
mod view;

use std::time::Duration;

use hawser_host::Entry;

use crate::host::ViewQuestion;

pub use cib::{PatchCib, ReadCib, SeedCib};
pub use drill::{LookAround, ReadCorosyncMap};
pub use engine::{ReloadCorosync, StartEngine, StopEngine, WithdrawEngine};
pub use exports::{ReportExports, StartExports, StopExports};
pub use fault::{MakeFault, MendFault, ShowFault};
pub use fencing::{AskFence, ReadFenceHistory};
pub use files::{ReadFile, RemoveFile, WriteFile};
pub use logs::{ReadLogs, StampLog};
pub use moves::{ForgetMove, MoveResource};
pub use node::{InstallExports, TakeInventory};
pub use power::{Power, ReadFenceMetadata};
pub use quorum_device::{AskDeviceVote, SetDevice};
pub use resources::{ForgetFailures, Standby};
pub use scheduler::{Settle, Simulate};

/// How long most of them may take.
const USUAL: Duration = Duration::from_secs(45);

/// systemd has limits of its own (a minute for Pacemaker, 90 s for Corosync and for what they need),
/// and says better than we what did not start; enabling a service that also has an init
/// script has it read all its files several times.
const SERVICES: Duration = Duration::from_secs(300);

/// The machine that this runs on.
pub struct Machine;

/// All of them.
pub const QUESTIONS: &[Entry<Machine>] = &[
    Entry::of::<ViewQuestion>(),
    Entry::of::<TakeInventory>(),
    Entry::of::<InstallExports>(),
    Entry::of::<StartExports>(),
    Entry::of::<StopExports>(),
    Entry::of::<ReportExports>(),
    Entry::of::<ReadFile>(),
    Entry::of::<WriteFile>(),
    Entry::of::<RemoveFile>(),
    Entry::of::<ReadCib>(),
    Entry::of::<PatchCib>(),
    Entry::of::<SeedCib>(),
    Entry::of::<Simulate>(),
    Entry::of::<Settle>(),
    Entry::of::<StartEngine>(),
    Entry::of::<StopEngine>(),
    Entry::of::<WithdrawEngine>(),
    Entry::of::<ReloadCorosync>(),
    Entry::of::<SetDevice>(),
    Entry::of::<AskDeviceVote>(),
    Entry::of::<Standby>(),
    Entry::of::<MoveResource>(),
    Entry::of::<ForgetMove>(),
    Entry::of::<ForgetFailures>(),
    Entry::of::<AskFence>(),
    Entry::of::<ReadFenceHistory>(),
    Entry::of::<ReadFenceMetadata>(),
    Entry::of::<Power>(),
    Entry::of::<LookAround>(),
    Entry::of::<ReadCorosyncMap>(),
    Entry::of::<ReadLogs>(),
    Entry::of::<StampLog>(),
    Entry::of::<MakeFault>(),
    Entry::of::<ShowFault>(),
    Entry::of::<MendFault>(),
];
