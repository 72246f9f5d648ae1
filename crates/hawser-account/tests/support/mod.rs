//! What all saved cases are held to.
#![allow(dead_code)]

pub mod json;
pub mod logs;
pub mod saved;
