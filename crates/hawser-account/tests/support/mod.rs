//! Cases made by hand: a clean cluster, and one planted fault each; and what all saved cases are held to.
#![allow(dead_code)]

pub mod catalogue;
pub mod cluster;
pub mod drills;
pub mod fanout;
pub mod faults;
pub mod json;
pub mod ladder;
pub mod saved;
