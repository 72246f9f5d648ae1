//! What a watch has kept of incidents on this head's disk, so that it is still there when logs were rotated away and rings
//! of readings written over: of this head the lines of its logs and what was read around them, and of each other head what
//! its own watch has kept, so that it outlives that head.

mod name;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::{Error, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use hawser_files::{Expected, FileError, Folder};
use hawser_model::date;
use hawser_model::drill::Moment;
use hawser_model::names::HostName;
use hawser_model::readings::KeptReadings;
use serde::{Deserialize, Serialize};

use name::{Name, named};

/// On the head's own disk, never on a pool.
const FOLDER: &str = "/var/lib/hawser/incidents";

/// Incidents that are kept of a head; the oldest go first, and before them the oldest of links alone.
const KEPT: usize = 100;

/// Other heads of which something is kept. Of more than that, those whose newest incident is oldest go: they have left the cluster.
const HEADS: usize = 16;

/// Time zones of heads are no farther apart, nor is the stamp of a file, in UTC, from its head's own time.
const ZONES_S: u64 = 86_400;

/// Bytes of all that are read together: a message of the agent's holds 16 MiB.
const TOGETHER: u64 = 8 << 20;

/// What is kept of one incident.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KeptLogs {
    /// Its name: digits and `-`.
    pub id: String,
    /// Whose they are; absent: this head's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<HostName>,
    /// Lines of corosync.log.
    pub corosync: Vec<String>,
    /// Lines of pacemaker.log.
    pub pacemaker: Vec<String>,
    /// What the head's watch has read around it; absent: that is not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readings: Option<KeptReadings>,
    /// Nothing but heartbeat links was down: it goes before one of a head or a service.
    #[serde(default, skip_serializing_if = "is_false")]
    pub links_alone: bool,
}

fn is_false(so: &bool) -> bool {
    !so
}

/// What a head's watch has read around an incident.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeadsReadings {
    /// The head; absent: the one that is asked.
    pub head: Option<HostName>,
    /// What its ring had of that time when it was kept.
    pub readings: KeptReadings,
}

/// What tells whether something that is kept is another than before.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct KeptName {
    /// The incident.
    pub id: String,
    /// Bytes.
    pub bytes: u64,
    /// When it was written, in nanoseconds since 1970 UTC.
    pub written_ns: i128,
}

impl KeptLogs {
    /// Bytes of one, as it is kept.
    pub const LARGEST: u64 = 2 << 20;

    /// Of which incident a file of this name is: `ID.json` of the head on which it lies, `ID.head2.json` of another; of links alone
    /// `ID-links.json`, `ID-links.head2.json`.
    pub fn id_of(file: &str) -> Option<&str> {
        Name::of(file).map(|name| name.id)
    }

    /// Bytes of its lines.
    fn lines(&self) -> u64 {
        let lines = self.corosync.iter().chain(&self.pacemaker);
        lines.map(|line| line.len() as u64 + 1).sum()
    }

    fn without_readings(self) -> Self {
        let readings = None;
        Self { readings, ..self }
    }
}

/// Keeps an incident, unless that is below one of these folders of pools; one of the same name and head is replaced, but for its
/// readings if these are without, and for its lines if these are without. Links alone replace no more than links alone.
///
/// # Errors
/// Its name is none, it is too large, it would be on a pool, or it cannot be written.
pub(super) fn keep(logs: KeptLogs, pools: &[String]) -> Result<(), FileError> {
    keep_in(Path::new(FOLDER), logs, pools)
}

/// The incidents that are kept, newest first, without readings, as many as fit together; those of links alone after the others.
/// What is no file of ours is left out.
///
/// # Errors
/// The folder cannot be read.
pub(super) fn kept() -> Result<Vec<KeptLogs>, FileError> {
    let (mut all, mut bytes) = (Vec::new(), 0);
    let any = |_: &Folder, _: &OsString| true;
    each_in(Path::new(FOLDER), any, |kept| {
        bytes += kept.lines();
        let fits = bytes <= TOGETHER;
        all.extend(fits.then(|| kept.without_readings()));
        fits
    })?;
    Ok(all)
}

/// What watches have read in that time and is kept with incidents, newest first, as much as fits together.
///
/// # Errors
/// The folder cannot be read.
pub(super) fn readings(from: Moment, to: Moment) -> Result<Vec<HeadsReadings>, FileError> {
    readings_in(Path::new(FOLDER), from, to)
}

fn readings_in(folder: &Path, from: Moment, to: Moment) -> Result<Vec<HeadsReadings>, FileError> {
    let (mut all, mut bytes) = (Vec::new(), 0);
    let may = |folder: &Folder, file: &OsString| may_have(folder, file, from, to);
    each_in(folder, may, |kept| {
        let Some(readings) = kept.readings else {
            return true;
        };
        let mut moments = readings.readings.iter().map(|reading| reading.at);
        if !moments.any(|at| from <= at && at <= to) {
            return true;
        }
        bytes += serde_json::to_vec(&readings).map_or(0, |text| text.len() as u64);
        let fits = bytes <= TOGETHER;
        let head = kept.head;
        all.extend(fits.then_some(HeadsReadings { head, readings }));
        fits
    })?;
    Ok(all)
}

/// Whether a file may have readings of that time, by its name, which says when the incident began, and by when it was written,
/// which is after all that is in it: no other is read.
fn may_have(folder: &Folder, file: &OsString, from: Moment, to: Moment) -> bool {
    let last = date::utc_seconds((to.0 / 1_000_000).saturating_add(ZONES_S)).replace('-', "");
    let begins_later = named(file).is_some_and(|name| name.id.get(..8) > last.get(..8));
    let about = folder.about(file).ok().flatten();
    let written = about.and_then(|about| u64::try_from(about.mtime()).ok());
    let is_older = written.is_some_and(|at| at.saturating_add(ZONES_S) < from.0 / 1_000_000);
    !begins_later && !is_older
}

/// What is kept of this head itself, newest first.
///
/// # Errors
/// The folder cannot be read.
pub(super) fn list() -> Result<Vec<KeptName>, FileError> {
    list_in(Path::new(FOLDER))
}

/// The names of the incidents that are kept of this head itself, newest first; none where they cannot be read.
pub fn kept_incidents() -> Vec<String> {
    let kept = list().unwrap_or_default().into_iter();
    kept.map(|kept| kept.id).collect()
}

/// What is kept of this head itself of that incident.
///
/// # Errors
/// The name is none, or the folder cannot be read.
pub(super) fn one(id: &str) -> Result<Option<KeptLogs>, FileError> {
    one_in(Path::new(FOLDER), id)
}

fn expected() -> Expected {
    Expected::own(KeptLogs::LARGEST)
}

fn refused(path: &Path, why: &str) -> FileError {
    FileError::io("keep", path)(Error::new(ErrorKind::InvalidInput, why))
}

fn keep_in(folder: &Path, mut logs: KeptLogs, pools: &[String]) -> Result<(), FileError> {
    let head = logs.head.clone();
    let id = logs.id.clone();
    let name = Name::new(&id, head.as_ref().map(HostName::as_str), logs.links_alone);
    let name = name.ok_or_else(|| refused(folder, "not the name of an incident and of a head"))?;
    let mut file = name.file();
    let [plain, of_links] = name.either().map(|name| name.file());
    let path = folder.join(&file);
    let folder = Folder::on_own_disk(folder, pools)?;
    // A file that is damaged is replaced by one that is not.
    let there = |file: &OsString| -> Option<KeptLogs> {
        let text = folder.read(file, expected()).ok().flatten()?;
        serde_json::from_slice(&text).ok()
    };
    if logs.lines() == 0 {
        // Readings alone belong to the lines that are there, as they are now.
        let kept = [&plain, &of_links]
            .into_iter()
            .find_map(|file| Some((file, there(file)?)));
        let kept = kept.ok_or_else(|| refused(&path, "of that incident nothing is kept"))?;
        file.clone_from(kept.0);
        logs = KeptLogs {
            readings: logs.readings,
            ..kept.1
        };
    }
    if logs.links_alone && there(&plain).is_some() {
        return Ok(());
    }
    if logs.readings.is_none() {
        let before = there(&file).or_else(|| there(&of_links));
        logs.readings = before.and_then(|before| before.readings);
    }
    let mut text = serde_json::to_vec(&logs).map_err(|e| refused(&path, &e.to_string()))?;
    if text.len() as u64 > KeptLogs::LARGEST && logs.readings.take().is_some() {
        // The lines are the incident; what was read around them is told without them too.
        text = serde_json::to_vec(&logs).map_err(|e| refused(&path, &e.to_string()))?;
    }
    if text.len() as u64 > KeptLogs::LARGEST {
        return Err(refused(&path, "larger than an incident may be"));
    }
    folder.replace(&file, &text, 0o600)?;
    let mut of_head = names(&folder)?;
    of_head.retain(|name| named(name).is_some_and(|there| there.head == name_of(&head)));
    // What began with a link has taken a head with it since.
    if !logs.links_alone && of_head.contains(&of_links) {
        folder.remove(&of_links)?;
        of_head.retain(|name| *name != of_links);
    }
    for old in of_head.into_iter().skip(KEPT) {
        folder.remove(&old)?;
    }
    let left = names(&folder)?;
    let gone = beyond(HEADS, &left);
    let is_gone = |file: &OsString| {
        let head = named(file).and_then(|name| name.head);
        head.is_some_and(|head| gone.contains(head))
    };
    for old in left.iter().filter(|file| is_gone(file)) {
        folder.remove(old)?;
    }
    Ok(())
}

/// The heads beyond so many, those with the newest incidents first.
fn beyond(many: usize, files: &[OsString]) -> BTreeSet<&str> {
    let mut newest: BTreeMap<&str, &str> = BTreeMap::new();
    for name in files.iter().filter_map(named) {
        if let Some(head) = name.head {
            let id = newest.entry(head).or_default();
            *id = name.id.max(id);
        }
    }
    let mut heads: Vec<(&str, &str)> = newest.into_iter().collect();
    heads.sort_by_key(|(_, id)| Reverse(*id));
    heads.into_iter().skip(many).map(|(head, _)| head).collect()
}

/// Takes one after the other of the files that `may` be asked for, newest first, until it is enough.
fn each_in(
    folder: &Path,
    may: impl Fn(&Folder, &OsString) -> bool,
    mut more: impl FnMut(KeptLogs) -> bool,
) -> Result<(), FileError> {
    let Some(folder) = there(folder)? else {
        return Ok(());
    };
    for name in names(&folder)?.into_iter().filter(|it| may(&folder, it)) {
        let text = folder.read(&name, expected()).ok().flatten();
        let kept = text.and_then(|text| parsed(&name, &text));
        if kept.is_some_and(|kept| !more(kept)) {
            break;
        }
    }
    Ok(())
}

fn list_in(folder: &Path) -> Result<Vec<KeptName>, FileError> {
    let Some(folder) = there(folder)? else {
        return Ok(Vec::new());
    };
    let mut all = Vec::new();
    for file in names(&folder)? {
        let Some(own) = named(&file).filter(|name| name.head.is_none()) else {
            continue;
        };
        if let Some(about) = folder.about(&file)? {
            all.push(KeptName {
                id: own.id.to_owned(),
                bytes: about.len(),
                written_ns: i128::from(about.mtime()) * 1_000_000_000
                    + i128::from(about.mtime_nsec()),
            });
        }
    }
    all.sort_by(|one: &KeptName, other| other.id.cmp(&one.id));
    Ok(all)
}

fn one_in(folder: &Path, id: &str) -> Result<Option<KeptLogs>, FileError> {
    let name = Name::new(id, None, false);
    let name = name.ok_or_else(|| refused(folder, "not the name of an incident"))?;
    let Some(folder) = there(folder)? else {
        return Ok(None);
    };
    for file in name.either().map(|name| name.file()) {
        if let Some(text) = folder.read(&file, expected())? {
            return Ok(parsed(&file, &text));
        }
    }
    Ok(None)
}

/// What a file holds, if that is what its name says.
fn parsed(file: &OsString, text: &[u8]) -> Option<KeptLogs> {
    let name = named(file)?;
    let kept: KeptLogs = serde_json::from_slice(text).ok()?;
    let is_its = kept.id == name.id && name_of(&kept.head) == name.head;
    (is_its && kept.links_alone == name.links_alone).then_some(kept)
}

/// The folder, unless nothing was ever kept.
fn there(folder: &Path) -> Result<Option<Folder>, FileError> {
    match Folder::open(folder) {
        Err(e) if e.os().is_some_and(|e| e.kind() == ErrorKind::NotFound) => Ok(None),
        outcome => outcome.map(Some),
    }
}

fn name_of(head: &Option<HostName>) -> Option<&str> {
    head.as_ref().map(HostName::as_str)
}

/// The names of incidents' files, newest first, since a name begins with the time; after them those of links alone.
fn names(folder: &Folder) -> Result<Vec<OsString>, FileError> {
    let mut names = folder.names()?;
    names.retain(|name| named(name).is_some());
    names.sort();
    names.reverse();
    names.sort_by_key(|name| named(name).is_some_and(|name| name.links_alone));
    Ok(names)
}

#[cfg(test)]
mod tests;
