//! Case files on disk: where a run's facts are kept and how they are read back.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use hawser_model::case::{CASE_FORMAT, Case};
use miette::{IntoDiagnostic, WrapErr, bail};

/// Where cases are kept unless `--case` says otherwise.
const FOLDER: &str = "/var/lib/hawser/cases";

/// Writes a case, whole or not at all, and returns its path.
pub fn write(case: &Case, asked: Option<&Path>) -> miette::Result<PathBuf> {
    let path = match asked {
        Some(path) => path.to_owned(),
        None => {
            fs::create_dir_all(FOLDER)
                .into_diagnostic()
                .wrap_err_with(|| format!("create {FOLDER}"))?;
            unused(&default_name(case))
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

/// Reads a case.
pub fn read(path: &Path) -> miette::Result<Case> {
    let text = fs::read_to_string(path)
        .into_diagnostic()
        .wrap_err_with(|| format!("read the case file {}", path.display()))?;
    let format = serde_json::from_str::<serde_json::Value>(&text)
        .ok()
        .and_then(|v| v.get("format").and_then(|f| f.as_str().map(str::to_owned)));
    match format.as_deref() {
        Some(CASE_FORMAT) => {}
        Some(other) => bail!(
            "{}: its format is `{other}`; this version reads `{CASE_FORMAT}`",
            path.display()
        ),
        None => bail!(
            "{}: not a case file: a JSON object with `\"format\": \"{CASE_FORMAT}\"` is expected",
            path.display()
        ),
    }
    serde_json::from_str(&text)
        .into_diagnostic()
        .wrap_err_with(|| format!("read the case file {}", path.display()))
}

/// `check-CLUSTER-2026-11-21T20-15-03Z`, or `ladder-…`, without characters that a shell minds.
fn default_name(case: &Case) -> String {
    let time = UNIX_EPOCH + Duration::from_secs(case.recorded);
    let stamp = humantime::format_rfc3339_seconds(time)
        .to_string()
        .replace(':', "-");
    let cluster: String = case
        .topology
        .cluster
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
    let verb = match case.ladder {
        Some(_) => "ladder",
        None => "check",
    };
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
