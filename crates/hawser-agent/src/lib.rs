//! Who answers on a node.
//!
//! A coordinator starts one agent a node over the operator's own `ssh` (or the lab's exec) and asks it
//! [questions]. When stdin closes the agent ends, and with it every socket, thread and kernel
//! program it had opened; a knob it has turned and was not told to keep is turned back by a
//! guard process that outlives it.
#![forbid(unsafe_code)]

pub mod node;
mod pulse;
pub mod questions;
mod readings;
mod serve;
mod stale;

pub use node::AgentContext;
pub use serve::{guard_stdio, own, serve_stdio};
