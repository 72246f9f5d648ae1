//! `hawser top`: a picture of a cluster in the terminal, or as lines.

mod screen;

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hawser_agent::questions::ReadStanding;
use hawser_host::{Host, HostError, Reach, on_all};
use hawser_lab::Lab;
use hawser_model::host::HostFacts;
use hawser_model::names::HostName;
use hawser_model::output::live::Light;
use hawser_model::output::top::{Answers, TopPicture};
use hawser_model::topology::{Node, Topology};
use hawser_top::plain::Teller;
use hawser_watch::group;
use hawser_watch::readers::{Readers, Way};
use hawser_watch::run::EVERY;
use hawser_watch::whole::Whole;
use miette::{IntoDiagnostic, WrapErr, bail};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::cluster::{Cluster, Which, none_reached, set_verbosity, why_not};
use crate::output;
use crate::waiting::aloud;

/// The first lines wait so long for all of it.
const FIRST: Duration = Duration::from_secs(20);

/// How often it is looked whether somebody wants it to end.
const LOOKS: Duration = Duration::from_millis(100);

/// Arguments of `hawser top`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    which: Which,
    /// Print lines: all of it once, then what changes. So it is too where standard output is no terminal
    #[arg(long)]
    plain: bool,
}

/// Runs the verb.
pub fn run(args: &Args) -> miette::Result<ExitCode> {
    let cluster = args.which.cluster()?;
    let whole = whole(&cluster)?;
    let ends = ends()?;
    let full = !args.plain && std::io::stdout().is_terminal() && screen::can_draw();
    if full && std::io::stderr().is_terminal() {
        // What `-v` says would stand in the picture.
        set_verbosity(0);
    }
    let readers = read(cluster, whole)?;
    let last = match full {
        true => screen::run(&readers, &ends)?,
        false => lines(&readers, &ends)?,
    };
    Ok(match last.light() {
        Light::Good => ExitCode::SUCCESS,
        Light::Unknown if last.alarms.is_empty() => ExitCode::SUCCESS,
        Light::Unknown | Light::Warning | Light::Bad => ExitCode::from(1),
    })
}

/// All heads of a cluster, of which none is read yet.
///
/// # Errors
/// Hosts are named without a cluster file, and none of them is reached.
pub fn whole(cluster: &Cluster) -> miette::Result<Whole> {
    Ok(match cluster.cluster_file() {
        Some(file) => Whole::new(file.clone()),
        None => Whole::of_hosts(&hosts_alone(cluster)?),
    })
}

/// Begins to read them.
///
/// # Errors
/// There is no thread to be had.
pub fn read(cluster: Cluster, whole: Whole) -> miette::Result<Readers> {
    let labs = cluster.labs()?;
    let slowness = labs.iter().map(Lab::slowness).max().unwrap_or(1);
    let way: Way = Arc::new(Nodes { cluster, slowness });
    let readers = Readers::start(whole, &way, slowness);
    let readers = readers.into_diagnostic();
    readers.wrap_err("cannot start a thread")
}

/// Prints lines until it is to end, or nobody reads them.
fn lines(readers: &Readers, ends: &AtomicBool) -> miette::Result<TopPicture> {
    let mut teller = Teller::default();
    let begun = Instant::now();
    let mut known = false;
    loop {
        let picture = readers.picture();
        known = known || is_known(&picture) || begun.elapsed() > FIRST;
        if known {
            for line in teller.lines(&picture) {
                output::print(&(line + "\n"));
            }
        }
        let drawn = Instant::now();
        while drawn.elapsed() < EVERY {
            if ends.load(Ordering::Relaxed) || output::is_unheard() {
                return Ok(picture);
            }
            check(readers)?;
            std::thread::sleep(LOOKS);
        }
    }
}

/// Whether all that is asked at the beginning was answered.
fn is_known(picture: &TopPicture) -> bool {
    let mut heads = picture.heads.iter();
    let tried = heads.all(|head| head.answers != Answers::NotYet);
    let is_cluster = !picture.cluster.is_empty();
    let looked = picture.look.at.is_some() && picture.incidents.read;
    tried && (!is_cluster || looked || picture.look.problem.is_some())
}

/// That whoever reads the heads goes on doing so.
///
/// # Errors
/// One has ended.
pub fn check(readers: &Readers) -> miette::Result<()> {
    match readers.broken() {
        true => bail!("a thread that reads the heads has ended: this is a defect of hawser"),
        false => Ok(()),
    }
}

/// What a code means.
fn explained(code: &str) -> Option<String> {
    let page = hawser_account::page(code).map(hawser_account::plain);
    page.or_else(|| group::meaning(code).map(str::to_owned))
}

/// True from the first signal on that ends a program.
fn ends() -> miette::Result<Arc<AtomicBool>> {
    let ends = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        // The second one ends the program whatever it does.
        let registered = signal_hook::flag::register_conditional_shutdown(signal, 1, ends.clone())
            .and_then(|_| signal_hook::flag::register(signal, ends.clone()));
        let registered = registered.into_diagnostic();
        registered.wrap_err("cannot take a signal")?;
    }
    Ok(ends)
}

/// The way to the nodes, which may be slow.
struct Nodes {
    cluster: Cluster,
    slowness: u32,
}

impl Reach for Nodes {
    fn connect(&self, name: &HostName) -> Result<Box<dyn Host>, HostError> {
        let one = self.cluster.promptly(self.slowness).one(name);
        one.connect_only(name)
    }
}

/// Hosts without a cluster file: their links are those of which their addresses tell.
///
/// # Errors
/// None of them is reached.
fn hosts_alone(cluster: &Cluster) -> miette::Result<Topology> {
    if let Some(topology) = &cluster.topology {
        return Ok(topology.clone());
    }
    let facts = aloud("the hosts are being reached", || facts(cluster))?;
    let mut topology = cluster.topology_of(&facts);
    for (name, reach) in &cluster.nodes {
        if topology.nodes.iter().all(|node| node.name != *name) {
            topology.nodes.push(Node {
                name: name.clone(),
                reach: reach.clone(),
                addresses: BTreeMap::new(),
            });
        }
    }
    Ok(topology)
}

fn facts(cluster: &Cluster) -> miette::Result<BTreeMap<HostName, HostFacts>> {
    let (mut hosts, failed) = cluster.promptly(1).try_connect()?;
    if hosts.is_empty() {
        bail!(none_reached(&why_not(&failed)));
    }
    let answered = on_all(&mut hosts, |_, host| host.ask(&ReadStanding));
    let answered = answered.map_err(|e| miette::miette!("{e}"))?;
    let facts = answered.into_iter();
    Ok(facts
        .map(|(name, standing)| (name, standing.facts))
        .collect())
}
