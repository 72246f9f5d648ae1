//! Where a drill's client runs, what it writes to, and as whom, from the command line.

use std::path::Path;
use std::sync::Arc;

use hawser_agent::transport::Ssh;
use hawser_cluster::live::Secrets;
use hawser_drill::seat::{Chap, Seat, Volume, executable};
use hawser_model::cluster_file::SecretRef;
use miette::{bail, miette};

use super::args::SeatArgs;

/// What was asked for.
///
/// # Errors
/// A destination or path that is none; a secret that cannot be had, or that others can read.
pub fn seat(args: &SeatArgs, ssh_config: Option<&Path>) -> miette::Result<Seat> {
    let there = match &args.client_host {
        Some(destination) => Some(ssh(destination, ssh_config)?),
        None => None,
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
        there,
        volume,
        initiator: args.initiator.clone(),
        chap,
    })
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
