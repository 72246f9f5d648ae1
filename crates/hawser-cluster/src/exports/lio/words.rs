//! Operations on the tree, in words.

use std::collections::BTreeMap;

use super::nodes::GROUP;
use super::plan::Operation;

/// The operation in words. `volumes` are names by serial numbers.
pub fn words(operation: &Operation, volumes: &BTreeMap<&str, &str>) -> String {
    special(operation, volumes).unwrap_or_else(|| match operation {
        Operation::Mkdir(path) => format!("mkdir {path}"),
        Operation::Rmdir(path) => format!("rmdir {path}"),
        Operation::Link { path, to } => format!("ln -s {to} {path}"),
        Operation::Unlink(path) => format!("rm {path}"),
        Operation::Write { path, text } => format!("{path} = {text}"),
        Operation::WriteSecret { path, .. } => format!("{path} = (secret)"),
    })
}

/// What is worth a line to a person: one for each unit, host and address that comes or goes, and none
/// for the steps of making it.
pub fn notable(operations: &[Operation], volumes: &BTreeMap<&str, &str>) -> Vec<String> {
    let all: Vec<String> = operations
        .iter()
        .filter_map(|operation| special(operation, volumes))
        .collect();
    match all.is_empty() {
        // A value that is set right is all there is to tell.
        true => operations.iter().map(|o| words(o, volumes)).collect(),
        false => all,
    }
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
