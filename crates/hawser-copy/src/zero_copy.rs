//! Data that does not pass through the programs: `sendfile(2)` at the sender, `splice(2)` at the
//! receiver. Only without cipher and checksum, which must see every byte.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, SpliceFFlags, fcntl, splice};
use nix::sys::sendfile::sendfile64;
use nix::unistd::pipe;
use socket2::Socket;

use crate::error::CopyError;
use crate::source::Source;

/// The most bytes of one call: the copy can be stopped in between.
const CALL: u64 = 1 << 20;

/// Sends a stretch of a file.
pub(crate) fn send(
    socket: &Socket,
    peer: &str,
    source: &Source,
    file: &File,
    at: u64,
    length: u64,
) -> Result<(), CopyError> {
    let end = at + length;
    let mut offset = at as i64;
    while (offset as u64) < end {
        let part = (end - offset as u64).min(CALL) as usize;
        match sendfile64(socket.as_fd(), file.as_fd(), Some(&mut offset), part) {
            Ok(0) => return Err(source.ended(file, offset as u64)),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error @ (Errno::EIO | Errno::EINVAL | Errno::ESTALE)) => {
                return Err(CopyError::file("sendfile from", source.path())(error));
            }
            Err(error) => return Err(CopyError::connection("sendfile to", peer)(error)),
        }
    }
    Ok(())
}

/// A pipe between a socket and a file.
pub(crate) struct Splicer {
    out: OwnedFd,
    into: OwnedFd,
}

impl Splicer {
    pub(crate) fn new() -> Result<Self, CopyError> {
        let (out, into) = pipe().map_err(CopyError::file("pipe", "between socket and file"))?;
        // Beyond `fs.pipe-max-size` it stays at 64 KiB, which only costs more calls.
        let _ = fcntl(&into, FcntlArg::F_SETPIPE_SZ(CALL as i32));
        Ok(Self { out, into })
    }

    /// Takes what has come, at most `length` bytes, into the pipe.
    pub(crate) fn take(&self, socket: &Socket, peer: &str, length: u64) -> Result<u64, CopyError> {
        let flags = SpliceFFlags::SPLICE_F_MOVE;
        loop {
            let part = length.min(CALL) as usize;
            match splice(socket.as_fd(), None, self.into.as_fd(), None, part, flags) {
                Ok(0) => return Err(CopyError::Closed(peer.to_owned())),
                Ok(bytes) => return Ok(bytes as u64),
                Err(Errno::EINTR) => {}
                Err(error) => return Err(CopyError::connection("splice from", peer)(error)),
            }
        }
    }

    /// Puts `length` bytes of the pipe into the file.
    pub(crate) fn put(
        &self,
        file: &File,
        path: &str,
        at: u64,
        length: u64,
    ) -> Result<(), CopyError> {
        let flags = SpliceFFlags::SPLICE_F_MOVE;
        let mut left = length;
        while left > 0 {
            // Told anew each time: /dev/null takes everything and moves no offset.
            let mut offset = (at + length - left) as i64;
            match splice(
                self.out.as_fd(),
                None,
                file.as_fd(),
                Some(&mut offset),
                left as usize,
                flags,
            ) {
                Ok(0) => return Err(CopyError::file("splice to", path)(Errno::EIO)),
                Ok(bytes) => left -= (bytes as u64).min(left),
                Err(Errno::EINTR) => {}
                Err(error) => return Err(CopyError::file("splice to", path)(error)),
            }
        }
        Ok(())
    }
}
