//! Runs a measurement over a cluster's agents and records it as a case.
//!
//! The schedule, the traffic plan and the discovery of links are pure; [`check`] is the one
//! part that talks to agents.
#![forbid(unsafe_code)]

pub mod discover;
pub mod schedule;
pub mod traffic_plan;
