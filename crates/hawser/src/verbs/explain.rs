//! `hawser explain`: account and findings again from a case file, without root or network; the page of a cause; what a
//! paste of one host's counters says; or what the logs of a cluster's heads tell, from files or asked for.

use std::path::PathBuf;
use std::process::ExitCode;

use hawser_model::case::Case;
use hawser_model::output::CheckReport;
use hawser_model::output::paste::PasteReport;
use hawser_model::toml_file::nearest;
use hawser_watch::group;
use miette::bail;

use super::explain_logs::Time;
use crate::case_file::{self, AnyCase};
use crate::cluster::Which;
use crate::{output, render};

/// Arguments of `hawser explain`.
#[derive(clap::Args)]
pub struct Args {
    /// A case file that `hawser check`, `tune`, `compare`, `ladder`, `copy` or `drill` wrote; or the code of a cause, such as
    /// receive-buffer-too-small; or a text that somebody pasted, - for standard input: `netstat -su`, /proc/net/snmp,
    /// `ip -s link`, `ethtool -S`, `corosync-cmapctl -m stats`; or what `hawser incident show --json` printed
    #[arg(value_name = "CASE|CODE|TEXT", required_unless_present_any = ["list", "logs", "since", "until", "file", "hosts", "lab"], add = crate::names::codes())]
    case: Option<PathBuf>,
    /// Say from logs alone why services were away: a folder or an archive with corosync.log and pacemaker.log of each head,
    /// such as a crm_report or a sosreport; or a syslog, of a head or of several
    #[arg(long, value_name = "FOLDER|ARCHIVE|SYSLOG", conflicts_with_all = ["case", "list"])]
    logs: Option<PathBuf>,
    #[command(flatten)]
    time: Time,
    // The heads whose logs are asked for.
    #[command(flatten)]
    which: Which,
    /// Print one JSON object, as the verb that wrote the case does (docs/schema/check.schema.json, tune.schema.json,
    /// compare.schema.json, fanout.schema.json, ladder.schema.json, clients.schema.json, copy.schema.json, drill.schema.json, paste.schema.json, incidents.schema.json)
    #[arg(long)]
    json: bool,
    /// List the codes of all causes
    #[arg(long, conflicts_with_all = ["case", "json"])]
    list: bool,
}

/// Runs the verb.
pub fn run(args: Args) -> miette::Result<ExitCode> {
    if let Some(folder) = &args.logs {
        if args.which.is_named() {
            bail!("--logs reads files: it takes no --host, --lab or -f");
        }
        return super::explain_logs::run(folder, &args.time, args.json);
    }
    if args.which.is_named() || args.time.is_asked() {
        if args.case.is_some() || args.list {
            bail!("the logs of heads are explained, or a case: not both");
        }
        return super::explain_logs::of_heads(&args.which, &args.time, args.json);
    }
    let Some(case) = args.case else {
        let codes: Vec<String> = hawser_account::pages()
            .map(|code| format!("{code}\n"))
            .collect();
        output::print(&codes.concat());
        return Ok(ExitCode::SUCCESS);
    };
    let path = case.display().to_string();
    // A file of that name is meant by `./CODE`.
    if let Some(page) = hawser_account::page(&path) {
        if args.json {
            bail!("{path} is a cause, whose page is text: --json is for a case file");
        }
        output::print_fitted(&hawser_account::plain(page));
        return Ok(ExitCode::SUCCESS);
    }
    let stdin = path == "-";
    let case = if stdin {
        PathBuf::from("/dev/stdin")
    } else {
        case
    };
    if let Some(meaning) = group::meaning(&path).filter(|_| !case.exists()) {
        output::print_fitted(&format!(
            "{path}\n\n{meaning}\n\n`hawser status` and `hawser watch` say it; their own words name the place and \
             what to do.\n"
        ));
        return Ok(ExitCode::SUCCESS);
    }
    if !stdin && !case.exists() {
        let codes: Vec<&str> = hawser_account::pages().collect();
        let meant = nearest(&path, &codes).map(|code| format!("did you mean \"{code}\"? "));
        bail!(
            help = format!(
                "{}`hawser explain --list` names the codes of all causes",
                meant.unwrap_or_default()
            ),
            "{path}: no such case file, and no cause has this code"
        );
    }
    Ok(match case_file::read(&case)? {
        AnyCase::Incidents(report) => {
            super::incident::show(&report, args.json);
            ExitCode::from(u8::from(!report.incidents.is_empty()))
        }
        AnyCase::Cipher(_) => bail!(
            help = format!("`hawser report {path}` makes a page of it"),
            "{path}: what `hawser bench cipher` measured has nothing to explain"
        ),
        AnyCase::Pasted(text) => return pasted(&text, &path, args.json),
        AnyCase::Check(case) if case.compared => compared(&case, path, args.json)?,
        AnyCase::Check(case) => match super::clients::show(&case, &path, args.json) {
            Some(shown) => shown,
            None => show(&case, &path, args.json),
        },
        AnyCase::Copy(case) => {
            let mut report = hawser_account::copy::explain_copy(&case);
            report.case = path;
            super::copy::show(&report, args.json)
        }
        AnyCase::Drill(case) => super::drill::show(&case, &path, args.json),
    })
}

/// The words of a check, a tune, a fan-out or a ladder.
#[cfg(test)]
pub fn text(case: &Case, path: &str) -> String {
    words(case, path).0
}

/// The words, and the number of findings.
fn words(case: &Case, path: &str) -> (String, usize) {
    fanout(case, path, false)
        .or_else(|| ladder(case, path, false))
        .unwrap_or_else(|| check(case, path, false))
}

/// Prints the comparison that a case is of.
fn compared(case: &Case, path: String, json: bool) -> miette::Result<ExitCode> {
    let Some(mut report) = hawser_account::compare(case) else {
        bail!("{path}: the case compares hosts and has fewer than two");
    };
    report.case = path;
    Ok(super::compare::show(&report, json))
}

/// Says what a paste says; exit code 1 when it counts a loss.
fn pasted(text: &str, path: &str, json: bool) -> miette::Result<ExitCode> {
    let pastes = hawser_account::paste::pasted(text);
    if pastes.is_empty() {
        bail!(
            help = format!(
                "pastes that are known: {}; logs of Corosync and Pacemaker are for `hawser explain --logs`",
                hawser_account::paste::KNOWN
            ),
            "{path}: neither a case file nor a paste that is known"
        );
    }
    let report = PasteReport { pastes };
    match json {
        true => output::print(&pretty(&report)),
        false => output::print_fitted(&render::paste::report(&report)),
    }
    let loss = report.pastes.iter().any(|pasted| pasted.loss);
    Ok(ExitCode::from(u8::from(loss)))
}

/// Prints what a case comes to; exit code 1 when something was found.
pub fn show(case: &Case, path: &str, json: bool) -> ExitCode {
    let (text, findings) = match json {
        false => words(case, path),
        true => tune(case, path)
            .or_else(|| fanout(case, path, json))
            .or_else(|| ladder(case, path, json))
            .unwrap_or_else(|| check(case, path, json)),
    };
    match json {
        true => output::print(&text),
        false => output::print_fitted(&text),
    }
    if findings == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    }
}

/// What a tune came to, as `hawser tune --json` printed it, and what it still found; nothing for other cases.
fn tune(case: &Case, path: &str) -> Option<(String, usize)> {
    let mut report = hawser_account::trial::tune_report(case)?;
    report.case = path.to_owned();
    let findings = report.after.findings.len();
    Some((pretty(&report), findings))
}

/// The text and the number of findings of a fan-out.
fn fanout(case: &Case, path: &str, json: bool) -> Option<(String, usize)> {
    let (run, mut report) = (case.fanout.as_ref()?, hawser_account::fanout::report(case)?);
    report.case = path.to_owned();
    let text = match json {
        true => pretty(&report),
        false => render::fanout::report(case, run, &report) + &tuned(case),
    };
    Some((text, report.findings.len()))
}

/// The same of a ladder.
fn ladder(case: &Case, path: &str, json: bool) -> Option<(String, usize)> {
    let (run, mut report) = (case.ladder.as_ref()?, hawser_account::ladder(case)?);
    report.case = path.to_owned();
    let text = match json {
        true => pretty(&report),
        false => render::ladder::report(case, run, &report),
    };
    Some((text, report.findings.len()))
}

/// The same of a check or a tune.
fn check(case: &Case, path: &str, json: bool) -> (String, usize) {
    let report = judge(case, path);
    let text = match json {
        true => pretty(&report),
        false => render::check::report(case, &report) + &tuned(case),
    };
    // Of a tune, what was left when it ended.
    let left = match hawser_account::trial::tune_report(case) {
        Some(tuned) => tuned.after.findings.len(),
        None => report.findings.len(),
    };
    (text, left + report.absent.len())
}

pub(super) fn pretty<T: serde::Serialize>(report: &T) -> String {
    serde_json::to_string_pretty(report).expect("a report is always JSON") + "\n"
}

/// The trials of a tuned case, and what was kept; nothing for the case of a check.
fn tuned(case: &Case) -> String {
    match hawser_account::trial::tune_report(case) {
        Some(tuned) => format!(
            "\n{}{}",
            render::tune::trials(case, &tuned),
            render::tune::changes(&tuned.changes)
        ),
        None => String::new(),
    }
}

/// The account and the worded findings of a case.
pub fn judge(case: &Case, path: &str) -> CheckReport {
    CheckReport {
        case: path.to_owned(),
        ..hawser_account::explain(case)
    }
}
