//! Files that are wholly Hawser's: known by their first lines, made anew with every change from the
//! journal alone, and gone with their last change.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use hawser_model::knob::{Change, Knob};

use super::{interface, modprobe_d, sysctl_d};
use crate::KernelError;
use crate::journal::folder::{failed, write_whole};

const HEADER: &str = "# Written by `hawser tune`, wholly its own: made anew with every change, and removed by\n\
                      # `hawser undo --all`. Put your own settings into another file.\n";

/// Brings the file in line with the changes that it holds; without any, the file is gone.
pub(in crate::journal) fn write<'a>(
    path: &Path,
    changes: impl Iterator<Item = &'a Change>,
) -> Result<(), KernelError> {
    if !is_ours(path) {
        return Err(KernelError::Absent(format!(
            "{} is not Hawser's own any more",
            path.display()
        )));
    }
    // A later change of the same knob is the one in force.
    let latest: BTreeMap<&Knob, &Change> = changes.map(|c| (&c.knob, c)).collect();
    if latest.is_empty() {
        return match fs::remove_file(path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(failed("remove", path)(e)),
            _ => {
                remove_drop_in_folder(path);
                Ok(())
            }
        };
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed("create", folder))?;
    }
    let mut text = HEADER.to_owned();
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
        text.push_str(&format!("\n# change {number}; was {before}\n{lines}\n"));
    }
    write_whole(path, text.as_bytes(), 0o644)
}

/// Whether the file is Hawser's, or not there.
pub(super) fn is_ours(path: &Path) -> bool {
    match fs::read_to_string(path) {
        Ok(text) => text.starts_with(HEADER),
        Err(e) => e.kind() == io::ErrorKind::NotFound,
    }
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
