//! `hawser explain --logs`: why services were away, from a folder of logs.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::UNIX_EPOCH;

use flate2::read::MultiGzDecoder;
use hawser_account::incident::{LogFile, LogKind, incidents};
use hawser_watch::history::of_cib;
use miette::{IntoDiagnostic as _, WrapErr as _, bail};

use crate::{output, render};

/// Bytes of all files together, unpacked; logs that are rotated each week have far fewer.
const LARGEST: u64 = 1 << 30;
/// How deep a folder is searched: a sosreport has var/log/pacemaker in it.
const DEEPEST: usize = 8;
/// Files that are looked at by name.
const MOST: usize = 100_000;

/// What a folder holds.
#[derive(Default)]
struct Found {
    logs: Vec<(LogKind, PathBuf)>,
    cib: Option<PathBuf>,
    packed: Vec<PathBuf>,
    seen: usize,
}

/// Reads the logs and says what they tell; exit code 1 when there is an incident.
pub fn run(folder: &Path, json: bool) -> miette::Result<ExitCode> {
    let mut found = Found::default();
    if fs::metadata(folder)
        .into_diagnostic()
        .wrap_err_with(|| format!("cannot read {}", folder.display()))?
        .is_dir()
    {
        search(folder, 0, &mut found)?;
    } else if let Some(kind) = kind(folder) {
        found.take(kind, folder.to_owned());
    }
    if found.logs.is_empty() {
        let packed = match found.packed.as_slice() {
            [] => String::new(),
            [one, ..] => format!("; {} is compressed: unpack it first", one.display()),
        };
        bail!(
            help = "give a folder that holds corosync.log and pacemaker.log of each head, such as an unpacked crm_report or \
                    sosreport",
            "{}: no corosync.log or pacemaker.log in it{packed}",
            folder.display()
        );
    }
    let mut files = Vec::new();
    let mut gaps = Vec::new();
    let mut recorded = 0;
    let mut left = LARGEST;
    for (kind, path) in &found.logs {
        let (bytes, gap) = bytes_of(path, left)?;
        gaps.extend(gap);
        left -= bytes.len() as u64;
        let text = String::from_utf8(bytes)
            .unwrap_or_else(|broken| String::from_utf8_lossy(broken.as_bytes()).into_owned());
        let changed = fs::metadata(path).and_then(|about| about.modified());
        let since = changed
            .ok()
            .and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        recorded = recorded.max(since.map_or(0, |since| since.as_secs()));
        // A log that is named alone lies in a folder too.
        let whole = path.canonicalize().unwrap_or_else(|_| path.clone());
        let parent = whole.parent().and_then(Path::file_name).unwrap_or_default();
        files.push(LogFile {
            kind: *kind,
            folder: parent.to_string_lossy().into_owned(),
            text,
        });
    }
    let services = match &found.cib {
        Some(cib) => {
            let bytes = hawser_files::read_named(cib, LARGEST).into_diagnostic()?;
            let services = of_cib(&String::from_utf8_lossy(&bytes));
            if services.is_none() {
                gaps.push(format!(
                    "{}: not a CIB; services are told by the names of their resources",
                    cib.display()
                ));
            }
            services
        }
        None => None,
    };
    let mut report = incidents(&files, &services.unwrap_or_default(), recorded);
    if report.heads.iter().all(|head| head.from.is_none()) {
        bail!(
            help = "stamps that are known: \"Nov 22 11:14:13.159\", \"Nov 22 11:14:13\", \"2026-11-22T11:14:13.159+01:00\"",
            "{}: no line of a log in it begins with a time stamp{}",
            folder.display(),
            gaps.first()
                .map(|gap| format!("; {gap}"))
                .unwrap_or_default()
        );
    }
    report.gaps.extend(gaps);
    for path in &found.packed {
        let gap = format!("{} is compressed and was not read", path.display());
        report.gaps.push(gap);
    }
    match json {
        true => output::print(&super::explain::pretty(&report)),
        false => output::print_fitted(&render::incident::text(&report)),
    }
    Ok(ExitCode::from(u8::from(!report.incidents.is_empty())))
}

impl Found {
    fn take(&mut self, kind: LogKind, path: PathBuf) {
        match ends_in(&path, &["xz", "bz2", "zst"]) {
            true => self.packed.push(path),
            false => self.logs.push((kind, path)),
        }
    }
}

fn ends_in(path: &Path, ends: &[&str]) -> bool {
    path.extension()
        .is_some_and(|end| ends.iter().any(|one| end == *one))
}

/// All of a log, of which so many bytes are left to be read; of one that logrotate has compressed, as far as it is whole, and
/// what is missing.
fn bytes_of(path: &Path, left: u64) -> miette::Result<(Vec<u8>, Option<String>)> {
    let mut bytes = hawser_files::read_named(path, LARGEST).into_diagnostic()?;
    let mut gap = None;
    if ends_in(path, &["gz"]) {
        let packed = std::mem::take(&mut bytes);
        let mut text = MultiGzDecoder::new(packed.as_slice()).take(left + 1);
        gap = text.read_to_end(&mut bytes).err().map(|why| {
            let (path, read) = (path.display(), bytes.len());
            format!("{path} is damaged after {read} bytes of text ({why})")
        });
    }
    if bytes.len() as u64 > left {
        bail!(
            help = "name a folder with fewer of them",
            "{}: with it the logs have more than {} MiB, unpacked",
            path.display(),
            LARGEST >> 20
        );
    }
    Ok((bytes, gap))
}

/// Looks for logs by their names; symbolic links are not followed.
fn search(folder: &Path, depth: usize, found: &mut Found) -> miette::Result<()> {
    let entries = fs::read_dir(folder)
        .into_diagnostic()
        .wrap_err_with(|| format!("cannot read the folder {}", folder.display()))?;
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        found.seen += 1;
        if found.seen > MOST {
            bail!(
                "{}: more than {MOST} files; name the folder of the logs",
                folder.display()
            );
        }
        let path = entry.path();
        let Ok(about) = entry.file_type() else {
            continue;
        };
        if about.is_dir() && depth < DEEPEST {
            search(&path, depth + 1, found)?;
        } else if about.is_file() {
            match kind(&path) {
                Some(kind) => found.take(kind, path),
                None if entry.file_name() == "cib.xml" => {
                    found.cib.get_or_insert(path);
                }
                None => {}
            }
        }
    }
    Ok(())
}

/// Which log a file is, by its name: `corosync.log`, `pacemaker.log.1`.
fn kind(path: &Path) -> Option<LogKind> {
    let name = path.file_name()?.to_str()?;
    let of = |begin: &str| {
        name.strip_prefix(begin)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
    };
    match () {
        () if of("corosync.log") => Some(LogKind::Corosync),
        () if of("pacemaker.log") => Some(LogKind::Pacemaker),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn what_unpacks_to_more_than_is_left_is_one_error() {
        let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
        bomb.write_all(&[b'x'; 1 << 20]).expect("memory");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("pacemaker.log-20261123.gz");
        fs::write(&path, bomb.finish().expect("memory")).expect("a file");
        let (text, gap) = bytes_of(&path, 1 << 20).expect("it fits");
        assert_eq!((text.len(), gap), (1 << 20, None));
        let why = bytes_of(&path, (1 << 20) - 1).expect_err("it is too large");
        let begins = format!("{}: ", path.display());
        assert!(why.to_string().starts_with(&begins), "{why}");
    }
}
