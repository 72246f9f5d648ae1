//! `hawser lab up --cluster`: the lab that a cluster file asks for, and the cluster applied to it.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use hawser_lab::cluster::services::WATCH_LOG;
use hawser_lab::{Interrupt, Kind, Lab, LabError, LabName, LabSpec, UpOutcome};
use hawser_tool::{Launch, TIED, end_unless};
use miette::{IntoDiagnostic, WrapErr};

use crate::bad_file::Source;
use crate::cluster::{FileOrLab, KnownCluster};
use crate::output::{complain, say};

/// The cluster that is built when no file is named, and the one of machines.
const EXAMPLE: (&str, &str) = (
    "examples/lab/hawser.toml",
    include_str!("../../../../../examples/lab/hawser.toml"),
);
const OF_MACHINES: (&str, &str) = (
    "examples/lab/machines.toml",
    include_str!("../../../../../examples/lab/machines.toml"),
);

/// How often it is looked whether the apply has ended or is to end.
const LOOKS: Duration = Duration::from_millis(50);

/// Reads the cluster file, or takes the example for such nodes.
pub(super) fn spec(file: Option<&Path>, kind: Kind) -> miette::Result<LabSpec> {
    let source = match file {
        None => {
            let (path, text) = match kind {
                Kind::Namespace => EXAMPLE,
                _ => OF_MACHINES,
            };
            Source {
                path: path.to_owned(),
                text: text.to_owned(),
            }
        }
        Some(path) => Source::read(path)?,
    };
    let file = source.complete()?;
    LabSpec::of_cluster(&file, &source.text, kind)
        .map_err(|e| miette::miette!("{}: {e}", source.path))
}

/// Applies the lab's cluster file by `hawser apply`, a process of its own: Ctrl-C ends it wherever it is, and the lab
/// that was built for it goes.
pub(super) fn apply(
    name: &LabName,
    found: &UpOutcome,
    begun: Instant,
    interrupt: &Interrupt,
    watched: bool,
) -> miette::Result<ExitCode> {
    let cluster = FileOrLab {
        file: None,
        lab: Some(name.to_string()),
        ssh_config: None,
    };
    let known = cluster.known()?;
    let binary = std::env::current_exe()
        .into_diagnostic()
        .wrap_err("cannot find hawser's own program")?;
    let mut apply = Launch::new(TIED[0])
        .args(&TIED[1..])
        .arg(binary)
        .args(["apply", "--lab", name.as_str()])
        .attached()
        .into_diagnostic()?;
    let stopped = || interrupt.requested().then_some(());
    let Ok(ended) = end_unless(&mut apply, LOOKS, stopped).into_diagnostic()? else {
        return Err(interrupted(name, found)?);
    };
    let code = match ended.code() {
        Some(code @ (0 | 1)) => u8::from(code == 1),
        Some(_) => return Ok(ExitCode::from(2)),
        None => miette::bail!("hawser apply --lab {name}: {ended}"),
    };
    let took = begun.elapsed().as_secs_f64();
    say!(
        "cluster {} is up after {took:.1} s",
        *known.file.cluster.name
    );
    if watched {
        watch(name, &known)?;
    }
    Ok(ExitCode::from(code))
}

/// Starts `hawser watch` on each head. One that does not start is said: the cluster does not need it.
fn watch(name: &LabName, known: &KnownCluster) -> miette::Result<()> {
    let lab = Lab::open(name.as_str()).map_err(|e| miette::miette!("{e}"))?;
    // Those of machines have systemd for what is to run.
    if lab.nodes_have_kernels() {
        return Ok(());
    }
    let mut runs = Vec::new();
    for node in &known.file.nodes {
        let head = node.name.as_str();
        match lab.start_watch(head) {
            Ok(()) => runs.push(head),
            Err(e) => complain!("no watch on {head}: {e}"),
        }
    }
    if !runs.is_empty() {
        say!(
            "a watch runs on {}: http://127.0.0.1:9967/ in the node; it writes to {WATCH_LOG}",
            runs.join(" and ")
        );
    }
    Ok(())
}

/// Takes back what was built; a lab that stood before stays.
fn interrupted(name: &LabName, found: &UpOutcome) -> miette::Result<miette::Report> {
    Ok(match found {
        UpOutcome::Built | UpOutcome::Rebuilt { .. } => {
            hawser_lab::down(name).map_err(|e| miette::miette!("{e}"))?;
            miette::miette!("{}", LabError::Interrupted)
        }
        UpOutcome::AlreadyUp | UpOutcome::Restarted(_) => miette::miette!(
            "interrupted; the lab stood before and stands; `hawser apply --lab {name}` goes on"
        ),
    })
}
