//! `hawser generate`: manual pages, shell completions and the resource agent, for whoever makes packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Command, CommandFactory as _};
use hawser_cluster::exports::ocf;
use hawser_cluster::hooks;
use miette::{IntoDiagnostic, WrapErr};

use super::complete::SCRIPTS;
use crate::output::say;

/// Arguments of `hawser generate`.
#[derive(clap::Args)]
pub struct Args {
    /// Where to: man1/, client/man1/ (of hawser-client), completions/ with one file for each shell, exports-agent and hooks-agent
    folder: PathBuf,
    /// Where the package puts hawser
    #[arg(long, value_name = "PATH", default_value = "/usr/bin/hawser")]
    program: PathBuf,
}

/// Runs the verb for a command line.
pub fn run(args: &Args, mut command: Command) -> miette::Result<ExitCode> {
    // So that each verb knows its whole name, and options that all verbs have.
    command.build();
    let pages = args.folder.join("man1");
    let mut client = hawser_client::command_line::Cli::command();
    client.build();
    let of_client = args.folder.join("client/man1");
    let count = page(&command, "hawser", &pages)? + page(&client, "hawser-client", &of_client)?;
    let completions = args.folder.join("completions");
    make(&completions)?;
    for (name, script) in SCRIPTS {
        write(&completions.join(name), script.as_bytes())?;
    }
    for (file, agent, words) in [
        ("exports-agent", ocf::AGENT, ocf::WORDS),
        ("hooks-agent", hooks::AGENT, hooks::WORDS),
    ] {
        let script = ocf::launcher(&args.program, agent, words);
        write(&args.folder.join(file), script.as_bytes())?;
    }
    say!(
        "{count} pages in {}, completions of 3 shells in {}",
        pages.display(),
        completions.display()
    );
    Ok(ExitCode::SUCCESS)
}

/// The page of a verb and those of its own verbs; how many. What is hidden in the help has none.
fn page(command: &Command, name: &str, folder: &Path) -> miette::Result<usize> {
    make(folder)?;
    let mut text = Vec::new();
    clap_mangen::Man::new(command.clone())
        .source("Hawser")
        .manual("Hawser")
        .render(&mut text)
        .into_diagnostic()
        .wrap_err("cannot write a page into memory")?;
    write(&folder.join(format!("{name}.1")), &text)?;
    let mut count = 1;
    for verb in command
        .get_subcommands()
        .filter(|verb| !verb.is_hide_set() && verb.get_name() != "help")
    {
        count += page(verb, &format!("{name}-{}", verb.get_name()), folder)?;
    }
    Ok(count)
}

fn make(folder: &Path) -> miette::Result<()> {
    fs::create_dir_all(folder)
        .into_diagnostic()
        .wrap_err_with(|| format!("cannot create {}", folder.display()))
}

fn write(path: &Path, text: &[u8]) -> miette::Result<()> {
    fs::write(path, text)
        .into_diagnostic()
        .wrap_err_with(|| format!("cannot write {}", path.display()))
}
