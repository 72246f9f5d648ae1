//! A plan in a file: written by `hawser plan -o FILE`, done by `hawser apply FILE`.

use std::path::Path;

use hawser_cluster::plan::{Origin, Plan, parse_saved, saved, saved_text};
use hawser_model::saved_plan::SavedPlan;
use miette::{IntoDiagnostic, WrapErr};

use crate::case_file::put;
use crate::cluster::KnownCluster;
use crate::verbs::check::now;

/// Bytes that a plan may have; one of a cluster with a thousand resources has one MiB.
const LARGEST: u64 = 64 << 20;

/// Writes a plan, whole or not at all, for its owner alone.
///
/// # Errors
/// The file cannot be written.
pub fn write(
    path: &Path,
    plan: &Plan,
    known: &KnownCluster,
    lab: Option<&str>,
) -> miette::Result<()> {
    let origin = Origin {
        file: &known.file,
        path: known.path(),
        lab,
        made: now(),
    };
    let text = saved_text(&saved(plan, origin)).into_diagnostic()?;
    put(path, text.as_bytes())
        .into_diagnostic()
        .wrap_err_with(|| format!("cannot write the plan {}", path.display()))
}

/// Reads a plan as it was written.
///
/// # Errors
/// It is none, or somebody edited it.
pub fn read(path: &Path) -> miette::Result<SavedPlan> {
    let bytes = hawser_files::read_named(path, LARGEST)
        .map_err(|e| miette::miette!("cannot read the saved plan: {e}"))?;
    let text = String::from_utf8_lossy(&bytes);
    parse_saved(&text).map_err(|e| miette::miette!("{}: {e}", path.display()))
}
