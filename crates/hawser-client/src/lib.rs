//! What the verifying client writes, what it writes down, and what may be concluded from that.
//!
//! Every write carries its address, its number and a checksum in each of its sectors ([`stamp`]);
//! what was sent and what was acknowledged goes to a history file ([`history`]); [`check`] and
//! [`series`] are functions of the history alone.
#![forbid(unsafe_code)]

pub mod check;
pub mod history;
pub mod series;
pub mod stamp;
pub mod volume;
pub mod writer;
