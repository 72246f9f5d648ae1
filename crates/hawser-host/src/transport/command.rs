//! A command that is an agent by itself: the lab's exec.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use hawser_model::names::HostName;
use hawser_tool::Launch;

use crate::client::{Link, Opening};
use crate::error::Failure;
use crate::transport::Transport;

/// How long the agent may take to announce itself: it does so before it does anything else.
const ANNOUNCES: Duration = Duration::from_secs(15);

type Make = dyn Fn() -> Result<Launch, Box<dyn Error + Send + Sync>> + Send + Sync;

/// Starts the agent by running a command, whatever it does to get into the node.
pub struct Command {
    host: HostName,
    slowness: u32,
    make: Box<Make>,
}

impl Command {
    /// `make` says what runs `hawser agent` on `host`.
    pub fn new<E, F>(host: HostName, make: F) -> Self
    where
        E: Into<Box<dyn Error + Send + Sync>>,
        F: Fn() -> Result<Launch, E> + Send + Sync + 'static,
    {
        Self {
            host,
            slowness: 1,
            make: Box::new(move || make().map_err(Into::into)),
        }
    }

    /// For a host that takes so many times longer for everything.
    pub fn slow(mut self, slowness: u32) -> Self {
        self.slowness = slowness;
        self
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Command")
            .field("host", &self.host)
            .finish_non_exhaustive()
    }
}

impl Transport for Command {
    fn host(&self) -> &HostName {
        &self.host
    }

    fn slowness(&self) -> u32 {
        self.slowness
    }

    fn start(&self) -> Result<Link, Failure> {
        let launch = (self.make)().map_err(|source| Failure::Command { source })?;
        let mut opening = Opening::start(launch)?;
        match opening.marker(ANNOUNCES * self.slowness) {
            Ok(marker) => opening.into_link(marker),
            Err(silence) => Err(opening.no_agent(silence)),
        }
    }
}
