//! What can go wrong between coordinator and agent. Every error names the host.

use std::error::Error;
use std::io;
use std::time::Duration;

use hawser_model::case::Absent;
use hawser_model::names::HostName;
use hawser_tool::ToolError;

use crate::frame::FrameError;
use crate::marker::NoMarker;

/// Why a host did not answer.
#[derive(Debug, thiserror::Error)]
#[error("{host}: {}", indented(.failure))]
pub struct HostError {
    /// The host it is about.
    pub host: HostName,
    /// What failed there.
    pub failure: Box<Failure>,
}

/// What a case says of a host that takes no part for that.
impl From<HostError> for Absent {
    fn from(error: HostError) -> Self {
        Self {
            reason: error.failure.to_string(),
            host: error.host,
        }
    }
}

/// What fails between coordinator and agent.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The program that reaches the host could not be started here.
    #[error(transparent)]
    Spawn(#[from] ToolError),
    /// The command for the host could not be made (the lab does not run, …).
    #[error("{source}")]
    Command {
        /// What the maker of the command says.
        source: Box<dyn Error + Send + Sync>,
    },
    /// Our own executable could not be read, so it cannot be copied to the host.
    #[error("read {path} to copy it there: {source}")]
    Executable {
        /// The executable.
        path: String,
        /// The system's error.
        source: io::Error,
    },
    /// The host was not reached.
    #[error("not reached: {said}")]
    Unreachable {
        /// The last line `ssh` wrote, or how it ended.
        said: String,
    },
    /// The host's key is not the one that is known, or not known at all.
    #[error("host key not accepted. {advice}\n{said}")]
    HostKey {
        /// What to do.
        advice: String,
        /// All that `ssh` wrote.
        said: String,
    },
    /// The host did not let us in.
    #[error(
        "login refused: {said} (a key or agent that works without a question is needed: \
         try `ssh -o BatchMode=yes {destination} true`)"
    )]
    Login {
        /// What was given to `ssh`.
        destination: String,
        /// The last line `ssh` wrote.
        said: String,
    },
    /// The login is not root's.
    #[error(
        "logged in as {user}, but a whole host is read and worked on as root: \
         set `User root` for it in ~/.ssh/config, or give root@… in the cluster file"
    )]
    NotRoot {
        /// Who it is.
        user: String,
    },
    /// The host's machine cannot run our executable.
    #[error(
        "its machine is {theirs}, this hawser is built for {ours}: run a hawser built for {theirs}"
    )]
    OtherMachine {
        /// `uname -m` there.
        theirs: String,
        /// What we are built for.
        ours: String,
    },
    /// There is no directory for the executable on the host.
    #[error("no place for the agent: {detail}{said}")]
    NoDirectory {
        /// The directories that were tried.
        detail: String,
        /// What the host's shell wrote.
        said: String,
    },
    /// The executable arrived damaged or incomplete.
    #[error("copy of the agent is not what was sent: {detail}{said}")]
    Copy {
        /// What is wrong with it.
        detail: String,
        /// What the host's shell wrote.
        said: String,
    },
    /// The host's start script gave up for another reason.
    #[error("agent not started: {reason} {detail}{said}")]
    NotStarted {
        /// The reason in one word.
        reason: String,
        /// What belongs to it.
        detail: String,
        /// What the host's shell wrote.
        said: String,
    },
    /// Something else than the agent answered.
    #[error("agent did not start: {saw}{said}")]
    NoAgent {
        /// What came instead.
        saw: NoMarker,
        /// What was written to stderr, and how the program ended.
        said: String,
    },
    /// The agent speaks another version of the protocol.
    #[error(
        "agent speaks protocol {theirs}, this hawser {ours}: start the same hawser on both sides"
    )]
    OtherVersion {
        /// The agent's version.
        theirs: String,
        /// Ours.
        ours: u32,
    },
    /// The agent ended.
    #[error("agent ended during {question}{said}")]
    Ended {
        /// The question it should have answered.
        question: &'static str,
        /// What was written to stderr, and how it ended.
        said: String,
    },
    /// No answer in time. The agent has been ended: what it would say now belongs to nothing.
    #[error("no answer to {question} within {after:?}{said}")]
    Timeout {
        /// The question.
        question: &'static str,
        /// How long it was waited for.
        after: Duration,
        /// What was written to stderr.
        said: String,
    },
    /// What came is not a message.
    #[error("answer to {question}: {source}{said}")]
    Frame {
        /// The question.
        question: &'static str,
        /// What is wrong with it.
        source: FrameError,
        /// What was written to stderr.
        said: String,
    },
    /// The answer is not one that this host may give.
    #[error("answer to {question} is {answer}")]
    Unexpected {
        /// The question.
        question: &'static str,
        /// What came, in short.
        answer: String,
    },
    /// An answer came before its question. The agent has been ended.
    #[error("answered before {question} was asked")]
    Unasked {
        /// The question.
        question: &'static str,
    },
    /// Its answers are more than a run can hold. The agent has been ended.
    #[error("answer to {question}: more than {allowed} bytes of answers in one run")]
    TooMuch {
        /// The question.
        question: &'static str,
        /// The limit.
        allowed: usize,
    },
    /// The agent could not do it; it can still be used.
    #[error("{error}")]
    Declined {
        /// The question.
        question: &'static str,
        /// The agent's words: the call and the object.
        error: String,
    },
    /// The pipe to the program failed.
    #[error("{call}: {source}{said}")]
    Pipe {
        /// The call.
        call: &'static str,
        /// The system's error.
        source: io::Error,
        /// What was written to stderr.
        said: String,
    },
    /// An earlier error ended the agent.
    #[error("agent was ended by an earlier error{}, {question} not asked", earlier.as_deref().map(|it| format!(" ({it})")).unwrap_or_default())]
    Gone {
        /// The question.
        question: &'static str,
        /// That error, if it is known here.
        earlier: Option<String>,
    },
}

impl HostError {
    /// True when the host can still be asked: it only said no.
    pub fn host_goes_on(&self) -> bool {
        matches!(*self.failure, Failure::Declined { .. })
    }
}

/// What a node says in several lines stands below the line that names the node: none of it passes for a line of ours.
fn indented(failure: &Failure) -> String {
    failure.to_string().replace('\n', "\n  ")
}

impl Failure {
    /// What came is not a message.
    pub(crate) fn unreadable(question: &'static str, source: FrameError) -> Self {
        Self::Frame {
            question,
            source,
            said: String::new(),
        }
    }

    /// The error that says on which host it happened.
    #[must_use]
    pub fn on(self, host: &HostName) -> HostError {
        HostError {
            host: host.clone(),
            failure: Box::new(self),
        }
    }
}
