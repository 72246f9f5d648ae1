//! `hawser check --multicast-fanout`: how many receivers of one flow a host serves.

use std::time::Duration;

use hawser_coordinator::check as coordinator_check;
use hawser_coordinator::fanout::{self, FanoutError, FanoutOptions, MOST_GROUPS, Progress};
use hawser_coordinator::traffic_plan::TrafficOptions;
use hawser_model::case::{Case, Intensity};
use hawser_model::fanout::Spread;
use hawser_model::names::HostName;
use hawser_model::units::{Nanos, PacketsPerSec};
use indicatif::ProgressStyle;
use miette::{bail, miette};

use super::check::{Bar, now};
use crate::cluster::Cluster;
use crate::output::bar;

/// The rates at which the report that this comes from was made.
pub const RATES: [PacketsPerSec; 2] = [PacketsPerSec(40_000), PacketsPerSec(30_000)];

/// And its packets, bytes of UDP payload.
const PAYLOAD: u32 = 800;

/// What an Ethernet of 1500 bytes takes whole.
const LARGEST: u32 = 1_472;

/// Packets back to back: enough for the sender to sleep in between, too few to fill a queue.
const BURST: u32 = 4;

const WINDOW: Nanos = Nanos::from_millis(500);

/// What a fan-out is asked with.
#[derive(clap::Args)]
#[command(next_help_heading = "Receivers of one multicast flow")]
pub struct FanoutArgs {
    /// Instead of the links, measure how many receivers of one multicast flow a host serves: guests
    /// behind a bridge, made for it on NODE [all nodes, one after the other, when none is named].
    /// By default at 40 000 and 30 000 packets a second of 800 bytes; --rate, --size, --burst and
    /// --duration (of a window) change that. A minute or two for each node
    #[arg(long, value_name = "NODE", num_args = 0..=1, default_missing_value = "",
          conflicts_with_all = ["multicast", "stream", "block", "rcvbuf", "reader_delay"])]
    multicast_fanout: Option<String>,
    /// The most receivers to try
    #[arg(long, value_name = "N", default_value_t = 64, requires = "multicast_fanout",
          value_parser = crate::parse::within::<u32>(crate::parse::count, 1..=200))]
    receivers: u32,
    /// Instead of many receivers, have one join up to so many groups, under this host's own limits
    #[arg(long, value_name = "N", requires = "multicast_fanout", conflicts_with_all = ["receivers", "count_only"],
          value_parser = crate::parse::within::<u32>(crate::parse::count, 1..=u64::from(MOST_GROUPS)))]
    groups: Option<u32>,
    /// Receivers count in the kernel and read nothing: the host's own work alone, as where receivers have
    /// processors of their own
    #[arg(long, requires = "multicast_fanout")]
    count_only: bool,
}

impl FanoutArgs {
    /// Whether it was asked for.
    pub fn wanted(&self) -> bool {
        self.multicast_fanout.is_some()
    }

    /// Whether groups are meant instead of receivers.
    pub fn with_groups(&self) -> bool {
        self.groups.is_some()
    }

    /// What is asked for: each rate with each way of spreading the work.
    pub fn options(
        &self,
        traffic: &TrafficOptions,
        rates: &[PacketsPerSec],
        spreads: &'static [Spread],
    ) -> miette::Result<FanoutOptions> {
        let payload = traffic.payload.unwrap_or(PAYLOAD);
        if payload > LARGEST {
            bail!(
                "--size {payload}: receivers are behind a bridge of 1500 bytes, which takes {LARGEST} at most"
            );
        }
        let duration = traffic.duration.unwrap_or(WINDOW);
        if !(Nanos::from_millis(100)..=Nanos::from_millis(10_000)).contains(&duration) {
            bail!("--duration {duration}: a window is from 100 ms to 10 s long");
        }
        let host = self.multicast_fanout.as_deref().filter(|h| !h.is_empty());
        Ok(FanoutOptions {
            host: host.map(HostName::from),
            rates: traffic.rate.map_or(rates.to_vec(), |rate| vec![rate]),
            payload,
            burst: traffic.burst.unwrap_or(BURST),
            most: self.receivers,
            count_only: self.count_only,
            groups: self.groups,
            duration,
            beside_a_cluster: traffic.intensity == Intensity::Full,
            spreads,
        })
    }
}

/// Measures it.
pub fn measure(
    cluster: &Cluster,
    args: &FanoutArgs,
    traffic: &TrafficOptions,
) -> miette::Result<Case> {
    let options = args.options(traffic, &RATES, &Spread::ALL)?;
    let bar = Bar::new();
    let mut agents = cluster.connect()?;
    let hosts = coordinator_check::facts(&mut agents).map_err(|e| miette!("{e}"))?;
    let topology = cluster.topology_of(&hosts);
    let case = fanout::fanout(&mut agents, topology, hosts, &options, &bar, now());
    bar.0.finish_and_clear();
    case.map_err(told)
}

/// Why it could not be measured, and what to do about it.
pub fn told(error: FanoutError) -> miette::Report {
    match error {
        FanoutError::LiveCluster(_) => miette!(
            help = "in a maintenance window: --full. Without --multicast-fanout a check is safe beside a live cluster",
            "{error}"
        ),
        other => miette!("{other}"),
    }
}

impl Progress for Bar {
    fn search(
        &self,
        host: &HostName,
        rate: PacketsPerSec,
        spread: Spread,
        number: usize,
        of: usize,
    ) {
        let style = ProgressStyle::with_template("{spinner} {prefix}: {msg} receivers")
            .expect("a template that was tried");
        self.0.set_style(style);
        self.0.enable_steady_tick(Duration::from_millis(100));
        let what = format!("{number} of {of}, {host}, {rate}, {}", spread.word());
        bar::prefix(&self.0, what);
    }

    fn groups(&self, host: &HostName, count: u32) {
        bar::message(&self.0, format_args!("{host}: joining {count} groups"));
    }

    fn receivers(&self, count: u32) {
        bar::message(&self.0, count);
    }
}
