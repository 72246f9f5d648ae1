//! `hawser tune`: every fix an experiment, kept only when it is proven.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use hawser_coordinator::check::{Progress, facts};
use hawser_coordinator::schedule::Direction;
use hawser_coordinator::traffic_plan::TrafficOptions;
use hawser_coordinator::tune::{self, TuneEnv, TuneError};
use hawser_host::{Host, HostError};
use hawser_lab::impair::{MachineSetting, announce_machine};
use hawser_lab::{Lab, LabName};
use hawser_model::case::Case;
use hawser_model::fanout::Spread;
use hawser_model::knob::Knob;
use hawser_model::names::{HostName, LinkName};
use hawser_model::output::tune::TuneReport;
use hawser_model::topology::Reach;
use hawser_model::trial::{Also, Trial};
use indicatif::{ProgressBar, ProgressStyle};

use super::check::{Bar, TrafficArgs, checked, now};
use super::fanout::{self, FanoutArgs};
use super::tune_switches::Switches;
use crate::cluster::{Cluster, Which};
use crate::confirm;
use crate::output::{self, bar, say};
use crate::{case_file, interrupted, parse, render};

/// Arguments of `hawser tune`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    which: Which,
    /// Print one JSON object (docs/schema/tune.schema.json)
    #[arg(long)]
    json: bool,
    /// Where to write the case file [default: below /var/lib/hawser/cases]
    #[arg(long, value_name = "FILE", value_parser = parse::output)]
    case: Option<PathBuf>,
    /// Measure, and name what would be tried, on which host, from which value to which: nothing is turned
    #[arg(long, conflicts_with_all = ["placebo", "restart_engine", "multicast_fanout"])]
    dry_run: bool,
    /// Do not ask before the settings of hosts are tried that are no lab's
    #[arg(long)]
    yes: bool,
    /// Try a change that does nothing, so many times, instead of fixes: the share that is called better is the
    /// rate of false "better" verdicts
    #[arg(long, value_name = "N", value_parser = parse::within::<u32>(parse::count, 1..=10_000))]
    placebo: Option<u32>,
    /// Where a fix is taken only by a cluster engine that starts (Corosync's receive buffer): start the engine of that one
    /// host again, if the others serve everything and keep quorum without it
    #[arg(long)]
    restart_engine: bool,
    #[command(flatten)]
    traffic: TrafficArgs,
    #[command(flatten)]
    fanout: FanoutArgs,
}

impl Args {
    /// Whether somebody is asked before a setting is tried. A placebo sets nothing.
    fn asks(&self, cluster: &Cluster) -> bool {
        cluster.is_real() && !self.yes && !self.dry_run && self.placebo.is_none()
    }
}

/// Runs the verb.
pub fn run(args: Args) -> miette::Result<ExitCode> {
    interrupted::says(
        "a change that was on trial is undone by its host; `hawser changes` shows what is left",
    )?;
    let cluster = args.which.cluster()?;
    if args.asks(&cluster) {
        confirm::is_possible(confirm::YES)?;
    }
    let options = args.traffic.options();
    let case = match args.fanout.wanted() {
        true => fanout_tuned(&cluster, &args, &options)?,
        false => tuned(&cluster, &args, &options)?,
    };
    let (case, path) = case_file::write(case, args.case.as_deref())?;
    let report = TuneReport {
        case: path.display().to_string(),
        ..hawser_account::trial::tune_report(&case).expect("the case was just tuned")
    };
    if args.json {
        let text = serde_json::to_string_pretty(&report).expect("a report is always JSON");
        say!("{text}");
    } else {
        output::print_fitted(&render::tune::report(&case, &report, &args.which.words()));
    }
    Ok(if report.after.findings.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    })
}

/// A check, and the trials of what it found.
fn tuned(cluster: &Cluster, args: &Args, options: &TrafficOptions) -> miette::Result<Case> {
    let bar = Bar::new();
    let mut agents = cluster.connect()?;
    let mut case = checked(cluster, &mut agents, options, &bar)?;
    let around = Around::of(cluster, &bar, args.restart_engine)?;
    // An engine that loses what its peers send ends the check itself; that is tried all the same.
    let of_engine = hawser_account::fixes::plans(&case)
        .iter()
        .any(hawser_account::fixes::TrialPlan::is_of_engine);
    if let Some(stopped) = case.stopped.as_ref().filter(|_| !of_engine) {
        bar.0.finish_and_clear();
        miette::bail!(
            "the check before was stopped by {}: {}; nothing was tried",
            stopped.host,
            stopped.what
        );
    }
    if args.dry_run || args.asks(cluster) {
        let would_be = tune::dry_run(&mut agents, &case).map_err(|e| miette::miette!("{e}"))?;
        case.tuning = Some(would_be);
        if args.dry_run || !agreed(&case, &bar)? {
            bar.0.finish_and_clear();
            return Ok(case);
        }
        case.tuning = None;
    }
    let tuning = tune::tune(&mut agents, &case, options, args.placebo, &around, now());
    bar.0.finish_and_clear();
    case.tuning = Some(tuning.map_err(|e| miette::miette!("{e}"))?);
    Ok(case)
}

/// Whether whoever sits at the terminal lets the settings of real hosts be tried: those that the case says would be are shown.
fn agreed(case: &Case, bar: &Bar) -> miette::Result<bool> {
    let would_be = case.tuning.iter().flat_map(|tuning| &tuning.trials);
    if !would_be.into_iter().any(Trial::would_be_tried) {
        return Ok(true);
    }
    let report = hawser_account::trial::tune_report(case).expect("it has what would be tried");
    let table = render::tune::trials(case, &report);
    bar.0
        .suspend(|| confirm::yes(&format!("{table}{ON_TRIAL}")))
}

/// What is asked before.
const ON_TRIAL: &str = "The hosts are no lab's. Each of these settings is tried under traffic, one after the other, and undone if it does not help.";

/// How many receivers the hosts serve, and the trials of what lets them serve more.
fn fanout_tuned(cluster: &Cluster, args: &Args, options: &TrafficOptions) -> miette::Result<Case> {
    if args.fanout.with_groups() {
        miette::bail!(
            help = "`hawser check --multicast-fanout --groups N` says what to set",
            "--groups: which limits of groups are right is for the programs of a host to say, not for a trial"
        );
    }
    // One rate: the first of the check's.
    let rates = &fanout::RATES[..1];
    let asked = args.fanout.options(options, rates, &Spread::TUNED)?;
    let bar = Bar::new();
    if args.asks(cluster) && !confirm::yes(ON_TRIAL)? {
        miette::bail!("not confirmed; nothing was done");
    }
    let mut agents = cluster.connect()?;
    let hosts = facts(&mut agents).map_err(|e| miette::miette!("{e}"))?;
    let topology = cluster.topology_of(&hosts);
    let around = Around::of(cluster, &bar, args.restart_engine)?;
    let case = tune::tune_fanout(
        &mut agents,
        (topology, hosts),
        &asked,
        args.placebo,
        (&around, &bar),
        now(),
    );
    bar.0.finish_and_clear();
    case.map_err(|e| match e {
        TuneError::Fanout(error) => fanout::told(error),
        other => miette::miette!("{other}"),
    })
}

/// The world around a tune.
struct Around<'a> {
    cluster: &'a Cluster,
    switches: Switches,
    bar: &'a Bar,
    restart_engine: bool,
}

impl<'a> Around<'a> {
    fn of(cluster: &'a Cluster, bar: &'a Bar, restart_engine: bool) -> miette::Result<Self> {
        Ok(Self {
            cluster,
            switches: Switches::of(cluster)?,
            bar,
            restart_engine,
        })
    }
}

impl Progress for Around<'_> {
    fn begin(&self, directions: usize) {
        self.bar.begin(directions);
    }

    fn measured(&self, direction: &Direction) {
        self.bar.measured(direction);
    }

    fn lost(&self, error: &HostError) {
        self.bar.lost(error);
    }
}

impl TuneEnv for Around<'_> {
    /// A lab's nodes are one machine: the lab notes the value first, so that it can put the
    /// machine's own back whatever happens.
    fn announce(&self, host: &HostName, knob: &Knob, value: &str) -> Result<(), String> {
        let reach = self.cluster.nodes.iter().find(|(name, _)| name == host);
        let Some((_, Reach::Lab(lab))) = reach else {
            return Ok(());
        };
        let has_own_kernel = Lab::open(lab).is_ok_and(|lab| lab.nodes_have_kernels());
        if has_own_kernel {
            return Ok(());
        }
        let setting = match knob {
            Knob::Sysctl { name } => MachineSetting::named(name),
            _ => None,
        };
        let (Some(setting), Ok(value)) = (setting, value.parse()) else {
            return Err(format!(
                "{knob} is the whole machine's, and the lab could not put it back"
            ));
        };
        LabName::new(lab)
            .and_then(|lab| announce_machine(&lab, setting, value))
            .map_err(|e| e.to_string())
    }

    fn ports(&self, link: &LinkName) -> Vec<Also> {
        self.switches.ports(link)
    }

    fn on_switch(&self, switch: &HostName, work: &mut dyn FnMut(&mut dyn Host)) {
        self.switches.on(switch, work);
    }

    fn may_restart_engine(&self) -> bool {
        self.restart_engine
    }

    fn engine_restarts(&self, host: &HostName) {
        self.bar.line(&format!(
            "{host}: the cluster engine is started again; the others serve everything meanwhile"
        ));
    }

    fn engine_is_back(&self, host: &HostName, took: Duration) {
        let seconds = took.as_secs_f64();
        self.bar.line(&format!(
            "{host}: all members are back after {seconds:.1} s"
        ));
    }

    fn coin(&self) -> bool {
        let mut byte = [0];
        getrandom::fill(&mut byte).is_ok_and(|()| byte[0] & 1 == 1)
    }

    fn trial_begins(&self, trial: &Trial, number: usize, of: usize) {
        let bar: &ProgressBar = &self.bar.0;
        let what = format!("trial {number} of {of}: {} on {}", trial.knob, trial.host);
        let style = ProgressStyle::with_template("{spinner} {wide_msg}  {elapsed}");
        bar.set_style(style.expect("a template that was tried"));
        bar::message(bar, what);
        bar.enable_steady_tick(Duration::from_millis(100));
    }

    fn trial_ended(&self, trial: &Trial) {
        self.bar.line(&render::tune::trial_line(trial));
    }
}
