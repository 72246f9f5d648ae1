//! `hawser complete`: what a word of the command line can become, for the scripts of the shells beside this file.
//!
//! A name may come from a file that somebody else wrote. One that a shell would not take as it is, as one word, is not offered:
//! so nothing has to be quoted, in no shell. Paths are completed by the shell itself, which knows how to quote them.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Arg, Command, ValueHint};
use clap_complete::engine::{self, ArgValueCandidates, ArgValueCompleter, CompletionCandidate};

use crate::{names, output};

mod line;

/// The scripts, by the name that their shell looks for.
pub const SCRIPTS: [(&str, &str); 3] = [
    ("hawser", include_str!("hawser.bash")),
    ("_hawser", include_str!("hawser.zsh")),
    ("hawser.fish", include_str!("hawser.fish")),
];

/// Said before the candidates when the word can be a path too.
const PATHS: &str = "paths";
/// Said when it cannot.
const WORDS: &str = "words";

/// Arguments of `hawser complete`.
#[derive(clap::Args)]
pub struct Args {
    /// The command line up to the cursor, as bash has it
    #[arg(long, requires = "part", conflicts_with = "words")]
    line: Option<OsString>,
    /// The part of its last word that bash puts a candidate in place of
    #[arg(long)]
    part: Option<OsString>,
    /// The words up to the cursor, the last of which is completed
    #[arg(last = true)]
    words: Vec<OsString>,
}

/// Runs the verb. What cannot be completed has no candidates; nothing is said of it.
pub fn run(args: Args, command: Command) -> ExitCode {
    let (words, part) = match (args.line, args.part) {
        (Some(line), Some(part)) => (line::words(&line.to_string_lossy()), Some(part)),
        _ => (args.words, None),
    };
    let shown = complete(command, words, part);
    output::print(&shown.unwrap_or_else(|| format!("{WORDS}\n")));
    ExitCode::SUCCESS
}

/// A line that says whether the word can be a path, and a line for each candidate: the word, a space, and what it means.
fn complete(command: Command, words: Vec<OsString>, part: Option<OsString>) -> Option<String> {
    let last = words.len().checked_sub(1)?;
    let typed = words[last].to_str()?.to_owned();
    names::after(words[..last].to_vec());
    let paths = Arc::new(AtomicBool::new(false));
    let mut command = paths_left_to_the_shell(command, &paths);
    let found = engine::complete(&mut command, words, last, None).ok()?;
    // bash takes the end of a word for a word: of `--lab=demo` what follows the sign.
    let before = match &part {
        Some(part) => typed.strip_suffix(part.to_str()?).unwrap_or_default(),
        None => "",
    };
    let kind = if paths.load(Ordering::Relaxed) {
        PATHS
    } else {
        WORDS
    };
    let mut shown = format!("{kind}\n");
    for candidate in found.iter().filter(|it| !it.is_hide_set()) {
        let word = candidate.get_value().to_str().filter(|word| plain(word));
        if let Some(word) = word.and_then(|word| word.strip_prefix(before)) {
            let _ = writeln!(shown, "{word} {}", meaning(candidate));
        }
    }
    Some(shown)
}

/// Whether every shell takes it as one word, as it is.
fn plain(word: &str) -> bool {
    let one = |c: char| c.is_ascii_alphanumeric() || "-_./:@=,+%".contains(c);
    !word.is_empty() && word.chars().all(one)
}

/// The first line of an option's or a verb's help.
fn meaning(candidate: &CompletionCandidate) -> String {
    let help = candidate.get_help().map(ToString::to_string);
    let help = help.unwrap_or_default();
    let line = help.lines().next().unwrap_or_default();
    line.chars().filter(|c| !c.is_control()).collect()
}

/// Each argument that takes a path notes that it was asked, and offers the names that it takes beside.
fn paths_left_to_the_shell(command: Command, asked: &Arc<AtomicBool>) -> Command {
    let verbs: Vec<String> = command
        .get_subcommands()
        .map(|verb| verb.get_name().to_owned())
        .collect();
    let mut command = command.mut_args(|arg| match arg.get_value_hint() {
        ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath => noting(arg, asked),
        _ => arg,
    });
    for verb in verbs {
        command = command.mut_subcommand(verb, |verb| paths_left_to_the_shell(verb, asked));
    }
    command
}

fn noting(arg: Arg, asked: &Arc<AtomicBool>) -> Arg {
    let names = arg.get::<ArgValueCandidates>().cloned();
    let asked = asked.clone();
    arg.add(ArgValueCompleter::new(move |typed: &std::ffi::OsStr| {
        asked.store(true, Ordering::Relaxed);
        let names = names.iter().flat_map(ArgValueCandidates::candidates);
        let typed = typed.to_string_lossy();
        let begins = |name: &CompletionCandidate| {
            let value = name.get_value().to_string_lossy();
            value.starts_with(typed.as_ref())
        };
        names.filter(begins).collect()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_a_shell_would_read_otherwise_is_not_plain() {
        for name in [
            "head1",
            "head1/ring0",
            "20261122-111412",
            "--lab=demo",
            "rcvbuf_2.x",
        ] {
            assert!(plain(name), "{name}");
        }
        for name in [
            "",
            "a b",
            "$(reboot)",
            "`id`",
            "a;b",
            "a|b",
            "a&b",
            "*",
            "~root",
            "a\nb",
            "a'b",
            "a\\b",
            "é",
            "{a,b}",
            "a\u{1b}[2J",
            "!1",
            "#a",
            "a>b",
        ] {
            assert!(!plain(name), "{name:?}");
        }
    }
}
