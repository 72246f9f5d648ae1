//! `hawser clients`: what the clients of the pools should be set to; and `hawser check --client`: whether they are.

use std::collections::BTreeMap;
use std::process::ExitCode;

use clap::{Subcommand, ValueEnum};
use hawser_account::clients;
use hawser_agent::questions::ReadClient;
use hawser_cluster::clients::{ClientFile, longest_outage, offered, printed};
use hawser_cluster::xml::Element;
use hawser_coordinator::check::those_that_answer;
use hawser_model::case::{Absent, Case, Intensity};
use hawser_model::client::{ClientTold, ClientsRun, LongestOutage};
use hawser_model::cluster_file::{ClientEntry, ClusterFile};
use hawser_model::names::HostName;
use hawser_watch::history::history_and_cib;
use miette::bail;

use super::check::now;
use super::explain::pretty;
use crate::cluster::{Cluster, Which, why_not};
use crate::waiting::aloud;
use crate::{output, render};

/// Arguments of `hawser clients`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// What the files of a Linux client should say, so that it outlasts a takeover
    #[command(after_help = "Example:\n  hawser clients print multipath.conf -f hawser.toml")]
    Print {
        /// One of them [default: each]
        #[arg(value_name = "CONFIG")]
        which: Option<Printed>,
        #[command(flatten)]
        cluster: Which,
    },
}

/// What can be printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Printed {
    /// /etc/multipath.conf
    #[value(name = "multipath.conf")]
    Multipath,
    /// /etc/iscsi/iscsid.conf
    #[value(name = "iscsid.conf")]
    Iscsid,
    /// Lines of /etc/fstab
    #[value(name = "fstab")]
    Fstab,
}

impl Printed {
    fn file(self) -> (&'static str, ClientFile) {
        match self {
            Self::Multipath => ("/etc/multipath.conf", ClientFile::Multipath),
            Self::Iscsid => ("/etc/iscsi/iscsid.conf", ClientFile::Iscsid),
            Self::Fstab => ("/etc/fstab", ClientFile::Fstab),
        }
    }
}

/// Runs the verb.
pub fn run(args: &Args) -> miette::Result<ExitCode> {
    let What::Print { which, cluster } = &args.what;
    let cluster = cluster.cluster()?;
    let file = file_of(&cluster)?;
    if let Some(which) = which {
        let (path, which) = which.file();
        let Some(text) = printed(file, which) else {
            bail!("nothing of this cluster belongs into a client's {path}");
        };
        output::document(&text);
        return Ok(ExitCode::SUCCESS);
    }
    let all = [Printed::Multipath, Printed::Iscsid, Printed::Fstab].map(Printed::file);
    let texts = all
        .into_iter()
        .filter_map(|(path, which)| Some(format!("# {path}\n{}", printed(file, which)?)));
    let texts: Vec<String> = texts.collect();
    if texts.is_empty() {
        bail!("the cluster file has no pool that clients reach");
    }
    output::document(&texts.join("\n"));
    Ok(ExitCode::SUCCESS)
}

/// Which clients are checked.
#[derive(clap::Args)]
#[command(next_help_heading = "Clients of the storage")]
pub struct ClientArgs {
    /// Instead of the links, ask this client of the pools how long it waits for a head that is gone, and whether that outlasts a
    /// takeover: a [[client]] of the cluster file, or an ssh destination; each may be named again [every [[client]] of the file when
    /// none is named]
    #[arg(long = "client", value_name = "CLIENT", num_args = 0..=1, default_missing_value = "",
          conflicts_with_all = ["Traffic", "FanoutArgs", "full", "hosts"])]
    clients: Vec<String>,
}

impl ClientArgs {
    /// Whether it was asked for.
    pub fn wanted(&self) -> bool {
        !self.clients.is_empty()
    }
}

/// Asks the clients, and the heads how long an outage lasts.
pub fn ask(cluster: &Cluster, args: &ClientArgs) -> miette::Result<Case> {
    let file = file_of(cluster)?;
    let entries = meant(file, args)?;
    let (stated, asked): (Vec<_>, Vec<_>) = entries
        .into_iter()
        .partition(|entry| entry.gives_up.is_some());
    let (mut told, absent) = read(cluster, &asked)?;
    told.extend(stated.into_iter().filter_map(|entry| {
        let seconds = entry.gives_up?.0.as_secs_f64();
        Some((entry.name.get().clone(), ClientTold::Stated(seconds)))
    }));
    let run = ClientsRun {
        pools: offered(file),
        outage: aloud("the heads' logs are being read", || outage(cluster, file))?,
        clients: told,
    };
    let topology = file.topology();
    Ok(Case {
        clients: Some(run),
        absent,
        ..Case::new(now(), Intensity::Gentle, topology, BTreeMap::new())
    })
}

/// Prints what a case of clients comes to; exit code 1 when something was found, or is not known.
pub fn show(case: &Case, path: &str, json: bool) -> Option<ExitCode> {
    let mut report = clients::report(case)?;
    report.case = path.to_owned();
    match json {
        true => output::print(&pretty(&report)),
        false => output::print_fitted(&render::clients::report(&report)),
    }
    let well = report.findings.is_empty() && report.gaps.is_empty() && report.absent.is_empty();
    Some(ExitCode::from(u8::from(!well)))
}

fn file_of(cluster: &Cluster) -> miette::Result<&ClusterFile> {
    match cluster.cluster_file() {
        Some(file) => Ok(file),
        None => bail!("clients are those of a cluster file's pools: name it (-f FILE)"),
    }
}

/// The clients that the command line means: those of the file, or others by their ssh destination.
fn meant(file: &ClusterFile, args: &ClientArgs) -> miette::Result<Vec<ClientEntry>> {
    let mut all: Vec<ClientEntry> = Vec::new();
    for name in &args.clients {
        let mut known = file.clients.iter();
        let entries = match name.as_str() {
            "" if file.clients.is_empty() => {
                bail!("the cluster file has no [[client]]: name one (--client HOST)")
            }
            "" => file.clients.clone(),
            name => match known.find(|it| it.name.as_str() == name) {
                Some(known) => vec![known.clone()],
                None => vec![ClientEntry::by_ssh(name)],
            },
        };
        for entry in entries {
            if all.iter().any(|it| it.name == entry.name) {
                bail!("--client {}: named twice", entry.name.as_str());
            }
            all.push(entry);
        }
    }
    Ok(all)
}

/// What the clients say that are asked, and those that do not answer.
fn read(
    cluster: &Cluster,
    asked: &[ClientEntry],
) -> miette::Result<(BTreeMap<HostName, ClientTold>, Vec<Absent>)> {
    if asked.is_empty() {
        return Ok(Default::default());
    }
    let (mut hosts, unreached) = aloud("the clients are being reached", || {
        cluster.clients(asked)?.try_connect()
    })?;
    let mut absent: Vec<Absent> = unreached.into_iter().map(Absent::from).collect();
    let (facts, silent) = those_that_answer(&mut hosts, &ReadClient);
    absent.extend(silent);
    let facts = facts.into_iter();
    let told = facts.map(|(client, facts)| (client, ClientTold::Read(facts)));
    Ok((told.collect(), absent))
}

/// How long an outage lasts, by the heads that answer; by the cluster file alone if none does.
fn outage(cluster: &Cluster, file: &ClusterFile) -> miette::Result<LongestOutage> {
    let (mut heads, failed) = cluster.promptly(1).try_connect()?;
    let (incidents, cib) = history_and_cib(&mut heads, &why_not(&failed), Some(file), now());
    let live = cib.and_then(|cib| Element::parse(&cib, "the CIB").ok());
    Ok(longest_outage(file, live.as_ref(), Some(&incidents)))
}
