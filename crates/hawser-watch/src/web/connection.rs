//! A client's connection, plain or with TLS: bytes with a deadline for all of them, until it stays open.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use hawser_tool::Deadline;

use super::tls::{Session, Tls};

/// A client's connection.
pub struct Connection {
    socket: Timed,
    tls: Option<Session>,
}

impl Connection {
    /// All that is read and written by it until then takes no longer, a handshake with it: however slowly the other side
    /// sends or takes.
    ///
    /// # Errors
    /// There is no session to be had.
    pub fn new(socket: TcpStream, tls: Option<&Tls>, until: Deadline) -> io::Result<Self> {
        Ok(Self {
            socket: Timed {
                socket,
                until: Some(until),
            },
            tls: tls.map(Tls::session).transpose()?,
        })
    }

    /// It stays open from now on, without a deadline, and never waits.
    ///
    /// # Errors
    /// The system's.
    pub fn stay_open(&mut self) -> io::Result<&TcpStream> {
        self.socket.until = None;
        self.socket.socket.set_nonblocking(true)?;
        Ok(&self.socket.socket)
    }

    /// Nothing more is written to it.
    ///
    /// # Errors
    /// It is gone, or the time is over.
    pub fn end(&mut self) -> io::Result<()> {
        if let Some(tls) = &mut self.tls {
            tls.end();
        }
        self.flush()
    }
}

impl Read for Connection {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match &mut self.tls {
            Some(tls) => tls.read(&mut self.socket, bytes),
            None => self.socket.read(bytes),
        }
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.tls {
            Some(tls) => tls.write(&mut self.socket, bytes),
            None => self.socket.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.tls {
            Some(tls) => tls.flush(&mut self.socket),
            None => self.socket.flush(),
        }
    }
}

/// A socket whose every call ends by the deadline: a client that sends a byte now and then gets no more time by that.
pub(super) struct Timed {
    socket: TcpStream,
    until: Option<Deadline>,
}

impl Read for Timed {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if let Some(until) = self.until {
            self.socket.set_read_timeout(Some(until.limit()?))?;
        }
        self.socket.read(bytes)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(until) = self.until {
            self.socket.set_write_timeout(Some(until.limit()?))?;
        }
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}
