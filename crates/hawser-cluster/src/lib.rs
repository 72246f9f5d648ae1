//! From `hawser.toml` to Corosync and Pacemaker: generate, plan, apply, status.
//!
//! Everything here is a function from facts to values. What touches a node is behind the one
//! narrow trait and the effects that a plan lists, and, for the exports of a pool, in
//! [`exports::host`], [`exports::service`] and the tgtd of [`exports::tgt`].
#![forbid(unsafe_code)]

pub mod addresses;
pub mod cib;
pub mod clients;
pub mod corosync;
pub mod exports;
pub mod fence_history;
mod hex;
pub mod hooks;
pub mod host;
pub mod line;
pub mod live;
pub mod numbering;
pub mod plan;
pub mod simulate;
pub mod timing;
pub mod units;
pub mod xml;
