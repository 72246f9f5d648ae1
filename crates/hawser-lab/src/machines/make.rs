//! Making what machines boot from, out of Debian's packages: in a folder that is thrown away, by mmdebstrap.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use hawser_tool::{Launch, TIED, Tool, end_unless};

use super::image::{self, Waiting};
use super::release::Release;
use super::sources::{self, Found};
use crate::error::LabError;

/// What is being made. Its holder has the lock, so what is found beside it is left of one that was killed.
const BUILDING: &str = ".building";
const LOOKS: Duration = Duration::from_millis(100);
/// A line of the log that is for who waits.
const TOLD: &str = "hawser: ";

/// The folder in which something is made.
pub(super) struct Work {
    folder: PathBuf,
    /// The root of the packages.
    pub root: PathBuf,
    /// What is to stay.
    pub done: PathBuf,
}

/// Makes what is to be at this place: whole, or not at all.
pub(super) fn into(
    place: &Path,
    make: impl FnOnce(&Work) -> Result<(), LabError>,
) -> Result<(), LabError> {
    let folder = nothing_there()?;
    let (root, done) = (folder.join("root"), folder.join("done"));
    fs::create_dir_all(&done).map_err(|e| LabError::io("create the folder", &done, e))?;
    let work = Work { folder, root, done };
    let made = make(&work).and_then(|()| {
        fs::rename(&work.done, place).map_err(|e| LabError::io("rename to", place, e))
    });
    let removed = remove(&work.folder);
    made.and(removed)
}

/// Removes what is at this place: as one step, so that nothing that is left of it is taken for the whole. Who calls holds the
/// images' lock.
pub(super) fn discard(place: &Path) -> Result<(), LabError> {
    let folder = nothing_there()?;
    fs::rename(place, &folder).map_err(|e| LabError::io("rename", place, e))?;
    remove(&folder)
}

/// The folder in which something is made, without what is left of an earlier one.
fn nothing_there() -> Result<PathBuf, LabError> {
    let folder = image::folder().join(BUILDING);
    remove(&folder)?;
    Ok(folder)
}

fn remove(work: &Path) -> Result<(), LabError> {
    match fs::remove_dir_all(work) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(LabError::io("remove", work, e)),
        _ => Ok(()),
    }
}

impl Work {
    /// Writes a program.
    pub fn script(&self, name: &str, text: &str) -> Result<PathBuf, LabError> {
        self.file(name, text, 0o755)
    }

    /// Writes a sources.list(5).
    pub fn sources(&self, name: &str, text: &str) -> Result<PathBuf, LabError> {
        self.file(name, text, 0o644)
    }

    fn file(&self, name: &str, text: &str, mode: u32) -> Result<PathBuf, LabError> {
        let path = self.folder.join(name);
        hawser_files::replace(&path, text.as_bytes(), mode)?;
        Ok(path)
    }

    /// Unpacks packages of a release, and of its suite with ZFS; runs a command of the shell with their root as `$1`. It and
    /// all that it starts end when this program does, however that ends.
    pub fn unpack(
        &self,
        release: Release,
        packages: &[&str],
        hook: &str,
        with_zfs: bool,
        waiting: &Waiting<'_>,
    ) -> Result<(), LabError> {
        let found = sources(release);
        let mut text = found.list.clone();
        if with_zfs {
            text += &found.zfs(release);
        }
        let list = self.sources("sources.list", &text)?;
        let log = self.folder.join("log");
        let file = File::create(&log).map_err(|e| LabError::io("create", &log, e))?;
        let mut child = Launch::new(TIED[0])
            .args(&TIED[1..])
            .args(["unshare", "--mount", "--pid", "--fork", "--kill-child"])
            .args(["--mount-proc", "--"])
            .args(self.mmdebstrap(release, packages, hook, &list))
            .log(file)
            .apart()
            .daemon()?;
        let mut told = Told::of(&log)?;
        let ended = end_unless(&mut child, LOOKS, || {
            told.since(|line| (waiting.told)(line));
            (waiting.interrupted)().then_some(LabError::Interrupted)
        });
        match ended.map_err(|e| LabError::io("wait for", "mmdebstrap", e))? {
            Err(stopped) => Err(stopped),
            Ok(status) if status.success() => Ok(()),
            Ok(_) => Err(LabError::Tool {
                command: "mmdebstrap".to_owned(),
                what: complaints(&fs::read_to_string(&log).unwrap_or_default()),
            }),
        }
    }

    fn mmdebstrap(
        &self,
        release: Release,
        packages: &[&str],
        hook: &str,
        sources: &Path,
    ) -> Vec<String> {
        let mut words: Vec<String> = ["mmdebstrap", "--mode=root", "--format=directory"]
            .map(str::to_owned)
            .into();
        // apt is there for hooks, in a root that is thrown away as in one that becomes an image.
        words.push("--variant=minbase".to_owned());
        words.push(format!("--include={}", packages.join(",")));
        words.push(format!("--customize-hook={hook}"));
        let options = apt_options().into_iter();
        words.extend(options.map(|option| format!("--aptopt={option}")));
        words.push(release.suite().to_owned());
        words.push(self.root.display().to_string());
        words.push(sources.display().to_string());
        words
    }
}

/// What a log says to who waits.
struct Told {
    log: File,
    rest: String,
}

impl Told {
    fn of(log: &Path) -> Result<Self, LabError> {
        let log = File::open(log).map_err(|e| LabError::io("open", log, e))?;
        let rest = String::new();
        Ok(Self { log, rest })
    }

    /// What is new of it. One that cannot be read is no reason to stop.
    fn since(&mut self, told: impl FnMut(&str)) {
        let mut bytes = Vec::new();
        let at = self.log.stream_position().unwrap_or(0);
        let read = self.log.by_ref().read_to_end(&mut bytes);
        if read.is_err() {
            let _as_before = self.log.seek(SeekFrom::Start(at));
            return;
        }
        self.rest.push_str(&String::from_utf8_lossy(&bytes));
        let whole = self.rest.rfind('\n').map_or(0, |end| end + 1);
        let lines: String = self.rest.drain(..whole).collect();
        let lines = lines.lines().filter_map(|line| line.strip_prefix(TOLD));
        lines.for_each(told);
    }
}

/// How the C library says `ENOSPC`; dpkg, tar and mke2fs say it in a line of their own, and whoever called them only that they
/// failed.
const FULL: &str = "No space left on device";

/// What mmdebstrap and apt say as an error: lines that begin with `E:`, else the last ones; and before them the one that says
/// that the disk is full.
fn complaints(log: &str) -> String {
    let mut lines: Vec<&str> = log.lines().filter(|line| line.starts_with("E:")).collect();
    if lines.is_empty() {
        let all: Vec<&str> = log.lines().collect();
        lines = all[all.len().saturating_sub(3)..].to_vec();
    }
    let full = log.lines().find(|line| line.contains(FULL));
    let full = full.filter(|line| !lines.contains(line));
    let all: Vec<&str> = full.into_iter().map(str::trim).chain(lines).collect();
    all.join("; ")
}

/// Where this host finds a release.
pub(super) fn sources(release: Release) -> Found {
    let files = apt_files();
    sources::of(release, files.iter().map(String::as_str))
}

/// The files that name this host's sources. Who has none takes Debian's.
fn apt_files() -> Vec<String> {
    let parts = fs::read_dir("/etc/apt/sources.list.d")
        .into_iter()
        .flatten()
        .flatten();
    let mut paths: Vec<PathBuf> = parts.map(|entry| entry.path()).collect();
    paths.sort();
    paths.insert(0, "/etc/apt/sources.list".into());
    let known = |path: &PathBuf| {
        path.extension()
            .is_some_and(|it| it == "list" || it == "sources")
    };
    paths
        .iter()
        .filter(|path| known(path))
        .filter_map(|path| fs::read_to_string(path).ok())
        .collect()
}

/// By which proxy this host reaches its sources. Who has no apt has none.
fn apt_options() -> Vec<String> {
    let dump = Tool::new("apt-config")
        .args(["dump"])
        .text()
        .unwrap_or_default();
    let is_proxy = |line: &&str| line.starts_with("Acquire::http") && line.contains("::Proxy");
    let lines = dump.lines().filter(is_proxy);
    lines
        .map(|line| line.trim_end_matches(';').to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_apt_complains_of_is_said_and_not_its_progress() {
        let log = "I: running apt-get update...\nE: Unable to locate package x\nI: cleanup\n";
        assert_eq!(complaints(log), "E: Unable to locate package x");
        assert_eq!(complaints("a\nb\nc\nd\n"), "b; c; d");
        let full = "dpkg: error processing archive x.deb: write: No space left on device\nE: Sub-process dpkg returned an error code\n";
        assert_eq!(complaints(full), full.trim().replace('\n', "; "));
    }

    #[test]
    fn who_waits_is_told_each_step_once_and_never_half_of_one() {
        let log = tempfile::NamedTempFile::new().unwrap();
        let mut told = Told::of(log.path()).unwrap();
        let mut heard = Vec::new();
        let mut text = String::new();
        for (said, wanted) in [
            ("I: success\nhawser: con", 0),
            ("figuring\nchecking\n", 1),
            ("hawser: compiling\n", 2),
        ] {
            text += said;
            fs::write(log.path(), &text).unwrap();
            told.since(|line| heard.push(line.to_owned()));
            assert_eq!(heard.len(), wanted);
        }
        assert_eq!(heard, ["configuring", "compiling"]);
    }
}
