//! Case files on disk: where a run's facts are kept and how they are read back.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use hawser_model::case::{CASE_FORMAT, Case};
use hawser_model::copy::{COPY_FORMAT, CopyCase};
use miette::{IntoDiagnostic, WrapErr, bail};

/// Where cases are kept unless `--case` says otherwise.
const FOLDER: &str = "/var/lib/hawser/cases";

/// Writes the case of a check or a ladder, whole or not at all, and returns its path.
pub fn write(case: &Case, asked: Option<&Path>) -> miette::Result<PathBuf> {
    let verb = match case.ladder {
        Some(_) => "ladder",
        None => "check",
    };
    let name = default_name(verb, &case.topology.cluster, case.recorded);
    save(case, &name, asked)
}

/// Writes the case of a copy.
pub fn write_copy(case: &CopyCase, asked: Option<&Path>) -> miette::Result<PathBuf> {
    let between = format!("{}+{}", case.from, case.to);
    let name = default_name("copy", &between, case.recorded);
    save(case, &name, asked)
}

fn save(case: &impl serde::Serialize, name: &str, asked: Option<&Path>) -> miette::Result<PathBuf> {
    let path = match asked {
        Some(path) => path.to_owned(),
        None => {
            fs::create_dir_all(FOLDER)
                .into_diagnostic()
                .wrap_err_with(|| format!("create {FOLDER}"))?;
            unused(name)
        }
    };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let failed = || format!("write the case file {}", path.display());
    let mut file = tempfile::NamedTempFile::new_in(folder)
        .into_diagnostic()
        .wrap_err_with(failed)?;
    serde_json::to_writer(&mut file, case)
        .into_diagnostic()
        .wrap_err_with(failed)?;
    file.write_all(b"\n")
        .into_diagnostic()
        .wrap_err_with(failed)?;
    file.persist(&path)
        .into_diagnostic()
        .wrap_err_with(failed)?;
    Ok(path)
}

/// A case of whatever kind.
pub enum AnyCase {
    /// Of `hawser check`.
    Check(Box<Case>),
    /// Of `hawser copy`.
    Copy(Box<CopyCase>),
}

/// Reads a case.
pub fn read(path: &Path) -> miette::Result<AnyCase> {
    let text = fs::read_to_string(path)
        .into_diagnostic()
        .wrap_err_with(|| format!("read the case file {}", path.display()))?;
    let format = serde_json::from_str::<serde_json::Value>(&text)
        .ok()
        .and_then(|v| v.get("format").and_then(|f| f.as_str().map(str::to_owned)));
    let failed = || format!("read the case file {}", path.display());
    match format.as_deref() {
        Some(CASE_FORMAT) => serde_json::from_str(&text)
            .map(|case| AnyCase::Check(Box::new(case)))
            .into_diagnostic()
            .wrap_err_with(failed),
        Some(COPY_FORMAT) => serde_json::from_str(&text)
            .map(|case| AnyCase::Copy(Box::new(case)))
            .into_diagnostic()
            .wrap_err_with(failed),
        Some(other) => bail!(
            "{}: its format is `{other}`; this version reads `{CASE_FORMAT}` and `{COPY_FORMAT}`",
            path.display()
        ),
        None => bail!(
            "{}: not a case file: a JSON object with `\"format\": \"{CASE_FORMAT}\"` is expected",
            path.display()
        ),
    }
}

/// `check-CLUSTER-2026-11-21T20-15-03Z`, `ladder-…` or `copy-…`, without characters that a shell minds.
fn default_name(verb: &str, cluster: &str, recorded: u64) -> String {
    let time = UNIX_EPOCH + Duration::from_secs(recorded);
    let stamp = humantime::format_rfc3339_seconds(time)
        .to_string()
        .replace(':', "-");
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
