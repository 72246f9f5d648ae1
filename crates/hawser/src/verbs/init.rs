//! `hawser init`: from the names of heads to a first hawser.toml. It changes no host.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use hawser_agent::questions::{ReadStanding, ReadSurroundings};
use hawser_cluster::host::OwnedFile;
use hawser_cluster::host::questions::ReadFile;
use hawser_cluster::plan::COROSYNC_CONF;
use hawser_host::{HostError, on_all};
use hawser_import::draft::{Draft, Head, Open, Port, Refused, Said, Wishes, draft};
use hawser_model::cluster_file::SecretRef;
use hawser_model::host::{HostFacts, Interface};
use hawser_model::topology::Reach;
use hawser_model::visible::one_line;
use miette::{IntoDiagnostic, MietteDiagnostic, Report, WrapErr, bail};

use crate::cluster::{Cluster, Running};
use crate::confirm;
use crate::output;
use crate::waiting::aloud;

/// Arguments of `hawser init`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    running: Running,
    /// Where the cluster file is written
    #[arg(short, long, value_name = "FILE", default_value = "hawser.toml")]
    output: PathBuf,
    /// Ask nothing: what no head shows is left to be filled in
    #[arg(long)]
    yes: bool,
    /// Write over what is there
    #[arg(long)]
    force: bool,
    /// The cluster's name
    #[arg(help_heading = "What no head shows", long)]
    name: Option<String>,
    /// A link by which clients reach the pools, by its name or its network
    #[arg(help_heading = "What no head shows", long = "san", value_name = "LINK")]
    sans: Vec<String>,
    /// The address of a node's management controller, if the node does not show it
    #[arg(
        help_heading = "What no head shows",
        long = "bmc",
        value_name = "NODE=ADDRESS"
    )]
    bmcs: Vec<String>,
    /// The user that the controllers know, and that may switch the power
    #[arg(help_heading = "What no head shows", long, value_name = "NAME")]
    bmc_user: Option<String>,
}

/// Runs the verb.
pub fn run(args: Args) -> miette::Result<ExitCode> {
    let Some(cluster) = args.running.cluster()? else {
        bail!(
            help = "name its heads (--host head1 --host head2) or a lab (--lab NAME)",
            "no heads named"
        );
    };
    let path = one_line(&args.output.display().to_string()).into_owned();
    if !args.force && args.output.symlink_metadata().is_ok() {
        bail!(
            help = "--force writes over it, -o FILE writes elsewhere",
            "{path} is there already; nothing was written"
        );
    }
    let mut wishes = Wishes {
        name: args.name,
        sans: args.sans,
        bmcs: bmcs(&args.bmcs)?,
        bmc_user: args.bmc_user,
    };
    let heads = heads(&cluster)?;
    let mut drafted = draft(&heads, &wishes).map_err(refused)?;
    if !args.yes && std::io::stdin().is_terminal() && !drafted.open.is_empty() {
        for open in &drafted.open {
            ask(open, &mut wishes)?;
        }
        drafted = draft(&heads, &wishes).map_err(refused)?;
    }
    passwords(&cluster, &mut drafted);
    hawser_files::replace(&args.output, drafted.text.as_bytes(), 0o644)
        .into_diagnostic()
        .wrap_err_with(|| format!("cannot write {path}"))?;
    let taken = drafted.in_cluster;
    let lacks = drafted.remarks.has(Said::Missing);
    let words = args.running.words();
    let next = match (taken, lacks) {
        (true, _) => format!(
            "Next: `hawser import {words} --to FOLDER` reads the cluster that is there and keeps it; {path} is for a new one."
        ),
        (_, true) => format!(
            "Next: fill in what is needed; `hawser plan -f {path} --print cib` then shows what is made of it, without \
             reaching a node."
        ),
        (false, false) => match args.running.lab() {
            Some(lab) => format!("Next: `hawser plan -f {path} --lab {lab}`"),
            None => format!("Next: `hawser plan -f {path}`"),
        },
    };
    output::print_fitted(&format!("{}\nWritten: {path}\n{next}\n", drafted.remarks));
    Ok(ExitCode::from(u8::from(taken || lacks)))
}

fn bmcs(given: &[String]) -> miette::Result<BTreeMap<String, String>> {
    let mut all = BTreeMap::new();
    for given in given {
        let Some((node, address)) = given.split_once('=') else {
            bail!(
                help = "write --bmc NODE=ADDRESS",
                "--bmc {given}: no node is named"
            );
        };
        if all.insert(node.to_owned(), address.to_owned()).is_some() {
            bail!("--bmc {given}: {node} has an address already");
        }
    }
    Ok(all)
}

fn refused(why: Refused) -> Report {
    let diagnostic = MietteDiagnostic::new(format!("{why}; nothing was written"));
    Report::new(diagnostic.with_help(why.help))
}

/// What the heads show.
fn heads(cluster: &Cluster) -> miette::Result<Vec<Head>> {
    let mut hosts = aloud("the heads are being reached", || cluster.connect())?;
    let asked = aloud("the heads look around", || {
        on_all(&mut hosts, |name, host| {
            let facts = host.ask(&ReadStanding::default())?.facts;
            let around = host.ask(&ReadSurroundings)?;
            let path = COROSYNC_CONF.to_owned();
            let conf = host.ask(&ReadFile { path })?;
            let text = |file: OwnedFile| String::from_utf8_lossy(&file.content.0).into_owned();
            Ok::<_, HostError>(Head {
                name: name.to_string(),
                corosync_conf: conf.map(text),
                around,
                ..head(facts)
            })
        })
    });
    let mut asked = asked.into_diagnostic()?;
    // In the order in which they were named: it numbers them.
    let named = cluster.nodes.iter();
    let heads = named.filter_map(|(name, reach)| {
        let ssh = match reach {
            Reach::Ssh(destination) => Some(destination.clone()),
            Reach::Lab(_) => None,
        };
        Some(Head {
            ssh,
            ..asked.remove(name)?
        })
    });
    Ok(heads.collect())
}

fn head(facts: HostFacts) -> Head {
    let up = facts.interfaces.into_iter().filter(|(_, about)| about.up);
    Head {
        hostname: facts.hostname,
        ports: up.map(|(name, about)| (name.0, port(about))).collect(),
        virtualization: facts.virtualization,
        zpools: facts
            .storage
            .map_or_else(Vec::new, |storage| storage.zpools.into_keys().collect()),
        ..Head::default()
    }
}

fn port(about: Interface) -> Port {
    Port {
        addresses: about.addresses,
        carrier: about.carrier,
        mtu: about.mtu,
        speed: about.speed,
        driver: about.driver,
        lower: about.lower.into_iter().map(|name| name.0).collect(),
    }
}

/// Asks a person; an empty line leaves it open.
fn ask(open: &Open, wishes: &mut Wishes) -> miette::Result<()> {
    let asked = match open {
        Open::Name => "The cluster's name [cluster]:".to_owned(),
        Open::Sans(links) => format!(
            "By which of the links {} do clients reach the pools? [none]:",
            links.join(", ")
        ),
        Open::BmcAddress(node) => format!("The address of {node}'s management controller [later]:"),
        Open::BmcUser => "The controllers' user that may switch the power [later]:".to_owned(),
    };
    let said = confirm::typed(&asked, "--yes")?;
    if said.is_empty() {
        return Ok(());
    }
    match open {
        Open::Name => wishes.name = Some(said.to_owned()),
        Open::Sans(_) => {
            let words = said.split([' ', ',']).filter(|word| !word.is_empty());
            wishes.sans = words.map(str::to_owned).collect();
        }
        Open::BmcAddress(node) => {
            wishes.bmcs.insert(node.clone(), said.to_owned());
        }
        Open::BmcUser => wishes.bmc_user = Some(said.to_owned()),
    }
    Ok(())
}

/// Says of each password whether this machine has it.
fn passwords(cluster: &Cluster, drafted: &mut Draft) {
    for (node, file) in &drafted.passwords {
        let (said, why) = match cluster.secrets().read(&SecretRef::File(file.into())) {
            Ok(_) => (Said::Seen, format!("in {file}, on this machine")),
            Err(e) => (
                Said::Missing,
                format!(
                    "{e}: `install -D -m 600 /dev/stdin {file}` takes it without showing it to others"
                ),
            ),
        };
        drafted
            .remarks
            .add(said, node, "the password of its BMC", why);
    }
}
