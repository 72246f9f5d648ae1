//! A shelf loses its power. The heads see its disks again when it has booted, and each pool must have what was
//! written meanwhile on them before it is whole.

use hawser_cluster::host::view::Storage;
use hawser_host::site::SiteFault;
use hawser_model::names::HostName;

use super::host::{mend_anywhere, unfit};
use super::{AroundHeads, Extent, Fault, HostFault};
use crate::context::DrillContext;
use crate::error::DrillError;

/// See the module.
pub struct ShelfGone {
    shelf: Option<HostName>,
}

impl ShelfGone {
    /// The last shelf of the site: the first is what a pool is read from as a rule.
    pub fn of(context: &DrillContext<'_>) -> Self {
        let shelf = context.site.shelves().pop();
        Self { shelf }
    }

    fn broken(&self) -> AroundHeads {
        let shelf = self.shelf.iter().cloned();
        let broken = shelf.map(|host| SiteFault::Shelf { host }).collect();
        AroundHeads {
            name: self.name(),
            broken,
        }
    }
}

/// What a head does about each pool, all of which have lost disks.
fn pools(context: &DrillContext<'_>) -> impl Iterator<Item = HostFault> {
    let pools = context.file.pools.iter();
    pools.map(|pool| HostFault::Disks {
        storage: Storage::of(pool),
        extent: Extent::Elsewhere,
    })
}

impl Fault for ShelfGone {
    fn name(&self) -> &'static str {
        "shelf-gone"
    }

    fn hosts(&self) -> Vec<HostName> {
        self.shelf.iter().cloned().collect()
    }

    fn unfit(&self, context: &DrillContext<'_>) -> Result<Option<String>, DrillError> {
        if self.shelf.is_none() {
            let why = "nothing is known here of shelves whose power could be cut";
            return Ok(Some(why.to_owned()));
        }
        for pool in pools(context) {
            // One of them has it.
            let mut why = None;
            for head in &context.heads {
                why = unfit(context, head, &pool)?;
                if why.is_none() {
                    break;
                }
            }
            if why.is_some() {
                return Ok(why);
            }
        }
        Ok(None)
    }

    fn make(&self, context: &DrillContext<'_>) -> Result<(), DrillError> {
        self.broken().make(context)
    }

    fn evidence(&self, context: &DrillContext<'_>) -> Result<Option<String>, DrillError> {
        self.broken().evidence(context)
    }

    fn heal(&self, context: &DrillContext<'_>) -> Result<(), DrillError> {
        self.broken().heal(context)?;
        let mut healed = Ok(());
        for pool in pools(context) {
            healed = healed.and(mend_anywhere(context, &pool));
        }
        healed
    }
}
