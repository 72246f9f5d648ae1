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
            // Its parameters are separated by commas, and what it shows by lines.
            if self.context.backend == Backend::Tgt && unit.path.contains([',', '\n']) {
                let path = unit.path.clone();
                self.errors.insert(ExportsError::TgtPath { path });
            }
        }
        self.one_secret_an_account(desired);
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
