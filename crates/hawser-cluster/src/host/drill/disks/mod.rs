//! Disks of a pool are gone, or one of several paths to one of them: each path is a SCSI device, and is set offline where the
//! kernel offers that (`device/state` in sysfs). It then answers every command with an error at once, as a disk that was
//! pulled does, and stays in the kernel's list, so that it can be set running again.
//!
//! Only what no other program on the head needs is touched: of a disk with one path nothing, unless its pool has what is on it
//! on another disk as well.

mod note;

use std::path::Path;
use std::time::Duration;

use hawser_tool::Deadline;
use serde::{Deserialize, Serialize};

use crate::host::disk_paths::{self, Disk, Tree};
use crate::host::vdevs::Vdevs;
use crate::host::view::Storage;
use crate::host::{NodeError, run};

use note::Note;

/// How much of a pool's disks is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Extent {
    /// One of several paths to one disk.
    OnePath,
    /// All paths to one disk.
    OneDisk,
    /// Nothing that the head does itself: a shelf, whose disks come back by themselves and whose pool may not.
    Elsewhere,
    /// The same of one disk.
    Behind {
        /// The disk, as its pool calls it.
        device: String,
        /// Whether another disk must have what is on it.
        needs_copy: bool,
    },
}

/// Why a disk cannot be spared. Only ZFS tells whether it can.
const NO_COPY: &str = "no other disk has what is on it, as that of a mirror has: clients would see errors, and what they \
                       had written would be there again only after a restart of the pool";

/// What is said of a pool that was told to go on.
const SUSPENDED: &str = "it is SUSPENDED";

/// How long what is set running may take to be in use again, before it is asked again.
const IN_USE: Duration = Duration::from_secs(30);

/// ZFS may call a disk faulted this long after its last error (2.3 s seen, OpenZFS 2.3.2, `zpool events`).
const LATE: Duration = Duration::from_secs(3);

/// From one look to the next.
const LOOKS: Duration = Duration::from_millis(500);

/// Why it cannot be made here; nothing if it can.
pub(super) fn unfit(storage: &Storage, extent: &Extent) -> Result<Option<String>, NodeError> {
    Ok(match extent {
        Extent::OnePath | Extent::OneDisk => chosen(storage, extent)?.err(),
        Extent::Elsewhere => match vdevs_of(storage)? {
            None => Some(NO_COPY.to_owned()),
            Some(Err(why)) => Some(why),
            Some(Ok(vdevs)) => vdevs.lacks().or_else(|| {
                let mut all = vdevs.devices().into_iter();
                all.find_map(|device| single(&vdevs, &device))
            }),
        },
        Extent::Behind { device, needs_copy } => match vdevs_of(storage)? {
            None => needs_copy.then(|| format!("{device}: {NO_COPY}")),
            Some(Err(why)) => Some(why),
            Some(Ok(vdevs)) => unfit_behind(&vdevs, device, *needs_copy),
        },
    })
}

/// Why a disk of a ZFS pool cannot be ill.
fn unfit_behind(vdevs: &Vdevs, device: &str, needs_copy: bool) -> Option<String> {
    if !vdevs.devices().iter().any(|it| it == device) {
        return Some(format!("{device} is none of the disks that ZFS lists"));
    }
    let lacks = vdevs.lacks();
    lacks.or_else(|| single(vdevs, device).filter(|_| needs_copy))
}

/// Why a disk of a ZFS pool cannot be spared.
fn single(vdevs: &Vdevs, device: &str) -> Option<String> {
    (!vdevs.has_copy(device)).then(|| format!("{device}: {NO_COPY}"))
}

/// Makes it.
pub(super) fn make(storage: &Storage, extent: &Extent) -> Result<(), NodeError> {
    if matches!(extent, Extent::Elsewhere | Extent::Behind { .. }) {
        return Ok(());
    }
    let tree = Tree::here();
    let chosen = chosen(storage, extent)?.map_err(|why| not_here(&why))?;
    let mut paths = Vec::new();
    for path in &chosen.paths {
        paths.push(tree.address(path)?);
    }
    // Written first: whoever mends it may know nothing else.
    Note {
        device: chosen.device,
        paths,
    }
    .write()?
    .paths
    .iter()
    .try_for_each(|address| tree.set(address, disk_paths::OFFLINE))
}

/// What shows it.
pub(super) fn shown() -> Result<Option<String>, NodeError> {
    let Some(note) = Note::read()? else {
        return Ok(None);
    };
    let tree = Tree::here();
    let mut words = Vec::new();
    for address in &note.paths {
        match tree.state(address)? {
            Some(state) if state == disk_paths::OFFLINE => words.push(address.clone()),
            _ => return Ok(None),
        }
    }
    Ok((!words.is_empty()).then(|| {
        format!(
            "{} of {} is offline: the kernel answers every command to it with an error",
            words.join(" and "),
            note.device
        )
    }))
}

/// Takes it back, also when it is not there: its paths run, multipath uses them, and its pool is whole.
pub(super) fn mend(storage: &Storage, extent: &Extent) -> Result<(), NodeError> {
    let tree = Tree::here();
    let note = Note::read()?;
    for address in note.iter().flat_map(|note| &note.paths) {
        match tree.state(address)?.as_deref() {
            Some(disk_paths::OFFLINE) => tree.set(address, disk_paths::RUNNING)?,
            Some(_) => {}
            None => {
                return Err(not_here(&format!(
                    "{address} has left the kernel's list: scan its host again"
                )));
            }
        }
    }
    let deadline = Deadline::after(IN_USE);
    if let Some(note) = &note {
        until(deadline, || {
            let map = run::output("dmsetup", &["status", "--target", "multipath"], None);
            let map = map.map(|said| String::from_utf8_lossy(&said.stdout).into_owned());
            Ok(tree.unused(&map.unwrap_or_default(), &note.paths))
        })?;
    }
    let hit = match extent {
        Extent::Behind { device, .. } => Some(device),
        _ => note.as_ref().map(|note| &note.device),
    };
    bring_online(storage, hit.map(String::as_str), deadline)?;
    Note::remove()
}

/// Has a ZFS pool take its disks back, if it is here, and waits until each of them has had all that it holds for [`LATE`]. Of
/// the disk that was hit no errors are counted any more.
fn bring_online(storage: &Storage, hit: Option<&str>, deadline: Deadline) -> Result<(), NodeError> {
    let Storage::Zfs { name, .. } = storage else {
        return Ok(());
    };
    let mut late = None;
    until(deadline, || {
        let Some(Ok(vdevs)) = vdevs_of(storage)? else {
            // It is on another head, which had all disks when it took it.
            return Ok(None);
        };
        let Remedy { orders, lacks } = Remedy::of(&vdevs, name, hit);
        for order in orders {
            run::tool("zpool", &order, None)?;
        }
        if lacks.is_some() {
            late = None;
            return Ok(lacks);
        }
        let early = !late.get_or_insert(Deadline::after(LATE)).left().is_zero();
        Ok(early.then(|| "it has been whole for a moment only".to_owned()))
    })
}

/// What is done about a pool that is not whole.
struct Remedy<'a> {
    /// The words of `zpool`, order by order.
    orders: Vec<Vec<&'a str>>,
    /// What it lacks; nothing if it is whole.
    lacks: Option<String>,
}

impl<'a> Remedy<'a> {
    fn of(vdevs: &'a Vdevs, pool: &'a str, hit: Option<&'a str>) -> Self {
        if vdevs.is_suspended() {
            // It did what it can do without its disks: nothing. What waits is done now.
            return Self {
                orders: vec![vec!["clear", pool]],
                lacks: Some(SUSPENDED.to_owned()),
            };
        }
        let mut orders = Vec::new();
        for device in vdevs.gone() {
            // It counts what failed from anew, or it would be told as ill.
            orders.push(vec!["online", pool, device]);
            orders.push(vec!["clear", pool, device]);
        }
        let mut lacks = vdevs.lacks();
        if let Some(hit) = hit.filter(|hit| lacks.is_none() && vdevs.has_errors(hit)) {
            orders.push(vec!["clear", pool, hit]);
            lacks = Some(format!("errors of {hit} are counted"));
        }
        Self { orders, lacks }
    }
}

/// Looks until nothing is left to say; what is left when the time is over is the error.
fn until(
    deadline: Deadline,
    mut left: impl FnMut() -> Result<Option<String>, NodeError>,
) -> Result<(), NodeError> {
    let mut lacks = String::new();
    let done = deadline.ask(LOOKS, || {
        let what = left()?;
        let done = what.is_none().then_some(());
        lacks = what.unwrap_or_default();
        Ok::<_, NodeError>(done)
    })?;
    done.ok_or_else(|| not_here(&lacks))
}

/// A disk of a pool, and the paths to it that are hit.
struct Chosen {
    device: String,
    paths: Vec<String>,
}

/// The first disk that can bear it; why none can.
fn chosen(storage: &Storage, extent: &Extent) -> Result<Result<Chosen, String>, NodeError> {
    let tree = Tree::here();
    let vdevs = match vdevs_of(storage)? {
        Some(Err(why)) => return Ok(Err(why)),
        Some(Ok(vdevs)) => match vdevs.lacks() {
            Some(why) => return Ok(Err(why)),
            None => Some(vdevs),
        },
        None => None,
    };
    let devices = match (&vdevs, storage) {
        (Some(vdevs), _) => vdevs.devices(),
        (None, Storage::VolumeGroup(group)) => {
            let words = ["--noheadings", "-o", "pv_name", group.as_str()];
            let said = run::tool("vgs", &words, None)?;
            said.lines().map(|line| line.trim().to_owned()).collect()
        }
        (None, Storage::Device(device)) => vec![device.clone()],
        (None, Storage::Zfs { .. }) => Vec::new(),
    };
    let mut why = "it has no disks".to_owned();
    for device in devices {
        let disk = match tree.disk(Path::new(&device))? {
            Ok(disk) => disk,
            Err(words) => {
                why = format!("{device}: {words}");
                continue;
            }
        };
        let has_copy = vdevs.as_ref().is_some_and(|it| it.has_copy(&device));
        match fits(&disk, extent, has_copy) {
            Ok(paths) => return Ok(Ok(Chosen { device, paths })),
            Err(words) => why = format!("{device}: {words}"),
        }
    }
    Ok(Err(why))
}

/// Which paths of a disk are hit.
fn fits(disk: &Disk, extent: &Extent, has_copy: bool) -> Result<Vec<String>, String> {
    if let Some((path, state)) = disk
        .paths
        .iter()
        .find(|(_, state)| state != disk_paths::RUNNING)
    {
        return Err(format!("its path {path} is \"{state}\" already"));
    }
    let names = || disk.paths.iter().map(|(path, _)| path.clone());
    match (extent, names().count()) {
        (Extent::OnePath, 0 | 1) => {
            Err("it has one path, and what is behind it would be gone".into())
        }
        (Extent::OnePath, _) => Ok(names().take(1).collect()),
        (Extent::OneDisk, _) if !has_copy => Err(NO_COPY.to_owned()),
        (Extent::OneDisk, _) => match &disk.others {
            Some(other) => Err(format!("{other} is on the same disk")),
            None => Ok(names().collect()),
        },
        (Extent::Elsewhere | Extent::Behind { .. }, _) => Ok(Vec::new()),
    }
}

/// What a ZFS pool is made of; nothing of another kind.
fn vdevs_of(storage: &Storage) -> Result<Option<Result<Vdevs, String>>, NodeError> {
    let Storage::Zfs { name, .. } = storage else {
        return Ok(None);
    };
    let said = run::output("zpool", &Vdevs::asked(name), None)?;
    Ok(Some(match said.status.success() {
        true => Ok(Vdevs::parse(&String::from_utf8_lossy(&said.stdout))),
        false => Err(format!("ZFS pool {name} is not imported here")),
    }))
}

fn not_here(why: &str) -> NodeError {
    NodeError::Tool {
        command: "disks of the pool".into(),
        said: why.to_owned(),
    }
}

#[cfg(test)]
mod tests;
