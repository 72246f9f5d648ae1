//! `hawser lab up --cluster`: the lab that a cluster file asks for, and the cluster applied to it.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use hawser_cluster::live::Options;
use hawser_lab::{LabName, LabSpec};
use hawser_model::cluster_file::parse_complete;
use miette::{IntoDiagnostic, WrapErr};

use crate::output::say;
use crate::target::Target;
use crate::{bad_file, verbs};

/// The cluster that is built when no file is named.
const EXAMPLE: &str = include_str!("../../../../../examples/lab/hawser.toml");

/// Reads the cluster file, or takes the example.
pub(super) fn spec(file: Option<&Path>) -> miette::Result<LabSpec> {
    let (shown, text) = match file {
        None => ("examples/lab/hawser.toml".to_owned(), EXAMPLE.to_owned()),
        Some(path) => {
            let shown = path.display().to_string();
            let text = fs::read_to_string(path)
                .into_diagnostic()
                .wrap_err_with(|| format!("read the cluster file {shown}"))?;
            (shown, text)
        }
    };
    let file = parse_complete(&text, &shown).map_err(|e| bad_file::cluster_file(&e))?;
    LabSpec::of_cluster(&file, &text).map_err(|e| miette::miette!("{shown}: {e}"))
}

/// Applies the lab's cluster file, by the code of `hawser apply`.
pub(super) fn apply(name: &LabName, begun: Instant) -> miette::Result<ExitCode> {
    let target = Target {
        file: None,
        lab: Some(name.to_string()),
        ssh_config: None,
    };
    let known = target.known()?;
    let applied = verbs::apply::run_on(&known, Options::default())?;
    let done = verbs::apply::in_words(&applied);
    let took = begun.elapsed().as_secs_f64();
    say!(
        "{done}; cluster {} stands after {took:.1} s",
        *known.file.cluster.name
    );
    Ok(verbs::apply::outcome(&applied))
}
