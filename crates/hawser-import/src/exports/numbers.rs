//! LUN numbers that the file of a pool cannot have: one for two units of a target, or two for one unit. A target of
//! Hawser's has each number once, for all hosts, while LIO and COMSTAR count for each host.

use std::collections::BTreeMap;

use super::{PoolFile, UnitOut, ViewOut};
use crate::page::{LineVerdict, Page};
use crate::place::quoted;

pub(super) fn check(pool: &str, file: &PoolFile, page: &mut Page) {
    let named = file.targets.iter().map(|target| target.name.as_str());
    let mut targets: Vec<&str> = named.collect();
    if targets.is_empty() {
        targets.push(pool);
    }
    for target in targets {
        let mut units: BTreeMap<u16, &str> = BTreeMap::new();
        let mut numbers: BTreeMap<&str, u16> = BTreeMap::new();
        for (volume, unit, lun) in shown(file, target) {
            let on = format!("on target {} of pool {pool}", quoted(target));
            let first = *units.entry(lun).or_insert(volume);
            if first != volume {
                let two = format!("{} and {}", quoted(first), quoted(volume));
                page.add(
                    LineVerdict::Missing,
                    Some(&unit.at),
                    format!("LUN {lun} {on} is {two}"),
                    "give one of them another `lun` in exports.toml: a target has each number once, for all hosts",
                );
            }
            let first = *numbers.entry(volume).or_insert(lun);
            if first != lun {
                page.add(
                    LineVerdict::Missing,
                    Some(&unit.at),
                    format!("{} has LUN {first} and LUN {lun} {on}", quoted(volume)),
                    "give it one `lun` in exports.toml: a unit has one number on a target, for all hosts",
                );
            }
        }
    }
}

/// What is shown on a target under a number that the file says.
fn shown<'a>(file: &'a PoolFile, target: &str) -> Vec<(&'a str, &'a UnitOut, u16)> {
    let mut all = Vec::new();
    let everything = ViewOut::default();
    let views: Vec<&ViewOut> = match file.views.is_empty() {
        true => vec![&everything],
        false => file.views.iter().collect(),
    };
    for view in views {
        let here = view.target_group.as_ref().is_none_or(|group| {
            let mut groups = file.target_groups.iter();
            groups.any(|(name, members)| name == group && members.iter().any(|it| it == target))
        });
        let inside = |volume: &String| match (&view.units, &view.prefix) {
            (Some(units), _) => units.contains(volume),
            (None, Some(prefix)) => {
                let rest = volume.strip_prefix(prefix.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            }
            (None, None) => true,
        };
        let units = file
            .units
            .iter()
            .filter(|(volume, _)| here && inside(volume));
        all.extend(units.filter_map(|(volume, unit)| {
            let lun = view.lun.or(unit.lun)?;
            Some((volume.as_str(), unit, lun))
        }));
    }
    all
}
