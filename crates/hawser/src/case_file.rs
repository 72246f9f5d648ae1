//! Case files on disk: where a run's facts are kept and how they are read back.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use hawser_cipher::bench::Row;
use hawser_model::case::{CASE_FORMAT, Case};
use hawser_model::copy::{COPY_FORMAT, CopyCase};
use hawser_model::drill::{DRILL_FORMAT, DrillCase};
use hawser_model::output::incident::IncidentsReport;
use hawser_model::{shell, visible};
use miette::{IntoDiagnostic, WrapErr, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::output;

/// Where cases are kept unless `--case` says otherwise.
const FOLDER: &str = "/var/lib/hawser/cases";

/// Cases that are kept there; older ones are removed. Three weeks of a check every hour.
const KEPT: usize = 500;

/// Lines of a table of ciphers; a whole one has about a thousand.
const MOST_ROWS: usize = 4000;

/// Bytes that a case may have; real ones are far smaller.
const LARGEST: u64 = 256 << 20;

/// Writes the case of a check, a comparison, a fan-out or a ladder, whole or not at all. Returns it as it is kept, and
/// its path.
pub fn write(mut case: Case, asked: Option<&Path>) -> miette::Result<(Case, PathBuf)> {
    let verb = match (&case.ladder, &case.fanout) {
        (Some(_), _) => "ladder",
        (_, Some(_)) => "fanout",
        (None, None) if case.compared => "compare",
        (None, None) => "check",
    };
    let name = default_name(verb, &case.topology.cluster, case.recorded);
    case.command = Some(command());
    save(&case, &name, asked)
}

/// This run's command, as somebody would type it.
fn command() -> String {
    let words = std::env::args_os().skip(1);
    words.fold("hawser".to_owned(), |line, word| {
        format!("{line} {}", shell::word(&word.to_string_lossy()))
    })
}

/// Writes the case of a copy.
pub fn write_copy(case: &CopyCase, asked: Option<&Path>) -> miette::Result<(CopyCase, PathBuf)> {
    let between = format!("{}+{}", case.from, case.to);
    let name = default_name("copy", &between, case.recorded);
    save(case, &name, asked)
}

/// Writes the case of a drill.
pub fn write_drill(case: &DrillCase, asked: Option<&Path>) -> miette::Result<(DrillCase, PathBuf)> {
    let of = format!("{}-{}", case.cluster.name, case.scenario.name);
    let name = default_name("drill", &of, case.recorded);
    save(case, &name, asked)
}

fn save<T: Serialize + DeserializeOwned>(
    case: &T,
    name: &str,
    asked: Option<&Path>,
) -> miette::Result<(T, PathBuf)> {
    let path = match asked {
        Some(path) => path.to_owned(),
        None => {
            fs::create_dir_all(FOLDER)
                .into_diagnostic()
                .wrap_err_with(|| format!("cannot create {FOLDER}"))?;
            unused(name)
        }
    };
    let case = kept(case)?;
    let text = serde_json::to_string(&case).expect("a case is always JSON") + "\n";
    put(&path, text.as_bytes())
        .into_diagnostic()
        .wrap_err_with(|| format!("cannot write the case file {}", path.display()))?;
    if asked.is_none() {
        remove_old(Path::new(FOLDER), KEPT);
    }
    Ok((case, path))
}

/// Removes the oldest cases of a folder beyond so many. Only files that have such a name as Hawser gives are looked at;
/// one that cannot be removed stays.
fn remove_old(folder: &Path, kept: usize) {
    let own = |name: &str| {
        let begins = ["check-", "fanout-", "ladder-", "copy-", "drill-"];
        name.ends_with(".json") && begins.iter().any(|begin| name.starts_with(begin))
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut cases: Vec<_> = entries
        .filter(|entry| entry.file_name().to_str().is_some_and(own))
        .filter_map(|entry| {
            let file = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            Some((file.modified().ok()?, entry.path()))
        })
        .collect();
    cases.sort();
    let old = cases.len().saturating_sub(kept);
    for (_, path) in &cases[..old] {
        let _stays = fs::remove_file(path);
    }
}

/// A case as it is kept and judged: what a host named stays on its line.
pub fn kept<T: Serialize + DeserializeOwned>(case: &T) -> miette::Result<T> {
    visible::one_lined(case)
        .into_diagnostic()
        .wrap_err("a text with a line feed is where none can be")
}

/// A plain file appears whole or not at all. What is there and is none (a pipe, /dev/stdout,
/// /dev/null) is written into: a rename would put a file in the device's place.
pub fn put(path: &Path, text: &[u8]) -> io::Result<()> {
    if path == Path::new("/dev/stdout") && !fs::metadata(path)?.is_file() {
        // Opening a pipe that nobody reads any more would wait for a reader.
        output::print_bytes(text);
        return Ok(());
    }
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return fs::OpenOptions::new()
            .write(true)
            .open(path)?
            .write_all(text);
    }
    // A rename replaces a link, not the file it leads to.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    hawser_files::replace(&path, text, 0o600).map_err(io::Error::other)
}

/// A case of whatever kind.
pub enum AnyCase {
    /// Of `hawser check`.
    Check(Box<Case>),
    /// Of `hawser copy`.
    Copy(Box<CopyCase>),
    /// Of `hawser drill`.
    Drill(Box<DrillCase>),
    /// No case: what `hawser incident show --json` or `explain --logs --json` printed.
    Incidents(Box<IncidentsReport>),
    /// No case: what `hawser bench cipher --json` printed.
    Cipher(Vec<Row>),
    /// No case: a text that somebody pasted.
    Pasted(String),
}

/// What all cases have.
#[derive(serde::Deserialize)]
struct Kind {
    format: String,
}

/// Reads a case: a regular file, or a pipe.
pub fn read(path: &Path) -> miette::Result<AnyCase> {
    read_up_to(path, LARGEST)
}

fn read_up_to(path: &Path, limit: u64) -> miette::Result<AnyCase> {
    let text = hawser_files::read_named(path, limit)
        .map_err(|e| miette::miette!("cannot read the case file: {e}"))?;
    let format = serde_json::from_slice::<Kind>(&text)
        .ok()
        .map(|kind| kind.format);
    match format.as_deref() {
        Some(CASE_FORMAT) => parsed(&text, path).map(|case| AnyCase::Check(Box::new(case))),
        Some(COPY_FORMAT) => parsed(&text, path).map(|case| AnyCase::Copy(Box::new(case))),
        Some(DRILL_FORMAT) => parsed(&text, path).map(|case| AnyCase::Drill(Box::new(case))),
        Some(other) => bail!(
            "{}: its format is `{other}`; this version reads `{CASE_FORMAT}`, `{COPY_FORMAT}` and \
             `{DRILL_FORMAT}`",
            path.display()
        ),
        None if is_cut_off(&text) => bail!(
            "{}: the case file is cut off after {} bytes: fetch it again",
            path.display(),
            text.len()
        ),
        None if is_array_of_objects(&text) => match serde_json::from_slice::<Vec<Row>>(&text) {
            Ok(rows) if rows.len() <= MOST_ROWS => Ok(AnyCase::Cipher(rows)),
            Ok(rows) => bail!(
                "{}: {} lines, and `hawser bench cipher` measures {MOST_ROWS} at most",
                path.display(),
                rows.len()
            ),
            Err(e) => bail!(
                "{}: an array, but not what `hawser bench cipher --json` printed: {e}",
                path.display()
            ),
        },
        None if !text.starts_with(b"{") && text.contains(&b'\n') => {
            Ok(AnyCase::Pasted(String::from_utf8_lossy(&text).into_owned()))
        }
        None => match serde_json::from_slice::<IncidentsReport>(&text) {
            Ok(report) => Ok(AnyCase::Incidents(Box::new(kept(&report)?))),
            Err(_) => bail!(
                "{}: not a case file: a JSON object with `\"format\": \"{CASE_FORMAT}\"` is expected",
                path.display()
            ),
        },
    }
}

/// Whether a text begins as an array of JSON objects, however it is laid out.
fn is_array_of_objects(text: &[u8]) -> bool {
    let mut words = text.iter().filter(|byte| !byte.is_ascii_whitespace());
    (words.next(), words.next()) == (Some(&b'['), Some(&b'{'))
}

/// JSON that ends before its end.
fn is_cut_off(text: &[u8]) -> bool {
    let read = serde_json::from_slice::<serde::de::IgnoredAny>(text);
    text.starts_with(b"{") && read.is_err_and(|error| error.is_eof())
}

fn parsed<T: Serialize + DeserializeOwned>(text: &[u8], path: &Path) -> miette::Result<T> {
    serde_json::from_slice(text)
        .into_diagnostic()
        .and_then(|case| kept(&case))
        .wrap_err_with(|| format!("cannot read the case file {}", path.display()))
}

/// `check-CLUSTER-2026-11-21T20-15-03Z`, `ladder-…`, `copy-…` or `drill-…`, without characters that a shell minds.
fn default_name(verb: &str, cluster: &str, recorded: u64) -> String {
    let stamp = hawser_model::date::utc_seconds(recorded).replace(':', "-");
    let cluster: String = cluster
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "-_.+".contains(c) {
                c
            } else {
                '_'
            }
        })
        .take(60)
        .collect();
    format!("{verb}-{cluster}-{stamp}")
}

/// Two checks within one second do not overwrite each other.
fn unused(name: &str) -> PathBuf {
    let folder = Path::new(FOLDER);
    std::iter::once(folder.join(format!("{name}.json")))
        .chain((2..).map(|n| folder.join(format!("{name}-{n}.json"))))
        .find(|path| !path.exists())
        .expect("an endless sequence of names")
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use std::io::Read;
    use std::os::unix::fs::{FileTypeExt, symlink};

    use nix::pty::openpty;
    use nix::unistd::ttyname;

    use super::*;

    #[test]
    fn a_device_is_written_into_and_stays_one() {
        let terminal = openpty(None, None).unwrap();
        let device = ttyname(&terminal.slave).unwrap();
        put(&device, b"1\n").unwrap();
        let kind = fs::metadata(&device).unwrap().file_type();
        assert!(kind.is_char_device());
        let mut shown = [0; 3];
        let mut screen = fs::File::from(terminal.master);
        screen.read_exact(&mut shown).unwrap();
        assert_eq!(&shown, b"1\r\n");
    }

    #[test]
    fn the_file_a_link_leads_to_is_replaced_and_the_link_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "before").unwrap();
        symlink(&file, &link).unwrap();
        put(&link, b"1\n").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "1\n");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn what_has_no_end_or_is_too_large_is_no_case() {
        let said = |path: &Path, limit| read_up_to(path, limit).err().unwrap().to_string();
        let zero = said(Path::new("/dev/zero"), LARGEST);
        assert!(zero.contains("is a character device"), "{zero}");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("case.json");
        fs::write(&file, r#"{"format": "hawser-case/0"}"#).unwrap();
        assert!(said(&file, 10).contains("more than 10 bytes"));
        assert!(said(&file, 100).contains("its format is `hawser-case/0`"));
        fs::write(&file, r#"{"format": 1}"#).unwrap();
        assert!(said(&file, 100).contains("not a case file"));
    }

    #[test]
    fn only_the_oldest_cases_go() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["check-b.json", "drill-a.json", "copy-c.json", "notes.json"];
        for (at, name) in names.iter().enumerate() {
            let file = fs::File::create(folder.path().join(name)).unwrap();
            let time = UNIX_EPOCH + Duration::from_secs(at as u64);
            file.set_modified(time).unwrap();
        }
        remove_old(folder.path(), 2);
        let left = |name: &&str| folder.path().join(name).exists();
        let left: Vec<&str> = names.into_iter().filter(left).collect();
        assert_eq!(left, ["drill-a.json", "copy-c.json", "notes.json"]);
    }

    #[test]
    fn a_folder_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        assert!(put(folder.path(), b"1\n").is_err());
    }
}
