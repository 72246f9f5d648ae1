//! Starting a node's first process and hearing whether it came up.

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

use hawser_tool::{Launch, Piped};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::error::LabError;
use crate::init::{GO, START, SUBCOMMAND};
use crate::paths::LabDir;
use crate::process::ProcessId;

/// A busy machine needs well under a second; more than this is a hang.
const PATIENCE: Duration = Duration::from_secs(20);

/// A node on its way up. Dropped before [`Self::go`], the node ends.
#[derive(Debug)]
pub(crate) struct Starting {
    pub node: String,
    outer: Child,
    hold: Option<ChildStdin>,
    speech: ChildStdout,
    heard: Vec<u8>,
}

impl Starting {
    /// Starts the first process of `node` (or of the switches).
    pub fn spawn(dir: &LabDir, token: &str, node: &str) -> Result<Self, LabError> {
        let folder = dir.node(node);
        fs::create_dir_all(&folder).map_err(|e| LabError::io("create the folder", &folder, e))?;
        let console = dir.console(node);
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&console)
            .map_err(|e| LabError::io("open", &console, e))?;
        let Piped {
            child,
            input,
            output,
            ..
        } = Launch::new(dir.binary())
            .args(["lab", SUBCOMMAND, token])
            .arg(dir.path())
            .arg(node)
            .folder("/")
            .log(log)
            .piped()?;
        Ok(Self {
            node: node.to_owned(),
            outer: child,
            hold: Some(input),
            speech: output,
            heard: Vec::new(),
        })
    }

    /// Waits until the node has mounted everything; returns its process 1 as seen from here.
    pub fn ready(&mut self) -> Result<ProcessId, LabError> {
        let deadline = Instant::now() + PATIENCE;
        let (mut pid, mut ready) = (None, false);
        // Two processes speak, in either order.
        while pid.is_none() || !ready {
            let line = self.line(deadline)?;
            match line.split_once(' ') {
                Some(("pid", number)) => pid = number.parse::<i32>().ok(),
                Some(("error", what)) => return Err(self.failed(what)),
                _ if line == "ready" => ready = true,
                _ => return Err(self.failed(&format!("it said \"{line}\""))),
            }
        }
        let _reaped = self.outer.wait();
        pid.and_then(ProcessId::of)
            .ok_or_else(|| self.failed("it ended at once"))
    }

    /// Lets a machine start its kernel. It still ends when this is dropped.
    pub fn begin(&mut self) -> Result<(), LabError> {
        let sent = self.hold.as_mut().map(|hold| hold.write_all(&[START]));
        match sent {
            Some(Ok(())) => Ok(()),
            _ => Err(self.failed("it has died meanwhile")),
        }
    }

    /// Lets the node live on.
    pub fn go(mut self) -> Result<(), LabError> {
        let sent = self.hold.take().map(|mut hold| hold.write_all(&[GO]));
        match sent {
            Some(Ok(())) => Ok(()),
            _ => Err(self.failed("it has died meanwhile")),
        }
    }

    fn line(&mut self, deadline: Instant) -> Result<String, LabError> {
        loop {
            if let Some(end) = self.heard.iter().position(|b| *b == b'\n') {
                let rest = self.heard.split_off(end + 1);
                let line = std::mem::replace(&mut self.heard, rest);
                return Ok(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let mut fds = [PollFd::new(self.speech.as_fd(), PollFlags::POLLIN)];
            let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
            if matches!(poll(&mut fds, timeout), Ok(0)) {
                return Err(self.failed(&format!("silent for {} s", PATIENCE.as_secs())));
            }
            let mut buffer = [0_u8; 512];
            match self.speech.read(&mut buffer) {
                Ok(0) => return Err(self.failed("it ended without a word")),
                Ok(n) => self.heard.extend_from_slice(&buffer[..n]),
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(self.failed(&e.to_string())),
            }
        }
    }

    fn failed(&self, what: &str) -> LabError {
        LabError::Start {
            node: self.node.clone(),
            what: what.to_owned(),
        }
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        // The end of its standard input ends a node that was not let go; the outer process
        // has ended by itself or will.
        self.hold = None;
        let _reaped = self.outer.wait();
    }
}
