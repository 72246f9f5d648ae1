//! Where a drill's client runs, what it writes to, and as whom, from the command line.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hawser_cluster::live::Secrets;
use hawser_drill::client_config::{Chap, ClientConfig, PROGRAM, Volume};
use hawser_host::transport::{Command, Executable, Ssh, Transport};
use hawser_host::{Agent, Host, HostError, Reach};
use hawser_lab::{Lab, Role};
use hawser_model::cluster_file::SecretRef;
use hawser_model::names::HostName;
use hawser_model::traffic::RunKey;
use hawser_tool::Launch;
use miette::{IntoDiagnostic, WrapErr, bail, miette};

use super::args::ClientConfigArgs;

/// What the client is told to be.
const AGENT: &str = "agent";

/// So many writes a second, of each writer, show when an outage begins and ends.
const WRITES: f64 = 10.0;

/// How the client is reached.
struct Way(Box<dyn Transport>);

impl Reach for Way {
    fn connect(&self, _: &HostName) -> Result<Box<dyn Host>, HostError> {
        // It sends no probes that a key would mark.
        let client = Agent::connect(self.0.as_ref(), RunKey(0))?;
        Ok(Box::new(client))
    }
}

/// What was asked for. In a lab the client runs on the lab's client machine, else here if no host is named.
///
/// # Errors
/// A destination or path that is none; a lab without a client; a secret that cannot be had, or that others can read.
pub fn client_config(
    args: &ClientConfigArgs,
    lab: Option<&Lab>,
    ssh_config: Option<&Path>,
) -> miette::Result<ClientConfig> {
    let way: Box<dyn Transport> = match (&args.client_host, lab) {
        (Some(destination), _) => Box::new(ssh(destination, ssh_config)?),
        (None, Some(lab)) => Box::new(in_lab(lab)?),
        (None, None) => Box::new(here()?),
    };
    let volume = match &args.path {
        Some(path) if !path.is_absolute() || path.to_string_lossy().contains('\n') => bail!(
            "--path {}: a whole path on the client's machine, beginning with /",
            path.display()
        ),
        Some(path) => Volume::Path(path.clone()),
        None => Volume::Unit {
            target: args.iqn.clone(),
            lun: args.lun,
        },
    };
    let chap = match (&args.chap_user, &args.chap_secret) {
        (Some(user), Some(reference)) => Some(Chap {
            user: user.clone(),
            secret: secret(reference)?,
        }),
        _ => None,
    };
    let load = args.load;
    load.check().map_err(|why| miette!("{why}"))?;
    if load.writes() < WRITES {
        bail!(
            "--rate {} --reads {}: each writer would send {} writes a second, and an outage is told by at least {WRITES}",
            load.rate,
            load.reads,
            load.writes()
        );
    }
    Ok(ClientConfig {
        host: way.host().clone(),
        way: Box::new(Way(way)),
        // A machine has a kernel of its own, and so a clock.
        remote: args.client_host.is_some() || lab.is_some_and(Lab::nodes_have_kernels),
        volume,
        initiator: args.initiator.clone(),
        chap,
        load,
        create: args.create,
    })
}

fn in_lab(lab: &Lab) -> miette::Result<Command> {
    let mut machines = lab.spec().nodes.iter();
    let Some(client) = machines.find(|node| node.role == Role::Client) else {
        bail!(
            "lab {} has no client: a cluster file with links of role \"san\" gives it one",
            lab.name()
        );
    };
    let slowness = lab.slowness();
    let (lab, name) = (lab.name().to_string(), client.name.clone());
    // Dies with this process' child, and that with this process' pipe.
    let command = Command::new(client.name.clone(), move || {
        Lab::open(&lab)?.tied_command(name.as_str(), [PROGRAM, AGENT])
    });
    Ok(command.slow(slowness))
}

/// The client on this machine.
fn here() -> miette::Result<Command> {
    let path = "/proc/sys/kernel/hostname";
    let name = std::fs::read_to_string(path)
        .into_diagnostic()
        .wrap_err_with(|| format!("cannot read {path}"))?;
    Ok(Command::new(name.trim().into(), || {
        Ok::<_, std::io::Error>(Launch::new(beside()).arg(AGENT))
    }))
}

/// The client beside this very program, else by its name alone.
fn beside() -> PathBuf {
    let own = std::env::current_exe().ok();
    let beside = own.map(|own| own.with_file_name(PROGRAM));
    beside
        .filter(|path| path.exists())
        .unwrap_or_else(|| PROGRAM.into())
}

fn ssh(destination: &str, config: Option<&Path>) -> miette::Result<Ssh> {
    // `root@vm1` is the host vm1 in what is printed.
    let name = destination.rsplit('@').next().unwrap_or(destination);
    if name.is_empty() || destination.starts_with('-') {
        bail!("--client-host {destination}: not an ssh destination such as vm1 or root@vm1");
    }
    let path = beside();
    let executable = Executable::read(&path).map_err(|e| {
        miette!(
            "read {}, to copy it to the client's host: {e} (it must lie beside hawser)",
            path.display()
        )
    })?;
    let ssh = Ssh::new(name.into(), destination.to_owned(), Arc::new(executable));
    Ok(match config {
        Some(config) => ssh.config(config.to_owned()),
        None => ssh,
    })
}

/// Reads a secret. What was typed instead of a reference is not repeated: it may be the secret.
fn secret(reference: &str) -> miette::Result<String> {
    let reference: SecretRef = reference.parse().map_err(|_| {
        miette!("--chap-secret: it says where the secret is, as file:/PATH or env:NAME, and is none itself")
    })?;
    Secrets::here()
        .read(&reference)
        .map_err(|e| miette!("--chap-secret: {e}"))
}
