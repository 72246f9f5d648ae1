//! `hawser-client`: writes to a volume, knows what it wrote, and says afterwards whether it is there; and
//! reads one, for the ladder.
//!
//! A program of its own because it links libiscsi; `hawser` itself depends on nothing.
#![deny(unsafe_code)]

mod iscsi;

use std::fs;
use std::io::{Read, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use clap::Parser as _;
use hawser_client::Client;
use hawser_client::check::{HistoryVerdict, Rules, check};
use hawser_client::command_line::{Cli, ReadArgs, RunArgs, Verb};
use hawser_client::history::{self, Log};
use hawser_client::job::{Destination, Job};
use hawser_client::series::felt;
use hawser_client::target::{Chap, Target};
use hawser_client::volume::Volume;
use hawser_host::{sent_copy, server};

use iscsi::{Paths, reader};

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
    let HistoryVerdict {
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
        create: args.create,
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
