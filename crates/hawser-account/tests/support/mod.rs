//! Cases made by hand: a clean cluster, and one planted fault each.
#![allow(dead_code)]

pub mod catalogue;
pub mod cluster;
pub mod fanout;
pub mod faults;
pub mod json;
pub mod ladder;
