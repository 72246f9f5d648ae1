//! What a head breaks on itself: a program that dies or is stopped, a pool that cannot be unmounted, a full folder.

use hawser_cluster::host::questions::{FitsFault, MakeFault, MendFault, ShowFault};
use hawser_cluster::host::view::Storage;
use hawser_host::site::SiteError;
use hawser_model::names::HostName;

use super::Fault;
use crate::error::DrillError;
use crate::heads::MENDS_ITSELF;
use crate::stage::{REACHED, Stage};

pub use hawser_cluster::host::drill::{Extent, HostFault, How, Program};

/// See the module.
pub struct OnHead {
    /// Its name in records.
    pub name: &'static str,
    /// The head.
    pub head: HostName,
    /// What else it hits.
    pub object: String,
    /// What is broken.
    pub fault: HostFault,
}

impl OnHead {
    /// Disks of the pool, or paths to them, are gone at the head that has it.
    pub fn disks(name: &'static str, stage: &Stage<'_>, extent: Extent) -> Self {
        let mut pools = stage.file.pools.iter();
        let pool = pools.find(|pool| *pool.name == stage.pool);
        let none = || Storage::Device(String::new());
        Self {
            name,
            head: stage.active.clone(),
            object: format!("a disk of {}", stage.pool),
            fault: HostFault::Disks {
                storage: pool.map_or_else(none, Storage::of),
                extent,
            },
        }
    }

    /// A program of a head dies, or stops where it is.
    pub fn program(head: &HostName, program: Program, how: How) -> Self {
        Self {
            name: match how {
                How::Killed => "kill",
                How::Stopped => "stop",
            },
            head: head.clone(),
            object: program.name().to_owned(),
            fault: HostFault::Program { program, how },
        }
    }
}

/// Asks a head why it could not break that.
pub(super) fn unfit(
    stage: &Stage<'_>,
    head: &HostName,
    fault: &HostFault,
) -> Result<Option<String>, DrillError> {
    // Of all others it is known.
    match fault {
        HostFault::NoMemory if stage.shares_clock(head) => Ok(Some(format!(
            "{head} has no memory of its own, but this machine's"
        ))),
        HostFault::OtherPackages { .. } if stage.shares_clock(head) => Ok(Some(format!(
            "{head} has no packages of its own, but this machine's"
        ))),
        HostFault::Disks { .. }
        | HostFault::NoNfsThreads { .. }
        | HostFault::OtherPackages { .. } => {
            Ok(stage.hosts.ask(head, &FitsFault(fault.clone()))?)
        }
        _ => Ok(None),
    }
}

/// Has a head break something of its own.
pub(super) fn make(
    stage: &Stage<'_>,
    head: &HostName,
    fault: &HostFault,
) -> Result<(), DrillError> {
    let (fault, seconds) = (fault.clone(), MENDS_ITSELF);
    Ok(stage.hosts.ask(head, &MakeFault { fault, seconds })?)
}

/// Has it mended. A head that has lost its power needs no mending; one that nobody reaches mends it by itself.
pub(super) fn mend(
    stage: &Stage<'_>,
    head: &HostName,
    fault: &HostFault,
) -> Result<(), DrillError> {
    let mend = MendFault(fault.clone());
    stage.until_done(REACHED, || match stage.hosts.ask(head, &mend) {
        Ok(()) => Ok(()),
        Err(_) if stage.site.has_power(head).is_ok_and(|on| !on) => Ok(()),
        Err(e) => Err(SiteError::for_now(e)),
    })
}

/// Has every head mend it: whoever has what was hit by now. What one cannot mend keeps none of the others from it.
pub(super) fn mend_anywhere(stage: &Stage<'_>, fault: &HostFault) -> Result<(), DrillError> {
    let mut healed = Ok(());
    for head in &stage.heads {
        healed = healed.and(mend(stage, head, fault));
    }
    healed
}

impl Fault for OnHead {
    fn name(&self) -> &'static str {
        self.name
    }

    fn hosts(&self) -> Vec<HostName> {
        vec![self.head.clone()]
    }

    fn object(&self) -> Option<String> {
        Some(self.object.clone())
    }

    fn unfit(&self, stage: &Stage<'_>) -> Result<Option<String>, DrillError> {
        unfit(stage, &self.head, &self.fault)
    }

    fn make(&self, stage: &Stage<'_>) -> Result<(), DrillError> {
        make(stage, &self.head, &self.fault)
    }

    fn evidence(&self, stage: &Stage<'_>) -> Result<Option<String>, DrillError> {
        match stage.hosts.ask(&self.head, &ShowFault(self.fault.clone())) {
            Ok(shown) => Ok(shown),
            Err(_) if !stage.site.has_power(&self.head)? => {
                Ok(Some(format!("{} lost its power by it", self.head)))
            }
            Err(e) => Err(e.into()),
        }
    }

    fn heal(&self, stage: &Stage<'_>) -> Result<(), DrillError> {
        mend(stage, &self.head, &self.fault)
    }
}
