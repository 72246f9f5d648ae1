//! `hawser report`: a case as one self-contained page with pictures.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use hawser_cipher::bench::{Layout, Row};
use hawser_report::{CipherLine, Source};
use miette::bail;

use crate::case_file::{self, AnyCase};
use crate::output::say;
use crate::parse;

/// Arguments of `hawser report`.
#[derive(clap::Args)]
pub struct Args {
    /// A case file that `hawser check`, `tune`, `ladder`, `copy` or `drill` wrote, or what `hawser incident show --json` or
    /// `bench cipher --json` printed
    case: PathBuf,
    /// Where to write the page [default: the case's name with .html, in this folder]
    #[arg(short, long, value_name = "FILE", value_parser = parse::output)]
    output: Option<PathBuf>,
}

/// Runs the verb. Writing the page is all it does: what it says is `explain`'s exit code to tell.
pub fn run(args: Args) -> miette::Result<ExitCode> {
    let output = args.output.unwrap_or_else(|| beside(&args.case));
    let name = args.case.file_name().unwrap_or(args.case.as_os_str());
    let name = name.to_string_lossy();
    let page = match case_file::read(&args.case)? {
        AnyCase::Check(case) if case.compared => bail!(
            help = format!("`hawser explain {}` prints it", args.case.display()),
            "a comparison of hosts has no page"
        ),
        AnyCase::Check(case) if case.clients.is_some() => bail!(
            help = format!("`hawser explain {}` prints it", args.case.display()),
            "a check of clients has no page"
        ),
        AnyCase::Check(case) => hawser_report::page(&case, &name),
        AnyCase::Copy(case) => hawser_report::copy_page(&case, &name),
        AnyCase::Drill(case) => hawser_report::drill_page(&case, &name),
        AnyCase::Incidents(report) => match report.incidents.as_slice() {
            [incident] if report.read_at.is_some() => {
                let source = Source::Case(&name);
                hawser_report::incident_page(&report, incident, source, env!("CARGO_PKG_VERSION"))
            }
            [_] => bail!(
                "{}: it does not say when the logs were read: print it again",
                args.case.display()
            ),
            all => bail!(
                help = "`hawser incident show ID --json` prints one",
                "{}: {} incidents, and a page is of one",
                args.case.display(),
                all.len()
            ),
        },
        AnyCase::Cipher(rows) => {
            let lines: Vec<CipherLine> = rows.iter().map(line).collect();
            hawser_report::cipher_page(&lines, &name, env!("CARGO_PKG_VERSION"))
        }
        AnyCase::Pasted(_) => bail!(
            help = "`hawser explain` says what a paste says",
            "{}: not a case file, and a page is made of a case",
            args.case.display()
        ),
    };
    written(&page, &output)
}

/// Writes the page, and says where.
pub(super) fn written(page: &str, output: &Path) -> miette::Result<ExitCode> {
    case_file::put(output, page.as_bytes())
        .map_err(|e| miette::miette!("cannot write the page {}: {e}", output.display()))?;
    // Not in the middle of a page that goes to standard output.
    if output.is_file() {
        say!("Report written: {}", output.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// A line of the table of ciphers, in words.
fn line(row: &Row) -> CipherLine {
    CipherLine {
        what: format!("{} {}", row.mode, row.op),
        key_bits: row.key_bits,
        threads: row.threads,
        chunk: row.chunk,
        layout: (row.layout != Layout::Contiguous).then(|| row.layout.to_string()),
        ours: row.mb_per_s,
        openssl: row.openssl_mb_per_s,
        aws_lc: row.aws_lc_mb_per_s,
        kernel: row.kernel_mb_per_s,
        no_kernel: row.kernel_refused.clone(),
        ratio: row.ratio,
        spread: row.spread,
        of_contiguous: row.of_contiguous,
        call_us: row
            .call_us
            .map(|median| (median, row.longest_undisturbed_us)),
    }
}

/// The case's name, as a page in the working folder.
fn beside(case: &Path) -> PathBuf {
    PathBuf::from(case.file_name().unwrap_or(case.as_os_str())).with_extension("html")
}
