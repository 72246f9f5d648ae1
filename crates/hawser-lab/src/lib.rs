//! A cluster on one machine: nodes as namespaces, switches as bridges, planted faults.
//!
//! A node is a process tree of its own with its own network, mounts, host name, IPC and
//! processes, an overlay on `/etc` and `/var`, an empty `/run`, `/tmp` and `/dev/shm`. The
//! switches of a lab are bridges in one namespace more. Nothing of a lab exists outside these
//! namespaces but its folder, so a lab is gone when its processes and its folder are.
//!
//! [`impair`] plants faults; [`up`] and [`down`] make and remove one, [`Lab::open`] is for those who work in it.
#![deny(unsafe_code)]

mod actions;
pub mod cgroup;
pub mod cluster;
mod down;
mod error;
mod file;
mod guard;
pub mod impair;
pub mod init;
mod interrupt;
mod lab;
mod lock;
pub mod machines;
mod name;
#[cfg(test)]
mod own_mounts;
mod paths;
mod plan;
mod power;
mod process;
mod site;
mod spec;
mod start;
mod state;
mod status;
mod tool;
mod up;
mod wiring;

pub use actions::{CutPoint, cut, heal, power_loss, power_on};
pub use cluster::bmc::PowerChange;
pub use cluster::{BmcSpec, ClusterSpec, ShelfSpec, UnitSpec};
pub use down::{Down, down};
pub use error::LabError;
pub use file::{BrokenLab, LabFileErrors};
pub use guard::LabGuard;
pub use interrupt::Interrupt;
pub use lab::Lab;
pub use machines::{Card, Kind, Release};
pub use name::LabName;
pub use paths::{DIR_VARIABLE, labs_folder, names};
pub use power::PowerLoss;
pub use site::LabSite;
pub use spec::{LabSpec, LinkSpec, NodeSpec, PortSpec, Role, SwitchSpec};
pub use status::{
    FilterImpairment, Health, LabStatus, LabSummary, MachineStatus, PortImpairment, PortStatus,
    Power, SwitchStatus, list, status,
};
pub use up::{Up, UpOutcome, UpRequest, up};
