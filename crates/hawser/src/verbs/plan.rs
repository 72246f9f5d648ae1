//! `hawser plan`: what is made of a cluster file, without touching a node.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use hawser_cluster::cib;
use hawser_cluster::cib::secrets::{Content, NodeFile};
use hawser_cluster::corosync;
use hawser_cluster::numbering::Numbering;
use hawser_cluster::plan::{AUTHKEY, AUTHKEY_BYTES};
use hawser_cluster::simulate::{CrmSimulate, Scenario, SimulateError, what_if};
use hawser_model::cluster_file::{ClusterFile, parse_complete};
use miette::{IntoDiagnostic, WrapErr};

use crate::bad_file;

/// Arguments of `hawser plan`.
#[derive(clap::Args)]
pub struct Args {
    /// The cluster file
    #[arg(short, long, value_name = "FILE", default_value = "hawser.toml")]
    file: PathBuf,
    /// What to print
    #[arg(long, value_enum, value_name = "WHAT")]
    print: Print,
}

/// What can be printed of a file alone.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Print {
    /// Corosync's configuration, the same on all nodes
    #[value(name = "corosync.conf")]
    CorosyncConf,
    /// Pacemaker's configuration
    Cib,
    /// The other files on the nodes: the key, and where fencing finds its passwords
    Files,
    /// What Pacemaker would do when a node dies, links are lost, … (needs crm_simulate)
    WhatIf,
}

/// Runs the verb.
pub fn run(args: Args) -> miette::Result<ExitCode> {
    let path = args.file.display().to_string();
    let text = fs::read_to_string(&args.file)
        .into_diagnostic()
        .wrap_err_with(|| format!("read the cluster file {path}"))?;
    let file = parse_complete(&text, &path).map_err(|e| bad_file::cluster_file(&e))?;
    let numbering = Numbering::of(&file, None);
    let out = match args.print {
        Print::CorosyncConf => corosync::generate(&file, &numbering),
        Print::Cib => cib::generate(&file, &numbering).to_text(),
        Print::Files => files(&file),
        Print::WhatIf => scenarios(&file, &numbering)?,
    };
    match std::io::stdout().write_all(out.as_bytes()) {
        // Whoever reads has read enough (`| head`).
        Err(e) if e.kind() == ErrorKind::BrokenPipe => {}
        outcome => outcome.into_diagnostic().wrap_err("write to stdout")?,
    }
    Ok(ExitCode::SUCCESS)
}

fn files(file: &ClusterFile) -> String {
    let mut out =
        format!("{AUTHKEY}  mode 0400  {AUTHKEY_BYTES} random bytes, the same on all nodes\n");
    for NodeFile {
        path,
        mode,
        content,
    } in cib::fencing::node_files(file)
    {
        let what = match content {
            Content::Text(_) => {
                "a wrapper of ipmitool that keeps the password off its command line".into()
            }
            Content::Secret(secret) => format!("the secret of {secret}"),
            Content::SecretMd5(secret) => format!("the MD5 sum of the secret of {secret}"),
        };
        out += &format!("{path}  mode {mode:04o}  {what}\n");
    }
    out
}

fn scenarios(file: &ClusterFile, numbering: &Numbering) -> miette::Result<String> {
    let cib = cib::generate(file, numbering);
    let mut questions = vec![Scenario::FirstStart];
    for node in file.nodes.iter().map(|node| node.name.to_string()) {
        questions.push(Scenario::Dies(node.clone()));
        questions.push(Scenario::DiesUnfenced(node.clone()));
        questions.push(Scenario::Standby(node.clone()));
        questions.push(Scenario::Returns(node));
    }
    if let [a, b] = &file.nodes[..] {
        questions.push(Scenario::LinksLost(a.name.to_string(), b.name.to_string()));
    }
    let answers: Result<Vec<String>, _> = questions
        .iter()
        .map(|question| Ok(what_if(&CrmSimulate, &cib, question)?.to_string()))
        .collect();
    answers
        .map(|answers| answers.join("\n"))
        .map_err(|e: SimulateError| miette::miette!("{e}"))
}
