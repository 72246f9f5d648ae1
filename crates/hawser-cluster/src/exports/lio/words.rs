//! Operations on the tree, in words.

use std::collections::{BTreeMap, BTreeSet};

use super::entries::{GROUP, SIZE};
use super::plan::Operation;

/// What is worth a line to a person: one for each unit, host and address that comes or goes, and none
/// for the steps of making it. `volumes` are names by serial numbers.
pub fn notable(operations: &[Operation], volumes: &BTreeMap<&str, &str>) -> Vec<String> {
    lines(operations, volumes).into_iter().flatten().collect()
}

/// The same, by operation.
pub(super) fn lines(
    operations: &[Operation],
    volumes: &BTreeMap<&str, &str>,
) -> Vec<Option<String>> {
    let made = operations.iter().filter_map(|operation| match operation {
        Operation::Mkdir(path) => Some(path.as_str()),
        _ => None,
    });
    let made: BTreeSet<&str> = made.collect();
    let special = |operation| {
        special(operation, volumes)
            .or_else(|| resized(operation, &made, volumes))
            .or_else(|| cut(operation, operations))
    };
    let all: Vec<Option<String>> = operations.iter().map(special).collect();
    match all.iter().any(Option::is_some) {
        true => all,
        // A value that is set right is all there is to tell.
        false => operations.iter().map(|it| Some(plain(it))).collect(),
    }
}

fn plain(operation: &Operation) -> String {
    match operation {
        Operation::Mkdir(path) => format!("mkdir {path}"),
        Operation::Rmdir(path) => format!("rmdir {path}"),
        Operation::Link { path, to } => format!("ln -s {to} {path}"),
        Operation::Unlink(path) => format!("rm {path}"),
        Operation::Write { path, text } => format!("{path} = {text}"),
        Operation::WriteSecret { path, .. } => format!("{path} = (secret)"),
    }
}

/// That a unit which stays has another size.
fn resized(
    operation: &Operation,
    made: &BTreeSet<&str>,
    volumes: &BTreeMap<&str, &str>,
) -> Option<String> {
    let Operation::Write { path, text } = operation else {
        return None;
    };
    let folder = path.strip_suffix("/control")?;
    let bytes = text.strip_prefix(SIZE).filter(|_| !made.contains(folder))?;
    let (_, serial) = folder.rsplit_once('/')?;
    let volume = volumes.get(serial).copied().unwrap_or("a volume");
    Some(format!("{volume} has {bytes} bytes now"))
}

/// That the clients of a target that stays must log in again.
fn cut(operation: &Operation, operations: &[Operation]) -> Option<String> {
    let Operation::Write { path, text } = operation else {
        return None;
    };
    let group = path.strip_suffix("/enable").filter(|_| text == "0")?;
    let goes = operations.contains(&Operation::Rmdir(group.to_owned()));
    let iqn = group.strip_prefix("iscsi/")?.split('/').next()?;
    (!goes).then(|| format!("CHAP of {iqn} changes: its clients log in again"))
}

fn special(operation: &Operation, volumes: &BTreeMap<&str, &str>) -> Option<String> {
    let (Operation::Mkdir(path)
    | Operation::Rmdir(path)
    | Operation::Unlink(path)
    | Operation::Link { path, .. }) = operation
    else {
        return None;
    };
    let parts: Vec<&str> = path.split('/').collect();
    let ["iscsi", iqn, rest @ ..] = &parts[..] else {
        return None;
    };
    let volume = |serial: &str| {
        volumes
            .get(serial)
            .copied()
            .unwrap_or("a volume")
            .to_owned()
    };
    let number = |folder: &str| folder.trim_start_matches("lun_").to_owned();
    let said = match (operation, rest) {
        (Operation::Mkdir(_), []) => format!("new target {iqn}"),
        (Operation::Rmdir(_), []) => format!("target {iqn} goes"),
        (Operation::Link { .. }, [GROUP, "lun", lun, serial]) => {
            format!("{} becomes LUN {} on {iqn}", volume(serial), number(lun))
        }
        (Operation::Unlink(_), [GROUP, "lun", lun, _]) => {
            format!("LUN {} goes from {iqn}", number(lun))
        }
        (Operation::Mkdir(_), [GROUP, "acls", host]) => format!("{host} may log in to {iqn}"),
        (Operation::Rmdir(_), [GROUP, "acls", host]) => {
            format!("{host} may no longer log in to {iqn}")
        }
        (Operation::Link { .. }, [GROUP, "acls", host, lun, _]) => {
            format!("{host} sees LUN {} of {iqn}", number(lun))
        }
        (Operation::Unlink(_), [GROUP, "acls", host, lun, _]) => {
            format!("{host} no longer sees LUN {} of {iqn}", number(lun))
        }
        (Operation::Mkdir(_), [GROUP, "np", portal]) => format!("{iqn} is reached on {portal}"),
        (Operation::Rmdir(_), [GROUP, "np", portal]) => {
            format!("{iqn} is no longer reached on {portal}")
        }
        _ => return None,
    };
    Some(said)
}
