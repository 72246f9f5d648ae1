//! `hawser-client`: writes to a volume, knows what it wrote, and says afterwards whether it is there; and
//! reads one, for the ladder.
//!
//! A program of its own because it links libiscsi; `hawser` itself depends on nothing.
#![deny(unsafe_code)]

mod iscsi;
mod obey;

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::{Parser, Subcommand};
use hawser_client::INITIATOR;
use hawser_client::check::{Rules, Verdict, check};
use hawser_client::history::{self, Log};
use hawser_client::series::felt;
use hawser_client::volume::{Device, Volume};
use hawser_client::writer::{Plan, Shared, Writer};

use iscsi::{Paths, Target, reader};

/// Writes to a volume, knows what it wrote, and checks that it is there.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Write until stdin says `stop` or ends, or for a time; then read everything back. What the volume
    /// held is overwritten
    Run(RunArgs),
    /// The same for somebody else: its words come on standard input, the history and all else goes to standard
    /// output; it ends with whoever started it. What `hawser drill` starts
    Obey,
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
    #[command(flatten)]
    work: WorkArgs,
    /// Where the history goes
    #[arg(long, value_name = "FILE")]
    history: PathBuf,
}

/// What is written to, and how.
#[derive(clap::Args)]
struct WorkArgs {
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
    /// How many write at the same time, each to blocks of its own
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=32))]
    writers: u8,
    /// Orders in flight of each writer (a device does one at a time)
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=64))]
    depth: u8,
    /// Orders per second of each writer
    #[arg(long, default_value_t = 200)]
    rate: u32,
    /// Blocks of 4 KiB that each writer writes to
    #[arg(long, default_value_t = 512)]
    blocks: u32,
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
        Verb::Run(args) => run(&args),
        Verb::Obey => obey::obey(),
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

/// A line on standard output. Whoever reads may have read enough: the work goes on unheard.
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

fn run(args: &RunArgs) -> Result<ExitCode, String> {
    let log = Log::create(&args.history).map_err(|e| format!("{}: {e}", args.history.display()))?;
    let secret = match args.work.chap_user {
        Some(_) => Some(first_line()?),
        None => None,
    };
    // This thread ends with the process.
    listen(args.work.time.is_none());
    let whole = work(&args.work, &log, secret, || say!("writing"))?;
    say!("{}", if whole { "read back" } else { "not read back" });
    Ok(ExitCode::from(u8::from(!whole)))
}

/// Writes until it is told to stop, and reads everything back. True: it could.
fn work(
    args: &WorkArgs,
    log: &Log,
    secret: Option<String>,
    writing: impl Fn(),
) -> Result<bool, String> {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let mut run = u64::from(std::process::id()) ^ now.as_nanos() as u64;
    let plan = Plan {
        run: hawser_client::stamp::mixed(&mut run),
        depth: usize::from(args.depth),
        rate: args.rate,
        blocks: args.blocks.max(1),
        patience: args.patience,
    };
    let (stop, working) = (AtomicBool::new(false), AtomicU32::new(0));
    let ended = Barrier::new(usize::from(args.writers));
    if let Some(path) = &args.device {
        fits(path, plan.blocks * u32::from(args.writers))?;
    }
    let target = Target {
        portals: args.portals.clone(),
        name: args.target.clone(),
        lun: args.lun,
        initiator: args.initiator.clone(),
        chap: args.chap_user.clone().zip(secret),
    };
    thread::scope(|scope| {
        let mut writers = Vec::new();
        for number in 0..args.writers {
            let (stop, working, ended, target) = (&stop, &working, &ended, &target);
            writers.push(scope.spawn(move || {
                let shared = Shared {
                    log,
                    stop,
                    working,
                    ended,
                };
                match &args.device {
                    Some(path) => Writer::new(number, plan, shared, Device::open(path)?).work(),
                    None => {
                        let paths = Paths::new(target.clone(), number, plan.run);
                        Writer::new(number, plan, shared, paths).work()
                    }
                }
            }));
        }
        let begun = Instant::now();
        let mut said = false;
        loop {
            if !said && working.load(Ordering::Relaxed) == u32::from(args.writers) {
                writing();
                said = true;
            }
            let over = args.time.is_some_and(|time| begun.elapsed() >= time);
            if over || TOLD.load(Ordering::Relaxed) || writers.iter().all(|w| w.is_finished()) {
                stop.store(true, Ordering::Relaxed);
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
        let mut whole = true;
        for writer in writers {
            let outcome = writer.join().map_err(|_| "a writer panicked".to_owned())?;
            whole &= outcome.map_err(|e| e.to_string())?;
        }
        Ok(whole)
    })
}

/// Whether a file or device is free and has room.
fn fits(path: &std::path::Path, needed: u32) -> Result<(), String> {
    Device::free(path).map_err(|e| match e.raw_os_error() {
        Some(nix::libc::EBUSY) => format!(
            "{}: in use on this host: mounted, or a part of something else (of multipath, LVM, …)",
            path.display()
        ),
        _ => format!("{}: {e}", path.display()),
    })?;
    let device = Device::open(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let blocks = device.facts().map_or(0, |facts| facts.blocks);
    match blocks < needed {
        false => Ok(()),
        true => Err(format!(
            "{}: {blocks} blocks of 4 KiB, and {needed} are needed ({} MiB)",
            path.display(),
            needed.div_ceil(256)
        )),
    }
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

static TOLD: AtomicBool = AtomicBool::new(false);

fn listen(wanted: bool) {
    if wanted {
        thread::spawn(|| {
            let mut all = String::new();
            // The end of stdin, or of whoever held it, is the order to stop.
            let _ended_either_way = std::io::stdin().read_to_string(&mut all);
            TOLD.store(true, Ordering::Relaxed);
        });
    }
}
