//! What all saved cases are held to.

pub mod json;
pub mod logs;
pub mod saved;
