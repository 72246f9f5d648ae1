//! Where a drill's client runs, what it writes to, and as whom, from the command line.

use std::path::Path;
use std::sync::Arc;

use hawser_cluster::live::Secrets;
use hawser_drill::seat::{Chap, Seat, Volume, WORDS, Way, executable, here};
use hawser_host::transport::{Ssh, Transport};
use hawser_lab::{Lab, Role};
use hawser_model::cluster_file::SecretRef;
use hawser_model::names::HostName;
use miette::{IntoDiagnostic, WrapErr, bail, miette};

use super::args::SeatArgs;

/// What was asked for. In a lab the client runs on the lab's client machine, else here if no host is named.
///
/// # Errors
/// A destination or path that is none; a lab without a client; a secret that cannot be had, or that others can read.
pub fn seat(args: &SeatArgs, lab: Option<&Lab>, ssh_config: Option<&Path>) -> miette::Result<Seat> {
    let (host, way) = match (&args.client_host, lab) {
        (Some(destination), _) => {
            let ssh = ssh(destination, ssh_config)?;
            (ssh.host().clone(), Way::Ssh(ssh))
        }
        (None, Some(lab)) => in_lab(lab)?,
        (None, None) => (own_name()?, Way::Command(Box::new(|| Ok(here())))),
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
    Ok(Seat {
        host,
        way,
        volume,
        initiator: args.initiator.clone(),
        chap,
    })
}

fn in_lab(lab: &Lab) -> miette::Result<(HostName, Way)> {
    let mut machines = lab.spec().nodes.iter();
    let Some(client) = machines.find(|node| node.role == Role::Client) else {
        bail!(
            "lab {} has no client: a cluster file with links of role \"san\" gives it one",
            lab.name()
        );
    };
    let (lab, host) = (lab.name().to_string(), client.name.clone());
    let name = host.clone();
    // Dies with this process' child, and that with this process' pipe.
    let make = move || {
        let lab = Lab::open(&lab).map_err(|e| e.to_string())?;
        lab.tied_command(name.as_str(), WORDS)
            .map_err(|e| e.to_string())
    };
    Ok((host, Way::Command(Box::new(make))))
}

fn own_name() -> miette::Result<HostName> {
    let path = "/proc/sys/kernel/hostname";
    let name = std::fs::read_to_string(path)
        .into_diagnostic()
        .wrap_err_with(|| format!("read {path}"))?;
    Ok(name.trim().into())
}

fn ssh(destination: &str, config: Option<&Path>) -> miette::Result<Ssh> {
    // `root@vm1` is the host vm1 in what is printed.
    let name = destination.rsplit('@').next().unwrap_or(destination);
    if name.is_empty() || destination.starts_with('-') {
        bail!("--client-host {destination}: not an ssh destination such as vm1 or root@vm1");
    }
    let executable = executable().map_err(|e| miette!("{e}"))?;
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
