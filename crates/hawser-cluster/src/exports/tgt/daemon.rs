//! The tgtd that runs on this host.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::operations::Operation;
use super::show::{self, CurrentTarget, ShowError};
use super::wire::{self, Mode, Request};
use crate::exports::desired::Portal;

/// tgtd's management socket (`usr/tgtadm.h`), of its first control port.
pub const SOCKET: &str = "/var/run/tgtd/socket.0";

/// How long clients' last commands may take when a unit is taken away.
const LAST_COMMANDS: Duration = Duration::from_secs(30);

/// How long tgtd, which does one thing at a time, may take to answer.
const ANSWER: Duration = Duration::from_secs(30);

/// tgtd on this host.
#[derive(Clone, Debug)]
pub struct Daemon {
    socket: PathBuf,
}

/// What went wrong with it.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// It does not run.
    #[error("tgtd does not run here ({0}): systemctl enable --now tgt")]
    NotRunning(String),
    /// It does not talk.
    #[error("{call} {socket}: {source}")]
    Io {
        /// The call.
        call: &'static str,
        /// The socket.
        socket: String,
        /// Why.
        source: std::io::Error,
    },
    /// It answers something unexpected.
    #[error(transparent)]
    Show(#[from] ShowError),
    /// It refuses.
    #[error("{what}: {reason}")]
    Refused {
        /// What was asked, in words.
        what: String,
        /// Its reason.
        reason: &'static str,
    },
}

impl Default for Daemon {
    fn default() -> Self {
        Self {
            socket: SOCKET.into(),
        }
    }
}

impl Daemon {
    /// Whether it runs, which is to answer a whole question. One who connects and says nothing stays in tgtd's
    /// table for good, and tgtd reads from him in a circle: it takes the end for a request that is not yet
    /// complete (`mgmt.c`). A monitor that did so took a processor and, in hours, every descriptor.
    pub fn runs(&self) -> Result<bool, DaemonError> {
        match self.ask(&Request::show(Mode::Portal)) {
            Err(DaemonError::NotRunning(_)) => Ok(false),
            answered => answered.map(|_| true),
        }
    }

    /// Its targets, by name.
    pub fn targets(&self) -> Result<BTreeMap<String, CurrentTarget>, DaemonError> {
        Ok(show::parse(&self.show(Mode::Target)?)?)
    }

    /// Its accounts.
    pub fn accounts(&self) -> Result<BTreeSet<String>, DaemonError> {
        Ok(show::accounts(&self.show(Mode::Account)?))
    }

    /// Where it listens.
    pub fn portals(&self) -> Result<BTreeSet<Portal>, DaemonError> {
        Ok(show::portals(&self.show(Mode::Portal)?)?)
    }

    /// Does one operation; waits for clients' last commands when a unit goes. `what` names it in
    /// errors, `secret` is an account's.
    pub fn perform(
        &self,
        operation: &Operation,
        secret: &str,
        what: &str,
    ) -> Result<(), DaemonError> {
        let request = operation.request(secret);
        let deadline = Instant::now() + LAST_COMMANDS;
        loop {
            let (error, _) = self.ask(&request)?;
            let busy = wire::BUSY.contains(&error) && Instant::now() < deadline;
            match error {
                0 => return Ok(()),
                _ if busy => thread::sleep(Duration::from_millis(10)),
                _ => {
                    return Err(DaemonError::Refused {
                        what: what.to_owned(),
                        reason: wire::error(error),
                    });
                }
            }
        }
    }

    fn show(&self, mode: Mode) -> Result<String, DaemonError> {
        match self.ask(&Request::show(mode))? {
            (0, text) => Ok(text),
            (error, _) => Err(DaemonError::Refused {
                what: "show".into(),
                reason: wire::error(error),
            }),
        }
    }

    fn ask(&self, request: &Request) -> Result<(u32, String), DaemonError> {
        let failed = |call| {
            let socket = self.socket.display().to_string();
            move |source| DaemonError::Io {
                call,
                socket,
                source,
            }
        };
        let mut stream = connect(&self.socket)?;
        stream
            .set_read_timeout(Some(ANSWER))
            .map_err(failed("set a timeout on"))?;
        stream
            .write_all(&request.bytes())
            .map_err(failed("write to"))?;
        let mut head = [0; wire::ANSWER];
        stream.read_exact(&mut head).map_err(failed("read from"))?;
        let (error, length) = wire::answer(head);
        let mut text = Vec::new();
        if error == 0 && length > 0 {
            let limit = u64::try_from(length).unwrap_or(u64::MAX);
            stream
                .take(limit)
                .read_to_end(&mut text)
                .map_err(failed("read from"))?;
        }
        let text = String::from_utf8_lossy(&text);
        Ok((error, text.trim_end_matches('\0').to_owned()))
    }
}

fn connect(socket: &Path) -> Result<UnixStream, DaemonError> {
    UnixStream::connect(socket).map_err(|source| {
        let shown = socket.display().to_string();
        match source.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => DaemonError::NotRunning(shown),
            _ => DaemonError::Io {
                call: "connect to",
                socket: shown,
                source,
            },
        }
    })
}
