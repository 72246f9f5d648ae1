//! A lab for the length of a test.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::down::down;
use crate::error::LabError;
use crate::lab::Lab;
use crate::name::LabName;
use crate::paths::Root;
use crate::spec::LabSpec;
use crate::up::{UpRequest, up};

/// A lab of its own name that is taken down when this is dropped, also by a panic.
///
/// The name is `PREFIX-PID-N`; what a killed process of the same prefix left behind is taken
/// down by the next guard.
#[derive(Debug)]
pub struct LabGuard {
    name: LabName,
}

impl LabGuard {
    /// Brings a lab up whose nodes run `binary`, a `hawser`.
    ///
    /// # Errors
    /// As [`up`]; a prefix that cannot begin a lab's name.
    pub fn up(prefix: &str, spec: &LabSpec, binary: &Path) -> Result<Self, LabError> {
        let guard = Self::named(prefix)?;
        up(&UpRequest {
            name: &guard.name,
            spec: Some(spec),
            binary,
            told: &|_| {},
            interrupted: &|| false,
        })?;
        Ok(guard)
    }

    /// A guard for a lab that its holder brings up (or tries to).
    ///
    /// # Errors
    /// A prefix that cannot begin a lab's name.
    pub fn named(prefix: &str) -> Result<Self, LabError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = LabName::new(&format!("{prefix}-{}-{number}", std::process::id()))?;
        remove_orphans(prefix);
        Ok(Self { name })
    }

    /// The lab's name.
    pub fn name(&self) -> &LabName {
        &self.name
    }

    /// The lab.
    ///
    /// # Errors
    /// As [`Lab::open`].
    pub fn lab(&self) -> Result<Lab, LabError> {
        Lab::open(self.name.as_str())
    }
}

impl Drop for LabGuard {
    fn drop(&mut self) {
        if let Err(e) = down(&self.name) {
            eprintln!("lab {} could not be taken down: {e}", self.name);
        }
    }
}

/// Takes down labs of guards whose process is gone.
fn remove_orphans(prefix: &str) {
    for name in Root::from_environment().labs().unwrap_or_default() {
        let owner = name
            .as_str()
            .strip_prefix(prefix)
            .and_then(|rest| rest.strip_prefix('-')?.split_once('-'))
            .and_then(|(pid, _)| pid.parse::<u32>().ok());
        if owner.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _reported_by_the_next = down(&name);
        }
    }
}
