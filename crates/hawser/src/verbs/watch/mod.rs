//! `hawser watch`: what is wrong with the heads now, and all the time.

mod head;
mod whole;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use hawser_cluster::host::view::Limits;
use hawser_cluster::live::{JUDGE_PROMPTLY, judged};
use hawser_host::Clock;
use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::HostName;
use hawser_model::output::watch::{Alarm, WatchReading};
use hawser_model::toml_file::line_and_column;
use hawser_watch::board::Board;
use hawser_watch::changes::Change;
use hawser_watch::judge::Key;
use hawser_watch::receiver::Receiver;
use hawser_watch::serve::serve;
use hawser_watch::tell::{Teller, Told, Whose, message, test_alarm};
use hawser_watch::threads::Threads;
use hawser_watch::turns::Turns;
use hawser_watch::web::Doors;
use hawser_watch::{Asked, ask, group, keeper, reading, sightings};
use miette::{IntoDiagnostic, WrapErr, bail};

use super::check::now;
use crate::cluster::{Cluster, Which, none_reached, why_not};
use crate::waiting::aloud;
use crate::{output, render};

/// How long the heartbeat links are watched for losses: some ten of kronosnet's pings from each end.
const LINKS: Duration = Duration::from_secs(2);

/// The ring of a head's readings, if nothing else is said.
const RING: u64 = 64 << 20;

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
    /// Watch the head that this machine is, by its name in the cluster file [default: the one with its host name]
    #[arg(long, value_name = "NAME", conflicts_with = "once", add = crate::names::nodes())]
    node: Option<String>,
    /// Watch all heads from here, although this machine is one of them
    #[arg(long, conflicts_with_all = ["once", "node"])]
    all: bool,
    /// Tell of each alarm that begins or ends: https:// or http:// with the JSON of an Alertmanager's webhook, a program's path
    /// with the same on its input, mailto:ADDRESS by this machine's sendmail, or @FILE with one of these [default, on a head:
    /// `tell` of [watch] in the cluster file]
    #[arg(long, value_name = "WHOM", value_parser = Receiver::parse, conflicts_with = "once")]
    tell: Option<Receiver>,
    /// Keep what is read on this head's own disk, in so many bytes; 0: do not [default: 64M]
    #[arg(long, value_name = "SIZE", value_parser = ring, conflicts_with = "once")]
    keep: Option<u64>,
    /// Send a message that begins and one that ends to whom it tells, and end
    #[arg(long, conflicts_with = "once")]
    test_alarm: bool,
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
        return stay(args, cluster);
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
    let (mut heads, failed) = cluster.promptly(1).try_connect()?;
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
            let judged = judged(file, &facts.status, &mut heads, JUDGE_PROMPTLY);
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
    Ok(reading(file, &names, &facts).with(alarms))
}

/// Stays: on the head that this machine is, or where it reaches all of them.
fn stay(args: &Args, cluster: Cluster) -> miette::Result<ExitCode> {
    let file = cluster.cluster_file();
    let own = head::own(args, &cluster)?;
    let whose = Whose {
        cluster: file.map_or(String::new(), |file| file.cluster.name.to_string()),
        head: own.as_ref().map_or(String::new(), HostName::to_string),
    };
    if args.test_alarm {
        let own = own.is_some();
        return match receiver(args, file.filter(|_| own))? {
            Some(to) => test(&to, &whose),
            None => bail!(
                "--test-alarm tells nobody: --tell WHOM, or `tell` of [watch] in the cluster file, on a head"
            ),
        };
    }
    match (own, file) {
        (Some(own), Some(file)) => head::stay(args, file, own, &whose),
        (_, _) => whole::stay(args, cluster, &whose),
    }
}

/// Who is told: of the command, or else of this head's file.
fn receiver(args: &Args, file: Option<&ClusterFile>) -> miette::Result<Option<Receiver>> {
    let whom = file.and_then(|file| Some((file, file.watch.tell.as_ref()?)));
    match (&args.tell, whom) {
        (Some(receiver), _) => Ok(Some(receiver.clone())),
        (None, Some((file, whom))) => {
            let parsed = Receiver::parse(&whom.to_string());
            let (line, _) = line_and_column(&file.text, whom.span().start);
            parsed.map(Some).map_err(|why| {
                miette::miette!("the cluster file, line {line}: [watch] tell: {why}")
            })
        }
        (None, None) => Ok(None),
    }
}

/// What a watch that stays says and where, whatever it reads.
struct Voice {
    doors: Arc<Doors>,
    teller: Option<Teller>,
    whose: Whose,
    board: Board,
    clock: Clock,
    turns: Turns,
    problem: Option<String>,
}

impl Voice {
    /// Serves the board, and says of whom it is.
    fn begin(
        threads: &mut Threads,
        args: &Args,
        to: Option<Receiver>,
        board: &Board,
        what: &str,
        whose: &Whose,
        clock: &Clock,
    ) -> miette::Result<Self> {
        let doors = Doors::new(args.listen.ip(), args.web_config.as_deref());
        let doors = Arc::new(doors.map_err(|e| miette::miette!("{e}"))?);
        let served = serve(threads, args.listen, Arc::clone(&doors), board.clone());
        let address = served.map_err(|e| miette::miette!("{e}"))?;
        let teller = to.map(|to| Teller::start(threads, to, clock.clone()));
        let teller = started(teller.transpose())?;
        let scheme = if doors.speaks_tls() { "https" } else { "http" };
        output::print(&format!("watching {what}, {scheme}://{address}/\n"));
        Ok(Self {
            doors,
            teller,
            whose: whose.clone(),
            board: board.clone(),
            clock: clock.clone(),
            turns: Turns::default(),
            problem: None,
        })
    }

    /// Whether people are sent messages.
    fn tells(&self) -> bool {
        self.teller.is_some()
    }

    /// Says what began and ended, and why the cluster could not be looked at if that is new. Gives what became of messages.
    fn say(&mut self, changes: &[Change], problem: Option<&str>) -> Option<Told> {
        for change in changes {
            output::print(&(render::watch::change(change) + "\n"));
        }
        let concerned = !changes.is_empty() || !self.turns.is_idle();
        if let Some(teller) = self.teller.as_ref().filter(|_| concerned) {
            let at = self.clock.now();
            let told = self.turns.take(at, changes.to_vec(), &self.board.seen());
            for change in told {
                teller.tell(&change, message(&change, &self.whose, now()));
            }
        }
        for words in self.doors.said() {
            output::complain!("{words}");
        }
        if self.problem.as_deref() != problem {
            self.problem = problem.map(str::to_owned);
            if let Some(why) = problem {
                output::complain!("no view of the cluster: {why}");
            }
        }
        let mut told = self.teller.as_ref().map(Teller::told)?;
        self.turns.untold(&mut told.waiting);
        told.left = self.turns.left().clone();
        Some(told)
    }

    /// Goes on from what the watch before this one left to others.
    fn resume(&mut self, left: BTreeSet<Key>) {
        self.turns.resume(left);
    }
}

/// What a thread needs is there.
fn started<T>(thread: std::io::Result<T>) -> miette::Result<T> {
    thread.into_diagnostic().wrap_err("cannot start a thread")
}

/// Sends a message that begins and one that ends.
fn test(to: &Receiver, whose: &Whose) -> miette::Result<ExitCode> {
    let alarm = test_alarm(now());
    for change in [Change::Began(alarm.clone()), Change::Ended(alarm)] {
        let message = message(&change, whose, now());
        to.deliver(&message).map_err(|e| miette::miette!("{e}"))?;
    }
    output::print(&format!("{to} took both messages\n"));
    Ok(ExitCode::SUCCESS)
}
