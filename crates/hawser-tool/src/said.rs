//! What a program says until it ends.

use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::process::Child;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::{Deadline, MOST};

/// A program's end and its two pipes, watched together.
///
/// The program's own end is what ends it: something that it has started may keep a pipe open for as long as it likes.
#[derive(Debug)]
pub(crate) struct Talk {
    process: OwnedFd,
    pipes: [Pipe; 2],
}

/// How a talk goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The program has ended, and what it has said is there.
    Ended,
    /// The time is over.
    Late,
    /// It said more than any tool has to say.
    Endless,
}

#[derive(Debug)]
struct Pipe {
    end: Option<std::fs::File>,
    said: Vec<u8>,
}

impl Talk {
    /// With this child, whose pipes are taken.
    pub fn with(child: &mut Child) -> io::Result<Self> {
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or(ErrorKind::InvalidInput)?;
        let out = child.stdout.take().map(OwnedFd::from);
        let errors = child.stderr.take().map(OwnedFd::from);
        Ok(Self {
            process: pidfd_open(pid, PidfdFlags::empty())?,
            pipes: [Pipe::of(out)?, Pipe::of(errors)?],
        })
    }

    /// Hears it until it ends, until then at most.
    pub fn hear(&mut self, until: Deadline) -> io::Result<Turn> {
        loop {
            let ended = self.wait(until)?;
            for pipe in &mut self.pipes {
                pipe.take(ended)?;
            }
            if ended {
                return Ok(Turn::Ended);
            }
            if self.pipes.iter().any(|pipe| pipe.said.len() > MOST) {
                return Ok(Turn::Endless);
            }
            if until.left().is_zero() {
                return Ok(Turn::Late);
            }
        }
    }

    /// What it said, and what it complained of.
    pub fn said(self) -> [Vec<u8>; 2] {
        self.pipes.map(|pipe| pipe.said)
    }

    /// Waits until something happens; whether the program has ended.
    fn wait(&self, until: Deadline) -> io::Result<bool> {
        let ends = self.pipes.iter().filter_map(|pipe| pipe.end.as_ref());
        let mut all = vec![PollFd::new(self.process.as_fd(), PollFlags::POLLIN)];
        all.extend(ends.map(|end| PollFd::new(end.as_fd(), PollFlags::POLLIN)));
        // Rounded up, so that the last part of a millisecond is slept and not spun through.
        let millis = until.left().as_nanos().div_ceil(1_000_000);
        match poll(
            &mut all,
            PollTimeout::try_from(millis).unwrap_or(PollTimeout::MAX),
        ) {
            Ok(_) => Ok(all[0].any().unwrap_or(false)),
            Err(Errno::EINTR) => Ok(false),
            Err(e) => Err(e.into()),
        }
    }
}

impl Pipe {
    fn of(end: Option<OwnedFd>) -> io::Result<Self> {
        if let Some(end) = &end {
            let flags = OFlag::from_bits_retain(fcntl(end, FcntlArg::F_GETFL)?);
            fcntl(end, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
        }
        Ok(Self {
            end: end.map(Into::into),
            said: Vec::new(),
        })
    }

    /// Takes what is there. After the program's end that is no more than the pipe holds: what somebody else goes on
    /// writing is not the program's.
    fn take(&mut self, ended: bool) -> io::Result<()> {
        let Some(end) = &mut self.end else {
            return Ok(());
        };
        let most = match ended {
            true => {
                self.said.len()
                    + usize::try_from(fcntl(&*end, FcntlArg::F_GETPIPE_SZ)?).unwrap_or(0)
            }
            false => MOST + 1,
        };
        let mut chunk = [0; 16 << 10];
        while self.said.len() < most {
            let room = chunk.len().min(most - self.said.len());
            match end.read(&mut chunk[..room]) {
                Ok(0) => {
                    self.end = None;
                    return Ok(());
                }
                Ok(n) => self.said.extend_from_slice(&chunk[..n]),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}
