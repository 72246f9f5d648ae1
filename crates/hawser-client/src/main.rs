//! `hawser-client`: writes to a volume, knows what it wrote, and says afterwards whether it is there; and
//! reads one, for the ladder.
//!
//! A program of its own because it links libiscsi; `hawser` itself depends on nothing.
#![deny(unsafe_code)]

mod iscsi;

use std::fs;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use clap::{Parser, Subcommand};
use hawser_client::check::{Rules, Verdict, check};
use hawser_client::history::{self, Log};
use hawser_client::job::{Destination, Job};
use hawser_client::load::Load;
use hawser_client::series::felt;
use hawser_client::target::{Chap, Target};
use hawser_client::volume::Volume;
use hawser_client::{Client, INITIATOR};
use hawser_host::{sent_copy, server};

use iscsi::{Paths, reader};

/// Writes to a volume, knows what it wrote, and checks that it is there.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Write until stdin ends, or for a time; then read everything back. What the volume
    /// held is overwritten
    Run(RunArgs),
    /// Do the same for a coordinator, which asks on standard input; end with it. `hawser drill` starts this
    Agent,
    /// Read in order and say how fast: a line each 50 ms, its nanoseconds and its bytes. Nothing is
    /// written
    Read(ReadArgs),
    /// Judge a history
    Check {
        /// The history
        history: PathBuf,
        /// A head died: what its write cache held and nobody had flushed may be gone
        #[arg(long)]
        cache_may_be_lost: bool,
    },
}

#[derive(clap::Args)]
struct RunArgs {
    /// Where the history goes
    #[arg(long, value_name = "FILE")]
    history: PathBuf,
    /// An address of the target, ADDRESS:PORT; name each of them
    #[arg(
        long = "portal",
        value_name = "ADDRESS:PORT",
        required_unless_present = "device"
    )]
    portals: Vec<SocketAddr>,
    /// The target's name
    #[arg(
        long,
        value_name = "IQN",
        required_unless_present = "device",
        default_value = ""
    )]
    target: String,
    /// The unit
    #[arg(long, default_value_t = 1)]
    lun: u16,
    /// The name of this initiator, for the target's lists of who may log in
    #[arg(long, value_name = "IQN", default_value = INITIATOR)]
    initiator: String,
    /// Log in by CHAP as this user; the secret is the first line of standard input
    #[arg(long, value_name = "USER")]
    chap_user: Option<String>,
    /// A file or block device instead: of this kernel's initiator, or on NFS
    #[arg(long, value_name = "PATH", conflicts_with = "portals")]
    device: Option<PathBuf>,
    #[command(flatten)]
    load: Load,
    /// Stop by itself after so long
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    time: Option<Duration>,
    /// How long to wait for the volume at the end
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = humantime::parse_duration)]
    patience: Duration,
}

#[derive(clap::Args)]
struct ReadArgs {
    /// An address of the target
    #[arg(long, value_name = "ADDRESS:PORT")]
    portal: SocketAddr,
    /// The target's name
    #[arg(long, value_name = "IQN")]
    target: String,
    /// The unit
    #[arg(long, default_value_t = 1)]
    lun: u16,
    /// The name of this initiator
    #[arg(long, value_name = "IQN", default_value = INITIATOR)]
    initiator: String,
    /// Requests of 128 KiB in flight
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1024))]
    depth: u32,
    /// For so long
    #[arg(long = "for", value_name = "TIME", default_value = "5s", value_parser = humantime::parse_duration)]
    time: Duration,
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().verb {
        Verb::Run(args) => run(args),
        Verb::Agent => agent(),
        Verb::Read(args) => read(args),
        Verb::Check {
            history,
            cache_may_be_lost,
        } => {
            let deaths = Vec::new();
            let rules = Rules {
                cache_may_be_lost,
                deaths,
            };
            judge(&history, rules)
        }
    };
    outcome.unwrap_or_else(|why| {
        eprintln!("hawser-client: {why}");
        ExitCode::from(2)
    })
}

/// A line on standard output. The reader may have closed it: the work goes on.
macro_rules! say {
    ($($text:tt)+) => {{
        let _ = writeln!(std::io::stdout(), $($text)+);
    }};
}

fn judge(path: &std::path::Path, rules: Rules) -> Result<ExitCode, String> {
    let history = history::load(path).map_err(|e| e.to_string())?;
    let verdict = check(&history, rules);
    let felt = felt(&history);
    let Verdict {
        acknowledged,
        lost,
        stale,
        torn,
        unread,
        ..
    } = verdict;
    say!(
        "{acknowledged} writes acknowledged: {lost} lost, {stale} stale, {torn} torn, {unread} not read \
         back; {} only in a cache that died; longest stall {:.3} s, median {} µs, 99 % {} µs",
        verdict.unflushed_gone,
        felt.longest.seconds(),
        felt.median_us,
        felt.p99_us
    );
    for breach in &verdict.breaches {
        say!("  {breach:?}");
    }
    Ok(ExitCode::from(u8::from(!verdict.is_clean())))
}

fn read(args: ReadArgs) -> Result<ExitCode, String> {
    let target = Target {
        portals: vec![args.portal],
        name: args.target,
        lun: args.lun,
        initiator: args.initiator,
        chap: None,
    };
    reader::read(&target, args.depth, args.time, std::io::stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}

fn run(args: RunArgs) -> Result<ExitCode, String> {
    let log = Log::create(&args.history).map_err(|e| format!("{}: {e}", args.history.display()))?;
    let chap = match args.chap_user {
        Some(user) => Some(Chap {
            user,
            secret: first_line()?,
        }),
        None => None,
    };
    let destination = match args.device {
        Some(path) => Destination::Path(path),
        None => Destination::Unit(Target {
            portals: args.portals,
            name: args.target,
            lun: args.lun,
            initiator: args.initiator,
            chap,
        }),
    };
    let job = Job {
        destination,
        load: args.load,
        patience: args.patience,
    };
    static STOP: AtomicBool = AtomicBool::new(false);
    // This thread ends with the process.
    thread::spawn(move || {
        match args.time {
            Some(time) => thread::sleep(time),
            None => {
                let mut all = String::new();
                // The end of stdin is the order to stop.
                let _ended_either_way = std::io::stdin().read_to_string(&mut all);
            }
        }
        STOP.store(true, Ordering::Relaxed);
    });
    let whole = job.work(open, &log, &STOP, || say!("writing"))?;
    say!("{}", if whole { "read back" } else { "not read back" });
    Ok(ExitCode::from(u8::from(!whole)))
}

/// Opens a unit for a writer, in a run.
fn open(target: &Target, writer: u8, run: u64) -> Box<dyn Volume> {
    Box::new(Paths::new(target.clone(), writer, run))
}

fn agent() -> Result<ExitCode, String> {
    // A copy that was sent here goes from the disk as soon as it runs: what is killed cleans nothing up. One that stays
    // costs a little room, nothing else.
    let _stays = sent_copy::own().map(fs::remove_file);
    server::serve_stdio(|| Client::new(open)).map_err(|e| e.to_string())?;
    Ok(ExitCode::SUCCESS)
}

fn first_line() -> Result<String, String> {
    let mut line = String::new();
    std::io::stdin()
        .read_line(&mut line)
        .map_err(|e| format!("read the secret from standard input: {e}"))?;
    match line.trim_end() {
        "" => Err(
            "--chap-user: the first line of standard input is its secret, and there is none".into(),
        ),
        secret => Ok(secret.to_owned()),
    }
}
