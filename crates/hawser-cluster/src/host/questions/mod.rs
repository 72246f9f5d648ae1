//! What a node of a cluster can be asked or told: a type a question. None runs an arbitrary command or touches an
//! arbitrary file.

mod cib;
mod compare_running;
mod drill;
mod engine;
mod engine_again;
mod exports;
mod fault;
mod fencing;
mod files;
mod keep_logs;
mod kept_logs;
mod kept_readings;
mod keys;
mod logs;
mod make_fault;
mod moves;
mod node;
mod offers;
mod pools;
mod power;
mod programs;
mod quorum_device;
mod resources;
mod scheduler;
mod view;
mod watch_unit;

use std::time::Duration;

use crate::host::ViewQuestion;

pub use cib::{PatchCib, ReadCib, SeedCib, SetAsideCib};
pub use compare_running::{CompareRunning, RunningSetting};
pub use drill::{LookAround, ReadCorosyncMap};
pub use engine::{StartEngine, StopEngine, WithdrawEngine};
pub use engine_again::{ReloadCorosync, RestartEngine};
pub use exports::{ReportExports, StartExports, StopExports};
pub use fault::{FitsFault, MendFault, ShowFault};
pub use fencing::{AskFence, ReadFenceHistory};
pub use files::{ReadFile, RemoveFile, WriteFile};
pub use keep_logs::KeepLogs;
pub use kept_logs::{ListKeptLogs, ReadKeptLog, ReadKeptLogs};
pub use kept_readings::ReadKeptReadings;
pub use keys::CompareKeys;
pub use logs::{ReadLogEnds, ReadLogs, StampLog};
pub use make_fault::MakeFault;
pub use moves::{ForgetMove, MoveResource};
pub use node::{InstallExports, ListInterfaces, TakeInventory};
pub use offers::{ListOffers, ReadOffers};
pub use pools::LookAtPools;
pub use power::{Power, ReadFenceMetadata};
pub use programs::CheckPrograms;
pub use quorum_device::{AskDeviceVote, SetDevice};
pub use resources::{ForgetFailures, Standby};
pub use scheduler::{Settle, Simulate};
pub use watch_unit::{InstallWatch, WithdrawWatch};

/// How long most of them may take.
const USUAL: Duration = Duration::from_secs(45);

/// systemd has limits of its own (a minute for Pacemaker, 90 s for Corosync and for what they need),
/// and says better than we what did not start; enabling a service that also has an init
/// script has it read all its files several times.
const SERVICES: Duration = Duration::from_secs(300);

/// The machine that this runs on.
pub struct Machine;

hawser_host::questions! {
    Machine:
    ViewQuestion,
    LookAtPools,
    TakeInventory,
    CheckPrograms,
    CompareKeys,
    ListInterfaces,
    InstallExports,
    StartExports,
    StopExports,
    ReportExports,
    ReadFile,
    WriteFile,
    RemoveFile,
    ListOffers,
    ReadOffers,
    ReadCib,
    PatchCib,
    SeedCib,
    SetAsideCib,
    Simulate,
    Settle,
    StartEngine,
    StopEngine,
    WithdrawEngine,
    RestartEngine,
    ReloadCorosync,
    CompareRunning,
    SetDevice,
    AskDeviceVote,
    InstallWatch,
    WithdrawWatch,
    Standby,
    MoveResource,
    ForgetMove,
    ForgetFailures,
    AskFence,
    ReadFenceHistory,
    ReadFenceMetadata,
    Power,
    LookAround,
    ReadCorosyncMap,
    ReadLogs,
    ReadLogEnds,
    KeepLogs,
    ReadKeptLogs,
    ListKeptLogs,
    ReadKeptLog,
    ReadKeptReadings,
    StampLog,
    FitsFault,
    MakeFault,
    ShowFault,
    MendFault,
}
