//! The saved cases as the tests read them.
//!
//! A case is a folder: a run that was recorded, whole (`case.json`), or what was planted in a run without faults
//! (`patch.json`). It lies in the folder of the cause that it shows, or that it is a near miss of; what shows none lies in
//! `cases/`. Tests only: no binary depends on this crate.

mod patch;
mod read;

pub use patch::Patch;
pub use read::{Must, Planted, folder, made, names, read, typed, value};
