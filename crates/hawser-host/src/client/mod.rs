//! An agent behind the pipes of the program that reaches its node.

mod keepalive;
mod opening;
mod pipes;

use std::io::{self, ErrorKind};
use std::time::{Duration, Instant};

use hawser_model::names::HostName;
use hawser_model::traffic::RunKey;

use crate::ask::Size;
use crate::error::{Failure, HostError};
use crate::frame::encode;
use crate::host::{Host, Question, Stopper};
use crate::protocol::{Hello, Message, VERSION, Welcome};
use crate::transport::Transport;

pub use opening::Link;
pub(crate) use opening::{Opening, Silence, last_words};

use keepalive::{Keepalive, stopper};
use pipes::{Arrived, send};

/// All answers of an agent together that become part of a case. A check of eight hosts takes some 30 MB of each.
const RECORDED: usize = 512 << 20;

/// An agent on a node. Dropping it closes its stdin, on which it ends, and reaps the program
/// that reached it.
#[derive(Debug)]
pub struct Agent {
    host: HostName,
    pid: u32,
    /// How many times longer than elsewhere an answer may take.
    slowness: u32,
    link: Option<Link>,
    keepalive: Option<Keepalive>,
    /// The error that ended it, in words.
    ended_by: Option<String>,
}

impl Agent {
    /// Starts an agent and greets it with the run's key.
    ///
    /// # Errors
    /// Why the host was not reached, why no agent started there, or that it is another version.
    pub fn connect(transport: &dyn Transport, run_key: RunKey) -> Result<Self, HostError> {
        let link = transport.start().map_err(|f| f.on(transport.host()))?;
        let mut agent = Self {
            host: transport.host().clone(),
            pid: 0,
            slowness: transport.slowness(),
            keepalive: Some(Keepalive::start(link.pipes.input())),
            link: Some(link),
            ended_by: None,
        };
        let hello = Hello {
            version: VERSION,
            run_key,
            host: agent.host.clone(),
        };
        let Welcome {
            version: theirs,
            pid,
        } = (&mut agent as &mut dyn Host).ask(&hello)?;
        if theirs != VERSION {
            let theirs = theirs.to_string();
            let ours = VERSION;
            return Err(Failure::OtherVersion { theirs, ours }.on(&agent.host));
        }
        agent.pid = pid;
        Ok(agent)
    }

    /// Its process id, in the host's own pid namespace.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    fn answer(&mut self, question: &Question) -> Result<Vec<u8>, Failure> {
        let (name, within) = (question.name, question.patience * self.slowness);
        let link = self.link.as_mut().ok_or_else(|| Failure::Gone {
            question: name,
            earlier: self.ended_by.clone(),
        })?;
        let deadline = Instant::now() + within;
        link.nothing_unasked(name)?;
        link.decoder.expect_at_most(question.size.bytes());
        let unreadable = |source, said| Failure::Frame {
            question: name,
            source,
            said,
        };
        let message = Message::Ask {
            question: name.to_owned(),
            body: question.body.clone(),
        };
        let frame = encode(&message).map_err(|source| unreadable(source, String::new()))?;
        send(&link.pipes.input(), &frame, deadline).map_err(|source| match source.kind() {
            ErrorKind::TimedOut => link.timeout(name, within),
            ErrorKind::BrokenPipe => link.ended(name),
            _ => link.broken("write to agent", source),
        })?;
        let mut late = false;
        loop {
            match link.decoder.body() {
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
                    if question.size == Size::Recorded {
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

impl Host for Agent {
    fn name(&self) -> &HostName {
        &self.host
    }

    fn exchange(&mut self, question: &Question) -> Result<Vec<u8>, HostError> {
        let answer = self.answer(question);
        answer.map_err(|failure| {
            if self.link.is_some() {
                self.ended_by = Some(failure.to_string());
            }
            self.let_go();
            failure.on(&self.host)
        })
    }

    fn is_lost(&mut self) -> bool {
        self.link.as_mut().is_none_or(Link::is_closed)
    }

    fn let_go(&mut self) {
        self.keepalive = None;
        if let Some(mut link) = self.link.take() {
            link.pipes.kill();
        }
    }

    fn stopper(&self) -> Stopper {
        stopper(self.link.as_ref().map(|link| link.pipes.input()))
    }
}

impl Link {
    /// An answer is asked for before it comes. One that is there already would be taken for that of the next
    /// question.
    fn nothing_unasked(&mut self, question: &'static str) -> Result<(), Failure> {
        if self.decoder.is_empty() {
            match self.pipes.receive(Instant::now()) {
                Ok(Arrived::Bytes(bytes)) => self.decoder.push(&bytes),
                // Whoever writes or reads next is told.
                Ok(Arrived::Nothing | Arrived::End) | Err(_) => return Ok(()),
            }
        }
        Err(Failure::Unasked { question })
    }

    /// Whether the other end is closed. What was said unasked is kept for whoever asks next.
    fn is_closed(&mut self) -> bool {
        match self.pipes.receive(Instant::now()) {
            Ok(Arrived::Bytes(bytes)) => self.decoder.push(&bytes),
            Ok(Arrived::Nothing) => {}
            Ok(Arrived::End) | Err(_) => return true,
        }
        false
    }

    /// Counts what becomes part of a case.
    fn keep(&mut self, question: &'static str, bytes: usize) -> Result<(), Failure> {
        self.kept = self.kept.saturating_add(bytes);
        match self.kept > RECORDED {
            true => Err(Failure::TooMuch {
                question,
                allowed: RECORDED,
            }),
            false => Ok(()),
        }
    }

    fn ended(&mut self, question: &'static str) -> Failure {
        let how = match self.pipes.end() {
            Ok(status) => status.to_string(),
            Err(e) => e.to_string(),
        };
        let said = last_words(&self.pipes.said(), &how);
        Failure::Ended { question, said }
    }

    fn timeout(&mut self, question: &'static str, after: Duration) -> Failure {
        Failure::Timeout {
            question,
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
