//! The operations that make the tree what is desired: first what goes, whatever hangs on it before it,
//! then what comes. What stays the same is not touched.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::cluster_file::SecretRef;

use super::entries::{COMPANY_ID, Digest, GROUP, Is, REGISTRATIONS, WantedEntry, company_id};
use crate::exports::desired::COMPANY;

/// What is there, as far as it is the pool's, by paths relative to `/sys/kernel/config/target`.
pub type Tree = BTreeMap<String, Entry>;

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A folder.
    Folder,
    /// A link to this folder.
    Link(String),
    /// A value; empty: none.
    Value(String),
    /// A secret.
    Secret(Digest),
}

/// One operation on the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `mkdir`
    Mkdir(String),
    /// `rmdir`
    Rmdir(String),
    /// `ln -s TO PATH`
    Link {
        /// The link.
        path: String,
        /// The folder it leads to.
        to: String,
    },
    /// `rm`
    Unlink(String),
    /// `printf TEXT > PATH`
    Write {
        /// The file.
        path: String,
        /// The text.
        text: String,
    },
    /// The same with a secret, which whoever does it reads.
    WriteSecret {
        /// The file.
        path: String,
        /// Where the secret is kept.
        secret: SecretRef,
    },
}

/// How the kernel is told that there is none (`iscsi_target_configfs.c`, `NULL`).
const NONE: &str = "NULL";

/// The operations; none when everything is as it should be. `found` is what is the pool's and no more:
/// of it goes what is not wanted. `stale` are folders that must be made anew although they look right.
pub fn plan(wanted: &[WantedEntry], found: &Tree, stale: &BTreeSet<String>) -> Vec<Operation> {
    let by_path: BTreeMap<&str, &Is> = wanted
        .iter()
        .map(|entry| (entry.path.as_str(), &entry.is))
        .collect();
    let mut anew = stale.clone();
    anew.extend(untold(wanted, found));
    let going = going(&by_path, found, &anew);
    let mut operations = removals(&going, found);
    let mut new: BTreeSet<&str> = BTreeSet::new();
    let mut off: BTreeSet<String> = BTreeSet::new();
    for WantedEntry { path, is } in wanted {
        let there = found.get(path).filter(|_| !going.contains(path.as_str()));
        let fresh = ancestors(path).any(|folder| new.contains(folder));
        match is {
            Is::Folder | Is::Link { .. } if there.is_some() => {}
            Is::Folder => {
                new.insert(path);
                operations.push(Operation::Mkdir(path.clone()));
            }
            Is::Link { to } => operations.push(Operation::Link {
                path: path.clone(),
                to: to.clone(),
            }),
            Is::Once(text) if fresh => operations.push(write(path, text)),
            Is::Once(_) => {}
            Is::Value { text, .. } => {
                // A new folder has no account.
                let same = match fresh {
                    true => text.is_empty(),
                    false => there == Some(&Entry::Value(text.clone())) && !off.contains(path),
                };
                if !same {
                    if !fresh && proves(path, text) {
                        operations.extend(cut(path, found, &mut off));
                    }
                    let text = if text.is_empty() { NONE } else { text };
                    operations.push(write(path, text));
                }
            }
            Is::Secret { secret, digest } => {
                let same = match (there, digest) {
                    _ if fresh => false,
                    (Some(Entry::Secret(there)), Some(digest)) => there == digest,
                    (Some(Entry::Secret(_)), None) => true,
                    _ => false,
                };
                if !same {
                    if !fresh {
                        operations.extend(cut(path, found, &mut off));
                    }
                    let (path, secret) = (path.clone(), secret.clone());
                    operations.push(Operation::WriteSecret { path, secret });
                }
            }
        }
    }
    operations
}

/// Whether clients must prove themselves by what is written here.
fn proves(path: &str, text: &str) -> bool {
    match path.rsplit('/').next() {
        Some("authentication") => text == "1",
        Some("userid" | "userid_mutual") => !text.is_empty(),
        _ => false,
    }
}

/// Switches off the group that this is in, if it is on. The kernel asks for a proof only at a login, and ends all sessions of a group
/// that is switched off (`iscsit_tpg_disable_portal_group`). If a start is killed before it is on again, the next one switches it on.
fn cut(path: &str, found: &Tree, off: &mut BTreeSet<String>) -> Option<Operation> {
    let group = format!("/{GROUP}");
    let group = ancestors(path).find(|folder| folder.ends_with(&group))?;
    let enable = format!("{group}/enable");
    let on = found.get(&enable) == Some(&Entry::Value("1".into()));
    (on && off.insert(enable.clone())).then(|| write(&enable, "0"))
}

fn write(path: &str, text: &str) -> Operation {
    Operation::Write {
        path: path.to_owned(),
        text: text.to_owned(),
    }
}

/// The folders that a path is in, the nearest first.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(path.rsplit_once('/').map(|(parent, _)| parent), |path| {
        path.rsplit_once('/').map(|(parent, _)| parent)
    })
}

/// Units that a start has made which was ended before a target showed them: what is told once cannot be read back, and what
/// clients have registered is told last.
fn untold(wanted: &[WantedEntry], found: &Tree) -> BTreeSet<String> {
    let links_of_wanted = wanted.iter().filter_map(|entry| match &entry.is {
        Is::Link { to } => Some(to.as_str()),
        _ => None,
    });
    let links_of_found = found.values().filter_map(|entry| match entry {
        Entry::Link(to) => Some(to.as_str()),
        _ => None,
    });
    let (to_be_shown, shown): (BTreeSet<&str>, BTreeSet<&str>) =
        (links_of_wanted.collect(), links_of_found.collect());
    let told = wanted.iter().filter_map(|entry| match &entry.is {
        Is::Once(_) => entry.path.strip_suffix(REGISTRATIONS)?.strip_suffix('/'),
        _ => None,
    });
    let lost = told.filter(|unit| to_be_shown.contains(unit) && !shown.contains(unit));
    lost.map(str::to_owned).collect()
}

/// Units that have a company of their own which is no longer wanted: a unit that is made has LIO's, so clients of the next head
/// would see another disk. A start makes them anew.
pub fn others_company(wanted: &[WantedEntry], found: &Tree) -> BTreeSet<String> {
    let wanted: BTreeSet<&str> = wanted.iter().map(|entry| entry.path.as_str()).collect();
    let own = Entry::Value(company_id(COMPANY));
    let others = found.iter().filter_map(|(path, entry)| {
        let unit = path.strip_suffix(COMPANY_ID)?.strip_suffix('/')?;
        let wanted = wanted.contains(unit) && !wanted.contains(path.as_str());
        (wanted && *entry != own).then(|| unit.to_owned())
    });
    others.collect()
}

/// What has to go: what is not wanted, what must be made anew, and whatever hangs on that.
fn going<'a>(
    wanted: &BTreeMap<&str, &'a Is>,
    found: &'a Tree,
    stale: &BTreeSet<String>,
) -> BTreeSet<&'a str> {
    let made = |entry: &Entry| matches!(entry, Entry::Folder | Entry::Link(_));
    let unwanted = |path: &str, entry: &Entry| match (entry, wanted.get(path)) {
        (Entry::Folder, Some(Is::Folder)) => false,
        (Entry::Link(there), Some(Is::Link { to })) => there != to,
        (entry, _) => made(entry),
    };
    let mut anew: BTreeSet<&str> = stale.iter().map(String::as_str).collect();
    for (path, is) in wanted {
        if let Is::Value { text, of: Some(of) } = is {
            let there = found.get(*path) == Some(&Entry::Value(text.clone()));
            anew.extend((!there).then_some(of.as_str()));
        }
    }
    let mut going: BTreeSet<&str> = found
        .iter()
        .filter(|(path, entry)| {
            unwanted(path, entry) || (made(entry) && anew.contains(path.as_str()))
        })
        .map(|(path, _)| path.as_str())
        .collect();
    loop {
        let before = going.len();
        for (path, entry) in found.iter().filter(|(_, entry)| made(entry)) {
            let inside = ancestors(path).any(|folder| going.contains(folder));
            let leads_there = match entry {
                Entry::Link(to) => {
                    going.contains(to.as_str()) || ancestors(to).any(|f| going.contains(f))
                }
                _ => false,
            };
            if inside || leads_there {
                going.insert(path);
            }
            // A unit's folder without its link is no unit, and hosts' links lead to the folder.
            if let (Entry::Link(_), true) = (entry, going.contains(path.as_str())) {
                let parent = ancestors(path).next();
                let parent = parent.and_then(|parent| found.get_key_value(parent));
                going.extend(parent.map(|(parent, _)| parent.as_str()));
            }
        }
        if going.len() == before {
            return going;
        }
    }
}

/// Clients first, then what they use: hosts' units, hosts, units, addresses, the target, and what was
/// behind the units.
fn removals(going: &BTreeSet<&str>, found: &Tree) -> Vec<Operation> {
    let off = |path: &&str| {
        let enable = format!("{path}/enable");
        let group = path.ends_with(GROUP) && path.starts_with("iscsi/");
        let on = found.get(&enable) == Some(&Entry::Value("1".into()));
        (group && on).then(|| write(&enable, "0"))
    };
    let mut operations: Vec<Operation> = going.iter().filter_map(off).collect();
    let mut ordered: Vec<&str> = going.iter().copied().collect();
    ordered.sort_by_key(|path| rank(path));
    operations.extend(ordered.into_iter().map(|path| match found.get(path) {
        Some(Entry::Link(_)) => Operation::Unlink(path.to_owned()),
        _ => Operation::Rmdir(path.to_owned()),
    }));
    operations
}

fn rank(path: &str) -> u8 {
    let parts: Vec<&str> = path.split('/').collect();
    match parts[..] {
        ["iscsi", _, _, "acls", _, _, _] => 0,
        ["iscsi", _, _, "acls", _, _] => 1,
        ["iscsi", _, _, "acls", _] => 2,
        ["iscsi", _, _, "lun", _, _] => 3,
        ["iscsi", _, _, "lun", _] => 4,
        ["iscsi", _, _, "np", _] => 5,
        ["iscsi", _, _] => 6,
        ["iscsi", _] => 7,
        ["core", _, _] => 8,
        _ => 9,
    }
}
