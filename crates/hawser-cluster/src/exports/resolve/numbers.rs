//! LUN numbers: assigned once and kept.

use std::collections::BTreeSet;

use super::views::Wanted;
use super::{ExportsError, Offered, Targets, Work};
use crate::exports::desired::Volume;
use crate::exports::file::UnitEntry;

/// Larger numbers need another addressing method (SAM-5, 4.7.7.4: flat space addressing).
pub const LAST_LUN: u16 = 16_383;

impl Work<'_> {
    /// The number of each unit on each target.
    ///
    /// Numbers that the file asks for come first, and a unit that is to have another number gives
    /// its old one back before anything is given out, so that two units can change places. A unit
    /// that has a number keeps it. The rest get the number in their name (`disk:05`) when it is
    /// free, else the lowest that no unit has or had, above the offset of its view.
    pub(super) fn numbers(
        &mut self,
        wanted: &[Wanted],
        units: &Offered<'_>,
        targets: &Targets,
    ) -> Vec<(Wanted, u16)> {
        let mut given = Vec::new();
        for (name, (iqn, _)) in targets {
            let here: Vec<&Wanted> = wanted.iter().filter(|w| w.target == *name).collect();
            let mut open = Vec::new();
            let mut asking = Vec::new();
            for want in here {
                match self.asked(want, units, iqn) {
                    Some(lun) => asking.push((want, lun)),
                    None => open.push(want),
                }
            }
            for (want, lun) in &asking {
                if let Some(known) = self.state.volumes.get_mut(&units[want.unit].0.identity) {
                    known.luns.retain(|target, has| target != iqn || has == lun);
                }
            }
            for (want, lun) in asking {
                if self.give(units[want.unit].0, iqn, lun) {
                    given.push((want.clone(), lun));
                }
            }
            // Those that have a number keep it before new ones choose.
            open.sort_by_key(|want| self.has(units[want.unit].0, iqn).is_none());
            for want in open {
                let volume = units[want.unit].0;
                match self.keep_or_choose(volume, iqn, want.offset.unwrap_or(0)) {
                    Some(lun) if self.give(volume, iqn, lun) => given.push((want.clone(), lun)),
                    Some(_) => {}
                    None => drop(self.errors.insert(ExportsError::NoLunLeft {
                        target: iqn.clone(),
                    })),
                }
            }
        }
        given
    }

    /// The number that the file asks for: in a view, or with the unit.
    fn asked(&mut self, want: &Wanted, units: &Offered<'_>, iqn: &str) -> Option<u16> {
        let (volume, entry) = units[want.unit];
        let mut luns = want.luns.iter().copied();
        if let (Some(a), Some(b)) = (luns.next(), luns.next()) {
            let (unit, target) = (volume.name.clone(), iqn.to_owned());
            self.errors
                .insert(ExportsError::TwoLuns { unit, target, a, b });
        }
        let written = |entry: &UnitEntry| entry.lun.as_ref().map(|lun| **lun);
        want.luns.first().copied().or(entry.and_then(written))
    }

    fn has(&self, volume: &Volume, iqn: &str) -> Option<u16> {
        let known = self.state.volumes.get(&volume.identity)?;
        known.luns.get(iqn).copied()
    }

    fn keep_or_choose(&self, volume: &Volume, iqn: &str, offset: u16) -> Option<u16> {
        if let Some(lun) = self.has(volume, iqn) {
            return Some(lun);
        }
        let volumes = self.state.volumes.values();
        let taken: BTreeSet<u16> = volumes
            .filter_map(|volume| volume.luns.get(iqn).copied())
            .collect();
        // LUN 0 is tgtd's controller; a target that changes its back end keeps its numbers.
        let free = |lun: &u16| (1..=LAST_LUN).contains(lun) && !taken.contains(lun);
        let named = volume.name.rsplit_once(':');
        let named = named.and_then(|(_, number)| offset.checked_add(number.parse().ok()?));
        named
            .filter(free)
            .or_else(|| (offset + 1..=LAST_LUN).find(free))
    }

    /// Writes the number down, if nobody else has it.
    fn give(&mut self, volume: &Volume, iqn: &str, lun: u16) -> bool {
        let (unit, target) = (volume.name.clone(), iqn.to_owned());
        if lun < self.context.backend.first_lun() {
            self.errors.insert(ExportsError::LunZero { unit, target });
            return false;
        }
        let holder = self.state.volumes.iter().find(|(identity, other)| {
            **identity != volume.identity && other.luns.get(iqn) == Some(&lun)
        });
        if let Some((_, holder)) = holder {
            let (first, second) = (holder.name.clone(), unit);
            self.errors.insert(ExportsError::LunTaken {
                target,
                lun,
                first,
                second,
            });
            return false;
        }
        let known = self.state.volumes.get_mut(&volume.identity);
        known.map(|known| known.luns.insert(target, lun)).is_some()
    }
}
