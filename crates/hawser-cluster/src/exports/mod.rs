//! What a pool offers its clients, kept on the pool itself in `exports.toml` and rebuilt on whatever
//! head imports it.
//!
//! The way from the file to the target has three steps, each a function of values:
//! [`resolve`](resolve()) turns file, volumes and remembered numbers into what is [`Desired`]; a back
//! end compares that with what the target has and lists operations; whoever can reach the target does
//! them. An empty file offers every volume under one default target.
//!
//! [`service`] does it on this host, in one way for every back end; [`ocf`] for Pacemaker, [`asked`] for a person.

pub mod asked;
mod broken;
mod desired;
mod file;
pub mod host;
pub mod lio;
pub mod nfs;
pub mod ocf;
mod resolve;
mod rules;
pub mod service;
mod state;
pub mod tgt;

pub use broken::BrokenExports;
pub use desired::{
    Access, Chap, Context, Desired, DesiredDirectory, DesiredTarget, DesiredUnit, Exposure, Portal,
    Volume, naa,
};
pub use file::{
    ExportsFile, HostGroup, NfsEntry, PortalGroup, TargetEntry, TargetGroup, TargetType, UnitEntry,
    View, parse, schema,
};
pub use resolve::{ExportsError, LAST_LUN, Resolved, resolve};
pub use state::{Remembered, RememberedDirectory, State, StateError};
