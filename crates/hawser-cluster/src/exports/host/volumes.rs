//! The volumes of a pool: ZFS's, LVM's, or files named `*.img` on a file system.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hawser_files::{FileError, Folder};
use hawser_tool::Deadline;

use super::list::{ListError, lines, output};
use super::mounts::Mount;
use super::parameters::Parameters;
use crate::exports::desired::Volume;
use crate::exports::file::ExportsFile;

/// Volumes that cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum VolumesError {
    /// A folder or file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A name that no configuration can hold.
    #[error("{0}: the name of a volume must be UTF-8 without line breaks")]
    Name(String),
    /// One file under two names.
    #[error(
        "{one} and {other} are one file (a hard link), which would be offered as two volumes: remove one"
    )]
    OneFile {
        /// A name.
        one: String,
        /// Another.
        other: String,
    },
    /// Two volumes that cannot be told apart.
    #[error("volumes {one} and {other} have the same {what}, {value}: rename or remove one")]
    Same {
        /// `name` or `identity`.
        what: &'static str,
        /// It.
        value: String,
        /// Where one of them is.
        one: String,
        /// Where the other is.
        other: String,
    },
    /// ZFS or LVM does not list them.
    #[error(transparent)]
    List(#[from] ListError),
    /// A device that does not come.
    #[error(
        "{0} is not there {wait} s after the import: udev has not made it, or `zfs receive` was cut short when it made the volume",
        wait = DEVICES.as_secs()
    )]
    NoDevice(String),
    /// A zvol without a key.
    #[error(
        "volume {0} has no device, since its key is not loaded: zfs load-key {0}, or do not offer it"
    )]
    Locked(String),
    /// A logical volume that is left inactive.
    #[error(
        "volume {0} has no device, since LVM leaves it inactive (a thin snapshot is): lvchange --setactivationskip n {0}, or do not \
         offer it"
    )]
    Inactive(String),
    /// A zvol that is to have no device.
    #[error(
        "volume {0} has no device, since its volmode is none: zfs set volmode=dev {0}, or do not offer it"
    )]
    Hidden(String),
}

/// The ending of files that are volumes.
const ENDING: &str = ".img";

/// Bytes of a path with its end (`linux/limits.h`).
const PATH_MAX: usize = 4096;

/// How long udev may take to make the devices of an imported pool: half of what Pacemaker gives a start. A head that takes over
/// many volumes, or is busy, takes more than ten seconds.
const DEVICES: Duration = Duration::from_secs(60);

/// All volumes of a mounted pool; those that the file offers have their devices. No two have one name or one identity.
pub fn find(
    parameters: &Parameters,
    mount: &Mount,
    file: &ExportsFile,
) -> Result<Vec<Volume>, VolumesError> {
    let volumes = if let Some(group) = &parameters.volume_group {
        lvm(group, &parameters.root, file)?
    } else if let Some(pool) = mount.zpool() {
        zfs(pool, file)?
    } else {
        files(&parameters.root, HOLES.contains(&&*mount.fstype), file)?
    };
    let volumes: Vec<Volume> = volumes
        .into_iter()
        .map(|volume| Volume {
            discards: volume.discards || discards(Path::new("/sys"), &volume.path),
            ..volume
        })
        .collect();
    different("name", &volumes, |volume| &volume.name)?;
    different("identity", &volumes, |volume| &volume.identity)?;
    Ok(volumes)
}

fn different(
    what: &'static str,
    volumes: &[Volume],
    of: impl Fn(&Volume) -> &String,
) -> Result<(), VolumesError> {
    let mut seen: BTreeMap<&String, &Volume> = BTreeMap::new();
    for volume in volumes {
        if let Some(other) = seen.insert(of(volume), volume) {
            return Err(VolumesError::Same {
                what,
                value: of(volume).clone(),
                one: other.path.clone(),
                other: volume.path.clone(),
            });
        }
    }
    Ok(())
}

/// File systems that give back what is punched out of a file (`FALLOC_FL_PUNCH_HOLE`, fallocate(2)).
const HOLES: [&str; 5] = ["btrfs", "ext4", "tmpfs", "xfs", "zfs"];

/// Whether a device gives back blocks: `discard_max_bytes` of its queue (`Documentation/ABI/stable/sysfs-block`).
fn discards(sys: &Path, device: &str) -> bool {
    let device = fs::canonicalize(device).ok();
    let name = device.as_deref().and_then(Path::file_name);
    let most = name.and_then(|name| {
        let queue = sys.join("class/block").join(name).join("queue");
        fs::read_to_string(queue.join("discard_max_bytes")).ok()
    });
    most.is_some_and(|most| most.trim().parse::<u64>().is_ok_and(|most| most > 0))
}

/// The files below `root` that are volumes. `holes`: what is punched out of them is given back. No link is followed, and no directory is
/// entered that is offered by NFS: its clients decide how much there is, what it is called and what links there are, and none
/// of it is offered as a unit.
fn files(root: &Path, holes: bool, file: &ExportsFile) -> Result<Vec<Volume>, VolumesError> {
    let folder = Folder::open(root)?;
    let mut volumes = Vec::new();
    let mut known: BTreeMap<(u64, u64), String> = BTreeMap::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(way) = folders.pop() {
        if file.shares(&way) {
            continue;
        }
        let inside = match folder.below(&way) {
            Ok(inside) => inside,
            // Somebody may remove or exchange one while this looks.
            Err(error) if gone(&error) => continue,
            Err(error) => return Err(error.into()),
        };
        let mut entries = inside.names()?;
        entries.sort();
        for entry in entries {
            let Some(about) = inside.about(&entry)? else {
                continue;
            };
            let bytes = entry.as_bytes();
            let below = way.join(&entry);
            let path = root.join(&below);
            if bytes.starts_with(b".") {
                continue;
            }
            // Nobody could open what is deeper than a path may be long.
            let far = path.as_os_str().len() >= PATH_MAX;
            if about.is_dir() && entry != "lost+found" && !far {
                folders.push(below);
                continue;
            }
            if !about.is_file() || !bytes.ends_with(ENDING.as_bytes()) || far {
                continue;
            }
            let name = below.to_str().filter(|name| !name.contains('\n'));
            let (Some(name), Some(whole)) = (name, path.to_str()) else {
                return Err(VolumesError::Name(format!("{below:?}")));
            };
            if let Some(one) = known.insert((about.dev(), about.ino()), whole.to_owned()) {
                let other = whole.to_owned();
                return Err(VolumesError::OneFile { one, other });
            }
            let name = name.strip_suffix(ENDING).unwrap_or(name).to_owned();
            volumes.push(Volume {
                identity: file_identity(&about, &name),
                path: whole.to_owned(),
                bytes: about.len(),
                discards: holes,
                name,
            });
        }
    }
    Ok(volumes)
}

fn gone(error: &FileError) -> bool {
    match error {
        FileError::Io { source, .. } => source.kind() == ErrorKind::NotFound,
        FileError::Kind { .. } => true,
        _ => false,
    }
}

/// A file's inode and when it was made. The inode alone is not enough: the next file that is made
/// gets the one of the last that was removed, and would pass for it. A file system that does not
/// know when a file was made gives it an identity that a rename changes.
pub(super) fn file_identity(about: &fs::Metadata, name: &str) -> String {
    let since = |time: std::time::SystemTime| time.duration_since(std::time::UNIX_EPOCH).ok();
    match about.created().ok().and_then(since) {
        Some(born) => format!("inode:{}:{}", about.ino(), born.as_nanos()),
        None => format!("inode:{}:{name}", about.ino()),
    }
}

fn zfs(pool: &str, file: &ExportsFile) -> Result<Vec<Volume>, VolumesError> {
    let columns = "name,guid,volsize,volmode,keystatus";
    let text = output(&format!("zfs list -H -p -r -t volume -o {columns}"), pool)?;
    let volumes = with_devices(zvols(&text, pool)?, pool, file)?;
    wait(&volumes, file, Deadline::after(DEVICES))?;
    Ok(volumes)
}

/// A volume of ZFS's, and what may keep a device from it.
struct Zvol {
    volume: Volume,
    /// `volmode=none`.
    hidden: bool,
    /// Its key is not loaded.
    locked: bool,
}

fn zvols(text: &str, pool: &str) -> Result<Vec<Zvol>, ListError> {
    let one = |line: &str| {
        let columns: Vec<&str> = line.split('\t').collect();
        let [whole, guid, bytes, volmode, keystatus] = columns[..] else {
            return None;
        };
        let guid: u64 = guid.parse().ok()?;
        let volume = Volume {
            name: whole.strip_prefix(pool)?.strip_prefix('/')?.to_owned(),
            identity: format!("zfs:{guid}"),
            path: format!("/dev/zvol/{whole}"),
            bytes: bytes.parse().ok()?,
            // Asked when the device is there.
            discards: false,
        };
        Some(Zvol {
            volume,
            hidden: volmode == "none",
            locked: keystatus == "unavailable",
        })
    };
    lines(text, "zfs list", one)
}

/// All but those that are hidden. One that the file offers and that has no device is an error: clients would take it for a
/// broken disk.
fn with_devices(
    all: Vec<Zvol>,
    pool: &str,
    file: &ExportsFile,
) -> Result<Vec<Volume>, VolumesError> {
    let mut volumes = Vec::new();
    for zvol in all {
        let name = &zvol.volume.name;
        let whole = || format!("{pool}/{name}");
        match () {
            () if zvol.hidden && file.names(name) => return Err(VolumesError::Hidden(whole())),
            () if zvol.hidden => {}
            () if zvol.locked && file.offers(name) => return Err(VolumesError::Locked(whole())),
            () => volumes.push(zvol.volume),
        }
    }
    Ok(volumes)
}

/// Until the volumes that the file offers have their devices.
fn wait(volumes: &[Volume], file: &ExportsFile, until: Deadline) -> Result<(), VolumesError> {
    for volume in volumes.iter().filter(|volume| file.offers(&volume.name)) {
        let there = || Path::new(&volume.path).exists();
        if !until.holds(Duration::from_millis(50), there) {
            return Err(VolumesError::NoDevice(volume.path.clone()));
        }
    }
    Ok(())
}

fn lvm(group: &str, root: &Path, file: &ExportsFile) -> Result<Vec<Volume>, VolumesError> {
    let columns = "--separator=\t --options=lv_name,lv_uuid,lv_size,lv_attr,lv_path";
    let text = output(
        &format!("lvs --noheadings --nosuffix --units=b {columns}"),
        group,
    )?;
    let mut volumes = activated(lvm_volumes(&text)?, group, file)?;
    // The volume that holds the pool's own files is none that is offered.
    let own = fs::metadata(root).map(|about| about.dev()).ok();
    volumes.retain(|volume| {
        let device = fs::metadata(&volume.path).map(|about| about.rdev()).ok();
        device.is_none() || device != own
    });
    Ok(volumes)
}

/// A logical volume, and whether the group's activation leaves it out.
struct LogicalVolume {
    volume: Volume,
    skipped: bool,
}

fn lvm_volumes(text: &str) -> Result<Vec<LogicalVolume>, ListError> {
    let one = |line: &str| {
        let columns: Vec<&str> = line.trim_start().split('\t').collect();
        let [name, uuid, bytes, attributes, path] = columns[..] else {
            return None;
        };
        let volume = Volume {
            name: name.to_owned(),
            identity: format!("lvm:{uuid}"),
            path: path.to_owned(),
            bytes: bytes.parse().ok()?,
            discards: false,
        };
        // lvs(8), lv_attr, volume type: no snapshots, thin pools, images of mirrors, …
        let kind = attributes.chars().next()?;
        // The tenth: a thin snapshot is made so (lvmthin(7)).
        let skipped = attributes.chars().nth(9) == Some('k');
        Some(
            "-mMoOrRCV"
                .contains(kind)
                .then_some(LogicalVolume { volume, skipped }),
        )
    };
    Ok(lines(text, "lvs", one)?.into_iter().flatten().collect())
}

/// All that the next head has as well: what the activation of the group leaves out is there only where somebody has activated it
/// by hand. One that the file names and that has no device is an error.
fn activated(
    all: Vec<LogicalVolume>,
    group: &str,
    file: &ExportsFile,
) -> Result<Vec<Volume>, VolumesError> {
    let mut volumes = Vec::new();
    for LogicalVolume { volume, skipped } in all {
        let named = file.names(&volume.name);
        if skipped && named && !Path::new(&volume.path).exists() {
            return Err(VolumesError::Inactive(format!("{group}/{}", volume.name)));
        }
        if named || !skipped {
            volumes.push(volume);
        }
    }
    Ok(volumes)
}

#[cfg(test)]
mod tests;
