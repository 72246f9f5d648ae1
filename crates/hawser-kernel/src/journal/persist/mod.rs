//! Making a change last over a reboot, in files that are wholly Hawser's, at the place that this host
//! reads at boot.

mod interface;
mod managers;
mod modprobe_d;
mod owned;
mod sysctl_d;
mod udev_rules;

use std::path::{Path, PathBuf};

use hawser_files::Expected;
use hawser_model::knob::{Change, Knob};

pub(super) use owned::{is_foreign, write};

/// The file that would make a change last on the host whose files are below `root`; else why
/// none can. A file of Hawser's is as `expected`.
pub(super) fn plan(root: &Path, change: &Change, expected: Expected) -> Result<PathBuf, String> {
    let path = match &change.knob {
        Knob::Sysctl { name } => sysctl_d::plan(root, name, &change.after)?,
        Knob::ModuleParameter { module, parameter } => {
            modprobe_d::plan(root, module, parameter, &change.after)?
        }
        Knob::InterruptAffinity { .. } | Knob::Interrupts { .. } => {
            return Err("an interrupt may have another number after the next boot".to_owned());
        }
        Knob::ReceiverSteering { .. } | Knob::ReceiverThreads { .. } => {
            return Err(
                "the interfaces are the receivers' own and are created with them".to_owned(),
            );
        }
        Knob::SocketBuffer { .. } => {
            return Err(
                "the socket has it until its program opens another, which asks for its own"
                    .to_owned(),
            );
        }
        Knob::Placebo => return Err("a placebo has nothing to keep".to_owned()),
        knob => match knob.interface() {
            Some(name) => interface::plan(root, name, knob, &change.after, expected)?,
            None => return Err(format!("nothing on a host keeps {knob}")),
        },
    };
    if owned::is_ours(&path, expected) {
        Ok(path)
    } else {
        Err(format!("{} is not Hawser's own", path.display()))
    }
}

/// All files of Hawser's that are on the host, by the places that [`plan`] gives them.
pub(super) fn written(root: &Path, expected: Expected) -> Vec<PathBuf> {
    let places = [
        sysctl_d::files(root),
        modprobe_d::files(root),
        udev_rules::files(root),
        interface::files(root),
    ];
    let mut files: Vec<PathBuf> = places.into_iter().flatten().collect();
    files.retain(|file| owned::is_written(file, expected));
    files.sort();
    files
}

/// The entries of a folder whose names pass; none where there is no folder.
fn entries(folder: &Path, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_str().is_some_and(&wanted));
    named.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests;
