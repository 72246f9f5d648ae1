//! `hawser compare`: in what the hosts of a cluster are set up differently.

use std::path::PathBuf;
use std::process::ExitCode;

use hawser_coordinator::{check, compare};
use hawser_model::case::{Absent, Case};
use hawser_model::output::compare::CompareReport;
use miette::{bail, miette};

use super::check::now;
use crate::case_file::{self, AnyCase};
use crate::cluster::{Cluster, Which};
use crate::waiting::aloud;
use crate::{output, parse, render};

/// Arguments of `hawser compare`.
#[derive(clap::Args)]
pub struct Args {
    /// The case file of a check or a ladder, whose hosts are compared as they were then
    #[arg(value_name = "CASE", conflicts_with_all = ["file", "hosts", "lab", "ssh_config", "case"])]
    recorded: Option<PathBuf>,
    #[command(flatten)]
    which: Which,
    /// Print one JSON object (docs/schema/compare.schema.json)
    #[arg(long)]
    json: bool,
    /// Where to write the case file [default: below /var/lib/hawser/cases]
    #[arg(long, value_name = "FILE", value_parser = parse::output)]
    case: Option<PathBuf>,
}

/// Runs the verb.
pub fn run(args: Args) -> miette::Result<ExitCode> {
    let (case, path) = match &args.recorded {
        Some(path) => (recorded(path)?, path.clone()),
        None => {
            let cluster = args.which.cluster()?;
            let case = aloud("the hosts are being read", || read(&cluster))?;
            case_file::write(case, args.case.as_deref())?
        }
    };
    let path = path.display().to_string();
    let Some(mut report) = hawser_account::compare(&case) else {
        bail!("{path}: it takes two hosts to compare, and the case has fewer");
    };
    report.case = path;
    Ok(show(&report, args.json))
}

/// Prints a comparison; exit code 1 when something differs or a host is missing.
pub fn show(report: &CompareReport, json: bool) -> ExitCode {
    match json {
        true => output::print(&super::explain::pretty(report)),
        false => output::print_fitted(&render::compare::report(report)),
    }
    match report.differences.is_empty() && report.absent.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(1),
    }
}

fn recorded(path: &std::path::Path) -> miette::Result<Case> {
    match case_file::read(path)? {
        AnyCase::Check(case) => Ok(*case),
        AnyCase::Incidents(_) => bail!("{}: an incident is of a whole cluster", path.display()),
        AnyCase::Copy(_) | AnyCase::Drill(_) => bail!(
            "{}: the case of a copy or a drill does not say how its hosts are set up",
            path.display()
        ),
        AnyCase::Cipher(_) => bail!(
            "{}: a table of ciphers does not say how its host is set up",
            path.display()
        ),
        AnyCase::Pasted(_) => bail!("{}: a pasted text is of one host", path.display()),
    }
}

/// Reads the hosts that answer; two of them must.
fn read(cluster: &Cluster) -> miette::Result<Case> {
    let (mut agents, unreached) = cluster.try_connect()?;
    let mut absent: Vec<Absent> = unreached.into_iter().map(Absent::from).collect();
    let (facts, silent) = check::facts_of_those_that_answer(&mut agents);
    absent.extend(silent);
    if agents.len() < 2 {
        let lines = absent.iter().map(|a| format!("{}: {}", a.host, a.reason));
        let lines: Vec<String> = lines.collect();
        bail!(
            help = "it takes two hosts to compare",
            "{}",
            match lines.is_empty() {
                true => "the cluster has one node".to_owned(),
                false => lines.join("\n"),
            }
        );
    }
    let topology = cluster.topology_of(&facts);
    let case = compare::compare(&mut agents, topology, facts, now());
    let case = case.map_err(|e| miette!("{e}"))?;
    Ok(Case { absent, ..case })
}
