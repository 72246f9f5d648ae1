//! From the file, the volumes that are there and what is remembered, to what the target is to have.
//!
//! All of it or nothing: a start that offers half the units is worse than one that fails, because
//! clients take missing disks for broken ones.

mod error;
mod identity;
mod limits;
mod numbers;
mod targets;
mod views;

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::cluster_file::Backend;
use hawser_model::toml_file::nearest;

pub use error::ExportsError;
pub use numbers::LAST_LUN;

use super::desired::{
    Context, Desired, DesiredTarget, DesiredUnit, Exposure, Volume, outlives_head,
};
use super::file::{ExportsFile, UnitEntry};
use super::state::State;
use views::Wanted;

/// What comes out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// What the target is to have.
    pub desired: Desired,
    /// What is to be remembered, written to the pool before the target is changed.
    pub state: State,
}

/// Resolves.
pub fn resolve(
    file: &ExportsFile,
    volumes: &[Volume],
    state: &State,
    context: &Context,
) -> Result<Resolved, Vec<ExportsError>> {
    let mut work = Work {
        file,
        context,
        volumes,
        state: state.clone(),
        errors: BTreeSet::new(),
    };
    if file.is_nfs_only() {
        return Ok(Resolved {
            desired: Desired::default(),
            state: work.state,
        });
    }
    let units = work.units();
    let serials = work.serials(&units);
    let targets = work.targets();
    let desired = work.expose(&units, &serials, targets);
    work.check(&desired);
    match work.errors.is_empty() {
        true => Ok(Resolved {
            desired,
            state: work.state,
        }),
        false => Err(work.errors.into_iter().collect()),
    }
}

/// A volume that is offered, and what the file says of it.
type Offered<'a> = Vec<(&'a Volume, Option<&'a UnitEntry>)>;

/// Targets by their names in the file, each with the name clients see.
type Targets = BTreeMap<String, (String, DesiredTarget)>;

struct Work<'a> {
    file: &'a ExportsFile,
    context: &'a Context,
    volumes: &'a [Volume],
    state: State,
    errors: BTreeSet<ExportsError>,
}

impl<'a> Work<'a> {
    fn volume(&mut self, name: &str) -> Option<&'a Volume> {
        let found = self.volumes.iter().find(|volume| volume.name == name);
        if found.is_none() {
            let names: Vec<&str> = self.volumes.iter().map(|v| v.name.as_str()).collect();
            self.errors.insert(ExportsError::NoVolume {
                pool: self.context.pool.clone(),
                volume: name.to_owned(),
                nearest: nearest(name, &names).map(str::to_owned),
            });
        }
        found
    }

    fn units(&mut self) -> Offered<'a> {
        if self.file.units.is_empty() {
            let mut all: Offered<'a> = self.volumes.iter().map(|volume| (volume, None)).collect();
            // New units are numbered in the order of their names, not in that of a listing.
            all.sort_by(|a, b| a.0.name.cmp(&b.0.name));
            return all;
        }
        let file = self.file;
        let listed = file.units.iter();
        listed
            .filter_map(|unit| Some((self.volume(&unit.volume)?, Some(unit))))
            .collect()
    }

    /// The targets with their units, each under its number.
    fn expose(
        &mut self,
        units: &Offered<'_>,
        serials: &BTreeMap<String, String>,
        mut targets: Targets,
    ) -> Desired {
        let wanted = self.wanted(units, &targets);
        let mut shown = BTreeSet::new();
        for (Wanted { target, unit, .. }, lun) in self.numbers(&wanted, units, &targets) {
            let (volume, _) = units[unit];
            let Some(serial) = serials.get(&volume.identity) else {
                continue;
            };
            shown.insert(serial.clone());
            let access = wanted
                .iter()
                .find(|w| w.target == target && w.unit == unit)
                .map(|w| w.access.clone());
            if let (Some((_, target)), Some(access)) = (targets.get_mut(&target), access) {
                let serial = serial.clone();
                target.luns.insert(lun, Exposure { serial, access });
            }
        }
        let unit = |(volume, entry): &(&Volume, Option<&UnitEntry>)| {
            let unit = self.unit(volume, *entry);
            Some((serials.get(&volume.identity)?.clone(), unit))
        };
        Desired {
            units: units
                .iter()
                .filter_map(unit)
                .filter(|(serial, _)| shown.contains(serial))
                .collect(),
            targets: targets.into_values().collect(),
            nfs: BTreeMap::new(),
        }
    }

    fn unit(&self, volume: &Volume, entry: Option<&UnitEntry>) -> DesiredUnit {
        let defaults = &self.file.defaults;
        let size = entry
            .and_then(|e| e.block_size.as_ref())
            .or(defaults.block_size.as_ref());
        let cache = entry.and_then(|e| e.write_cache).or(defaults.write_cache);
        let unmap = entry.and_then(|e| e.unmap).or(defaults.unmap);
        let ats = entry.and_then(|e| e.ats).or(defaults.ats);
        let xcopy = entry.and_then(|e| e.xcopy).or(defaults.xcopy);
        // tgtd would have to be told when the unit is made.
        let unmaps = volume.discards && self.context.backend == Backend::Lio;
        let may = |asked: Option<bool>| match self.context.backend {
            Backend::Lio => Some(asked.unwrap_or(true)),
            // It has no setting for it, so it cannot be told not to.
            Backend::Tgt => asked.filter(|may| !may),
        };
        DesiredUnit {
            name: volume.name.clone(),
            identity: volume.identity.clone(),
            path: volume.path.clone(),
            bytes: volume.bytes,
            block_size: size.map_or(512, |size| **size),
            // A client that lives on when its head dies takes for written what was acknowledged, and writes it to no other head:
            // without a cache nothing of it is lost.
            write_cache: cache
                .unwrap_or_else(|| outlives_head(&volume.identity, self.context.backend)),
            read_only: entry.is_some_and(|entry| entry.read_only),
            unmap: unmaps && unmap.unwrap_or(true),
            ats: may(ats),
            xcopy: may(xcopy),
            company: self
                .state
                .volumes
                .get(&volume.identity)
                .and_then(|known| known.company.clone()),
        }
    }
}
