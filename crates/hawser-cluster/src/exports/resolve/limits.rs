//! What no back end can do, and what this one cannot.

use std::collections::BTreeSet;

use hawser_model::cluster_file::Backend;

use super::{ExportsError, Work};
use crate::exports::desired::{Access, Desired};

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
        self.one_secret_an_account(desired);
        if self.context.backend == Backend::Lio {
            self.lio(desired);
        }
        for (iqn, target) in &desired.targets {
            let accesses: Vec<&Access> = target.luns.values().map(|e| &e.access).collect();
            let everyone = accesses
                .iter()
                .filter(|access| ***access == Access::Everyone)
                .count();
            if everyone > 0 && everyone < accesses.len() {
                self.errors.insert(ExportsError::MixedAccess(iqn.clone()));
            } else if self.context.backend == Backend::Tgt
                && accesses.iter().any(|access| access != &accesses[0])
            {
                self.errors.insert(ExportsError::TgtMasking(iqn.clone()));
            }
        }
        let portals: BTreeSet<_> = desired
            .targets
            .values()
            .map(|target| &target.portals)
            .collect();
        if self.context.backend == Backend::Tgt && portals.len() > 1 {
            self.errors.insert(ExportsError::TgtPortals);
        }
    }

    /// What the kernel's target cannot do.
    fn lio(&mut self, desired: &Desired) {
        for (iqn, target) in &desired.targets {
            if target.portals.is_empty() {
                self.errors.insert(ExportsError::LioNoPortal(iqn.clone()));
            }
            // To everybody a whole target is read-only or none of it.
            let read_only = |serial| desired.units.get(serial).is_some_and(|u| u.read_only);
            let luns = target.luns.values();
            let protected = luns.filter(|lun| read_only(&lun.serial)).count();
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

    /// tgtd knows accounts by their names, for all targets.
    fn one_secret_an_account(&mut self, desired: &Desired) {
        let all = desired.accounts();
        let targets = desired.targets.values();
        let again: Vec<_> = targets
            .flat_map(|target| target.accounts())
            .filter(|(user, secret)| all.get(user) != Some(secret))
            .collect();
        if self.context.backend == Backend::Tgt {
            for (user, _) in again {
                self.errors.insert(ExportsError::TgtTwoSecrets { user });
            }
        }
    }
}
