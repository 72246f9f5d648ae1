//! The way into a node: its namespaces, and for a machine ssh from there over the cable that only the two have.

use hawser_tool::Tool;

use super::{Kind, folder, plan};
use crate::error::LabError;
use crate::paths::LabDir;
use crate::process::ProcessId;
use crate::state::State;
use crate::tool;

/// Whether a command in a machine has a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Terminal {
    /// It has the caller's.
    Yes,
    /// It has streams.
    No,
}

/// The words before a command in a machine: what runs it there, in its case.
pub(crate) fn ssh(dir: &LabDir, terminal: Terminal) -> Vec<String> {
    let mut words: Vec<String> = ["ssh", "-F", "none", "-i"].map(str::to_owned).into();
    words.push(folder::door_key(dir).display().to_string());
    let known = format!("UserKnownHostsFile={}", folder::known_hosts(dir).display());
    for option in [
        known.as_str(),
        "GlobalKnownHostsFile=/dev/null",
        "StrictHostKeyChecking=yes",
        "IdentitiesOnly=yes",
        "IdentityAgent=none",
        "BatchMode=yes",
        "ConnectTimeout=10",
        // A machine that hangs is one that does not answer; a busy one may take its time.
        "ServerAliveInterval=10",
        "ServerAliveCountMax=6",
        "LogLevel=ERROR",
    ] {
        words.extend(["-o".to_owned(), option.to_owned()]);
    }
    if terminal == Terminal::Yes {
        words.push("-t".to_owned());
    }
    words.push(format!("root@{}", plan::MACHINE));
    words
}

/// A node that runs, for short commands of the lab's own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Door<'a> {
    dir: &'a LabDir,
    kind: Kind,
    init: ProcessId,
}

impl<'a> Door<'a> {
    /// The way into the node whose first process that is.
    pub fn of(dir: &'a LabDir, state: &State, init: ProcessId) -> Self {
        let kind = state.spec.kind;
        Self { dir, kind, init }
    }

    /// Runs one command in the node, with this text on its standard input, and returns what it prints.
    ///
    /// # Errors
    /// [`LabError::Tool`] with the command and what it wrote to stderr.
    pub fn feed(&self, argv: &[&str], text: &str) -> Result<String, LabError> {
        match self.kind {
            Kind::Namespace => tool::feed(self.init, argv, text),
            Kind::Uml => {
                let words = ssh(self.dir, Terminal::No);
                let run = tool::into_network(self.init).into_iter().chain(words);
                let run = run.chain([plan::quoted(argv)]);
                tool::told(Tool::new(tool::NSENTER).args(run).input(text), argv)
            }
        }
    }
}
