//! What a watch has kept of incidents on this head's disk, so that it is still there when logs were rotated away and rings
//! of readings written over: of this head the lines of its logs and what was read around them, and of each other head what
//! its own watch has kept, so that it outlives that head.

use std::ffi::OsString;
use std::io::{Error, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use hawser_files::{Expected, FileError, Folder};
use hawser_model::drill::Moment;
use hawser_model::names::HostName;
use hawser_model::readings::KeptReadings;
use serde::{Deserialize, Serialize};

/// On the head's own disk, never on a pool.
const FOLDER: &str = "/var/lib/hawser/incidents";

/// Incidents that are kept of a head; the oldest go first, and before them the oldest of links alone.
const KEPT: usize = 100;

/// Bytes of all that are read together: a message of the agent's holds 16 MiB.
const TOGETHER: u64 = 8 << 20;

/// What follows the incident's in the name of a file with links alone. The name says what goes first: no file has to be read,
/// and believed, for it.
const OF_LINKS: &str = "-links";

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
    each_in(Path::new(FOLDER), |kept| {
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
    let (mut all, mut bytes) = (Vec::new(), 0);
    each_in(Path::new(FOLDER), |kept| {
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

/// Whose, and of what: the name of a file, without its ending.
#[derive(Clone, Copy)]
struct Name<'a> {
    id: &'a str,
    head: Option<&'a str>,
    links_alone: bool,
}

impl<'a> Name<'a> {
    /// Of a file that is kept.
    fn of(file: &'a str) -> Option<Self> {
        let name = file.strip_suffix(".json")?;
        let (id, head) = match name.split_once('.') {
            Some((id, head)) => (id, Some(head)),
            None => (name, None),
        };
        let of_links = id.strip_suffix(OF_LINKS);
        Self::new(of_links.unwrap_or(id), head, of_links.is_some())
    }

    /// Unless it is none that may be part of a path.
    fn new(id: &'a str, head: Option<&'a str>, links_alone: bool) -> Option<Self> {
        let digits = |c: char| c.is_ascii_digit() || c == '-';
        let plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        let is_id = !id.is_empty() && id.len() <= 40 && id.chars().all(digits);
        let is_head = |head: &str| !head.is_empty() && head.len() <= 64 && head.chars().all(plain);
        (is_id && head.is_none_or(is_head)).then_some(Self {
            id,
            head,
            links_alone,
        })
    }

    /// Of the same incident, of whatever kind.
    fn either(self) -> [Self; 2] {
        [false, true].map(|links_alone| Self {
            links_alone,
            ..self
        })
    }

    fn file(&self) -> OsString {
        let of_links = if self.links_alone { OF_LINKS } else { "" };
        match self.head {
            Some(head) => format!("{}{of_links}.{head}.json", self.id).into(),
            None => format!("{}{of_links}.json", self.id).into(),
        }
    }
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
    Ok(())
}

/// Takes one after the other, newest first, until it is enough.
fn each_in(folder: &Path, mut more: impl FnMut(KeptLogs) -> bool) -> Result<(), FileError> {
    let Some(folder) = there(folder)? else {
        return Ok(());
    };
    for name in names(&folder)? {
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

/// What the name of a file says, if it is one of an incident.
fn named(file: &OsString) -> Option<Name<'_>> {
    Name::of(file.to_str()?)
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
mod tests {
    use super::*;

    fn kept_in(folder: &Path) -> Result<Vec<KeptLogs>, FileError> {
        let mut all = Vec::new();
        each_in(folder, |kept| {
            all.push(kept);
            true
        })?;
        Ok(all)
    }

    fn incident(id: &str) -> KeptLogs {
        KeptLogs {
            id: id.to_owned(),
            corosync: vec!["a".to_owned()],
            ..KeptLogs::default()
        }
    }

    #[test]
    fn the_newest_of_each_head_are_kept_and_read_first() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("below/incidents");
        assert_eq!(kept_in(&folder).unwrap(), []);
        assert_eq!(list_in(&folder).unwrap(), []);
        let others = KeptLogs {
            head: Some("head2.example".into()),
            ..incident("20261121-111412")
        };
        keep_in(&folder, others.clone(), &[]).unwrap();
        for n in 0..KEPT + 3 {
            keep_in(&folder, incident(&format!("20261122-{n:06}")), &[]).unwrap();
        }
        let kept = kept_in(&folder).unwrap();
        assert_eq!(kept.len(), KEPT + 1);
        assert_eq!(kept[0].id, format!("20261122-{:06}", KEPT + 2));
        assert_eq!(kept[KEPT], others);
        let listed = list_in(&folder).unwrap();
        assert_eq!((listed.len(), &listed[0].id), (KEPT, &kept[0].id));
        assert_eq!(one_in(&folder, &kept[0].id).unwrap(), Some(kept[0].clone()));
        assert_eq!(one_in(&folder, "20261121-111412").unwrap(), None);
    }

    fn of_links(id: &str) -> KeptLogs {
        KeptLogs {
            links_alone: true,
            ..incident(id)
        }
    }

    #[test]
    fn links_alone_push_out_no_head() {
        let dir = tempfile::tempdir().unwrap();
        let keep = |logs| keep_in(dir.path(), logs, &[]).unwrap();
        let ids = |links_alone: bool| -> Vec<String> {
            let kept = kept_in(dir.path()).unwrap().into_iter();
            let kept = kept.filter(|one| one.links_alone == links_alone);
            kept.map(|one| one.id).collect()
        };
        // The oldest of all is a head's, and then a link flaps for weeks; of another head so much is kept too.
        keep(incident("20261101-000000"));
        let others = KeptLogs {
            head: Some("head2".into()),
            ..of_links("20261101-000000")
        };
        keep(others.clone());
        for n in 0..KEPT + 20 {
            keep(of_links(&format!("20261122-{n:06}")));
        }
        assert_eq!(ids(false), ["20261101-000000"]);
        assert_eq!(ids(true).len(), KEPT);
        assert_eq!(ids(true)[0], format!("20261122-{:06}", KEPT + 19));
        let listed = list_in(dir.path()).unwrap();
        assert_eq!((listed.len(), &listed[KEPT - 1].id), (KEPT, &ids(false)[0]));
        // Where heads fill it, not even the newest link finds room; then the oldest head goes.
        for n in 1..KEPT {
            keep(incident(&format!("20261123-{n:06}")));
        }
        keep(of_links("20261124-000000"));
        assert_eq!(ids(true), [others.id]);
        assert_eq!(ids(false)[KEPT - 1], "20261101-000000");
        keep(incident("20261125-000000"));
        assert_eq!(ids(false)[KEPT - 1], "20261123-000001");
    }

    #[test]
    fn an_incident_that_takes_a_head_with_it_is_kept_once_and_as_that() {
        let dir = tempfile::tempdir().unwrap();
        let readings = KeptReadings {
            damaged: 3,
            ..KeptReadings::default()
        };
        let with = |logs: KeptLogs| KeptLogs {
            readings: Some(readings.clone()),
            ..logs
        };
        let (link, head) = (of_links("20261122-111412"), incident("20261122-111412"));
        keep_in(dir.path(), with(link.clone()), &[]).unwrap();
        let kept = || one_in(dir.path(), "20261122-111412").unwrap();
        assert_eq!(kept(), Some(with(link.clone())));
        // What was read around it stays.
        keep_in(dir.path(), head.clone(), &[]).unwrap();
        assert_eq!(kept_in(dir.path()).unwrap(), [with(head.clone())]);
        // What says less later replaces nothing.
        keep_in(dir.path(), link, &[]).unwrap();
        assert_eq!(kept_in(dir.path()).unwrap(), [with(head)]);
        // Nor is a file believed whose name says another thing.
        let (file, other) = ("20261122-111412.json", "20261122-111413-links.json");
        let text = std::fs::read_to_string(dir.path().join(file)).unwrap();
        std::fs::write(dir.path().join(other), text.replace("111412", "111413")).unwrap();
        assert_eq!(kept_in(dir.path()).unwrap().len(), 1);
    }

    #[test]
    fn nothing_is_kept_on_a_pool() {
        let dir = tempfile::tempdir().unwrap();
        let pool = dir.path().join("vmpool01");
        std::fs::create_dir(&pool).unwrap();
        let pools = [pool.to_str().unwrap().to_owned()];
        let kept = incident("20261122-111412");
        let refused = keep_in(&pool.join("incidents"), kept.clone(), &pools).unwrap_err();
        let said = refused.to_string();
        assert!(said.contains("incidents is on the pool below"), "{said}");
        keep_in(&dir.path().join("incidents"), kept, &pools).unwrap();
    }

    #[test]
    fn a_name_leads_nowhere_else_and_a_damaged_file_hides_no_other() {
        let dir = tempfile::tempdir().unwrap();
        for id in ["", "../x", "a", "1/2"] {
            keep_in(dir.path(), incident(id), &[]).unwrap_err();
            one_in(dir.path(), id).unwrap_err();
        }
        for head in ["", "../x", "a/b", "a\nb"] {
            let of = KeptLogs {
                head: Some(head.into()),
                ..incident("20261122-111412")
            };
            keep_in(dir.path(), of, &[]).unwrap_err();
        }
        keep_in(dir.path(), incident("20261122-111412"), &[]).unwrap();
        std::fs::write(dir.path().join("20261122-111413.json"), "{").unwrap();
        // One that says that it is another's.
        let other = dir.path().join("20261122-111414.json");
        std::fs::copy(dir.path().join("20261122-111412.json"), other).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", dir.path().join("9.json")).unwrap();
        assert_eq!(kept_in(dir.path()).unwrap(), [incident("20261122-111412")]);
    }

    #[test]
    fn readings_stay_when_lines_are_kept_again_and_are_left_out_where_they_are_too_much() {
        let dir = tempfile::tempdir().unwrap();
        let with = |readings: KeptReadings| KeptLogs {
            readings: Some(readings),
            ..incident("20261122-111412")
        };
        let some = KeptReadings {
            damaged: 3,
            ..KeptReadings::default()
        };
        keep_in(dir.path(), with(some.clone()), &[]).unwrap();
        keep_in(dir.path(), incident("20261122-111412"), &[]).unwrap();
        assert_eq!(kept_in(dir.path()).unwrap(), [with(some)]);
        // Readings that are brought alone belong to the lines that have been kept meanwhile.
        let longer = KeptLogs {
            corosync: vec!["a".to_owned(), "b".to_owned()],
            ..incident("20261122-111412")
        };
        keep_in(dir.path(), longer.clone(), &[]).unwrap();
        let alone = |id: &str| KeptLogs {
            id: id.to_owned(),
            readings: Some(KeptReadings::default()),
            ..KeptLogs::default()
        };
        keep_in(dir.path(), alone("20261122-111412"), &[]).unwrap();
        let both = KeptLogs {
            readings: Some(KeptReadings::default()),
            ..longer
        };
        assert_eq!(kept_in(dir.path()).unwrap(), [both]);
        keep_in(dir.path(), alone("20261122-111413"), &[]).unwrap_err();
        let many = KeptReadings {
            gaps: vec![Default::default(); KeptLogs::LARGEST as usize / 4],
            ..KeptReadings::default()
        };
        keep_in(dir.path(), with(many), &[]).unwrap();
        assert_eq!(kept_in(dir.path()).unwrap(), [incident("20261122-111412")]);
    }
}
