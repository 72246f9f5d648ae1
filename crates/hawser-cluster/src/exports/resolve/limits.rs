//! What no back end can do, and what this one cannot.

use std::collections::BTreeSet;

use hawser_model::cluster_file::Backend;

use super::{ExportsError, Work};
use crate::exports::desired::{Access, Desired};

/// Bytes of a path: the kernel's target takes what follows for nothing, and opens, or makes, a file of the name that is left
/// (`FD_MAX_DEV_NAME`, target_core_file.h).
pub(super) const LIO_PATH: usize = 255;

impl Work<'_> {
    pub(super) fn check(&mut self, desired: &Desired) {
        for unit in desired.units.values() {
            if unit.bytes < u64::from(unit.block_size) {
                self.errors.insert(ExportsError::TooSmall {
                    volume: unit.name.clone(),
                    bytes: unit.bytes,
                    block_size: unit.block_size,
                });
            }
            // The parameters of both targets are separated by commas, and tgtd shows lines.
            if unit.path.contains([',', '\n']) {
                let path = unit.path.clone();
                self.errors.insert(ExportsError::Path { path });
            }
        }
        for (iqn, target) in &desired.targets {
            let luns = target.luns.values();
            let everyone = luns.filter(|lun| lun.access == Access::Everyone).count();
            if everyone > 0 && everyone < target.luns.len() {
                self.errors.insert(ExportsError::MixedAccess(iqn.clone()));
            }
        }
        match self.context.backend {
            Backend::Lio => self.lio(desired),
            Backend::Tgt => self.tgt(desired),
        }
    }

    /// What tgtd cannot do.
    fn tgt(&mut self, desired: &Desired) {
        for (iqn, target) in &desired.targets {
            let mut accesses = target.luns.values().map(|lun| &lun.access);
            let first = accesses.next();
            // Everybody and some hosts together no back end can.
            if target.hosts().is_some() && accesses.any(|access| Some(access) != first) {
                self.errors.insert(ExportsError::TgtMasking(iqn.clone()));
            }
        }
        for unit in desired.units.values() {
            let forbidden = [("ats", unit.ats), ("xcopy", unit.xcopy)];
            for (key, _) in forbidden.into_iter().filter(|(_, may)| *may == Some(false)) {
                let volume = unit.name.clone();
                self.errors.insert(ExportsError::TgtOffload { volume, key });
            }
        }
        let targets = || desired.targets.values();
        let portals: BTreeSet<_> = targets().map(|target| &target.portals).collect();
        if portals.len() > 1 {
            self.errors.insert(ExportsError::TgtPortals);
        }
        // It knows accounts by their names, for all targets.
        let all = desired.accounts();
        for (user, secret) in targets().flat_map(|target| target.accounts()) {
            if all.get(&user) != Some(&secret) {
                self.errors.insert(ExportsError::TgtTwoSecrets { user });
            }
        }
    }

    /// What the kernel's target cannot do.
    fn lio(&mut self, desired: &Desired) {
        for unit in desired.units.values().filter(|it| it.path.len() > LIO_PATH) {
            let path = unit.path.clone();
            self.errors.insert(ExportsError::LioPath { path });
        }
        for (iqn, target) in &desired.targets {
            if target.portals.is_empty() {
                self.errors.insert(ExportsError::LioNoPortal(iqn.clone()));
            }
            // To everybody a whole target is read-only or none of it.
            let units = desired.units_of(target);
            let protected = units.filter(|(_, _, unit)| unit.read_only).count();
            if target.hosts().is_none() && protected > 0 && protected < target.luns.len() {
                self.errors.insert(ExportsError::LioReadOnly(iqn.clone()));
            }
            for user in target.accounts().into_keys() {
                if user.starts_with("NULL") {
                    self.errors.insert(ExportsError::LioUser { user });
                }
            }
        }
    }
}
