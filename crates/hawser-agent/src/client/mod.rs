//! The coordinator's side: one blocking method a request.

mod bounds;
mod keepalive;
mod opening;
mod pipes;
mod requests;

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::time::{Duration, Instant};

use hawser_model::names::HostName;
use hawser_model::traffic::{FlowId, RunKey};

use crate::error::{AgentError, Failure};
use crate::frame::encode;
use crate::protocol::{Request, Response, VERSION};
use crate::transport::Transport;

pub use keepalive::Stopper;
pub use opening::Link;
pub(crate) use opening::{Opening, Silence, last_words};
pub(crate) use pipes::{Arrived, Input, Pipes, send};

use keepalive::Keepalive;

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
        let link = transport.start().map_err(|f| f.on(transport.host()))?;
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
            let theirs = theirs.to_string();
            let ours = VERSION;
            return Err(Failure::OtherVersion { theirs, ours }.on(&agent.host));
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
        let name = request.name();
        let answer = match self.exchange(request, within) {
            Ok(Response::Failed { error }) => {
                let request = name;
                let error = error.chars().take(bounds::WORDS).collect();
                return Err(Failure::Declined { request, error }.on(&self.host));
            }
            Ok(answer) => pick(answer).map_err(|other| Failure::Unexpected {
                request: name,
                answer: format!("{other:?}").chars().take(80).collect(),
            }),
            Err(error) => Err(error),
        };
        answer.map_err(|failure| {
            // Whatever it says from now on would answer the wrong request.
            self.keepalive = None;
            if let Some(mut link) = self.link.take() {
                link.pipes.kill();
            }
            failure.on(&self.host)
        })
    }

    fn exchange(&mut self, request: &Request, within: Duration) -> Result<Response, Failure> {
        let name = request.name();
        let link = self.link.as_mut().ok_or(Failure::Gone { request: name })?;
        let deadline = Instant::now() + within;
        link.nothing_unasked(name)?;
        link.decoder.expect_at_most(bounds::largest(request));
        let unreadable = |source, said| Failure::Frame {
            request: name,
            source,
            said,
        };
        let frame = encode(request).map_err(|source| unreadable(source, String::new()))?;
        send(&link.pipes.input(), &frame, deadline).map_err(|source| match source.kind() {
            ErrorKind::TimedOut => link.timeout(name, within),
            ErrorKind::BrokenPipe => link.ended(name),
            _ => link.broken("write to agent", source),
        })?;
        let mut late = false;
        loop {
            match link.decoder.message() {
                Ok(Some(answer)) => return Ok(answer),
                // Bytes that trickle in do not put the deadline off.
                Ok(None) if late => return Err(link.timeout(name, within)),
                Ok(None) => {}
                Err(source) => return Err(unreadable(source, link.said())),
            }
            let arrived = link.pipes.receive(deadline);
            late = Instant::now() >= deadline;
            match arrived {
                Ok(Arrived::Bytes(bytes)) => {
                    if bounds::is_kept(request) {
                        link.keep(name, bytes.len())?;
                    }
                    link.decoder.push(&bytes);
                }
                Ok(Arrived::End) => return Err(link.ended(name)),
                Ok(Arrived::Nothing) => return Err(link.timeout(name, within)),
                Err(source) => return Err(link.broken("read from agent", source)),
            }
        }
    }
}

impl Link {
    /// An answer is asked for before it comes. One that is there already would be taken for that of the next
    /// request.
    fn nothing_unasked(&mut self, request: &'static str) -> Result<(), Failure> {
        if self.decoder.is_empty() {
            match self.pipes.receive(Instant::now()) {
                Ok(Arrived::Bytes(bytes)) => self.decoder.push(&bytes),
                // Whoever writes or reads next is told.
                Ok(Arrived::Nothing | Arrived::End) | Err(_) => return Ok(()),
            }
        }
        Err(Failure::Unasked { request })
    }

    /// Counts what becomes part of a case.
    fn keep(&mut self, request: &'static str, bytes: usize) -> Result<(), Failure> {
        self.kept = self.kept.saturating_add(bytes);
        match self.kept > bounds::KEPT {
            true => Err(Failure::TooMuch {
                request,
                allowed: bounds::KEPT,
            }),
            false => Ok(()),
        }
    }

    fn ended(&mut self, request: &'static str) -> Failure {
        let how = match self.pipes.end() {
            Ok(status) => status.to_string(),
            Err(e) => e.to_string(),
        };
        let said = last_words(&self.pipes.said(), &how);
        Failure::Ended { request, said }
    }

    fn timeout(&mut self, request: &'static str, after: Duration) -> Failure {
        Failure::Timeout {
            request,
            after,
            said: self.said(),
        }
    }

    fn broken(&mut self, call: &'static str, source: io::Error) -> Failure {
        Failure::Pipe {
            call,
            source,
            said: self.said(),
        }
    }

    fn said(&mut self) -> String {
        last_words(&self.pipes.said(), "")
    }
}
