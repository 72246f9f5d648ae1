//! What a node of a cluster can be asked or told: a type a question. None runs an arbitrary command or touches an
//! arbitrary file.

mod cib;
mod drill;
mod engine;
mod fencing;
mod files;
mod node;
mod resources;
mod view;

use std::time::Duration;

use hawser_host::Entry;

use crate::host::ViewQuestion;

pub use cib::{PatchCib, ReadCib, SeedCib, Settle, Simulate};
pub use drill::{LookAround, MakeFault, MendFault, ReadCorosyncMap, ReadLogs, ShowFault, StampLog};
pub use engine::{
    AskDeviceVote, ReloadCorosync, SetDevice, StartEngine, StopEngine, WithdrawEngine,
};
pub use fencing::{AskFence, Power, ReadFenceHistory, ReadFenceMetadata};
pub use files::{ReadFile, RemoveFile, WriteFile};
pub use node::{InstallExports, TakeInventory};
pub use resources::{ForgetFailures, ForgetMove, MoveResource, Standby};

/// How long most of them may take.
const USUAL: Duration = Duration::from_secs(45);

/// The machine that this runs on.
pub struct Machine;

/// All of them.
pub const QUESTIONS: &[Entry<Machine>] = &[
    Entry::of::<ViewQuestion>(),
    Entry::of::<TakeInventory>(),
    Entry::of::<InstallExports>(),
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
