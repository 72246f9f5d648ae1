//! The per-node process, its protocol and the transports that start it.
//!
//! A coordinator starts one agent a node over the operator's own `ssh` (or the lab's exec) and
//! speaks length-framed JSON with it on stdin and stdout: one request, one answer. There is no
//! control port. When stdin closes the agent ends, and with it every socket, thread and kernel
//! program it had opened; a knob it has turned and was not told to keep is turned back by a
//! guard process that outlives it.
//!
//! [`Agent`] is the coordinator's side, [`serve_stdio`] the node's.
#![forbid(unsafe_code)]

pub mod client;
pub mod error;
pub mod frame;
pub mod marker;
pub mod program;
pub mod protocol;
pub mod server;
pub mod transport;

pub use client::{Agent, Stopper};
pub use error::{AgentError, Failure};
pub use server::{Place, guard_stdio, serve_stdio};
