//! The command line of `hawser-client`, which its manual page is made of too.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};

use crate::INITIATOR;
use crate::load::Load;

/// Writes to a volume, knows what it wrote, and checks that it is there.
#[derive(Parser)]
#[command(name = "hawser-client", version)]
pub struct Cli {
    /// What is to be done.
    #[command(subcommand)]
    pub verb: Verb,
}

/// What it can do.
#[derive(Subcommand)]
pub enum Verb {
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

/// Arguments of `hawser-client run`.
#[derive(clap::Args)]
pub struct RunArgs {
    /// Where the history goes
    #[arg(long, value_name = "FILE")]
    pub history: PathBuf,
    /// An address of the target, ADDRESS:PORT; name each of them
    #[arg(
        long = "portal",
        value_name = "ADDRESS:PORT",
        required_unless_present = "device"
    )]
    pub portals: Vec<SocketAddr>,
    /// The target's name
    #[arg(
        long,
        value_name = "IQN",
        required_unless_present = "device",
        default_value = ""
    )]
    pub target: String,
    /// The unit
    #[arg(long, default_value_t = 1)]
    pub lun: u16,
    /// The name of this initiator, for the target's lists of who may log in
    #[arg(long, value_name = "IQN", default_value = INITIATOR)]
    pub initiator: String,
    /// Log in by CHAP as this user; the secret is the first line of standard input
    #[arg(long, value_name = "USER")]
    pub chap_user: Option<String>,
    /// A file or block device instead: of this kernel's initiator, or on NFS
    #[arg(long, value_name = "PATH", conflicts_with = "portals")]
    pub device: Option<PathBuf>,
    /// Also create files beside that file, one after the other: on NFS 4
    #[arg(long, requires = "device")]
    pub create: bool,
    /// What is written.
    #[command(flatten)]
    pub load: Load,
    /// Stop by itself after so long
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    pub time: Option<Duration>,
    /// How long to wait for the volume at the end
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = humantime::parse_duration)]
    pub patience: Duration,
}

/// Arguments of `hawser-client read`.
#[derive(clap::Args)]
pub struct ReadArgs {
    /// An address of the target
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub portal: SocketAddr,
    /// The target's name
    #[arg(long, value_name = "IQN")]
    pub target: String,
    /// The unit
    #[arg(long, default_value_t = 1)]
    pub lun: u16,
    /// The name of this initiator
    #[arg(long, value_name = "IQN", default_value = INITIATOR)]
    pub initiator: String,
    /// Requests of 128 KiB in flight
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub depth: u32,
    /// For so long
    #[arg(long = "for", value_name = "TIME", default_value = "5s", value_parser = humantime::parse_duration)]
    pub time: Duration,
}
