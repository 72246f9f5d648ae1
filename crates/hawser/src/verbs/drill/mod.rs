//! `hawser drill`: a fault on purpose while a client writes; what it cost, and whether every promise held.

mod args;
mod client_config;
mod cluster;
mod confirm;
mod heal;

use std::process::ExitCode;
use std::time::Duration;

use hawser_drill::DrillError;
use hawser_drill::context::{Cluster, DrillContext};
use hawser_drill::heads::RealHeads;
use hawser_drill::run::{Orders, describe, run as drill};
use hawser_drill::scenario::{Scenario, all};
use hawser_host::Reconnecting;
use hawser_host::site::Site;
use hawser_lab::{Interrupt, Lab, LabSite};
use hawser_model::drill::{DrillCase, Promises, ServicePromise};
use hawser_model::output::drill::DrillReport;
use miette::{bail, miette};

use crate::render::table::{Align, Table};
use crate::{case_file, output, render};

pub use args::Args;
use cluster::ClusterAdmin;
use confirm::confirm;

/// Runs the verb.
pub fn run(args: &Args) -> miette::Result<ExitCode> {
    if args.list {
        output::print_fitted(&list());
        return Ok(ExitCode::SUCCESS);
    }
    let chosen = match args.heal {
        true => None,
        false => Some(args.chosen()?),
    };
    let interrupt = Interrupt::hold().map_err(error)?;
    let interrupted = || interrupt.times();
    let known = args.cluster.known()?;
    let cluster = ClusterAdmin { known: &known };
    let hosts = Reconnecting::new(&known);
    let lab = match &args.cluster.lab {
        Some(name) => Some(Lab::open(name).map_err(error)?),
        None => None,
    };
    let site: Box<dyn Site> = match &lab {
        Some(lab) => Box::new(LabSite::of(lab.name().clone())),
        None => Box::new(RealHeads::new(&known.file, &hosts).map_err(error)?),
    };
    let mut context = DrillContext::set(
        &hosts,
        site.as_ref(),
        &known.file,
        &cluster,
        &interrupted,
        args.pool.as_deref(),
        client_config::client_config(
            &args.client_config,
            lab.as_ref(),
            args.cluster.ssh_config.as_deref(),
        )?,
    )
    .map_err(error)?;
    context.no_copy = args.no_copy;
    context.packages.clone_from(&args.packages);
    let Some(chosen) = chosen else {
        site.prepare().map_err(error)?;
        return heal::heal(&mut context);
    };
    let mut chosen = chosen.peekable();
    if !confirm::is_needed(&context) && args.yes_break.is_some() {
        bail!(
            "--yes-break is for real heads and for --path: a lab's own pool is there to be overwritten"
        );
    }
    if confirm::is_needed(&context) && !args.dry_run {
        let words = match args.is_one() {
            true => chosen
                .peek()
                .map(|(scenario, _)| scenario.about)
                .unwrap_or_default(),
            false => "several drills, one after the other",
        };
        confirm(&context, &format!("{words}\n"), args.yes_break.as_deref())?;
    }
    if !args.dry_run {
        site.prepare().map_err(error)?;
        heal::before_a_drill(&mut context)?;
    }
    let mut reports = Vec::new();
    for (scenario, seed) in chosen {
        let before = cluster.status().map_err(|e| miette!("{e}"))?;
        context.aim(&before).map_err(error)?;
        context.seed = seed;
        if args.dry_run {
            output::print_fitted(&plan(scenario, &context, args.budget));
            if let Some(why) = scenario.unfit(&context).map_err(error)? {
                output::print_fitted(&format!("    it would do nothing: {why}\n"));
            }
            continue;
        }
        let orders = Orders {
            scenario,
            version: env!("CARGO_PKG_VERSION"),
            budget: args.budget,
            say: &output::error_line,
        };
        let case = match drill(&context, &orders, &before) {
            Ok(case) => case,
            // Of all scenarios some break what not every cluster has.
            Err(e @ DrillError::Unfit(_)) if args.all || args.random => {
                output::error_line(&e.to_string());
                continue;
            }
            Err(DrillError::Interrupted) => {
                bail!("interrupted; nothing was done to the cluster yet")
            }
            Err(e) => return Err(error(e)),
        };
        let (case, report) = kept(&case, args)?;
        if !args.json {
            output::print_fitted(&render::drill::text(&case, &report));
        }
        let broke = !report.passed;
        reports.push(report);
        // After each drill: a long run that is ended early keeps its results.
        if let Some(path) = &args.junit {
            case_file::put(path, render::junit::junit(&reports).as_bytes())
                .map_err(|e| miette!("cannot write the JUnit file {}: {e}", path.display()))?;
        }
        if broke {
            break;
        }
    }
    if args.json && !args.dry_run {
        output::print(&json(&reports, args.is_one()));
    }
    Ok(match reports.iter().all(|report| report.passed) {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(1),
    })
}

/// Writes the case and judges it.
fn kept(case: &DrillCase, args: &Args) -> miette::Result<(DrillCase, DrillReport)> {
    let (case, path) = case_file::write_drill(case, args.case.as_deref())?;
    let report = judge(&case, &path.display().to_string());
    Ok((case, report))
}

/// What a drill's case comes to.
pub fn judge(case: &DrillCase, path: &str) -> DrillReport {
    DrillReport {
        case: path.to_owned(),
        ..hawser_account::outage::explain_drill(case)
    }
}

/// Prints what a saved drill comes to; exit code 1 when a promise broke.
pub fn show(case: &DrillCase, path: &str, as_json: bool) -> ExitCode {
    let report = judge(case, path);
    let text = match as_json {
        true => json(std::slice::from_ref(&report), true),
        false => render::drill::text(case, &report),
    };
    match as_json {
        true => output::print(&text),
        false => output::print_fitted(&text),
    }
    ExitCode::from(u8::from(!report.passed))
}

fn json(reports: &[DrillReport], one: bool) -> String {
    let text = match reports {
        [report] if one => serde_json::to_string_pretty(report),
        several => serde_json::to_string_pretty(several),
    };
    text.expect("a report is always JSON") + "\n"
}

fn list() -> String {
    let mut table = Table::new(&[Align::Left, Align::Left]);
    for it in all() {
        let only = if it.real { "" } else { " (in a lab only)" };
        table.row([it.name.to_owned(), format!("{}{only}", it.about)]);
    }
    table.lines("").join("\n") + "\n"
}

/// What would be done, and what would have to hold.
fn plan(scenario: &Scenario, context: &DrillContext<'_>, budget: Option<Duration>) -> String {
    let mut plan = scenario.plan(context);
    plan.allow(budget, context.site.slowness());
    let faults: Vec<String> = plan
        .faults
        .iter()
        .map(|fault| describe(fault.as_ref()))
        .collect();
    let mut text = format!(
        "{}: {}\n    would do: {}\n",
        scenario.name,
        scenario.about,
        faults.join("; then ")
    );
    for line in promised(&plan.promises) {
        text += &format!("    must hold: {line}\n");
    }
    text
}

fn promised(promises: &Promises) -> Vec<String> {
    let names = |hosts: &[hawser_model::names::HostName]| {
        let names: Vec<&str> = hosts.iter().map(|host| host.as_str()).collect();
        names.join(", ")
    };
    let mut lines = vec![
        "no pool is active on two heads; no acknowledged write is lost, stale or torn; the cluster is whole \
         afterwards"
            .to_owned(),
    ];
    if let Some(budget) = promises.outage_ms {
        lines.push(format!(
            "clients wait at most {:.1} s",
            budget as f64 / 1000.0
        ));
    }
    lines.push(
        match promises.service {
            ServicePromise::Survives => "clients write again before anything is healed",
            ServicePromise::Returns => "clients write again once all is healed",
        }
        .to_owned(),
    );
    match (
        promises.must_be_fenced.is_empty(),
        promises.may_be_fenced.is_empty(),
    ) {
        (false, _) => lines.push(format!("{} is fenced", names(&promises.must_be_fenced))),
        (true, false) => lines.push(format!(
            "no node but {} is fenced",
            names(&promises.may_be_fenced)
        )),
        (true, true) => lines.push("no node is fenced".to_owned()),
    }
    if promises.no_takeover {
        lines.push("nothing is taken over until it is healed".to_owned());
    }
    if promises.operator_is_told {
        lines.push("`hawser status` says that something is wrong".to_owned());
    }
    lines
}

fn error(e: impl std::fmt::Display) -> miette::Report {
    miette!("{e}")
}
