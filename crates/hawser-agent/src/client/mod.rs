//! The coordinator's side: one blocking method a request.

mod keepalive;
mod opening;
mod pipes;
mod requests;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hawser_model::names::HostName;
use hawser_model::traffic::{FlowId, RunKey};

use crate::error::AgentError;
use crate::frame::encode;
use crate::protocol::{Request, Response, VERSION};
use crate::transport::Transport;

pub use keepalive::Stopper;
pub use opening::Link;
pub(crate) use opening::{Opening, Silence, last_words};

use keepalive::Keepalive;
use pipes::{Arrived, send};

/// How long an answer may take that needs no measuring, on a host under load.
const SOON: Duration = Duration::from_secs(10);

/// An agent on a node. Dropping it closes its stdin, on which it ends, and reaps the program
/// that reached it.
#[derive(Debug)]
pub struct Agent {
    host: HostName,
    pid: u32,
    link: Option<Link>,
    keepalive: Option<Keepalive>,
    /// Durations of the senders that are open, for their deadlines.
    durations: BTreeMap<FlowId, Duration>,
}

impl Agent {
    /// Starts an agent and greets it with the run's key.
    ///
    /// # Errors
    /// Why the host was not reached, why no agent started there, or that it is another version.
    pub fn connect(transport: &dyn Transport, run_key: RunKey) -> Result<Self, AgentError> {
        let link = transport.start()?;
        let mut agent = Self {
            host: transport.host().clone(),
            pid: 0,
            keepalive: Some(Keepalive::start(link.pipes.input())),
            link: Some(link),
            durations: BTreeMap::new(),
        };
        let hello = Request::Hello {
            version: VERSION,
            run_key,
            host: agent.host.clone(),
        };
        let (theirs, pid) = agent.ask(&hello, SOON, |answer| match answer {
            Response::Welcome { version, pid } => Ok((version, pid)),
            other => Err(other),
        })?;
        if theirs != VERSION {
            return Err(AgentError::OtherVersion {
                host: agent.host.clone(),
                theirs: theirs.to_string(),
                ours: VERSION,
            });
        }
        agent.pid = pid;
        Ok(agent)
    }

    /// The host it runs on.
    pub fn host(&self) -> &HostName {
        &self.host
    }

    /// Its process id, in the host's own pid namespace.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// A handle with which another thread can end this agent's running measurement early.
    pub fn stopper(&self) -> Stopper {
        Stopper::new(self.link.as_ref().map(|link| link.pipes.input()))
    }

    /// Sends a request and waits for its answer, of which `pick` takes what belongs to it.
    fn ask<T>(
        &mut self,
        request: &Request,
        within: Duration,
        pick: impl FnOnce(Response) -> Result<T, Response>,
    ) -> Result<T, AgentError> {
        let answer = match self.exchange(request, within) {
            Ok(Response::Failed { error }) => {
                return Err(AgentError::Failed {
                    host: self.host.clone(),
                    request: request.name(),
                    error,
                });
            }
            Ok(answer) => pick(answer).map_err(|other| AgentError::Unexpected {
                host: self.host.clone(),
                request: request.name(),
                answer: format!("{other:?}").chars().take(80).collect(),
            }),
            Err(error) => Err(error),
        };
        if answer.is_err() {
            // Whatever it says from now on would answer the wrong request.
            self.keepalive = None;
            if let Some(mut link) = self.link.take() {
                link.pipes.kill();
            }
        }
        answer
    }

    fn exchange(&mut self, request: &Request, within: Duration) -> Result<Response, AgentError> {
        let host = &self.host;
        let name = request.name();
        let Some(link) = &mut self.link else {
            return Err(AgentError::Gone {
                host: host.clone(),
                request: name,
            });
        };
        let deadline = Instant::now() + within;
        let frame = encode(request).map_err(|source| AgentError::Frame {
            host: host.clone(),
            request: name,
            source,
            said: String::new(),
        })?;
        if let Err(source) = send(&link.pipes.input(), &frame, deadline) {
            return Err(match source.kind() {
                std::io::ErrorKind::TimedOut => timeout(host, name, within, link),
                std::io::ErrorKind::BrokenPipe => ended(host, name, link),
                _ => AgentError::Pipe {
                    host: host.clone(),
                    call: "write to agent",
                    source,
                    said: last_words(&link.pipes.said(), ""),
                },
            });
        }
        loop {
            let arrived = match link.decoder.message() {
                Ok(Some(answer)) => return Ok(answer),
                Ok(None) => link.pipes.receive(deadline),
                Err(source) => {
                    return Err(AgentError::Frame {
                        host: host.clone(),
                        request: name,
                        source,
                        said: last_words(&link.pipes.said(), ""),
                    });
                }
            };
            match arrived {
                Ok(Arrived::Bytes(bytes)) => link.decoder.push(&bytes),
                Ok(Arrived::End) => return Err(ended(host, name, link)),
                Ok(Arrived::Nothing) => return Err(timeout(host, name, within, link)),
                Err(source) => {
                    return Err(AgentError::Pipe {
                        host: host.clone(),
                        call: "read from agent",
                        source,
                        said: last_words(&link.pipes.said(), ""),
                    });
                }
            }
        }
    }
}

fn ended(host: &HostName, request: &'static str, link: &mut Link) -> AgentError {
    let how = match link.pipes.end() {
        Ok(status) => status.to_string(),
        Err(e) => e.to_string(),
    };
    AgentError::Ended {
        host: host.clone(),
        request,
        said: last_words(&link.pipes.said(), &how),
    }
}

fn timeout(host: &HostName, request: &'static str, after: Duration, link: &mut Link) -> AgentError {
    AgentError::Timeout {
        host: host.clone(),
        request,
        after,
        said: last_words(&link.pipes.said(), ""),
    }
}
