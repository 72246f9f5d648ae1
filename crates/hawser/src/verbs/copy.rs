//! `hawser copy`: a file or device to another host, and what slows it.

mod place;
mod progress;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::ValueEnum;
use hawser_coordinator::copy::{Task, copy};
use hawser_copy::CopyKey;
use hawser_host::Hosts;
use hawser_lab::Interrupt;
use hawser_model::copy::{CopyCase, CopyCipher, CopyOptions, CopySink, CopySource};
use hawser_model::output::copy::CopyReport;
use hawser_model::units::{Bytes, Nanos};
use miette::{bail, miette};

use crate::output::{self, complain, say};
use crate::verbs::check::now;
use crate::{case_file, cluster, parse, render};

use place::{Ends, Spot};
use progress::Display;

/// Arguments of `hawser copy`.
#[derive(clap::Args)]
pub struct Args {
    /// What to copy: PATH here or HOST:PATH; `memory:SIZE` makes bytes instead of reading them
    #[arg(value_name = "SRC", value_hint = clap::ValueHint::AnyPath)]
    source: String,
    /// Where to: HOST:PATH (a file, a directory, a block device) or PATH here; HOST:nowhere
    /// discards the data, to measure without a disk
    #[arg(value_name = "DST", value_hint = clap::ValueHint::AnyPath)]
    destination: String,
    /// The hosts are nodes of this lab
    #[arg(long, value_name = "NAME", conflicts_with = "file", add = crate::names::labs())]
    lab: Option<String>,
    /// The hosts are nodes of this cluster file; without it they are ssh destinations
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// An ssh configuration file instead of your own (`ssh -F`)
    #[arg(long, value_name = "FILE")]
    ssh_config: Option<PathBuf>,
    /// The link to use [default: the first that both hosts are on]
    #[arg(long, value_name = "LINK")]
    link: Option<String>,
    /// Replace what is there; a block device is always there
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    how: How,
    /// Print one JSON object (docs/schema/copy.schema.json)
    #[arg(long)]
    json: bool,
    /// Where to write the case file [default: below /var/lib/hawser/cases, when something was
    /// found or failed]
    #[arg(long, value_name = "FILE", value_parser = parse::output)]
    case: Option<PathBuf>,
}

/// How to copy.
#[derive(clap::Args)]
#[command(next_help_heading = "How")]
struct How {
    /// TCP connections
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    streams: u32,
    /// Encrypt what is on the wire
    #[arg(long, value_name = "CIPHER")]
    cipher: Option<Cipher>,
    /// No checksum: nothing is verified beyond TCP, nothing can be resumed, and the data goes from
    /// file to socket to file inside the kernel
    #[arg(long)]
    no_checksum: bool,
    /// Bytes handled at once, a power of two from 32k to 1M
    #[arg(long, value_name = "BYTES", default_value = "256k", value_parser = chunk)]
    chunk: u32,
    /// Accept a source that is written to meanwhile: the copy may be a mixture of old and new
    #[arg(long)]
    live: bool,
    /// A peer that is silent for so long is gone
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse::duration)]
    patience: Duration,
}

#[derive(Clone, Copy, ValueEnum)]
enum Cipher {
    /// AES-GCM, 128-bit key
    Aes128Gcm,
    /// AES-GCM, 256-bit key
    Aes256Gcm,
}

fn chunk(text: &str) -> Result<u32, String> {
    let bytes = parse::bytes(text)?;
    match u32::try_from(bytes) {
        Ok(chunk) if chunk.is_power_of_two() && (1 << 15..=1 << 20).contains(&chunk) => Ok(chunk),
        _ => Err(format!(
            "{bytes} bytes; a power of two from 32k to 1M is possible"
        )),
    }
}

impl How {
    fn options(&self) -> CopyOptions {
        CopyOptions {
            streams: self.streams,
            cipher: self.cipher.map(|cipher| match cipher {
                Cipher::Aes128Gcm => CopyCipher::Aes128Gcm,
                Cipher::Aes256Gcm => CopyCipher::Aes256Gcm,
            }),
            checksum: !self.no_checksum,
            chunk: self.chunk,
            live: self.live,
            patience: Nanos(self.patience.as_nanos().try_into().unwrap_or(u64::MAX)),
        }
    }
}

/// Runs the verb.
pub fn run(args: Args) -> miette::Result<ExitCode> {
    let from = Spot::parse(&args.source)?;
    let to = Spot::parse(&args.destination)?;
    let task = Task {
        source: source(&from)?,
        sink: sink(&from, &to, args.force)?,
        options: args.how.options(),
    };
    // Before any thread is started: Ctrl-C ends the copy in good order.
    let interrupt = Interrupt::hold().map_err(|e| miette!("{e}"))?;
    let ends = Ends::find(&args, &from, &to)?;
    let mut display = Display::new(&interrupt);
    let mut agents = ends.connect()?;
    let route = ends.route(&mut agents, args.link.as_deref())?;
    let case = run_copy(&ends, &mut agents, &route, task, &mut display)?;
    let case = case_file::kept(&case)?;
    let interrupted = display.finish();
    let mut report = hawser_account::copy::explain_copy(&case);
    if interrupted {
        report.error = Some(progress::interrupted(&case));
    }
    if args.case.is_some() || report.error.is_some() || !report.findings.is_empty() {
        let (_, path) = case_file::write_copy(&case, args.case.as_deref())?;
        report.case = path.display().to_string();
    }
    Ok(show(&report, args.json))
}

fn run_copy(
    ends: &Ends,
    agents: &mut Hosts,
    route: &hawser_coordinator::copy::Route,
    task: Task,
    display: &mut Display<'_>,
) -> miette::Result<CopyCase> {
    let key = CopyKey::new(cluster::random()?);
    let gone = || miette!("an agent is missing");
    let mut from = agents.remove(&ends.from).ok_or_else(gone)?;
    let mut to = agents.remove(&ends.to).ok_or_else(gone)?;
    let (from, to) = (from.as_mut(), to.as_mut());
    copy(from, to, route, task, key, display, now()).map_err(|e| miette!("{e}"))
}

/// Prints what a copy came to.
pub fn show(report: &CopyReport, json: bool) -> ExitCode {
    if json {
        let text = serde_json::to_string_pretty(report).expect("a report is always JSON");
        say!("{text}");
    } else {
        output::print_fitted(&render::copy::report(report));
        output::print(&render::copy::left(report));
    }
    if let Some(error) = &report.error {
        complain!("{:?}", miette!("{error}"));
        return ExitCode::from(2);
    }
    if report.findings.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    }
}

fn source(from: &Spot) -> miette::Result<CopySource> {
    if let Some(size) = from.path.strip_prefix("memory:") {
        let size = parse::bytes(size).map_err(|e| miette!("{}: {e}", from.path))?;
        return Ok(CopySource::Memory(Bytes(size)));
    }
    if from.path.is_empty() || from.path.ends_with('/') {
        bail!("{from}: not a file or block device");
    }
    Ok(CopySource::Path(from.path.clone()))
}

fn sink(from: &Spot, to: &Spot, replace: bool) -> miette::Result<CopySink> {
    if to.path == "nowhere" {
        return Ok(CopySink::Discard);
    }
    if to.path.is_empty() {
        bail!("{to}: no path; HOST:. is the login's own folder");
    }
    let name = from.path.rsplit('/').next().unwrap_or("memory");
    Ok(CopySink::Path {
        path: to.path.clone(),
        name: name.replace(':', "-"),
        replace,
    })
}
