//! Targets, and who sees which unit on them, as portal groups, host groups and views.

use std::collections::{BTreeMap, BTreeSet};

use super::{Offered, PoolFile, Shown, Target, TargetOut, Unit, ViewOut, chap_file};
use crate::Secret;
use crate::page::Page;
use crate::picture::{Picture, usable};
use crate::place::quoted;
use crate::write::exports::SECRETS;

/// Units of a pool by their names.
type OfPool<'a> = Vec<(String, &'a Unit)>;

/// Gives each pool the targets on which its units are shown.
pub(super) fn targets(
    offered: &Offered,
    shown: &BTreeMap<String, OfPool<'_>>,
    files: &mut BTreeMap<String, PoolFile>,
    picture: &mut Picture,
    page: &mut Page,
) {
    let mut owner: BTreeMap<&str, &str> = BTreeMap::new();
    for (pool, units) in shown {
        let on = |target: &Target| {
            let shows = |unit: &Unit| unit.shown.iter().any(|s| s.target == target.iqn);
            units.iter().any(|(_, unit)| shows(unit))
        };
        let mut mine: Vec<&Target> = Vec::new();
        for target in offered.targets.iter().filter(|target| on(target)) {
            match owner.get(target.iqn.as_str()) {
                Some(first) => page.unsaid(
                    &target.at,
                    format!("target {} shows volumes of {first} and {pool}", quoted(&target.iqn)),
                    format!("a target moves with one pool: it is {first}'s, and those of {pool} are not shown on it"),
                ),
                None => {
                    owner.insert(&target.iqn, pool);
                    mine.push(target);
                }
            }
        }
        let file = files.entry(pool.clone()).or_default();
        one_pool(pool, &mine, units, file, picture, page);
    }
    for target in &offered.targets {
        if !owner.contains_key(target.iqn.as_str()) {
            page.unsaid(
                &target.at,
                format!("target {}", quoted(&target.iqn)),
                "it shows no volume of a pool",
            );
        }
    }
}

fn one_pool(
    pool: &str,
    targets: &[&Target],
    units: &OfPool<'_>,
    file: &mut PoolFile,
    picture: &mut Picture,
    page: &mut Page,
) {
    let mut names: BTreeMap<&str, String> = BTreeMap::new();
    for target in targets {
        let wish = match targets.len() {
            1 => pool.to_owned(),
            _ => target
                .iqn
                .rsplit(':')
                .next()
                .and_then(usable)
                .unwrap_or_else(|| "target".into()),
        };
        let name = free(&wish, |name| file.targets.iter().any(|t| t.name == name));
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.:".contains(c);
        let iqn = match target.iqn.chars().all(plain) {
            true => Some(target.iqn.clone()),
            false => {
                page.unsaid(
                    &target.at,
                    quoted(&target.iqn),
                    "an iSCSI name has small letters, digits, '.', '-' and ':' (RFC 3722): clients see a new name",
                );
                None
            }
        };
        let chap = account(&target.chap, target, picture, page);
        let mutual = account(&target.mutual, target, picture, page);
        let portal_group = portal_group(target, &mut file.portal_groups, page);
        file.targets.push(TargetOut {
            name: name.clone(),
            iqn,
            portal_group,
            chap,
            mutual,
            at: target.at.clone(),
        });
        names.insert(&target.iqn, name);
    }
    if simple(targets, units) {
        all_alike(targets, units, file);
    } else {
        one_by_one(targets, units, &names, file, page);
    }
}

/// An account as the file has it: its user, and the name of its secret's file.
fn account(
    chap: &Option<(String, Secret)>,
    target: &Target,
    picture: &mut Picture,
    page: &mut Page,
) -> Option<(String, String)> {
    let (user, secret) = chap.clone()?;
    // One user may have a password on each target.
    let taken = |name: &str| {
        picture
            .secrets
            .get(name)
            .is_some_and(|known| *known != secret)
    };
    let named = free(&chap_file(&user), taken);
    if secret.0.is_empty() {
        let what = format!("the password of {}", quoted(&user));
        let why =
            format!("the source does not have it: put it into {SECRETS}/{named} of every head");
        page.unsaid(&target.at, what, why);
    } else {
        picture.secrets.insert(named.clone(), secret);
    }
    Some((user, named))
}

fn portal_group(
    target: &Target,
    groups: &mut Vec<(String, Vec<String>)>,
    page: &mut Page,
) -> Option<String> {
    let everywhere = |portal: &&String| portal.starts_with("0.0.0.0") || portal.starts_with("[::");
    let portals: Vec<String> = target
        .portals
        .iter()
        .filter(|p| !everywhere(p))
        .cloned()
        .collect();
    if portals.len() < target.portals.len() {
        page.changed(
            &target.at,
            format!("{} listens on every address", quoted(&target.iqn)),
            "it listens on the pool's own addresses, which move with it",
        );
    }
    if portals.is_empty() {
        return None;
    }
    if let Some((name, _)) = groups.iter().find(|(_, known)| *known == portals) {
        return Some(name.clone());
    }
    let name = free("portals", |name| {
        groups.iter().any(|(known, _)| known == name)
    });
    groups.push((name.clone(), portals));
    Some(name)
}

/// Who sees a unit there.
fn hosts<'a>(shown: &'a Shown, target: &'a Target) -> Option<&'a Vec<String>> {
    shown.hosts.as_ref().or(target.hosts.as_ref())
}

/// Whether each unit is on every target under one number, for the same hosts.
fn simple(targets: &[&Target], units: &OfPool<'_>) -> bool {
    let mut all: BTreeSet<Option<Vec<String>>> = BTreeSet::new();
    for (_, unit) in units {
        let luns: BTreeSet<Option<u16>> = unit.shown.iter().map(|shown| shown.lun).collect();
        if luns.len() > 1 {
            return false;
        }
        for target in targets {
            let mut on = unit.shown.iter().filter(|shown| shown.target == target.iqn);
            match (on.next(), on.next()) {
                (Some(shown), None) => all.insert(hosts(shown, target).cloned()),
                _ => return false,
            };
        }
    }
    all.len() <= 1
}

fn all_alike(targets: &[&Target], units: &OfPool<'_>, file: &mut PoolFile) {
    let mut first = None;
    for (name, unit) in units {
        let Some(shown) = unit.shown.first() else {
            continue;
        };
        if let Some(out) = file.units.get_mut(name) {
            out.lun = shown.lun.or(out.lun);
            out.read_only |= shown.read_only;
        }
        first = first.or(targets.first().and_then(|target| hosts(shown, target)));
    }
    if let Some(hosts) = first {
        let group = host_group(hosts, &mut file.host_groups);
        file.views.push(ViewOut {
            name: "all".into(),
            host_group: Some(group),
            ..ViewOut::default()
        });
    }
}

/// A view for each unit, target and set of hosts.
fn one_by_one(
    targets: &[&Target],
    units: &OfPool<'_>,
    names: &BTreeMap<&str, String>,
    file: &mut PoolFile,
    page: &mut Page,
) {
    for (volume, unit) in units {
        let protected = unit.shown.iter().filter(|shown| shown.read_only).count();
        if (1..unit.shown.len()).contains(&protected) {
            page.unsaid(
                &unit.at,
                format!("{} is read-only for some clients", quoted(volume)),
                "a unit is read-only for all or for none: it is for all",
            );
        }
        for shown in &unit.shown {
            let Some(target) = targets.iter().find(|target| target.iqn == shown.target) else {
                continue;
            };
            let Some(name) = names.get(target.iqn.as_str()) else {
                continue;
            };
            let known = file.target_groups.iter().any(|(group, _)| group == name);
            if !known {
                file.target_groups.push((name.clone(), vec![name.clone()]));
            }
            let host_group =
                hosts(shown, target).map(|hosts| host_group(hosts, &mut file.host_groups));
            let view = format!("{volume} on {name}");
            let view = free(&view, |name| {
                file.views.iter().any(|known| known.name == name)
            });
            file.views.push(ViewOut {
                name: view,
                units: Some(vec![volume.clone()]),
                prefix: None,
                host_group,
                target_group: Some(name.clone()),
                lun: shown.lun,
            });
            if let (Some(out), true) = (file.units.get_mut(volume), shown.read_only) {
                out.read_only = true;
            }
        }
    }
}

fn host_group(hosts: &[String], groups: &mut Vec<(String, Vec<String>)>) -> String {
    if let Some((name, _)) = groups.iter().find(|(_, known)| known == hosts) {
        return name.clone();
    }
    let name = free("hosts", |name| {
        groups.iter().any(|(known, _)| known == name)
    });
    groups.push((name.clone(), hosts.to_vec()));
    name
}

/// This name, or with a number behind it the first that is free.
fn free(wish: &str, taken: impl Fn(&str) -> bool) -> String {
    if !taken(wish) {
        return wish.to_owned();
    }
    let numbered = (2_u32..).map(|n| format!("{wish}-{n}"));
    numbered
        .into_iter()
        .find(|name| !taken(name))
        .unwrap_or_else(|| wish.to_owned())
}
