//! What a head breaks on itself: a program that dies or is stopped, a pool that cannot be unmounted, a full folder.

use hawser_cluster::host::questions::{FitsFault, MakeFault, MendFault, ShowFault};
use hawser_cluster::host::view::Storage;
use hawser_host::site::SiteError;
use hawser_model::names::HostName;

use super::Fault;
use crate::context::{DrillContext, REACHED};
use crate::error::DrillError;
use crate::heads::MENDS_ITSELF;

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
    pub fn disks(name: &'static str, context: &DrillContext<'_>, extent: Extent) -> Self {
        let mut pools = context.file.pools.iter();
        let pool = pools.find(|pool| *pool.name == context.pool);
        let none = || Storage::Device(String::new());
        Self {
            name,
            head: context.active.clone(),
            object: format!("a disk of {}", context.pool),
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
    context: &DrillContext<'_>,
    head: &HostName,
    fault: &HostFault,
) -> Result<Option<String>, DrillError> {
    // Of all others it is known.
    match fault {
        HostFault::NoMemory if context.shares_clock(head) => Ok(Some(format!(
            "{head} has no memory of its own, but this machine's"
        ))),
        HostFault::OtherPackages { .. } if context.shares_clock(head) => Ok(Some(format!(
            "{head} has no packages of its own, but this machine's"
        ))),
        HostFault::Disks { .. }
        | HostFault::Program { .. }
        | HostFault::NoNfsThreads { .. }
        | HostFault::OtherPackages { .. } => {
            Ok(context.hosts.ask(head, &FitsFault(fault.clone()))?)
        }
        _ => Ok(None),
    }
}

/// Has a head break something of its own.
pub(super) fn make(
    context: &DrillContext<'_>,
    head: &HostName,
    fault: &HostFault,
) -> Result<(), DrillError> {
    let (fault, seconds) = (fault.clone(), MENDS_ITSELF);
    Ok(context.hosts.ask(head, &MakeFault { fault, seconds })?)
}

/// Has it mended. A head that has lost its power needs no mending; one that nobody reaches mends it by itself.
pub(super) fn mend(
    context: &DrillContext<'_>,
    head: &HostName,
    fault: &HostFault,
) -> Result<(), DrillError> {
    let mend = MendFault(fault.clone());
    context.until_done(REACHED, || match context.hosts.ask(head, &mend) {
        Ok(()) => Ok(()),
        Err(_) if context.site.has_power(head).is_ok_and(|on| !on) => Ok(()),
        Err(e) => Err(SiteError::for_now(e)),
    })
}

/// Has every head mend it: whoever has what was hit by now. What one cannot mend keeps none of the others from it.
pub(super) fn mend_anywhere(
    context: &DrillContext<'_>,
    fault: &HostFault,
) -> Result<(), DrillError> {
    let mut healed = Ok(());
    for head in &context.heads {
        healed = healed.and(mend(context, head, fault));
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

    fn unfit(&self, context: &DrillContext<'_>) -> Result<Option<String>, DrillError> {
        unfit(context, &self.head, &self.fault)
    }

    fn make(&self, context: &DrillContext<'_>) -> Result<(), DrillError> {
        make(context, &self.head, &self.fault)
    }

    fn evidence(&self, context: &DrillContext<'_>) -> Result<Option<String>, DrillError> {
        match context
            .hosts
            .ask(&self.head, &ShowFault(self.fault.clone()))
        {
            Ok(shown) => Ok(shown),
            Err(_) if !context.site.has_power(&self.head)? => {
                Ok(Some(format!("{} lost its power by it", self.head)))
            }
            Err(e) => Err(e.into()),
        }
    }

    fn heal(&self, context: &DrillContext<'_>) -> Result<(), DrillError> {
        mend(context, &self.head, &self.fault)
    }
}
