//! A disk of a shelf is ill, for every head alike. Healed, its pool must have what was written meanwhile on it before it is
//! whole.

use hawser_cluster::host::view::Storage;
use hawser_host::site::{DiskTrouble, SiteFault};
use hawser_model::names::HostName;

use super::host::{mend_anywhere, unfit};
use super::{AroundHeads, Extent, Fault, HostFault};
use crate::context::DrillContext;
use crate::error::DrillError;

/// See the module.
pub struct ShelfDisk {
    name: &'static str,
    pool: String,
    storage: Storage,
    /// Its shelf, and what heads call it; none: no shelf is known that has a disk of the pool.
    disk: Option<(HostName, String)>,
    trouble: DiskTrouble,
}

impl ShelfDisk {
    /// The last disk of the pool that lies on a shelf: the first is what a pool is read from as a rule.
    pub fn of(name: &'static str, context: &DrillContext<'_>, trouble: DiskTrouble) -> Self {
        let mut pools = context.file.pools.iter();
        let pool = pools.find(|pool| *pool.name == context.pool);
        let mut devices = pool.map(|pool| pool.devices()).unwrap_or_default();
        devices.reverse();
        let on_shelf = |device: &str| Some((context.site.shelf_of(device)?, device.to_owned()));
        Self {
            name,
            pool: context.pool.clone(),
            storage: pool.map_or_else(|| Storage::Device(String::new()), Storage::of),
            disk: devices.into_iter().find_map(on_shelf),
            trouble,
        }
    }

    fn broken(&self) -> AroundHeads {
        let broken = self.disk.iter().map(|(shelf, device)| SiteFault::Disk {
            shelf: shelf.clone(),
            device: device.clone(),
            trouble: self.trouble,
        });
        AroundHeads {
            name: self.name,
            broken: broken.collect(),
        }
    }

    /// What a head does about the pool. A slow disk loses nothing.
    fn behind(&self, device: &str, no_copy: bool) -> HostFault {
        HostFault::Disks {
            storage: self.storage.clone(),
            extent: Extent::Behind {
                device: device.to_owned(),
                needs_copy: self.trouble == DiskTrouble::Errors && !no_copy,
            },
        }
    }
}

impl Fault for ShelfDisk {
    fn name(&self) -> &'static str {
        self.name
    }

    fn hosts(&self) -> Vec<HostName> {
        self.broken().hosts()
    }

    fn object(&self) -> Option<String> {
        self.broken().object()
    }

    fn unfit(&self, context: &DrillContext<'_>) -> Result<Option<String>, DrillError> {
        match &self.disk {
            Some((_, device)) => unfit(
                context,
                &context.active,
                &self.behind(device, context.no_copy),
            ),
            None => Ok(Some(format!(
                "no shelf is known here that has a disk of {} and could make it ill",
                self.pool
            ))),
        }
    }

    fn make(&self, context: &DrillContext<'_>) -> Result<(), DrillError> {
        self.broken().make(context)
    }

    fn evidence(&self, context: &DrillContext<'_>) -> Result<Option<String>, DrillError> {
        self.broken().evidence(context)
    }

    fn heal(&self, context: &DrillContext<'_>) -> Result<(), DrillError> {
        self.broken().heal(context)?;
        match &self.disk {
            Some((_, device)) => mend_anywhere(context, &self.behind(device, context.no_copy)),
            None => Ok(()),
        }
    }
}
