//! The tgtd that runs on this host.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hawser_files::FileError;
use hawser_host::Clock;
use hawser_tool::Deadline;
use hawser_tool::processes::Process;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, UnixAddr, connect, getsockopt, socket, sockopt,
};

use super::current::Session;
use super::instance::Instance;
use super::operations::Operation;
use super::show::{self, ShowError};
use super::wire::{self, Mode, Request};
use crate::exports::desired::Portal;

/// tgtd's management socket (`usr/tgtadm.h`), of its first control port.
pub const SOCKET: &str = "/var/run/tgtd/socket.0";

/// How long clients' last commands may take when a unit is taken away.
const LAST_COMMANDS: Duration = Duration::from_secs(30);

/// How long tgtd, which does one thing at a time, may take to answer while it works.
const ANSWER: Duration = Duration::from_secs(30);

/// How long one that neither computes nor waits for a disk may say nothing: it hangs, and does not close a unit of a
/// slow pool.
const IDLE: Duration = Duration::from_secs(2);

/// How often it is looked at for that, in milliseconds.
const GLANCE: u8 = 50;

/// How long a tgtd that is busy is left alone before it is asked again.
const PAUSE: Duration = Duration::from_millis(10);

/// What says that there is no such unit.
const NO_UNIT: [u32; 2] = [wire::NO_TARGET, wire::NO_UNIT];

/// How long an answer may be: some hundred thousand clients.
const LONGEST: usize = 64 << 20;

/// tgtd on this host.
#[derive(Clone, Debug)]
pub struct Daemon {
    socket: PathBuf,
    until: Option<Deadline>,
    answer: Duration,
    works: fn(i32) -> bool,
}

/// What went wrong with it.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// It is not there.
    #[error("tgtd is not installed")]
    NotInstalled,
    /// It does not run.
    #[error("tgtd does not run here ({0}): systemctl enable --now tgt")]
    NotRunning(String),
    /// It does not talk.
    #[error(transparent)]
    Io(#[from] FileError),
    /// It runs and does not answer.
    #[error("tgtd does not answer on {socket} within {seconds:.0} s: it hangs")]
    Silent {
        /// The socket.
        socket: String,
        /// How long was waited.
        seconds: f64,
    },
    /// It answers something unexpected.
    #[error(transparent)]
    Show(#[from] ShowError),
    /// What is to be made is there, and somebody else's.
    #[error("{what}: it exists in tgtd already, and was not made by hawser")]
    Foreign {
        /// What was asked, in words.
        what: String,
    },
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
        Self::at(SOCKET)
    }
}

impl Daemon {
    /// The one that listens here.
    pub fn at(socket: impl Into<PathBuf>) -> Self {
        Self {
            socket: socket.into(),
            until: None,
            answer: ANSWER,
            works: |pid| Process::of(pid).is_some_and(|process| process.works()),
        }
    }

    /// The same, of whose process this says whether it is at work.
    #[cfg(test)]
    pub(in crate::exports) fn working(&self, works: fn(i32) -> bool) -> Self {
        Self {
            works,
            ..self.clone()
        }
    }

    /// The same, which must answer each question within so long.
    #[must_use]
    pub fn answering_within(&self, answer: Duration) -> Self {
        Self {
            answer,
            ..self.clone()
        }
    }

    /// The same, which must answer everything that it is asked until then.
    #[must_use]
    pub fn until(&self, until: impl Into<Option<Deadline>>) -> Self {
        Self {
            until: self.until.into_iter().chain(until.into()).min(),
            ..self.clone()
        }
    }

    /// Which one runs, and whether one does, which is to answer a whole question. One who connects and says
    /// nothing stays in tgtd's table for good, and tgtd reads from him in a circle: it takes the end for a
    /// request that is not yet complete (`mgmt.c`).
    pub fn instance(&self) -> Result<Option<Instance>, DaemonError> {
        match self.exchange(&Request::show(Mode::Portal)) {
            Err(DaemonError::NotRunning(_)) => Ok(None),
            answered => answered.map(|(instance, _, _)| Some(instance)),
        }
    }

    /// Whether it has a target of this number.
    pub fn has_target(&self, tid: u32) -> Result<bool, DaemonError> {
        let counts = Request::count(Mode::Target, tid);
        let there = self.answer("look for a target", &counts, &[wire::NO_TARGET]);
        Ok(there?.is_some())
    }

    /// Whether a target has a unit of this number.
    pub fn has_unit(&self, tid: u32, lun: u16) -> Result<bool, DaemonError> {
        let counts = Request::count(Mode::Unit, tid).unit(lun);
        Ok(self.answer("look for a unit", &counts, &NO_UNIT)?.is_some())
    }

    /// Who is logged in to a target, by number. Every session sees the controller.
    pub fn sessions(&self, tid: u32) -> Result<Vec<Session>, DaemonError> {
        let counts = Request::count(Mode::Unit, tid).unit(0);
        let text = self.answer("look for sessions", &counts, &NO_UNIT)?;
        let mut sessions = Vec::new();
        for id in show::sessions(&text.unwrap_or_default())? {
            let counts = Request::count(Mode::Session, tid).connection(id, 0);
            let text = self.answer("look for connections", &counts, &[wire::NO_SESSION])?;
            if let Some(text) = text {
                let connections = show::connections(&text)?.into_iter();
                let connections = connections.filter_map(|number| u32::try_from(number).ok());
                let connections = connections.collect();
                sessions.push(Session { id, connections });
            }
        }
        Ok(sessions)
    }

    /// What those who are logged in to a target call themselves, for people.
    pub fn initiators(&self, tid: u32) -> Result<Vec<String>, DaemonError> {
        let ids: BTreeSet<u64> = self
            .sessions(tid)?
            .iter()
            .map(|session| session.id)
            .collect();
        let mut request = Request::new(wire::Op::Show, Mode::Connection, tid);
        request = request.connection(0, 0);
        let names = match self.ask(&request)? {
            (0, text) => show::initiators(&text, &ids),
            _ => BTreeMap::new(),
        };
        let name = |id: &u64| names.get(id).cloned();
        let all = ids
            .iter()
            .map(|id| name(id).unwrap_or_else(|| format!("session {id}")));
        Ok(all.collect())
    }

    /// Its accounts.
    pub fn accounts(&self) -> Result<BTreeSet<String>, DaemonError> {
        Ok(show::accounts(&self.show(Mode::Account)?))
    }

    /// Where it listens.
    pub fn portals(&self) -> Result<BTreeSet<Portal>, DaemonError> {
        Ok(show::portals(&self.show(Mode::Portal)?)?)
    }

    /// Does one operation; what is done already is done. Waits for clients' last commands when a unit goes,
    /// and cuts off who comes while a target goes. `what` names it in errors, `secret` is an account's.
    pub fn perform(
        &self,
        operation: &Operation,
        secret: &str,
        what: &str,
    ) -> Result<(), DaemonError> {
        let request = operation.request(secret);
        let mut error = 0;
        let answered = Deadline::after(LAST_COMMANDS).ask(PAUSE, || {
            (error, _) = self.ask(&request)?;
            if !wire::BUSY.contains(&error) {
                return Ok(Some(()));
            }
            if let (wire::CONNECTED, Some(tid)) = (error, operation.target()) {
                self.cut(tid)?;
            }
            Ok::<_, DaemonError>(None)
        });
        answered?;
        let what = what.to_owned();
        match error {
            0 => Ok(()),
            error if operation.is_done(error) => Ok(()),
            error if operation.is_foreign(error) => Err(DaemonError::Foreign { what }),
            error => {
                let reason = wire::error(error);
                Err(DaemonError::Refused { what, reason })
            }
        }
    }

    fn cut(&self, tid: u32) -> Result<(), DaemonError> {
        for session in self.sessions(tid)? {
            for connection in session.connections {
                let session = session.id;
                let cut = Operation::Disconnect {
                    tid,
                    session,
                    connection,
                };
                self.ask(&cut.request(""))?;
            }
        }
        Ok(())
    }

    fn show(&self, mode: Mode) -> Result<String, DaemonError> {
        let text = self.answer("show", &Request::show(mode), &[])?;
        Ok(text.unwrap_or_default())
    }

    /// The answer; `None` when the error is one that says that there is `no` such thing.
    fn answer(
        &self,
        what: &str,
        request: &Request,
        no: &[u32],
    ) -> Result<Option<String>, DaemonError> {
        match self.ask(request)? {
            (0, text) => Ok(Some(text)),
            (error, _) if no.contains(&error) => Ok(None),
            (error, _) => Err(DaemonError::Refused {
                what: what.to_owned(),
                reason: wire::error(error),
            }),
        }
    }

    fn ask(&self, request: &Request) -> Result<(u32, String), DaemonError> {
        let (_, error, text) = self.exchange(request)?;
        Ok((error, text))
    }

    fn exchange(&self, request: &Request) -> Result<(Instance, u32, String), DaemonError> {
        let clock = &Clock::default();
        let begun = clock.now();
        let answer = Deadline::after(self.answer);
        let until = self.until.map_or(answer, |until| until.min(answer));
        let socket = || self.socket.display().to_string();
        let failed = |call: &'static str| {
            move |source: std::io::Error| match source.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut => DaemonError::Silent {
                    socket: socket(),
                    seconds: clock.since(begun).as_secs_f64(),
                },
                ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
                    DaemonError::NotRunning(socket())
                }
                _ => FileError::io(call, &self.socket)(source).into(),
            }
        };
        let mut stream = connected(&self.socket, until).map_err(failed("connect to"))?;
        let peer = getsockopt(&stream, sockopt::PeerCredentials)
            .map_err(|errno| failed("ask who listens on")(errno.into()))?;
        let instance = Instance::of(peer.pid());
        write(&mut stream, &request.bytes(), until).map_err(failed("write to"))?;
        heard(&stream, until, || (self.works)(peer.pid())).map_err(failed("read from"))?;
        let mut head = [0; wire::ANSWER];
        read(&mut stream, &mut head, until).map_err(failed("read from"))?;
        let (error, length) = wire::answer(head);
        let mut text = vec![0; if error == 0 { length.min(LONGEST) } else { 0 }];
        read(&mut stream, &mut text, until).map_err(failed("read from"))?;
        let text = String::from_utf8_lossy(&text);
        Ok((instance, error, text.trim_end_matches('\0').to_owned()))
    }
}

/// Connects without ever waiting in the kernel: one that hangs has a full queue, and `connect` has no end there.
fn connected(path: &Path, until: Deadline) -> std::io::Result<UnixStream> {
    let address = UnixAddr::new(path)?;
    let connected = until.ask(PAUSE, || {
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let end = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
        match connect(end.as_raw_fd(), &address) {
            Err(Errno::EAGAIN) => Ok(None),
            connected => connected.map(|()| Some(UnixStream::from(end))),
        }
    })?;
    let stream = connected.ok_or(ErrorKind::TimedOut)?;
    stream.set_nonblocking(false)?;
    Ok(stream)
}

fn write(stream: &mut UnixStream, bytes: &[u8], until: Deadline) -> std::io::Result<()> {
    stream.set_write_timeout(Some(until.limit()?))?;
    stream.write_all(bytes)
}

/// Waits for the beginning of an answer, which one that is not at work has no reason to keep back.
fn heard(stream: &UnixStream, until: Deadline, works: impl Fn() -> bool) -> std::io::Result<()> {
    let mut idle = Deadline::after(IDLE);
    let heard = until.ask(Duration::ZERO, || {
        let mut ends = [PollFd::new(stream.as_fd(), PollFlags::POLLIN)];
        if poll(&mut ends, PollTimeout::from(GLANCE))? > 0 {
            return Ok(Some(()));
        }
        if works() {
            idle = Deadline::after(IDLE);
        }
        idle.limit().map(|_| None)
    });
    heard?.ok_or_else(|| ErrorKind::TimedOut.into())
}

fn read(stream: &mut UnixStream, bytes: &mut [u8], until: Deadline) -> std::io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        stream.set_read_timeout(Some(until.limit()?))?;
        match stream.read(&mut bytes[done..])? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            some => done += some,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::socket::{Backlog, bind, listen};

    #[test]
    fn one_that_hangs_is_told_from_one_that_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let daemon = Daemon::at(&path);
        let soon = || daemon.until(Deadline::after(Duration::from_millis(50)));
        assert_eq!(soon().instance().unwrap(), None);
        let kind = SockType::Stream;
        let listener = socket(AddressFamily::Unix, kind, SockFlag::SOCK_CLOEXEC, None).unwrap();
        bind(listener.as_raw_fd(), &UnixAddr::new(&path).unwrap()).unwrap();
        listen(&listener, Backlog::new(1).unwrap()).unwrap();
        // Its queue fills up, and a connect that waits would wait for ever.
        for _ in 0..4 {
            let error = soon().instance().unwrap_err();
            assert!(matches!(error, DaemonError::Silent { .. }), "{error}");
        }
        drop(listener);
        assert_eq!(soon().instance().unwrap(), None);
    }
}
