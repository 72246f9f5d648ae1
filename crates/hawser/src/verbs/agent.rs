//! `hawser agent`: serves one coordinator on stdin and stdout. Other verbs start it on nodes.

use std::path::PathBuf;
use std::process::ExitCode;

use hawser_cluster::host::drill::dead_man;

use crate::output::{complain, print};

/// Arguments of `hawser agent`.
#[derive(clap::Args)]
pub struct Args {
    /// A handle of the machine's first network namespace, for a node that is not in it
    #[arg(long, value_name = "FILE")]
    machine_net: Option<PathBuf>,
    /// The journal's folder, where the host's own is shared with others
    #[arg(long, value_name = "FOLDER")]
    journal: Option<PathBuf>,
    /// Undo what an agent has left, as soon as stdin ends
    #[arg(long, requires = "owner")]
    guard: bool,
    /// The agent that is guarded
    #[arg(long)]
    owner: Option<String>,
    /// Mend the fault that this describes, as soon as stdin ends
    #[arg(long, value_name = "JSON", conflicts_with = "guard")]
    dead_man: Option<String>,
}

/// Runs the verb; returning ends everything it had opened.
pub fn run(args: Args) -> miette::Result<ExitCode> {
    if let Some(handle) = &args.dead_man {
        return Ok(
            match dead_man::hold(handle, std::io::stdin(), || print("ready\n")) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    complain!("hawser agent: {error}");
                    ExitCode::from(2)
                }
            },
        );
    }
    let place = hawser_agent::AgentContext {
        machine_net: args.machine_net,
        journal: args.journal,
    };
    let served = match (args.guard, args.owner) {
        (true, Some(owner)) => hawser_agent::guard_stdio(&place, &owner).map_err(|e| e.to_string()),
        _ => hawser_agent::serve_stdio(place).map_err(|e| e.to_string()),
    };
    match served {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            // One plain line: the coordinator shows it inside a message of its own.
            complain!("hawser agent: {error}");
            Ok(ExitCode::from(2))
        }
    }
}
