//! Drills: a fault made on purpose, in a lab or on real heads, while the verifying client writes, watched from outside
//! every node, healed, and written down.
//!
//! What it comes to is not judged here: a drill ends with a recorded run, a value.
#![forbid(unsafe_code)]

mod asked;
pub mod by_agent;
pub mod client;
pub mod client_config;
mod clocks;
pub mod context;
mod error;
mod facts;
pub mod fault;
mod fencing;
mod follow;
pub mod heads;
pub mod in_progress;
pub mod left;
mod logs;
mod network;
mod own_machine;
mod queries;
mod record;
pub mod run;
pub mod scenario;
pub mod watch;
pub mod watch_record;
pub mod whole;

pub use error::DrillError;
