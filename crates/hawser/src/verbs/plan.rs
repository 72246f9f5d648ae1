//! `hawser plan`: what differs between a cluster file and the live cluster, and what Pacemaker would
//! do about it; or what is made of the file alone. Changes nothing.

use std::path::PathBuf;
use std::process::ExitCode;

use hawser_cluster::cib;
use hawser_cluster::cib::secrets::{Content, NodeFile};
use hawser_cluster::corosync;
use hawser_cluster::host::view::Limits;
use hawser_cluster::live::{Slow, gather, plan_live};
use hawser_cluster::numbering::Numbering;
use hawser_cluster::plan::{AUTHKEY, AUTHKEY_BYTES};
use hawser_cluster::simulate::{CrmSimulate, Scenario, SimulateError, what_if};
use hawser_model::cluster_file::ClusterFile;
use hawser_model::output::cluster::PlanOutput;
use miette::{IntoDiagnostic, WrapErr};

use crate::cluster::{FileOrLab, KnownCluster};
use crate::output::{complain, document, print, print_fitted};
use crate::saved_plan;

/// Arguments of `hawser plan`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    cluster: FileOrLab,
    /// What is made of the file alone, without reaching a node
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with_all = ["json", "exit_code"])]
    print: Option<Print>,
    /// Also as a unified diff of corosync.conf and the CIB: what is live against what is to be
    #[arg(long, conflicts_with = "print")]
    diff: bool,
    /// Also to this file, for `hawser apply FILE`: what was reviewed is what is done, or nothing
    #[arg(short, long, value_name = "FILE", conflicts_with = "print")]
    out: Option<PathBuf>,
    /// Print one JSON object (docs/schema/plan.schema.json)
    #[arg(long)]
    json: bool,
    /// End with 1 when something differs, for a drift check in cron
    #[arg(long)]
    exit_code: bool,
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
    let known = match args.print {
        // It says nothing of fencing or pools.
        Some(Print::CorosyncConf) => args.cluster.known_to_look()?,
        _ => args.cluster.known()?,
    };
    let Some(what) = args.print else {
        return live(&known, &args);
    };
    let file = &known.file;
    let numbering = Numbering::of(file, None);
    let out = match what {
        Print::CorosyncConf => corosync::generate(file, &numbering),
        Print::Cib => cib::generate(file, &numbering).to_text(),
        Print::Files => files(file),
        Print::WhatIf => scenarios(file, &numbering)?,
    };
    document(&out);
    Ok(ExitCode::SUCCESS)
}

/// The plan for the live cluster. What keeps it from being applied is a finding.
fn live(known: &KnownCluster, args: &Args) -> miette::Result<ExitCode> {
    known.check_secrets()?;
    let mut reached = known.reach()?;
    let facts = gather(
        &known.file,
        &mut reached.heads,
        &known.secrets,
        Slow::Asked(Limits::PATIENT.times(known.slowness())),
    );
    let facts = facts.map_err(|e| miette::miette!("{e}"))?;
    let plan = plan_live(&known.file, &facts, &mut reached.heads);
    let plan = plan.map_err(|e| miette::miette!("{e}"))?;
    let report = &plan.report;
    match args.json {
        true => {
            let made = PlanOutput {
                changes: report.changes.clone(),
                consequence: report.consequence.clone(),
                problems: report.problems.clone(),
                notes: report.notes.clone(),
                diff: args.diff.then(|| plan.diff.clone()),
            };
            let json = serde_json::to_string_pretty(&made)
                .into_diagnostic()
                .wrap_err("cannot write the plan as JSON")?;
            print(&(json + "\n"));
            for problem in &report.problems {
                complain!("{problem}");
            }
        }
        false => {
            print_fitted(&report.to_string());
            if args.diff {
                document(&plan.diff);
            }
        }
    }
    if let Some(path) = &args.out {
        saved_plan::write(path, &plan, known, args.cluster.lab.as_deref())?;
    }
    for unreached in &reached.failed {
        complain!("{unreached}");
    }
    let differs = args.exit_code && !report.changes.is_empty();
    Ok(match differs || !report.problems.is_empty() {
        true => ExitCode::from(1),
        false => ExitCode::SUCCESS,
    })
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
    match &file.nodes[..] {
        [a, b] => questions.push(Scenario::LinksLost(a.name.to_string(), b.name.to_string())),
        all => {
            let names = all.iter().map(|node| node.name.to_string());
            questions.extend(names.clone().map(Scenario::CutOff));
            questions.push(Scenario::AllLinksLost);
            questions.extend(names.map(Scenario::AllOthersDie));
        }
    }
    let answers: Result<Vec<String>, _> = questions
        .iter()
        .map(|question| Ok(what_if(&CrmSimulate, &cib, question)?.to_string()))
        .collect();
    answers
        .map(|answers| answers.join("\n"))
        .map_err(|e: SimulateError| miette::miette!("{e}"))
}
