//! A shelf loses its power. The heads see its disks again when it has booted, and each pool must have what was
//! written meanwhile on them before it is whole.

use hawser_cluster::host::view::Storage;
use hawser_host::site::SiteFault;
use hawser_model::names::HostName;

use super::host::{mend_anywhere, unfit};
use super::{AroundHeads, Extent, Fault, HostFault};
use crate::error::DrillError;
use crate::stage::Stage;

/// See the module.
pub struct ShelfGone {
    shelf: Option<HostName>,
}

impl ShelfGone {
    /// The last shelf of the site: the first is what a pool is read from as a rule.
    pub fn of(stage: &Stage<'_>) -> Self {
        let shelf = stage.site.shelves().pop();
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
fn pools(stage: &Stage<'_>) -> impl Iterator<Item = HostFault> {
    let pools = stage.file.pools.iter();
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

    fn unfit(&self, stage: &Stage<'_>) -> Result<Option<String>, DrillError> {
        if self.shelf.is_none() {
            let why = "nothing is known here of shelves whose power could be cut";
            return Ok(Some(why.to_owned()));
        }
        for pool in pools(stage) {
            // One of them has it.
            let mut why = None;
            for head in &stage.heads {
                why = unfit(stage, head, &pool)?;
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

    fn make(&self, stage: &Stage<'_>) -> Result<(), DrillError> {
        self.broken().make(stage)
    }

    fn evidence(&self, stage: &Stage<'_>) -> Result<Option<String>, DrillError> {
        self.broken().evidence(stage)
    }

    fn heal(&self, stage: &Stage<'_>) -> Result<(), DrillError> {
        self.broken().heal(stage)?;
        let mut healed = Ok(());
        for pool in pools(stage) {
            healed = healed.and(mend_anywhere(stage, &pool));
        }
        healed
    }
}
