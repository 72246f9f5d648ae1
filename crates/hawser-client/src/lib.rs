//! What the verifying client writes, what it writes down, and what may be concluded from that.
//!
//! Every write carries its address, its number and a checksum in each of its sectors ([`stamp`]);
//! what was sent and what was acknowledged goes to a history ([`history`]): a file, or the answers to a coordinator's
//! [questions]. [`check`] and [`series`] are functions of the history alone.
#![forbid(unsafe_code)]

pub mod check;
mod client;
pub mod command_line;
mod creator;
pub mod history;
pub mod job;
pub mod load;
pub mod questions;
pub mod series;
pub mod stamp;
pub mod target;
pub mod volume;
pub mod word;
pub mod writer;

pub use client::Client;

/// What the client calls itself to iSCSI targets unless it is told another name: it may stand in a list of who may
/// log in, and stays.
pub const INITIATOR: &str = "iqn.2026-01.io.hawser:client";
