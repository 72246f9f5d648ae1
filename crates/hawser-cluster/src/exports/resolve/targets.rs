//! Targets, their names and addresses.

use std::collections::{BTreeMap, BTreeSet};

use super::{ExportsError, Targets, Work};
use crate::exports::desired::{Chap, DesiredTarget, Portal};
use crate::exports::file::{TargetEntry, portal};

impl Work<'_> {
    /// All targets, without units yet.
    pub(super) fn targets(&mut self) -> Targets {
        let pool = self.context.pool.clone();
        let file = self.file;
        let mut targets = Targets::new();
        if file.targets.is_empty() {
            let target = DesiredTarget {
                portals: self.portals(None),
                chap: None,
                luns: BTreeMap::new(),
            };
            targets.insert(pool.clone(), (self.context.iqn(&pool), target));
        }
        for entry in &file.targets {
            let name = entry.name.to_string();
            let given = entry.iqn.as_ref().map(|iqn| iqn.to_string());
            let iqn = given.unwrap_or_else(|| self.context.iqn(&name));
            if let Some((first, _)) = targets.iter().find(|(_, (other, _))| *other == iqn) {
                let (first, second) = (first.clone(), name.clone());
                self.errors.insert(ExportsError::IqnTwice {
                    first,
                    second,
                    iqn: iqn.clone(),
                });
            }
            let target = DesiredTarget {
                portals: self.portals(entry.portal_group.as_deref().map(String::as_str)),
                chap: chap(entry),
                luns: BTreeMap::new(),
            };
            targets.insert(name, (iqn, target));
        }
        targets
    }

    fn portals(&self, group: Option<&str>) -> BTreeSet<Portal> {
        let default = self
            .file
            .default_portal_group
            .as_ref()
            .map(|name| name.as_str());
        let name = group.or(default);
        let group = match name {
            Some(name) => self
                .file
                .portal_groups
                .iter()
                .find(|g| g.name.as_str() == name),
            None => self.file.portal_groups.first(),
        };
        match group {
            Some(group) => group
                .portals
                .iter()
                .filter_map(|text| portal(text))
                .collect(),
            None => self
                .context
                .portals
                .iter()
                .filter_map(|ip| portal(&ip.to_string()))
                .collect(),
        }
    }
}

fn chap(entry: &TargetEntry) -> Option<Chap> {
    let chap = entry.chap.as_ref()?;
    let mutual = chap.mutual_user.as_ref().zip(chap.mutual_secret.as_ref());
    Some(Chap {
        user: chap.user.to_string(),
        secret: chap.secret.get().clone(),
        mutual: mutual.map(|(user, secret)| (user.to_string(), secret.get().clone())),
    })
}
