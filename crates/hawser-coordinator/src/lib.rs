//! Runs a measurement over a cluster's hosts and records it as a case.
//!
//! The schedule, the traffic plan and the discovery of links are pure; [`check`] and the
//! measurements it makes are what asks hosts.
#![forbid(unsafe_code)]

pub mod address_check;
pub mod boots;
pub mod check;
pub mod compare;
pub mod copy;
pub mod discover;
pub mod fanout;
pub mod fencing;
mod frames;
pub mod ladder;
mod measure;
mod other_family;
pub mod schedule;
pub mod traffic_plan;
pub mod tune;
