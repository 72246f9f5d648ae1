//! `hawser check`: measure the interconnect, print the account and the findings.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hawser_coordinator::boots;
use hawser_coordinator::check::{self, CheckError, Progress};
use hawser_coordinator::fencing::ask_fence_devices;
use hawser_coordinator::schedule::Direction;
use hawser_coordinator::traffic_plan::TrafficOptions;
use hawser_host::{HostError, Hosts};
use hawser_model::case::{Absent, Case, Intensity};
use hawser_model::host::HostFacts;
use hawser_model::names::HostName;
use hawser_model::units::{Bytes, Nanos, PacketsPerSec};
use indicatif::{ProgressBar, ProgressStyle};
use miette::bail;

use super::clients::ClientArgs;
use super::fanout::FanoutArgs;
use crate::cluster::{Cluster, Which};
use crate::output::{bar, complain};
use crate::{case_file, interrupted, parse, verbs};

/// Arguments of `hawser check`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    which: Which,
    /// Print one JSON object (docs/schema/check.schema.json)
    #[arg(long)]
    json: bool,
    /// Where to write the case file [default: below /var/lib/hawser/cases]
    #[arg(long, value_name = "FILE", value_parser = parse::output)]
    case: Option<PathBuf>,
    #[command(flatten)]
    traffic: TrafficArgs,
    #[command(flatten)]
    fanout: FanoutArgs,
    #[command(flatten)]
    clients: ClientArgs,
}

/// How hard to press, and with what.
#[derive(clap::Args)]
pub struct TrafficArgs {
    /// Send as fast as the hosts can; for a maintenance window. Without it: at most a
    /// fiftieth of each link and 10 000 packets a second, one host in one flow at a time
    #[arg(long)]
    full: bool,
    #[command(flatten)]
    traffic: Traffic,
}

/// The traffic of the main phase, where its defaults do not fit.
#[derive(clap::Args)]
#[command(next_help_heading = "Traffic of the main phase")]
struct Traffic {
    /// Packets a second, such as 10k
    #[arg(long, value_name = "N", value_parser = parse::within::<u64>(parse::count, 1..=10_000_000))]
    rate: Option<u64>,
    /// UDP payload in bytes [default: what the link's MTU takes]
    #[arg(long, value_name = "BYTES", value_parser = parse::within::<u32>(parse::bytes, 64..=65_000))]
    size: Option<u32>,
    /// Packets back to back [default: 50, Corosync's window]
    #[arg(long, value_name = "N", value_parser = parse::within::<u32>(parse::count, 1..=1_024))]
    burst: Option<u32>,
    /// How long each direction is measured, such as 500ms or 3s
    #[arg(long, value_name = "TIME", value_parser = parse::duration)]
    duration: Option<Duration>,
    /// Receive buffer to ask for, as your program does [default: ask for nothing]
    #[arg(long, value_name = "BYTES", value_parser = parse::bytes)]
    rcvbuf: Option<u64>,
    /// Send to a multicast group as well, as feeds and older cluster engines do
    #[arg(long)]
    multicast: bool,
    /// Send one TCP stream each way for so long as well, as fast as it goes, and see whether it
    /// stays as fast as it began [3s when no time is given]; not beside a live cluster
    #[arg(long, value_name = "TIME", num_args = 0..=1, default_missing_value = "3s",
          value_parser = parse::duration)]
    stream: Option<Duration>,
    /// Also send blocks of this size as datagrams, say in how many frames one goes, and have the stream
    /// write so much at once, such as 32k [always: datagrams of 8 KiB]
    #[arg(long, value_name = "BYTES", value_parser = parse::within::<u64>(parse::bytes, 512..=1_048_576))]
    block: Option<u64>,
    /// Time the reader spends on each packet, to see what an application that slow would lose
    #[arg(long, value_name = "TIME", value_parser = parse::duration)]
    reader_delay: Option<Duration>,
}

impl TrafficArgs {
    /// What is asked for.
    pub fn options(&self) -> TrafficOptions {
        let nanos = |d: Duration| Nanos(d.as_nanos() as u64);
        TrafficOptions {
            intensity: if self.full {
                Intensity::Full
            } else {
                Intensity::Gentle
            },
            duration: self.traffic.duration.map(nanos),
            rate: self.traffic.rate.map(PacketsPerSec),
            payload: self.traffic.size,
            burst: self.traffic.burst,
            receive_buffer: self.traffic.rcvbuf.map(Bytes),
            multicast: self.traffic.multicast,
            stream: self.traffic.stream.map(nanos),
            block: self.traffic.block.map(Bytes),
            reader_delay: self.traffic.reader_delay.map(nanos).unwrap_or_default(),
        }
    }
}

/// Runs the verb.
pub fn run(args: Args) -> miette::Result<ExitCode> {
    interrupted::says("nothing is kept of this check, and its agents end with it")?;
    let cluster = args.which.cluster()?;
    if args.clients.wanted() {
        let case = super::clients::ask(&cluster, &args.clients)?;
        let (case, path) = case_file::write(case, args.case.as_deref())?;
        let shown = super::clients::show(&case, &path.display().to_string(), args.json);
        return Ok(shown.expect("a case of clients"));
    }
    let options = args.traffic.options();
    let case = match args.fanout.wanted() {
        true => super::fanout::measure(&cluster, &args.fanout, &options)?,
        false => measure(&cluster, &options)?,
    };
    let (case, path) = case_file::write(case, args.case.as_deref())?;
    Ok(verbs::explain::show(
        &case,
        &path.display().to_string(),
        args.json,
    ))
}

/// Measures a cluster, and asks its fence devices whether they would fence and its heads what they would do at their
/// next boot.
pub fn measure(cluster: &Cluster, options: &TrafficOptions) -> miette::Result<Case> {
    let bar = Bar::new();
    let (mut agents, unreached) = cluster.try_connect()?;
    let mut absent: Vec<Absent> = unreached.into_iter().map(Absent::from).collect();
    let (facts, silent) = check::facts_of_those_that_answer(&mut agents);
    absent.extend(silent);
    if agents.len() < 2 && !absent.is_empty() {
        let lines = absent.iter().map(|a| format!("{}: {}", a.host, a.reason));
        bail!("{}", lines.collect::<Vec<_>>().join("\n"));
    }
    for Absent { host, reason } in &absent {
        bar.line(&format!("{host} is not measured: {reason}"));
    }
    let hosts: Vec<_> = agents.keys().cloned().collect();
    bar::message(&bar.0, "asking fence devices");
    let fencing = ask_fence_devices(&mut agents, cluster.fence_asks(&hosts));
    let boots = match cluster.cluster_file() {
        Some(file) => boots::dangers(&mut agents, file),
        None => Vec::new(),
    };
    let case = checked_hosts(cluster, &mut agents, facts, options, &bar);
    bar.0.finish_and_clear();
    let mut case = case?;
    absent.append(&mut case.absent);
    Ok(Case {
        fencing,
        boots,
        absent,
        ..case
    })
}

/// Checks a cluster whose agents run; all of them must last.
pub fn checked(
    cluster: &Cluster,
    agents: &mut Hosts,
    options: &TrafficOptions,
    progress: &dyn Progress,
) -> miette::Result<Case> {
    let hosts = check::facts(agents).map_err(|e| miette::miette!("{e}"))?;
    let case = checked_hosts(cluster, agents, hosts, options, progress)?;
    match case.absent.first() {
        Some(Absent { host, reason }) => bail!("{host}: {reason}"),
        None => Ok(case),
    }
}

fn checked_hosts(
    cluster: &Cluster,
    agents: &mut Hosts,
    hosts: BTreeMap<HostName, HostFacts>,
    options: &TrafficOptions,
    progress: &dyn Progress,
) -> miette::Result<Case> {
    let topology = cluster.topology_of(&hosts);
    let case = check::check(
        agents,
        topology,
        hosts,
        options,
        &hawser_account::disturbed,
        progress,
        now(),
    );
    case.map_err(|e| match e {
        CheckError::MissingAddress(missing) => cluster.missing_addresses(&missing),
        other => miette::miette!("{other}"),
    })
}

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_secs())
}

/// A bar on a terminal; nothing elsewhere, where a log wants no moving lines.
pub struct Bar(pub ProgressBar);

impl Bar {
    /// While the agents start.
    pub fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        bar::message(&bar, "starting agents");
        bar.enable_steady_tick(Duration::from_millis(100));
        Self(bar)
    }

    /// A line that stays, above the bar; on standard error where there is no terminal.
    pub fn line(&self, text: &str) {
        if self.0.is_hidden() {
            complain!("{text}");
        } else {
            bar::line_above(&self.0, text);
        }
    }
}

impl Progress for Bar {
    fn begin(&self, directions: usize) {
        let style =
            ProgressStyle::with_template("{bar:20} {pos}/{len} directions  {wide_msg}  {elapsed}")
                .expect("a template that was tried");
        self.0.set_style(style);
        self.0.set_length(directions as u64);
        // A tune checks twice.
        self.0.set_position(0);
        bar::message(&self.0, "listening for hellos");
    }

    fn measured(&self, direction: &Direction) {
        let Direction { from, to, link } = direction;
        bar::message(&self.0, format_args!("measured {link} {from} → {to}"));
        self.0.inc(1);
    }

    fn lost(&self, error: &HostError) {
        self.line(&format!("{error}; the others are measured on"));
    }
}
