//! Views: who sees which units where.

use std::collections::{BTreeMap, BTreeSet};

use super::{ExportsError, Offered, Targets, Work};
use crate::exports::desired::Access;
use crate::exports::file::View;

/// A unit that is to be seen on a target.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    /// The target, by its name in the file.
    pub target: String,
    /// The unit's place among those that are offered.
    pub unit: usize,
    /// Who sees it.
    pub access: Access,
    /// What its number is above, when it gets a new one: what the first view says that shows it here.
    pub offset: Option<u16>,
    /// The numbers that views give it.
    pub luns: BTreeSet<u16>,
}

impl Work<'_> {
    /// All views together, by target and then in the order in which units are offered.
    pub(super) fn wanted(&mut self, units: &Offered<'_>, targets: &Targets) -> Vec<Wanted> {
        let mut wanted: BTreeMap<(String, usize), Wanted> = BTreeMap::new();
        let file = self.file;
        let views: Vec<Option<&View>> = match file.views.is_empty() {
            true => vec![None],
            false => file.views.iter().map(Some).collect(),
        };
        for view in views {
            let access = self.access(view);
            let lun = view.and_then(|view| view.lun.as_ref()).map(|lun| **lun);
            let offset = view.and_then(|view| view.lun_offset.as_ref());
            let offset = offset.map(|offset| **offset);
            let seen_on = self.seen_on(view, targets);
            for name in self.shown(view, units) {
                let Some(unit) = units.iter().position(|(volume, _)| volume.name == name) else {
                    continue;
                };
                for target in &seen_on {
                    let entry = wanted
                        .entry((target.clone(), unit))
                        .or_insert_with(|| Wanted {
                            target: target.clone(),
                            unit,
                            access: access.clone(),
                            offset,
                            luns: BTreeSet::new(),
                        });
                    entry.access = entry.access.clone().or(access.clone());
                    entry.offset = entry.offset.or(offset);
                    entry.luns.extend(lun);
                }
            }
        }
        wanted.into_values().collect()
    }

    fn access(&self, view: Option<&View>) -> Access {
        let Some(name) = view.and_then(|view| view.host_group.as_ref()) else {
            return Access::Everyone;
        };
        let group = self
            .file
            .host_groups
            .iter()
            .find(|group| group.name == *name);
        let members = group.into_iter().flat_map(|group| &group.members);
        Access::Hosts(members.map(ToString::to_string).collect())
    }

    fn shown(&mut self, view: Option<&View>, units: &Offered<'_>) -> Vec<String> {
        let all = || units.iter().map(|(volume, _)| volume.name.clone());
        let Some(view) = view else {
            return all().collect();
        };
        if let Some(named) = &view.units {
            let named: Vec<String> = named.iter().map(ToString::to_string).collect();
            // Those that are not offered at all were named as errors above or are so here.
            return named
                .into_iter()
                .filter(|name| self.volume(name).is_some())
                .collect();
        }
        let Some(prefix) = &view.prefix else {
            return all().collect();
        };
        let shown: Vec<String> = all().filter(|name| view.shows(name)).collect();
        if shown.is_empty() {
            let prefix = prefix.trim_end_matches('/').to_owned();
            let view = view.name.to_string();
            self.errors.insert(ExportsError::EmptyView { view, prefix });
        }
        shown
    }

    fn seen_on(&mut self, view: Option<&View>, targets: &Targets) -> Vec<String> {
        let named = view.and_then(|view| view.target_group.as_ref());
        let Some(named) = named else {
            return targets.keys().cloned().collect();
        };
        let groups = self.file.target_groups.iter();
        let members: Vec<String> = groups
            .filter(|group| group.name == *named)
            .flat_map(|group| group.members.iter().map(ToString::to_string))
            .collect();
        for found in members.iter().filter(|name| !targets.contains_key(*name)) {
            self.errors.insert(ExportsError::NoTarget {
                found: found.clone(),
                pool: self.context.pool.clone(),
            });
        }
        members
    }
}
