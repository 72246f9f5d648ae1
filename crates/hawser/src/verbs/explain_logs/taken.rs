//! The logs of a folder or of an archive, and what of them could not be read. An archive is read as it comes: nothing of it is
//! written to the disk, and no name in it is opened.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufReader, ErrorKind, Read};
use std::mem;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::UNIX_EPOCH;

use hawser_account::incident::{LogFile, LogKind, Syslog};
use hawser_cluster::host::KeptLogs;
use miette::{IntoDiagnostic as _, WrapErr as _, bail};
use tar::{Archive, Entry, EntryType, PaxExtensions};

use super::names::{What, is_archive, named, wanted, whose};
use super::syslog;
use super::unpacked::unpacked;

/// Bytes of all logs together, unpacked; logs that are rotated each week have far fewer.
const LARGEST: u64 = 1 << 30;
/// Bytes of all archives together, unpacked, with all that is no log.
const LARGEST_ARCHIVES: u64 = 32 << 30;
/// Bytes of all syslogs together, unpacked: of these only the cluster's lines are kept.
const LARGEST_SYSLOGS: u64 = 8 << 30;
/// Seconds by which a file may be newer than this machine's clock says.
const AHEAD_S: u64 = 2 * 86_400;
/// Bytes of an entry that only tells of the next one.
const LARGEST_HEADER: u64 = 64 << 10;
/// Bytes of a path (PATH_MAX); an entry with a longer one is none that a system made.
const LONGEST_PATH: usize = 4096;
/// Things that are named which could not be read.
const MOST_GAPS: usize = 100;
/// How deep a folder is searched: a sosreport has var/log/pacemaker in it.
const DEEPEST: usize = 8;
/// Files that are looked at by name.
const MOST: usize = 100_000;

/// What was taken.
pub struct Taken {
    /// The logs.
    pub logs: Vec<LogFile>,
    /// When the newest of them was written last, in seconds since 1970 UTC.
    pub recorded: u64,
    /// The first CIB that was found, and where.
    pub cib: Option<(String, Vec<u8>)>,
    /// What could not be read, in words.
    pub gaps: Vec<String>,
    /// Bytes that may still be taken.
    left: u64,
    /// Bytes of archives that may still be read.
    archives_left: u64,
    /// What syslogs have of the cluster.
    syslog: Syslog,
    /// Bytes of them that may still be read.
    syslogs_left: u64,
    now: u64,
    seen: usize,
}

/// A file, in a folder or in an archive.
struct Found<'a> {
    /// Where, in words.
    place: String,
    path: &'a Path,
    /// In seconds since 1970 UTC.
    changed: u64,
}

impl Taken {
    /// All that is in a folder, an archive or a log.
    ///
    /// # Errors
    /// It cannot be read, or has more than is read.
    pub fn of(path: &Path, now: u64) -> miette::Result<Self> {
        let mut taken = Self::empty(now);
        let about = fs::metadata(path)
            .into_diagnostic()
            .wrap_err_with(|| format!("cannot read {}", path.display()))?;
        match about.is_dir() {
            true => taken.folder(path, 0)?,
            false => match named(path) {
                Some(what) => taken.file(path, what)?,
                None => taken.archive(path)?,
            },
        }
        let (of_syslog, left_out) = mem::take(&mut taken.syslog).logs();
        taken.logs.extend(of_syslog);
        taken.gaps.extend(left_out);
        if taken.recorded == 0 {
            taken.recorded = now;
        }
        Ok(taken)
    }

    fn empty(now: u64) -> Self {
        Self {
            logs: Vec::new(),
            recorded: 0,
            cib: None,
            gaps: Vec::new(),
            left: LARGEST,
            archives_left: LARGEST_ARCHIVES,
            syslog: Syslog::default(),
            syslogs_left: LARGEST_SYSLOGS,
            now,
            seen: 0,
        }
    }

    /// Looks for logs by their names; symbolic links are not followed.
    fn folder(&mut self, folder: &Path, depth: usize) -> miette::Result<()> {
        let entries = fs::read_dir(folder)
            .into_diagnostic()
            .wrap_err_with(|| format!("cannot read the folder {}", folder.display()))?;
        let mut entries: Vec<_> = entries.flatten().collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            self.see(folder)?;
            let path = entry.path();
            let Ok(about) = entry.file_type() else {
                continue;
            };
            if about.is_dir() && depth < DEEPEST {
                self.folder(&path, depth + 1)?;
            } else if let Some(what) = wanted(&path).filter(|_| about.is_file()) {
                self.file(&path, what)?;
            } else if about.is_file() && is_archive(&path) {
                self.archive(&path)?;
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, what: What) -> miette::Result<()> {
        let file = opened(path)?;
        let changed = file.metadata().and_then(|about| about.modified()).ok();
        let changed = changed.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        // A log that is named alone lies in a folder too.
        let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let found = Found {
            place: path.display().to_string(),
            path: &whole,
            changed: changed.map_or(0, |since| since.as_secs()),
        };
        self.take(&found, what, file)
    }

    fn archive(&mut self, path: &Path) -> miette::Result<()> {
        let file = opened(path)?;
        let whole = unpacked(file).map(|whole| Archive::new(whole.take(self.archives_left)));
        let outcome = match whole {
            Ok(mut archive) => {
                let outcome = self.entries(path, &mut archive)?;
                self.archives_left = archive.into_inner().limit();
                outcome
            }
            Err(why) => Err(why),
        };
        let path = path.display();
        match outcome {
            _ if self.archives_left == 0 => self.gap(format!(
                "{path} was not read to its end: all archives together have more than {} GiB, unpacked",
                LARGEST_ARCHIVES >> 30
            )),
            Ok(()) => {}
            Err(why) if is_whole(&why) => {
                self.gap(format!("{path} was not read to its end: {why}"));
            }
            Err(why) => {
                // The library quotes what it took for a header.
                let why = why.to_string();
                let why = why.lines().next().unwrap_or_default();
                let gap = format!("{path} is no archive, or a damaged one: {why}");
                self.gap(gap);
            }
        }
        Ok(())
    }

    /// Reads the entries one after the other. The names of an archive are as long as its maker likes, so those that are too
    /// long for a header are read here and not by the library, which has no bound for them.
    fn entries(
        &mut self,
        of: &Path,
        archive: &mut Archive<impl Read>,
    ) -> miette::Result<io::Result<()>> {
        let entries = match archive.entries() {
            Ok(entries) => entries.raw(true),
            Err(why) => return Ok(Err(why)),
        };
        let mut named = None;
        for entry in entries {
            let mut entry = match entry {
                Ok(entry) => entry,
                Err(why) => return Ok(Err(why)),
            };
            let kind = entry.header().entry_type();
            if matches!(kind, EntryType::GNULongName | EntryType::XHeader) {
                match name_of_next(&mut entry) {
                    Ok(Some(name)) => named = Some(name),
                    Ok(None) => {}
                    Err(why) => return Ok(Err(why)),
                }
                continue;
            }
            if matches!(kind, EntryType::GNULongLink | EntryType::XGlobalHeader) {
                continue;
            }
            self.see(of)?;
            let name = named.take();
            let name = name.unwrap_or_else(|| entry.path_bytes().into_owned());
            let path = Path::new(OsStr::from_bytes(&name));
            let gnu = entry.header().as_gnu();
            if kind == EntryType::GNUSparse && gnu.is_some_and(|header| header.is_extended()) {
                let why = "an entry of it has holes (tar -S), and is not read past";
                return Ok(Err(io::Error::new(ErrorKind::Unsupported, why)));
            }
            let Some(what) = wanted(path) else {
                continue;
            };
            let place = format!("{}: {}", of.display(), path.display());
            match kind {
                EntryType::Regular | EntryType::Continuous => {
                    let found = Found {
                        place,
                        path,
                        changed: entry.header().mtime().unwrap_or(0),
                    };
                    self.take(&found, what, entry)?;
                }
                EntryType::GNUSparse => {
                    self.gap(format!("{place} was not read: it has holes (tar -S)"))
                }
                _ => {}
            }
        }
        Ok(Ok(()))
    }

    /// Takes a log or a CIB, as far as it is whole.
    fn take(&mut self, found: &Found<'_>, what: What, packed: impl Read) -> miette::Result<()> {
        let place = &found.place;
        match what {
            What::Cib if self.cib.is_some() => return Ok(()),
            What::Syslog => return self.syslog(found, packed),
            _ => {}
        }
        let most = match what {
            What::Kept => self.left.min(KeptLogs::LARGEST),
            _ => self.left,
        };
        let mut bytes = Vec::new();
        let read = unpacked(packed);
        let read = read.and_then(|text| text.take(most + 1).read_to_end(&mut bytes));
        if bytes.len() as u64 > self.left {
            return Err(too_many(place));
        }
        if bytes.len() as u64 > most {
            self.gap(format!(
                "{place} was not read: a watch keeps no incident of more than {} MiB",
                KeptLogs::LARGEST >> 20
            ));
            return Ok(());
        }
        self.left -= bytes.len() as u64;
        match read {
            Ok(_) => {}
            Err(why) if is_whole(&why) => {
                self.gap(format!("{place} was not read: {why}"));
                return Ok(());
            }
            Err(why) => {
                let read = bytes.len();
                self.gap(format!(
                    "{place} is damaged after {read} bytes of text ({why})"
                ));
            }
        }
        match what {
            What::Cib => self.cib = Some((place.clone(), bytes)),
            What::Kept => match serde_json::from_slice::<KeptLogs>(&bytes) {
                Ok(logs) => {
                    let both = [
                        (LogKind::Corosync, logs.corosync),
                        (LogKind::Pacemaker, logs.pacemaker),
                    ];
                    for (kind, lines) in both {
                        self.log(kind, found, lines.join("\n"));
                    }
                }
                Err(e) => self.gap(format!("{place} is no incident that a watch has kept: {e}")),
            },
            // It was taken line by line.
            What::Syslog => {}
            What::Log(kind) => {
                let text = String::from_utf8(bytes)
                    .unwrap_or_else(|broken| String::from_utf8_lossy(broken.as_bytes()).into());
                self.log(kind, found, text);
            }
        }
        Ok(())
    }

    /// Takes the cluster's lines of a syslog, as far as it is whole.
    fn syslog(&mut self, found: &Found<'_>, packed: impl Read) -> miette::Result<()> {
        let place = &found.place;
        let mut read = syslog::Taken::default();
        let outcome = unpacked(packed).and_then(|text| {
            let text = BufReader::new(text.take(self.syslogs_left));
            syslog::lines(text, &mut self.syslog, self.left, &mut read)
        });
        self.syslog.file_ends();
        self.syslogs_left = self.syslogs_left.saturating_sub(read.bytes);
        if read.kept > self.left {
            return Err(too_many(place));
        }
        self.left -= read.kept;
        if read.kept > 0 {
            self.written(found.changed);
        }
        match outcome {
            Err(why) if is_whole(&why) => self.gap(format!("{place} was not read: {why}")),
            Err(why) => self.gap(format!(
                "{place} is damaged after {} bytes of text ({why})",
                read.bytes
            )),
            Ok(()) if self.syslogs_left == 0 => self.gap(format!(
                "{place} was not read to its end: all syslogs together have more than {} GiB, unpacked",
                LARGEST_SYSLOGS >> 30
            )),
            Ok(()) => {}
        }
        Ok(())
    }

    /// When a log was written last: what an archive says of a time is what its maker wrote.
    fn written(&mut self, changed: u64) {
        if changed <= self.now.saturating_add(AHEAD_S) {
            self.recorded = self.recorded.max(changed);
        }
    }

    /// One that says nothing is nobody's.
    fn log(&mut self, kind: LogKind, found: &Found<'_>, text: String) {
        if text.trim().is_empty() {
            return;
        }
        self.written(found.changed);
        self.logs.push(LogFile {
            kind,
            folder: whose(found.path),
            text,
        });
    }

    fn gap(&mut self, gap: String) {
        match self.gaps.len() {
            ..MOST_GAPS => self.gaps.push(gap),
            MOST_GAPS => self.gaps.push("More could not be read.".to_owned()),
            _ => {}
        }
    }

    fn see(&mut self, of: &Path) -> miette::Result<()> {
        self.seen += 1;
        if self.seen > MOST {
            bail!(
                "{}: more than {MOST} files; name the folder of the logs, or unpack them",
                of.display()
            );
        }
        Ok(())
    }
}

fn too_many(place: &str) -> miette::Report {
    miette::miette!(
        help = "name a folder with fewer of them",
        "{place}: with it the logs have more than {} MiB, unpacked",
        LARGEST >> 20
    )
}

/// Whether it may be whole, and cannot be read here all the same.
fn is_whole(why: &io::Error) -> bool {
    matches!(why.kind(), ErrorKind::Unsupported | ErrorKind::OutOfMemory)
}

/// Opens what must be a regular file: nothing else has an end that is sure.
fn opened(path: &Path) -> miette::Result<File> {
    let cannot = || format!("cannot read {}", path.display());
    let about = fs::metadata(path).into_diagnostic().wrap_err_with(cannot)?;
    if !about.is_file() {
        bail!("{}: not a regular file", path.display());
    }
    File::open(path).into_diagnostic().wrap_err_with(cannot)
}

/// The name of the entry that follows, where this one gives it (tar(5): GNU's `L`, pax's `path`, of which the last counts).
fn name_of_next(entry: &mut Entry<'_, impl Read>) -> io::Result<Option<Vec<u8>>> {
    let gnu = entry.header().entry_type() == EntryType::GNULongName;
    let mut bytes = Vec::new();
    entry.take(LARGEST_HEADER).read_to_end(&mut bytes)?;
    let name = match gnu {
        true => bytes.split(|byte| *byte == 0).next().map(<[u8]>::to_vec),
        false => {
            let mut path = None;
            for one in PaxExtensions::new(&bytes).flatten() {
                match one.key_bytes() {
                    b"path" => path = Some(one.value_bytes().to_vec()),
                    // Its header has another length, and what follows would be taken for entries.
                    b"size" => {
                        let why = "an entry of it is larger than a header of tar can say, and is not read past";
                        return Err(io::Error::new(ErrorKind::Unsupported, why));
                    }
                    _ => {}
                }
            }
            path
        }
    };
    Ok(name.filter(|name| name.len() < LONGEST_PATH))
}

#[cfg(test)]
mod tests;
