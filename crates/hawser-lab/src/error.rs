//! What can go wrong with a lab: each error names the call and the object.

use std::io;
use std::path::{Path, PathBuf};

use hawser_tool::ToolError;
use nix::errno::Errno;

use crate::file::LabFileErrors;

/// Why a lab could not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// Namespaces, bridges and mounts need root.
    #[error("a lab needs root (namespaces, bridges, mounts); run it with sudo")]
    NotRoot,
    /// A name that cannot be used.
    #[error("{kind} name \"{found}\": {allowed}")]
    Name {
        /// What was to be named: `lab`, `node`, `link`, `switch`.
        kind: &'static str,
        /// The name.
        found: String,
        /// What is allowed.
        allowed: &'static str,
    },
    /// The lab file is wrong.
    #[error(transparent)]
    File(Box<LabFileErrors>),
    /// A cluster file that asks for what a lab does not have.
    #[error("{0}")]
    ClusterFile(String),
    /// No lab of that name.
    #[error("there is no lab \"{name}\"{}", listed("labs", known))]
    NoSuchLab {
        /// The name.
        name: String,
        /// The labs there are.
        known: Vec<String>,
    },
    /// Nothing in the lab has that name.
    #[error("lab {lab} has no {kind} \"{found}\"{}", listed(kind, known))]
    NoSuch {
        /// The lab.
        lab: String,
        /// `node`, `link`, `port`, …
        kind: &'static str,
        /// The name.
        found: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// The lab is up, but as something else.
    #[error("lab {0} is up with another layout; take it down first: hawser lab down --lab {0}")]
    OtherLayout(String),
    /// The lab is not whole: it was left half built, or a part of it died.
    #[error("lab {name} is not whole: {what}; `hawser lab up --lab {name}` repairs it")]
    NotWhole {
        /// The lab.
        name: String,
        /// What is missing.
        what: String,
    },
    /// The node has no power.
    #[error("node {node} of lab {lab} is off; `hawser lab power --lab {lab} on {node}` starts it")]
    NodeOff {
        /// The lab.
        lab: String,
        /// The node.
        node: String,
    },
    /// Another command is changing the lab and did not finish in time.
    #[error("another command has been working on {what} for {seconds} s (lock {})", lock.display())]
    Busy {
        /// The lab or the machine-wide settings.
        what: String,
        /// How long it was waited for.
        seconds: u64,
        /// The lock file.
        lock: PathBuf,
    },
    /// The user asked to stop.
    #[error("interrupted; what had been made was removed again")]
    Interrupted,
    /// The user did not want to wait for machines that boot.
    #[error("interrupted; {0} on, and boots without anybody who waits for it")]
    Boots(String),
    /// A tool failed.
    #[error("{command}: {what}")]
    Tool {
        /// The command as it could be typed, or the line of the batch that failed.
        command: String,
        /// Its exit status and what it wrote to stderr.
        what: String,
    },
    /// A program could not be started.
    #[error(transparent)]
    Program(#[from] ToolError),
    /// A file could not be written as a whole.
    #[error(transparent)]
    OnDisk(#[from] hawser_files::FileError),
    /// A file operation failed.
    #[error("{call} {}: {source}", path.display())]
    Io {
        /// What was tried.
        call: &'static str,
        /// On which path.
        path: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
    /// A system call failed.
    #[error("{call} {object}: {errno}")]
    System {
        /// The call.
        call: &'static str,
        /// On what.
        object: String,
        /// The operating system's answer.
        errno: Errno,
    },
    /// A node's first process reported an error or did not come up.
    #[error("node {node} did not start: {what}")]
    Start {
        /// The node.
        node: String,
        /// What it said.
        what: String,
    },
    /// The lab's state file cannot be understood.
    #[error("{} is not a lab's state: {what}", path.display())]
    State {
        /// The file.
        path: PathBuf,
        /// Why.
        what: String,
    },
    /// Somebody else's files are where a lab would have its own.
    #[error(
        "{} is not a lab's folder: there is no lab.json in it, but {}; name another lab, or another folder of labs with {}",
        path.display(), found.display(), crate::paths::DIR_VARIABLE
    )]
    NotALab {
        /// The folder.
        path: PathBuf,
        /// What lies in it, by its name there.
        found: PathBuf,
    },
    /// Somebody else's file is where a lab would have its lock.
    #[error(
        "{} is not a lab's lock: something is written in it; name another lab, or another folder of labs with {}",
        .0.display(), crate::paths::DIR_VARIABLE
    )]
    NotALock(PathBuf),
    /// What keeps machines from being made.
    #[error("{0}")]
    Machines(String),
    /// An impairment that makes no sense, or cannot be made here.
    #[error("{0}")]
    Impairment(String),
}

impl LabError {
    pub(crate) fn io(call: &'static str, path: impl AsRef<Path>, source: io::Error) -> Self {
        Self::Io {
            call,
            path: path.as_ref().to_owned(),
            source,
        }
    }

    /// The same of a program in a node: what it is called there, not how it was reached.
    pub(crate) fn of_node(self, node: &str, command: &str) -> Self {
        match self {
            Self::Tool { what, .. } => Self::Tool {
                command: format!("{command} (on {node})"),
                what,
            },
            other => other,
        }
    }

    pub(crate) fn system(call: &'static str, object: impl Into<String>, errno: Errno) -> Self {
        Self::System {
            call,
            object: object.into(),
            errno,
        }
    }
}

fn listed(kind: &str, known: &[String]) -> String {
    match known {
        [] => String::new(),
        names => {
            let plural = if kind.ends_with('s') {
                ""
            } else if kind == "switch" {
                "es"
            } else {
                "s"
            };
            format!("; {kind}{plural}: {}", names.join(", "))
        }
    }
}
