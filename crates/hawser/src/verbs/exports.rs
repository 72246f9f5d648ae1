//! `hawser exports`: what a pool offers by iSCSI and NFS, on the head that has it.

use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Subcommand, ValueEnum};
use hawser_cluster::exports::host::{Parameters, Saved, parameters_from_cib, storage};
use hawser_cluster::exports::nfs::Found;
use hawser_cluster::exports::service::{self, ServiceError};
use hawser_cluster::exports::{Desired, DesiredDirectory, naa, ocf};
use hawser_model::cluster_file::Backend;
use hawser_model::output::exports::{
    ExportedDirectory, ExportedTarget, ExportedTo, ExportedUnit, ExportsReport,
};
use miette::{IntoDiagnostic, Report, WrapErr, bail, miette};

use crate::bad_file::{self, Wrong};
use crate::output::{self, complain, say};
use crate::render;

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
    /// Read a block of a volume, for the monitor, which goes on when the disk does not
    #[command(hide = true, name = storage::WORD)]
    ReadBlock {
        /// The volume
        volume: PathBuf,
    },
}

/// A pool and what is known of it. What is not given is what the last start here was told, else
/// what Pacemaker has.
#[derive(clap::Args)]
struct Pool {
    /// The pool
    pool: String,
    /// Where it is mounted [default: what Pacemaker has, else /POOL]
    #[arg(long, value_name = "DIRECTORY")]
    root: Option<PathBuf>,
    /// The naming authority of its targets, such as iqn.2013-06.com.example [default: what Pacemaker has]
    #[arg(long, value_name = "IQN")]
    iqn: Option<String>,
    /// An address of the pool [default: what Pacemaker has]
    #[arg(long = "portal", value_name = "ADDRESS")]
    portals: Vec<IpAddr>,
    /// The target's implementation [default: what Pacemaker has, else tgt]
    #[arg(long, value_enum)]
    backend: Option<BackendName>,
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

#[derive(Clone, Copy, ValueEnum)]
enum BackendName {
    Tgt,
    Lio,
}

/// Runs the verb.
pub fn run(args: Args) -> miette::Result<ExitCode> {
    match args.action {
        Action::Start(pool) => change(&pool, service::start),
        Action::Stop(pool) => change(&pool, service::stop),
        Action::Verify(args) => {
            let report = report(&args.pool.parameters()?)?;
            let differs = !report.pending.is_empty() || !report.running;
            match args.json {
                true => json(&report)?,
                false => output::print(&render::exports::verified(&report)),
            }
            Ok(ExitCode::from(u8::from(differs)))
        }
        Action::Show(args) => {
            let report = report(&args.pool.parameters()?)?;
            match args.json {
                true => json(&report)?,
                false => output::print(&render::exports::shown(&report)),
            }
            Ok(ExitCode::SUCCESS)
        }
        Action::InstallAgent(args) => install(&args),
        Action::Ocf { action } => agent(action.as_deref()),
        Action::ReadBlock { volume } => Ok(ExitCode::from(storage::read(&volume))),
    }
}

/// What `start` and `stop` both are to [`service`].
type Change = fn(&Parameters, &mut dyn FnMut(&str)) -> Result<(), ServiceError>;

/// Starts or stops a pool's exports and says each thing that is done.
fn change(pool: &Pool, change: Change) -> miette::Result<ExitCode> {
    let parameters = pool.parameters()?;
    let mut changes = 0;
    change(&parameters, &mut |what| {
        changes += 1;
        say!("{what}");
    })
    .map_err(explained)?;
    say!(
        "pool {}: {}",
        parameters.pool,
        render::exports::changes(changes)
    );
    Ok(ExitCode::SUCCESS)
}

impl Pool {
    fn parameters(&self) -> miette::Result<Parameters> {
        if self.pool.contains('/') || self.pool.starts_with('.') {
            bail!("\"{}\" is no name of a pool", self.pool);
        }
        let saved = Saved::read(&self.pool).map_err(|e| miette!("{e}"))?;
        let known = match saved {
            Some(saved) => Some(saved.parameters),
            None if self.iqn.is_some() => None,
            None => parameters_from_cib(&self.pool).map_err(|e| {
                miette!(
                    help = "without Pacemaker, name the authority: --iqn iqn.2013-06.com.example",
                    "what pool {} is told by Pacemaker is not known: {e}",
                    self.pool
                )
            })?,
        };
        let authority = self
            .iqn
            .clone()
            .or(known.as_ref().map(|known| known.authority.clone()));
        let Some(authority) = authority else {
            bail!(
                help = "name the authority: --iqn iqn.2013-06.com.example, or --iqn \"\" for a pool that is \
                        offered by NFS alone",
                "Pacemaker has no resource ocf:hawser:exports for pool {}",
                self.pool
            );
        };
        let given = self.backend.map(|backend| match backend {
            BackendName::Tgt => Backend::Tgt,
            BackendName::Lio => Backend::Lio,
        });
        Ok(Parameters {
            root: self
                .root
                .clone()
                .or(known.as_ref().map(|known| known.root.clone()))
                .unwrap_or_else(|| PathBuf::from(format!("/{}", self.pool))),
            authority,
            portals: match self.portals.is_empty() {
                true => known.as_ref().map_or(Vec::new(), |k| k.portals.clone()),
                false => self.portals.clone(),
            },
            backend: given
                .or(known.as_ref().map(|known| known.backend))
                .unwrap_or(Backend::Tgt),
            volume_group: self
                .volume_group
                .clone()
                .or(known.and_then(|known| known.volume_group)),
            pool: self.pool.clone(),
        })
    }
}

fn report(parameters: &Parameters) -> miette::Result<ExportsReport> {
    let (desired, pool_is_here) = match service::wanted(parameters) {
        Ok(wanted) => (wanted.desired, true),
        Err(ServiceError::NotMounted { .. }) => {
            let saved = Saved::read(&parameters.pool).map_err(|e| miette!("{e}"))?;
            (saved.map(|saved| saved.desired).unwrap_or_default(), false)
        }
        Err(error) => return Err(explained(error)),
    };
    let compared = service::compare(parameters, &desired).map_err(explained)?;
    let there = &compared.sessions;
    let exported = &compared.exported;
    Ok(ExportsReport {
        pool: parameters.pool.clone(),
        pool_is_here,
        running: desired.targets.keys().any(|iqn| there.contains_key(iqn)) || !exported.is_empty(),
        targets: targets(&desired, there),
        nfs: directories(&desired, exported),
        pending: compared.pending,
    })
}

fn targets(desired: &Desired, sessions: &BTreeMap<String, Vec<String>>) -> Vec<ExportedTarget> {
    let one = |(iqn, target): (&String, &hawser_cluster::exports::DesiredTarget)| {
        let units = target.luns.iter().filter_map(|(lun, exposure)| {
            let unit = desired.units.get(&exposure.serial)?;
            Some(ExportedUnit {
                lun: *lun,
                volume: unit.name.clone(),
                path: unit.path.clone(),
                bytes: unit.bytes,
                block_size: unit.block_size,
                write_cache: unit.write_cache,
                read_only: unit.read_only,
                serial: exposure.serial.clone(),
                naa: naa(&exposure.serial),
            })
        });
        let mutual = target.chap.as_ref().and_then(|chap| chap.mutual.as_ref());
        ExportedTarget {
            iqn: iqn.clone(),
            portals: target.portals.iter().map(ToString::to_string).collect(),
            chap_user: target.chap.as_ref().map(|chap| chap.user.clone()),
            mutual_chap_user: mutual.map(|(user, _)| user.clone()),
            hosts: target
                .hosts()
                .map(|hosts| hosts.into_iter().map(str::to_owned).collect()),
            sessions: sessions.get(iqn).cloned().unwrap_or_default(),
            units: units.collect(),
        }
    };
    desired.targets.iter().map(one).collect()
}

fn directories(desired: &Desired, exported: &Found) -> Vec<ExportedDirectory> {
    let one = |(path, directory): (&String, &DesiredDirectory)| {
        let clients = directory
            .clients
            .iter()
            .map(|(client, options)| ExportedTo {
                client: client.clone(),
                options: options.brief(),
                exported: exported.get(&(path.clone(), client.clone())) == Some(options),
            });
        ExportedDirectory {
            directory: path.clone(),
            fsid: directory.fsid.clone(),
            clients: clients.collect(),
        }
    };
    desired.nfs.iter().map(one).collect()
}

fn json(report: &ExportsReport) -> miette::Result<()> {
    say!(
        "{}",
        serde_json::to_string_pretty(report).into_diagnostic()?
    );
    Ok(())
}

/// A mistake in the file is shown in its place.
fn explained(error: ServiceError) -> Report {
    let ServiceError::File(errors) = error else {
        return miette!("{error}");
    };
    let wrong: Vec<Wrong> = errors
        .errors
        .iter()
        .map(|e| Wrong {
            message: e.problem.to_string(),
            help: e.problem.help(),
            span: e.span.clone(),
            line_column: (e.line, e.column),
        })
        .collect();
    bad_file::report(&errors.path, &errors.text, &wrong)
}

fn install(args: &InstallAgent) -> miette::Result<ExitCode> {
    let own = std::env::current_exe()
        .into_diagnostic()
        .wrap_err("find hawser's own program")?;
    let folder = args.to.parent().unwrap_or(&args.to);
    fs::create_dir_all(folder)
        .into_diagnostic()
        .wrap_err_with(|| format!("create the folder {}", folder.display()))?;
    hawser_files::replace(&args.to, ocf::launcher(&own).as_bytes(), 0o755).into_diagnostic()?;
    // Whatever umask this runs under: Pacemaker's own user asks the agent for its description.
    fs::set_permissions(&args.to, fs::Permissions::from_mode(0o755))
        .into_diagnostic()
        .wrap_err_with(|| format!("chmod 0755 {}", args.to.display()))?;
    say!("{} runs {}", args.to.display(), own.display());
    Ok(ExitCode::SUCCESS)
}

fn agent(action: Option<&str>) -> miette::Result<ExitCode> {
    let text = |name: std::ffi::OsString| name.into_string().ok();
    let environment: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((text(name)?, text(value)?)))
        .collect();
    let outcome = ocf::run(action, &environment);
    for line in &outcome.log {
        complain!("{line}");
    }
    output::print(&outcome.output);
    Ok(ExitCode::from(outcome.code as u8))
}
