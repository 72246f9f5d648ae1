//! From a started program to an agent that answers: waiting for the marker.

use std::io;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use hawser_tool::Launch;

use crate::client::pipes::{Arrived, Pipes, send};
use crate::error::Failure;
use crate::frame::Decoder;
use crate::marker::{Marker, NoMarker, Scanner};
use crate::protocol::VERSION;

/// A program that reaches a node was started; who will speak?
#[derive(Debug)]
pub(crate) struct Opening {
    pipes: Pipes,
    scanner: Scanner,
    /// Bytes behind the last marker.
    rest: Vec<u8>,
}

/// Why nobody spoke.
#[derive(Debug)]
pub(crate) enum Silence {
    /// The program ended.
    Ended(ExitStatus),
    /// Nothing came in time.
    Late(Duration),
    /// Something came, for too long, and it was no marker.
    Noise(NoMarker),
    /// A pipe failed.
    Pipe(io::Error),
}

/// A way to an agent that has announced itself: what a transport hands to the client.
#[derive(Debug)]
pub struct Link {
    pub(crate) pipes: Pipes,
    pub(crate) decoder: Decoder,
    /// Bytes of answers that are kept.
    pub(crate) kept: usize,
}

impl Opening {
    /// Starts the program.
    pub(crate) fn start(launch: Launch) -> Result<Self, Failure> {
        let pipes = Pipes::of(launch.piped()?).map_err(|source| Failure::Pipe {
            call: "open pipes to the agent",
            source,
            said: String::new(),
        })?;
        Ok(Self {
            pipes,
            scanner: Scanner::default(),
            rest: Vec::new(),
        })
    }

    /// Waits for a marker.
    pub(crate) fn marker(&mut self, within: Duration) -> Result<Marker, Silence> {
        let deadline = Instant::now() + within;
        let mut bytes = std::mem::take(&mut self.rest);
        loop {
            if let Some((marker, rest)) = self.scanner.push(&bytes).map_err(Silence::Noise)? {
                self.scanner = Scanner::default();
                self.rest = rest;
                return Ok(marker);
            }
            match self.pipes.receive(deadline).map_err(Silence::Pipe)? {
                Arrived::Bytes(arrived) => bytes = arrived,
                Arrived::Nothing => return Err(Silence::Late(within)),
                Arrived::End => {
                    return Err(match self.pipes.end() {
                        Ok(status) => Silence::Ended(status),
                        Err(e) => Silence::Pipe(e),
                    });
                }
            }
        }
    }

    /// Sends bytes that are no frame; a node that does not take them is let go.
    pub(crate) fn send(&self, bytes: &[u8], within: Duration) -> io::Result<()> {
        send(&self.pipes.input(), bytes, Instant::now() + within)
    }

    /// What was written to stderr.
    pub(crate) fn said(&mut self) -> String {
        self.pipes.said()
    }

    /// The same, when the program has ended: after a refusal it does, and why it refused may come behind that.
    pub(crate) fn said_at_its_end(&mut self) -> String {
        // One that does not end is killed; what it said counts all the same.
        let _ended = self.pipes.end();
        self.pipes.said()
    }

    /// The error for a marker that is not the agent's, or for silence, in general words.
    pub(crate) fn no_agent(&mut self, silence: Silence) -> Failure {
        let (saw, how) = match silence {
            Silence::Noise(noise) => (noise, String::new()),
            Silence::Ended(status) => (self.scanner.without_marker(), status.to_string()),
            Silence::Late(after) => (
                self.scanner.without_marker(),
                format!("nothing more within {after:?}"),
            ),
            Silence::Pipe(source) => {
                return Failure::Pipe {
                    call: "read from agent",
                    source,
                    said: last_words(&self.pipes.said(), ""),
                };
            }
        };
        Failure::NoAgent {
            saw,
            said: last_words(&self.pipes.said(), &how),
        }
    }

    /// Takes the agent's marker for what it is; any other is an error.
    pub(crate) fn into_link(self, marker: Marker) -> Result<Link, Failure> {
        if marker != Marker::Agent(VERSION) {
            return Err(Failure::OtherVersion {
                theirs: marker.to_string(),
                ours: VERSION,
            });
        }
        let mut decoder = Decoder::default();
        decoder.push(&self.rest);
        Ok(Link {
            pipes: self.pipes,
            decoder,
            kept: 0,
        })
    }
}

/// What stderr and the exit status add to an error message.
pub(crate) fn last_words(said: &str, how: &str) -> String {
    match (said.is_empty(), how.is_empty()) {
        (true, true) => String::new(),
        (true, false) => format!(" ({how})"),
        (false, true) => format!("; it wrote: {said}"),
        (false, false) => format!(" ({how}); it wrote: {said}"),
    }
}
