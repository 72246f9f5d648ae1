//! `hawser exports`: what a pool offers by iSCSI and NFS, on this head or on one that is asked from here.

use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use hawser_cluster::exports::asked::{self, Changed, ExportsRefused, PoolGiven, Said};
use hawser_cluster::exports::host::storage;
use hawser_cluster::exports::ocf;
use hawser_cluster::exports::service::keep;
use hawser_cluster::hooks;
use hawser_cluster::host::questions::{ReportExports, StartExports, StopExports};
use hawser_host::{Ask, Host};
use hawser_model::cluster_file::Backend;
use hawser_model::output::exports::ExportsReport;
use miette::{IntoDiagnostic, MietteDiagnostic, Report, WrapErr, miette};

use crate::bad_file::{self, Wrong};
use crate::cluster::OneHost;
use crate::output::{self, complain, say};
use crate::render::{self, exports::Of};
use crate::waiting::aloud;

/// Arguments of `hawser exports`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Offer the pool as its exports.toml says; again, to apply what changed there
    Start(Pool),
    /// Offer nothing of the pool any more, also when the pool is gone
    Stop(Pool),
    /// Whether all is offered as the pool says: exit code 1 and the differences if not
    Verify(Looking),
    /// What the pool offers, to whom, and who is logged in
    Show(Looking),
    /// Put the resource agent ocf:hawser:exports where Pacemaker finds it
    InstallAgent(InstallAgent),
    /// The resource agent itself
    #[command(hide = true)]
    Ocf {
        /// start, stop, monitor, …
        action: Option<String>,
    },
    /// The resource agent of hooks
    #[command(hide = true)]
    OcfHooks {
        /// start, stop, monitor, …
        action: Option<String>,
    },
    /// Write to a pool what its clients keep when it is taken over, for the monitor, which goes on when the pool does not
    #[command(hide = true, name = keep::WORD)]
    Keep {
        /// The pool
        pool: String,
    },
    /// Read a block of a volume, for the monitor, which goes on when the disk does not
    #[command(hide = true, name = storage::WORD)]
    ReadBlock {
        /// The volume
        volume: PathBuf,
    },
}

/// A pool, the host that is asked, and what is known of the pool. What is not given is what the last start on that host
/// was told, else what Pacemaker has.
#[derive(clap::Args)]
struct Pool {
    /// The pool
    #[arg(add = crate::names::pools())]
    pool: String,
    #[command(flatten)]
    at: OneHost,
    /// Where it is mounted [default: what Pacemaker has, else /POOL]
    #[arg(long, value_name = "DIRECTORY")]
    root: Option<PathBuf>,
    /// The naming authority of its targets, such as iqn.2013-06.com.example [default: what Pacemaker has]
    #[arg(long, value_name = "IQN")]
    iqn: Option<String>,
    /// An address of the pool [default: what Pacemaker has]
    #[arg(long = "portal", value_name = "ADDRESS")]
    portals: Vec<IpAddr>,
    /// The target's implementation [default: what Pacemaker has, else lio]
    #[arg(long, value_parser = backends())]
    backend: Option<Backend>,
    /// The volume group, when its volumes are LVM's
    #[arg(long, value_name = "NAME")]
    volume_group: Option<String>,
}

#[derive(clap::Args)]
struct Looking {
    #[command(flatten)]
    pool: Pool,
    /// Print JSON (docs/schema/exports.schema.json)
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct InstallAgent {
    /// Where to
    #[arg(long, value_name = "FILE", default_value = ocf::PATH)]
    to: PathBuf,
}

fn backends() -> impl TypedValueParser<Value = Backend> {
    let names = PossibleValuesParser::new(Backend::ALL.map(Backend::name));
    names.try_map(|name| Backend::named(&name).ok_or("no back end"))
}

/// Runs the verb.
pub fn run(args: Args) -> miette::Result<ExitCode> {
    match args.action {
        Action::Start(pool) => change(&pool, StartExports, asked::start),
        Action::Stop(pool) => change(&pool, StopExports, asked::stop),
        Action::Verify(args) => {
            let report = look(&args, render::exports::verified)?;
            let differs = !report.pending.is_empty() || !report.running;
            Ok(ExitCode::from(u8::from(differs)))
        }
        Action::Show(args) => look(&args, render::exports::shown).map(|_| ExitCode::SUCCESS),
        Action::InstallAgent(args) => install(&args),
        Action::Ocf { action } => agent(action.as_deref(), ocf::run),
        Action::OcfHooks { action } => agent(action.as_deref(), hooks::ocf),
        Action::Keep { pool } => match keep::write(&pool) {
            Ok(()) => Ok(ExitCode::SUCCESS),
            Err(error) => {
                complain!("{error}");
                Ok(ExitCode::FAILURE)
            }
        },
        Action::ReadBlock { volume } => Ok(ExitCode::from(storage::read(&volume))),
    }
}

/// Starts or stops a pool's exports and says each thing that is done.
fn change<A: Ask<Answer = Changed>>(
    pool: &Pool,
    question: fn(PoolGiven) -> A,
    here: fn(&PoolGiven, Said<'_>) -> Changed,
) -> miette::Result<ExitCode> {
    let given = pool.given();
    let changed = match pool.at.connect()? {
        None => here(&given, &mut |what| say!("{what}")),
        Some(mut host) => {
            let changed = ask(host.as_mut(), &question(given))?;
            for what in &changed.done {
                say!("{what}");
            }
            changed
        }
    };
    let done = changed.done.len();
    changed.outcome.map_err(|refused| pool.explained(refused))?;
    say!("pool {}: {}", pool.pool, render::exports::changes(done));
    Ok(ExitCode::SUCCESS)
}

/// Prints what a host offers of a pool.
fn look(
    args: &Looking,
    words: fn(&ExportsReport, &Of<'_>) -> String,
) -> miette::Result<ExportsReport> {
    let pool = &args.pool;
    let report = match pool.at.connect()? {
        None => asked::report(&pool.given()),
        Some(mut host) => ask(host.as_mut(), &ReportExports(pool.given()))?,
    };
    let report = report.map_err(|refused| pool.explained(refused))?;
    if args.json {
        let json = serde_json::to_string_pretty(&report).into_diagnostic()?;
        say!("{json}");
    } else {
        let host = pool.at.host().unwrap_or("this host");
        let command = &pool.at.words();
        output::print_fitted(&words(&report, &Of { host, command }));
    }
    Ok(report)
}

fn ask<A: Ask>(host: &mut dyn Host, question: &A) -> miette::Result<A::Answer> {
    let waiting = format!("{} is asked to {}", host.name(), A::NAME);
    aloud(&waiting, || host.ask(question)).map_err(|e| miette!("{e}"))
}

impl Pool {
    fn given(&self) -> PoolGiven {
        PoolGiven {
            pool: self.pool.clone(),
            root: self.root.clone(),
            iqn: self.iqn.clone(),
            portals: self.portals.clone(),
            backend: self.backend,
            volume_group: self.volume_group.clone(),
        }
    }

    /// Why the host refused; a mistake in the pool's file is shown in its place.
    fn explained(&self, refused: ExportsRefused) -> Report {
        let place = |text: &str, between| match self.at.host() {
            Some(host) => format!("{host}:{between}{text}"),
            None => text.to_owned(),
        };
        let Some(file) = refused.file else {
            let mut diagnostic = MietteDiagnostic::new(place(&refused.words, " "));
            diagnostic.help = refused.help;
            return Report::new(diagnostic);
        };
        let wrong = file.wrong.into_iter().map(|mistake| Wrong {
            message: mistake.message,
            help: mistake.help,
            // A host may say anything.
            span: match file.text.get(mistake.span.clone()) {
                Some(_) => mistake.span,
                None => 0..0,
            },
            related: None,
            line_column: (mistake.line, mistake.column),
        });
        let wrong: Vec<Wrong> = wrong.collect();
        bad_file::report(&place(&file.path, ""), &file.text, &wrong)
    }
}

fn install(args: &InstallAgent) -> miette::Result<ExitCode> {
    let own = std::env::current_exe()
        .into_diagnostic()
        .wrap_err("cannot find hawser's own program")?;
    let folder = args.to.parent().unwrap_or(&args.to);
    fs::create_dir_all(folder)
        .into_diagnostic()
        .wrap_err_with(|| format!("cannot create the folder {}", folder.display()))?;
    hawser_files::replace(
        &args.to,
        ocf::launcher(&own, ocf::AGENT, ocf::WORDS).as_bytes(),
        0o755,
    )
    .into_diagnostic()?;
    // Whatever umask this runs under: Pacemaker's own user asks the agent for its description.
    fs::set_permissions(&args.to, fs::Permissions::from_mode(0o755))
        .into_diagnostic()
        .wrap_err_with(|| format!("cannot chmod 0755 {}", args.to.display()))?;
    say!("{} runs {}", args.to.display(), own.display());
    Ok(ExitCode::SUCCESS)
}

fn agent(
    action: Option<&str>,
    run: fn(Option<&str>, &BTreeMap<String, String>) -> ocf::Outcome,
) -> miette::Result<ExitCode> {
    let text = |name: std::ffi::OsString| name.into_string().ok();
    let environment: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((text(name)?, text(value)?)))
        .collect();
    let outcome = run(action, &environment);
    for line in &outcome.log {
        complain!("{line}");
    }
    output::print(&outcome.output);
    Ok(ExitCode::from(outcome.code as u8))
}
