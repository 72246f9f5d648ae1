//! Heartbeat's own files.

pub(crate) mod authkeys;
pub mod directives;
pub(crate) mod ha_cf;
pub(crate) mod haresources;
mod time;
