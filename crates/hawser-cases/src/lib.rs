//! The saved cases as the tests read them.
//!
//! A folder of `cases/` holds a run that was recorded, whole (`case.json`), or what was planted in
//! a run without faults (`patch.json`). Tests only: no binary depends on this crate.

mod patch;
mod read;

pub use patch::Patch;
pub use read::{Must, Planted, folder, made, names, read, typed, value};
