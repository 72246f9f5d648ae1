//! What can go wrong between coordinator and agent. Every error names the host.

use std::error::Error;
use std::io;
use std::time::Duration;

use hawser_model::names::HostName;

use crate::frame::FrameError;
use crate::marker::NoMarker;

/// An error of the coordinator's side.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The program that reaches the host could not be started here.
    #[error("{host}: start {program}: {source}")]
    Spawn {
        /// The host.
        host: HostName,
        /// The program.
        program: String,
        /// The system's error.
        source: io::Error,
    },
    /// The command for the host could not be made (the lab does not run, …).
    #[error("{host}: {source}")]
    Command {
        /// The host.
        host: HostName,
        /// What the maker of the command says.
        source: Box<dyn Error + Send + Sync>,
    },
    /// Our own executable could not be read, so it cannot be copied to the host.
    #[error("{host}: read {path} to copy it there: {source}")]
    Executable {
        /// The host.
        host: HostName,
        /// The executable.
        path: String,
        /// The system's error.
        source: io::Error,
    },
    /// The host was not reached.
    #[error("{host}: not reached: {said}")]
    Unreachable {
        /// The host.
        host: HostName,
        /// The last line `ssh` wrote, or how it ended.
        said: String,
    },
    /// The host's key is not the one that is known, or not known at all.
    #[error("{host}: host key not accepted. {advice}\n{said}")]
    HostKey {
        /// The host.
        host: HostName,
        /// What to do.
        advice: String,
        /// All that `ssh` wrote.
        said: String,
    },
    /// The host did not let us in.
    #[error(
        "{host}: login refused: {said} (a key or agent that works without a question is needed: \
         try `ssh -o BatchMode=yes {destination} true`)"
    )]
    Login {
        /// The host.
        host: HostName,
        /// What was given to `ssh`.
        destination: String,
        /// The last line `ssh` wrote.
        said: String,
    },
    /// The login is not root's.
    #[error(
        "{host}: logged in as {user}, but reading counters and sockets of the whole host needs root: \
         use root@{host} or `User root` in ~/.ssh/config"
    )]
    NotRoot {
        /// The host.
        host: HostName,
        /// Who it is.
        user: String,
    },
    /// The host's machine cannot run our executable.
    #[error(
        "{host}: its machine is {theirs}, this hawser is built for {ours}: install hawser for {theirs} there and run the check from it, or check from a {theirs} machine"
    )]
    OtherMachine {
        /// The host.
        host: HostName,
        /// `uname -m` there.
        theirs: String,
        /// What we are built for.
        ours: String,
    },
    /// There is no directory for the executable on the host.
    #[error("{host}: no place for the agent: {detail}{said}")]
    NoDirectory {
        /// The host.
        host: HostName,
        /// The directories that were tried.
        detail: String,
        /// What the host's shell wrote.
        said: String,
    },
    /// The executable arrived damaged or incomplete.
    #[error("{host}: copy of the agent is not what was sent: {detail}{said}")]
    Copy {
        /// The host.
        host: HostName,
        /// What is wrong with it.
        detail: String,
        /// What the host's shell wrote.
        said: String,
    },
    /// The host's start script gave up for another reason.
    #[error("{host}: agent not started: {reason} {detail}{said}")]
    Refused {
        /// The host.
        host: HostName,
        /// The reason in one word.
        reason: String,
        /// What belongs to it.
        detail: String,
        /// What the host's shell wrote.
        said: String,
    },
    /// Something else than the agent answered.
    #[error("{host}: agent did not start: {saw}{said}")]
    NoAgent {
        /// The host.
        host: HostName,
        /// What came instead.
        saw: NoMarker,
        /// What was written to stderr, and how the program ended.
        said: String,
    },
    /// The agent speaks another version of the protocol.
    #[error(
        "{host}: agent speaks protocol {theirs}, this hawser {ours}: start the same hawser on both sides"
    )]
    OtherVersion {
        /// The host.
        host: HostName,
        /// The agent's version.
        theirs: String,
        /// Ours.
        ours: u32,
    },
    /// The agent ended.
    #[error("{host}: agent ended during {request}{said}")]
    Ended {
        /// The host.
        host: HostName,
        /// The request it should have answered.
        request: &'static str,
        /// What was written to stderr, and how it ended.
        said: String,
    },
    /// No answer in time. The agent has been ended: what it would say now belongs to nothing.
    #[error("{host}: no answer to {request} within {after:?}{said}")]
    Timeout {
        /// The host.
        host: HostName,
        /// The request.
        request: &'static str,
        /// How long it was waited for.
        after: Duration,
        /// What was written to stderr.
        said: String,
    },
    /// What came is not a message.
    #[error("{host}: answer to {request}: {source}{said}")]
    Frame {
        /// The host.
        host: HostName,
        /// The request.
        request: &'static str,
        /// What is wrong with it.
        source: FrameError,
        /// What was written to stderr.
        said: String,
    },
    /// The answer belongs to another request.
    #[error("{host}: answer to {request} is {answer}")]
    Unexpected {
        /// The host.
        host: HostName,
        /// The request.
        request: &'static str,
        /// What came, in short.
        answer: String,
    },
    /// The agent could not do it; it can still be used.
    #[error("{host}: {request}: {error}")]
    Failed {
        /// The host.
        host: HostName,
        /// The request.
        request: &'static str,
        /// The agent's words: the call and the object.
        error: String,
    },
    /// The pipe to the program failed.
    #[error("{host}: {call}: {source}{said}")]
    Pipe {
        /// The host.
        host: HostName,
        /// The call.
        call: &'static str,
        /// The system's error.
        source: io::Error,
        /// What was written to stderr.
        said: String,
    },
    /// An earlier error ended the agent.
    #[error("{host}: agent was ended by an earlier error, {request} not asked")]
    Gone {
        /// The host.
        host: HostName,
        /// The request.
        request: &'static str,
    },
}

impl AgentError {
    /// The host it is about.
    pub fn host(&self) -> &HostName {
        match self {
            Self::Spawn { host, .. }
            | Self::Command { host, .. }
            | Self::Executable { host, .. }
            | Self::Unreachable { host, .. }
            | Self::HostKey { host, .. }
            | Self::Login { host, .. }
            | Self::NotRoot { host, .. }
            | Self::OtherMachine { host, .. }
            | Self::NoDirectory { host, .. }
            | Self::Copy { host, .. }
            | Self::Refused { host, .. }
            | Self::NoAgent { host, .. }
            | Self::OtherVersion { host, .. }
            | Self::Ended { host, .. }
            | Self::Timeout { host, .. }
            | Self::Frame { host, .. }
            | Self::Unexpected { host, .. }
            | Self::Failed { host, .. }
            | Self::Pipe { host, .. }
            | Self::Gone { host, .. } => host,
        }
    }

    /// True when the agent can still be used: it only said no.
    pub fn agent_goes_on(&self) -> bool {
        matches!(self, Self::Failed { .. })
    }
}
