//! `hawser watch`: what is wrong with the heads now, and all the time.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use hawser_cluster::host::view::Limits;
use hawser_cluster::live::judged;
use hawser_host::Clock;
use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::HostName;
use hawser_model::output::watch::{Alarm, WatchReading};
use hawser_watch::board::Board;
use hawser_watch::keeping::Keeping;
use hawser_watch::notify::Manager;
use hawser_watch::past::Past;
use hawser_watch::run::{Change, EVERY, Looker, Watch};
use hawser_watch::serve::serve;
use hawser_watch::tell::{Teller, Whose, deliver, message, test_alarm};
use hawser_watch::web::Doors;
use hawser_watch::{Asked, ask, group, keeper, reading, sightings};
use miette::{IntoDiagnostic, WrapErr, bail};

use super::check::now;
use crate::cluster::{Cluster, Which, none_reached, why_not};
use crate::waiting::aloud;
use crate::{output, render};

/// How long a head may take to let itself be connected, and then to log in.
const CONNECT: Duration = Duration::from_secs(2);
const LOGIN: Duration = Duration::from_secs(3);

/// How long the heartbeat links are watched for losses: some ten of kronosnet's pings from each end.
const LINKS: Duration = Duration::from_secs(2);

/// How much the judgement may take on one head: a few runs of `crm_simulate`.
const JUDGE: Duration = Duration::from_secs(3);

/// Four parts of a ring, of which the last is being written.
const SMALLEST_RING: u64 = 4 << 20;

/// Arguments of `hawser watch`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    which: Which,
    /// Read all heads once, print what is wrong, and end
    #[arg(long)]
    once: bool,
    /// Print one JSON object (docs/schema/watch.schema.json)
    #[arg(long, requires = "once")]
    json: bool,
    /// Serve a live page, /metrics, /reading.json and /-/healthy at this address of this machine
    #[arg(
        long,
        value_name = "ADDR",
        default_value = "127.0.0.1:9967",
        conflicts_with = "once"
    )]
    listen: SocketAddr,
    /// Ask for TLS and a credential there, as this web configuration of Prometheus' exporters says; an address that is not
    /// loopback needs both
    #[arg(long, value_name = "FILE", conflicts_with = "once")]
    web_config: Option<PathBuf>,
    /// The head in the cluster file that this machine is [default: the one with its host name]
    #[arg(long, value_name = "NAME", conflicts_with = "once")]
    node: Option<String>,
    /// Run this program for each alarm that begins or ends, with the JSON of an Alertmanager's webhook on its input
    #[arg(long, value_name = "PROGRAM", value_parser = program, conflicts_with = "once")]
    tell: Option<PathBuf>,
    /// Keep what is read on this head's own disk, in so many bytes; 0: do not
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "64M",
        value_parser = ring,
        conflicts_with = "once"
    )]
    keep: u64,
    /// Send a message that begins and one that ends through --tell, and end
    #[arg(long, requires = "tell")]
    test_alarm: bool,
}

/// A program is named by its whole path: what `PATH` has is another thing for each who starts a watch.
fn program(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match (path.is_absolute(), path.is_file()) {
        (false, _) => Err("not a path that begins with /".into()),
        (true, false) => Err("no such file".into()),
        (true, true) => Ok(path),
    }
}

/// Bytes of a ring of readings: room for some hours at least.
fn ring(text: &str) -> Result<u64, String> {
    match crate::parse::bytes(text)? {
        bytes if bytes == 0 || bytes >= SMALLEST_RING => Ok(bytes),
        _ => Err("4M and more, or 0 for none".into()),
    }
}

/// Runs the verb.
pub fn run(args: &Args) -> miette::Result<ExitCode> {
    let cluster = args.which.cluster()?;
    if !args.once {
        return resident(args, &cluster);
    }
    let reading = aloud("the heads are being read", || once(&cluster))?;
    match args.json {
        true => {
            let json = serde_json::to_string_pretty(&reading).expect("a reading is always JSON");
            output::print(&(json + "\n"));
        }
        false => output::print_fitted(&render::watch::text(&reading)),
    }
    Ok(match reading.alarms.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(1),
    })
}

/// One reading of all heads.
fn once(cluster: &Cluster) -> miette::Result<WatchReading> {
    let (mut heads, failed) = cluster.within(CONNECT, LOGIN).try_connect()?;
    let unreached = why_not(&failed);
    let file = cluster.cluster_file();
    let asked = Asked {
        file,
        limits: Limits::PROMPT,
        watch_links: LINKS,
    };
    let facts = ask(&mut heads, unreached, asked, now());
    if facts.hosts.is_empty() {
        bail!(none_reached(&facts.status.unreached));
    }
    let said = match file {
        Some(file) => {
            let judged = judged(file, &facts.status, &mut heads, JUDGE);
            judged.map_err(|e| miette::miette!("{e}"))?.said
        }
        None => Vec::new(),
    };
    let topology = cluster.topology_of(&facts.hosts);
    let alarms: Vec<Alarm> = sightings(&topology, &facts, said)
        .iter()
        .map(keeper::alarm)
        .collect();
    let names: Vec<HostName> = cluster.nodes.iter().map(|(name, _)| name.clone()).collect();
    let alarms = group::grouped(alarms, &topology);
    Ok(reading(file, &names, &facts, alarms))
}

/// Stays on this head, which no other head is asked for.
fn resident(args: &Args, cluster: &Cluster) -> miette::Result<ExitCode> {
    let Some(file) = cluster.cluster_file() else {
        bail!(
            help = "`hawser watch --once` reads hosts that are named without a cluster file",
            "a watch that stays on a head needs a cluster file (-f FILE)"
        );
    };
    let own = own_name(args.node.as_deref(), file)?;
    let whose = Whose {
        cluster: file.cluster.name.to_string(),
        head: own.to_string(),
    };
    if let (true, Some(program)) = (args.test_alarm, &args.tell) {
        return test(program, &whose);
    }
    let clock = Clock::default();
    let board = Board::new(file.clone(), own.clone(), clock.clone());
    let doors = Doors::new(args.listen.ip(), args.web_config.as_deref());
    let doors = Arc::new(doors.map_err(|e| miette::miette!("{e}"))?);
    let served = serve(args.listen, Arc::clone(&doors), board.clone());
    let address = served.map_err(|e| miette::miette!("{e}"))?;
    let threads = board.send_pages().and_then(|()| {
        let host = hawser_agent::own(own.clone());
        Past::start(host, board.clone(), clock.clone())
    });
    let past = threads
        .into_diagnostic()
        .wrap_err("cannot start a thread")?;
    let teller = args.tell.clone();
    let teller = teller.map(|program| Teller::start(program, clock.clone()));
    let teller = teller.transpose().into_diagnostic();
    let teller = teller.wrap_err("cannot start a thread")?;
    let mut host = hawser_agent::own(own.clone());
    let looker = Looker::start(file.clone(), own.clone(), hawser_agent::own(own.clone()));
    let mut look = looker.into_diagnostic().wrap_err("cannot start a thread")?;
    let mut watch = Watch::new(file.clone(), own.clone());
    if args.keep > 0 {
        let pools = file.pools.iter().map(|pool| pool.root()).collect();
        watch = watch.keeping(Keeping::new(args.keep, pools));
    }
    let scheme = if doors.speaks_tls() { "https" } else { "http" };
    output::print(&format!("watching {own}, {scheme}://{address}/\n"));
    let manager = Manager::here();
    manager.tell("READY=1");
    let mut problem = None;
    loop {
        let begun = clock.now();
        for change in watch.tick(host.as_mut(), &mut look, &clock) {
            output::print(&(render::watch::change(&change) + "\n"));
            if let Some(teller) = &teller {
                teller.tell(message(&change, &whose, now()));
            }
        }
        for words in watch.said().into_iter().chain(doors.said()) {
            output::complain!("{words}");
        }
        if let Some(teller) = &teller {
            watch.told(teller.counts());
        }
        if problem.as_deref() != watch.problem() {
            problem = watch.problem().map(str::to_owned);
            if let Some(why) = &problem {
                output::complain!("no view of the cluster: {why}");
            }
        }
        board.post(&watch);
        if watch.news() {
            past.read(watch.cib());
        }
        manager.tell("WATCHDOG=1");
        clock.sleep(EVERY.saturating_sub(clock.since(begun)));
    }
}

/// Sends a message that begins and one that ends.
fn test(program: &Path, whose: &Whose) -> miette::Result<ExitCode> {
    let alarm = test_alarm(now());
    for change in [Change::Began(alarm.clone()), Change::Ended(alarm)] {
        let message = message(&change, whose, now());
        deliver(program, &message).map_err(|e| miette::miette!("{e}"))?;
    }
    output::print(&format!("{} took both messages\n", program.display()));
    Ok(ExitCode::SUCCESS)
}

/// The name of this machine in the file.
fn own_name(named: Option<&str>, file: &ClusterFile) -> miette::Result<HostName> {
    let name = match named {
        Some(name) => name.to_owned(),
        None => {
            let name = nix::unistd::gethostname().into_diagnostic();
            let name = name.wrap_err("cannot read this machine's name")?;
            let name = name.to_string_lossy().into_owned();
            name.split('.').next().unwrap_or_default().to_owned()
        }
    };
    let nodes: Vec<&str> = file.nodes.iter().map(|node| node.name.as_str()).collect();
    if !nodes.contains(&name.as_str()) {
        bail!(
            help = "--node names the head that this machine is",
            "{name} is not a head of the cluster file, which has {}",
            nodes.join(", ")
        );
    }
    Ok(name.as_str().into())
}
