//! UDP packets per second through one veth pair, side by side with other programs.
//!
//! Two hosts are made (namespaces without a name), a program runs between them, and what
//! passed is read from the receiving *device*, in the middle of the run. Nothing here trusts
//! a program's own numbers, Hawser's included, except for what it says it received.
//!
//! `udp_rate [--rounds N] [--seconds S] [--sizes 64,800,1472] [--programs a,b] [--lock FILE]`

#[allow(dead_code, reason = "the tests take the others")]
#[path = "../../tests/it/common.rs"]
mod common;
mod flow;
mod measure;
mod programs;
mod table;

use std::fs::File;
use std::time::Duration;

use measure::Wire;
use nix::fcntl::{Flock, FlockArg};
use programs::PROGRAMS;
use table::Results;

struct Options {
    rounds: usize,
    seconds: u64,
    sizes: Vec<u32>,
    programs: Vec<String>,
    lock: Option<String>,
}

fn options(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options {
        rounds: 5,
        seconds: 2,
        sizes: vec![64, 800, 1_472],
        programs: PROGRAMS.iter().map(|p| p.name.to_owned()).collect(),
        lock: None,
    };
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or(format!("{name} needs a value"))?;
        let bad = |_| format!("{name} {value}: not a number");
        match name.as_str() {
            "--rounds" => options.rounds = value.parse().map_err(bad)?,
            "--seconds" => options.seconds = value.parse().map_err(bad)?,
            "--sizes" => {
                let sizes: Result<_, _> = value.split(',').map(str::parse).collect();
                options.sizes = sizes.map_err(bad)?;
            }
            "--programs" => options.programs = value.split(',').map(str::to_owned).collect(),
            "--lock" => options.lock = Some(value),
            _ => return Err(format!("unknown option {name}")),
        }
    }
    Ok(options)
}

fn main() {
    let mut arguments = std::env::args().skip(1).peekable();
    match arguments.peek().map(String::as_str) {
        Some("send") => return flow::send(&arguments.nth(1).unwrap_or_default()),
        Some("receive") => return flow::receive(&arguments.nth(1).unwrap_or_default()),
        _ => {}
    }
    let options = options(arguments).unwrap_or_else(|problem| {
        eprintln!("{problem}");
        std::process::exit(2);
    });
    let mut results = Results::default();
    for round in 1..=options.rounds {
        let turn = options.lock.as_ref().map(|path| {
            let file = File::create(path).expect("the lock file can be opened");
            Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, error)| error)
        });
        for &size in &options.sizes {
            for program in PROGRAMS {
                if !options.programs.iter().any(|name| name == program.name) {
                    continue;
                }
                let wire = Wire::new(program.napi);
                let length = Duration::from_secs(options.seconds);
                match wire.measure(program, size, length) {
                    Ok(sample) => results.add(size, program.name, sample),
                    Err(problem) => eprintln!("{} at {size} B: {problem}", program.name),
                }
            }
        }
        drop(turn);
        eprintln!("round {round} of {} done", options.rounds);
    }
    print!("{results}");
}
