//! Disks of shelf machines that are ill, for every head alike.

use hawser_host::site::{DiskTrouble, SiteError};
use hawser_model::names::HostName;

use super::LabSite;
use crate::cluster::ShelfSpec;
use crate::cluster::disk::Disk;
use crate::machines::disk_trouble::{is_in_force, swapped, told};

impl LabSite {
    /// The shelf machine that offers the disk which heads call so, and the disk's name there.
    pub(super) fn unit(&self, device: &str) -> Result<(HostName, String), SiteError> {
        let lab = self.lab()?;
        let mut shelves = lab.spec().cluster.iter().flat_map(|it| &it.shelves);
        let found = Disk::at(device).and_then(|disk| {
            let is_it = |shelf: &&ShelfSpec| shelf.name == disk.name && shelf.unit == disk.unit;
            let unit = shelves.find(is_it)?.unit.as_ref()?;
            Some((unit.machine.clone(), disk.name))
        });
        found.ok_or_else(|| {
            let why = format!("{device} is no disk of a shelf machine of this lab");
            SiteError::for_good(why)
        })
    }

    /// Has the shelf trouble whoever uses the disk, or nobody any more. The shelf itself tells that it does.
    pub(super) fn trouble(
        &self,
        device: &str,
        trouble: Option<DiskTrouble>,
    ) -> Result<(), SiteError> {
        let (lab, (shelf, name)) = (self.lab()?, self.unit(device)?);
        let words = swapped(&name, trouble);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        lab.output_of(shelf.as_str(), &words)?;
        match self.is_troubled(device, trouble)? {
            true => Ok(()),
            false => Err(SiteError::for_good(format!(
                "{shelf} was told another table of {name}, and does not have it"
            ))),
        }
    }

    /// What shows that it does.
    pub(super) fn shows_trouble(
        &self,
        device: &str,
        trouble: DiskTrouble,
    ) -> Result<Option<String>, SiteError> {
        let (shelf, name) = self.unit(device)?;
        let there = self.is_troubled(device, Some(trouble))?;
        Ok(there.then(|| {
            let what = match trouble {
                DiskTrouble::Slow(ms) => {
                    format!("holds every access to {name} for {ms} ms (dm-delay)")
                }
                DiskTrouble::Errors => {
                    format!("answers every access to {name} with an error (dm-flakey)")
                }
            };
            format!("the kernel of {shelf} {what}")
        }))
    }

    fn is_troubled(&self, device: &str, trouble: Option<DiskTrouble>) -> Result<bool, SiteError> {
        let (lab, (shelf, name)) = (self.lab()?, self.unit(device)?);
        let table = lab.output_of(shelf.as_str(), &told(&name))?;
        Ok(is_in_force(&table, trouble))
    }
}
