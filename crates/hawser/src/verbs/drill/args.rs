//! The arguments of `hawser drill`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use hawser_drill::client_config::Load;
use hawser_drill::scenario::{Scenario, all, drawn};
use hawser_model::toml_file::nearest;
use miette::bail;

use crate::cluster::FileOrLab;
use crate::cluster::random;
use crate::output;

/// Arguments of `hawser drill`.
#[derive(clap::Args)]
pub struct Args {
    /// The scenario (`--list` shows all); several are run one after the other
    #[arg(value_name = "SCENARIO", add = crate::names::scenarios())]
    names: Vec<String>,
    #[command(flatten)]
    pub cluster: FileOrLab,
    /// The pool that is written to. What its first volume held is overwritten [default: the first]
    #[arg(long, add = crate::names::pools())]
    pub pool: Option<String>,
    /// Show the scenarios there are
    #[arg(long, conflicts_with_all = ["names", "all", "random", "dry_run"])]
    pub list: bool,
    /// Run every scenario, until a promise breaks
    #[arg(long, conflicts_with = "names")]
    pub all: bool,
    /// Run random scenarios, until a promise breaks or the time is over
    #[arg(long, conflicts_with_all = ["names", "all"], requires = "time")]
    pub random: bool,
    /// With --random: begin no drill after so long
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration, requires = "random")]
    pub time: Option<Duration>,
    /// Random choices come from this number: the same number makes the same choices [default: a new one]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// How long clients may wait, instead of what the scenario allows
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub budget: Option<Duration>,
    /// In a lab: break a disk of which the pool has no copy, too (disk-errors). What is promised then breaks
    #[arg(long, requires = "lab")]
    pub no_copy: bool,
    /// Upgrade this package on every head (upgrade): NAME, NAME=VERSION, or the path of a file there. It stays; may be repeated
    #[arg(long = "package", value_name = "PACKAGE", value_parser = package)]
    pub packages: Vec<String>,
    /// On real heads, and with --path: go on without asking. What would be broken and overwritten is named by it
    #[arg(long, value_name = "CLUSTER/POOL[:PATH]")]
    pub yes_break: Option<String>,
    /// Undo what an interrupted drill left, wait until the cluster is whole, and run none
    #[arg(
        long,
        conflicts_with_all = [
            "names", "all", "random", "dry_run", "list", "budget", "case", "junit", "json", "no_copy", "packages",
            "yes_break"
        ]
    )]
    pub heal: bool,
    /// Say what would be done and what must hold; do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Write the case file here; of one scenario
    #[arg(long, value_name = "FILE")]
    pub case: Option<PathBuf>,
    /// Write what came of it here as JUnit XML: one suite per drill, one test case per promise
    #[arg(long, value_name = "FILE", value_parser = crate::parse::output)]
    pub junit: Option<PathBuf>,
    /// Print one JSON object (docs/schema/drill.schema.json); of several scenarios, a list of them
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub client_config: ClientConfigArgs,
}

/// Where the client runs, what it writes to, and as whom.
#[derive(clap::Args)]
#[command(next_help_heading = "The client")]
pub struct ClientConfigArgs {
    /// It runs on that host, reached by ssh [default: this machine, or the lab's client machine]
    #[arg(long, value_name = "[USER@]HOST", conflicts_with = "lab")]
    pub client_host: Option<String>,
    /// What it calls itself to the target [default: iqn.2026-01.io.hawser:client]
    #[arg(long, value_name = "IQN", value_parser = iscsi_name)]
    pub initiator: Option<String>,
    /// Log in by CHAP as this user
    #[arg(long, value_name = "USER", requires = "chap_secret")]
    pub chap_user: Option<String>,
    /// The user's secret: file:/PATH (mode 0600) or env:NAME
    #[arg(long, value_name = "WHERE", requires = "chap_user")]
    pub chap_secret: Option<String>,
    /// The target it logs in to [default: the one named like the pool]
    #[arg(long = "target", value_name = "IQN", value_parser = iscsi_name)]
    pub iqn: Option<String>,
    /// The unit of that target. It is overwritten
    #[arg(long, default_value_t = 1)]
    pub lun: u16,
    /// Write to this file or block device of the client's machine instead (the kernel's initiator, NFS). It is
    /// overwritten
    #[arg(
        long,
        value_name = "PATH",
        conflicts_with_all = ["initiator", "chap_user", "chap_secret", "iqn", "lun"]
    )]
    pub path: Option<PathBuf>,
    /// Also create files beside that file on NFS 4, one after the other: they wait for the server's grace period
    #[arg(long, requires = "path")]
    pub create: bool,
    #[command(flatten)]
    pub load: Load,
}

/// A package as apt-get takes it: no option, and no pattern, which names more than one.
fn package(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "+-.:=~/_".contains(c);
    match !text.is_empty() && !text.starts_with('-') && text.chars().all(plain) {
        true => Ok(text.to_owned()),
        false => Err(
            "a package is NAME, NAME=VERSION, or the path of a file: letters, digits and +-.:=~/_"
                .to_owned(),
        ),
    }
}

/// A name of iSCSI (RFC 7143, 4.2.7).
fn iscsi_name(text: &str) -> Result<String, String> {
    let begins = ["iqn.", "eui.", "naa."];
    let known = begins.iter().any(|begin| text.starts_with(begin));
    let printable = text.chars().all(|c| !c.is_whitespace() && !c.is_control());
    match known && printable && text.len() <= 223 {
        true => Ok(text.to_owned()),
        false => Err("a name of iSCSI begins with \"iqn.\", \"eui.\" or \"naa.\" and has at most 223 characters, \
                      none of them a space"
            .to_owned()),
    }
}

/// The scenario that packages are for.
const UPGRADE: &str = "upgrade";

/// Scenarios with the seeds of their drills, in order.
pub type Chosen = Box<dyn Iterator<Item = (&'static Scenario, u64)>>;

impl Args {
    /// What was asked for.
    pub fn chosen(&self) -> miette::Result<Chosen> {
        let real = self.cluster.lab.is_none();
        let seed = match self.seed {
            Some(seed) => seed,
            // Short enough to be typed again.
            None => u64::from(u32::from_ne_bytes(random()?)),
        };
        if let (true, Some(time)) = (self.random, self.time) {
            if self.case.is_some() {
                bail!("--case names one file, and --random makes many");
            }
            output::complain!("seed {seed}: `--random --seed {seed}` does the same again");
            let begun = Instant::now();
            let all = (0..).map(move |place| drawn(seed, place));
            let all = all.filter(move |(scenario, _)| scenario.real || !real);
            return Ok(match self.dry_run {
                true => Box::new(all.take(10)),
                false => Box::new(all.take_while(move |_| begun.elapsed() < time)),
            });
        }
        let found = self.scenarios()?;
        Ok(Box::new(
            found.into_iter().map(move |scenario| (scenario, seed)),
        ))
    }

    fn scenarios(&self) -> miette::Result<Vec<&'static Scenario>> {
        if self.all {
            return Ok(all()
                .filter(|it| it.real || self.cluster.lab.is_some())
                .collect());
        }
        let mut found = Vec::new();
        for name in &self.names {
            match Scenario::named(name) {
                Some(scenario) if !scenario.real && self.cluster.lab.is_none() => bail!(
                    help = "`hawser drill --list` says which exist only in a lab; `--lab NAME` names a lab",
                    "{name} exists only in a lab: real heads cannot bear it, or it could not be taken back there"
                ),
                Some(scenario) => found.push(scenario),
                None => {
                    let known: Vec<&str> = all().map(|scenario| scenario.name).collect();
                    bail!(
                        help = match nearest(name, &known) {
                            Some(meant) =>
                                format!("did you mean \"{meant}\"? `hawser drill --list` shows all"),
                            None => "`hawser drill --list` shows them".to_owned(),
                        },
                        "there is no scenario \"{name}\""
                    )
                }
            }
        }
        if found.is_empty() {
            bail!(
                help = "`hawser drill --list` shows them",
                "no scenario named: name one, or --all, or --random --for TIME"
            );
        }
        if !self.packages.is_empty() && !found.iter().any(|it| it.name == UPGRADE) {
            bail!("--package: only the scenario {UPGRADE} takes it");
        }
        if found.len() > 1 && self.case.is_some() {
            bail!(
                "--case names one file, and these are {} scenarios",
                found.len()
            );
        }
        Ok(found)
    }

    /// Whether it is one scenario that was asked for.
    pub fn is_one(&self) -> bool {
        !self.all && !self.random && self.names.len() == 1
    }
}
