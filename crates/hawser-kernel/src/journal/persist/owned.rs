//! Files that are wholly Hawser's: known by their first lines, rewritten with every change from the
//! journal alone, and gone with their last change.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use hawser_files::Expected;
use hawser_model::knob::{Change, Knob};

use super::{interface, modprobe_d, sysctl_d};
use crate::KernelError;
use crate::journal::folder::failed;
use crate::journal::lasting;

const HEADER: &str = "# Written by `hawser tune`, wholly its own: made anew with every change, and removed by\n\
                      # `hawser undo --all`. Put your own settings into another file.\n";

/// How the part of a change begins in a file.
const PART: &str = "# change ";

/// Brings the file in line with the changes that it holds; without any, the file is gone. The parts of
/// the changes in `lost`, whose entries cannot be read, stay as they are.
pub(in crate::journal) fn write<'a>(
    path: &Path,
    changes: impl Iterator<Item = &'a Change>,
    lost: &BTreeSet<u64>,
    expected: Expected,
) -> Result<(), KernelError> {
    let there = text(path, expected)?;
    if there.as_ref().is_some_and(|text| !text.starts_with(HEADER)) {
        return Err(KernelError::Absent(format!(
            "{} is not Hawser's own any more",
            path.display()
        )));
    }
    let wanted = wanted(path, changes, there.as_deref().unwrap_or_default(), lost);
    if wanted == there {
        return Ok(());
    }
    lasting()?;
    let Some(wanted) = wanted else {
        hawser_files::remove(path)?;
        remove_drop_in_folder(path);
        return Ok(());
    };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed("create", folder))?;
    }
    Ok(hawser_files::replace(path, wanted.as_bytes(), 0o644)?)
}

/// What is to be in the file; `None` for no file.
fn wanted<'a>(
    path: &Path,
    changes: impl Iterator<Item = &'a Change>,
    there: &str,
    lost: &BTreeSet<u64>,
) -> Option<String> {
    // A later change of the same knob is the one in force.
    let latest: BTreeMap<&Knob, &Change> = changes.map(|c| (&c.knob, c)).collect();
    let mut text = String::new();
    for (knob, change) in latest {
        let Change {
            number,
            before,
            after,
            ..
        } = change;
        let lines = match knob {
            Knob::Sysctl { name } => sysctl_d::line(name, after),
            Knob::ModuleParameter { module, parameter } => {
                modprobe_d::line(module, parameter, after)
            }
            knob => interface::lines(path, knob, after),
        };
        text.push_str(&format!("\n{PART}{number}; was {before}\n{lines}\n"));
    }
    for part in there.split(&format!("\n{PART}")).skip(1) {
        let number = part.split(';').next().and_then(|n| n.parse().ok());
        if number.is_some_and(|number| lost.contains(&number)) {
            text.push_str(&format!("\n{PART}{part}"));
        }
    }
    (!text.is_empty()).then(|| format!("{HEADER}{text}"))
}

/// Whether the file is Hawser's, or not there.
pub(super) fn is_ours(path: &Path, expected: Expected) -> bool {
    text(path, expected).is_ok_and(|text| text.is_none_or(|text| text.starts_with(HEADER)))
}

/// Whether the file is there and somebody else's.
pub(in crate::journal) fn is_foreign(path: &Path, expected: Expected) -> bool {
    text(path, expected).is_ok_and(|text| text.is_some_and(|text| !text.starts_with(HEADER)))
}

/// Whether the file is there and Hawser's.
pub(super) fn is_written(path: &Path, expected: Expected) -> bool {
    text(path, expected).is_ok_and(|text| text.is_some_and(|text| text.starts_with(HEADER)))
}

fn text(path: &Path, expected: Expected) -> Result<Option<String>, KernelError> {
    let bytes = hawser_files::read(path, expected)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// A folder `X.network.d` was made for our file; it stays when there are others in it.
fn remove_drop_in_folder(path: &Path) {
    if let Some(folder) = path
        .parent()
        .filter(|f| f.extension().is_some_and(|e| e == "d"))
    {
        if folder.to_string_lossy().ends_with(".network.d") {
            let _others_in_it = fs::remove_dir(folder);
        }
    }
}
