//! Reading datagrams in batches and cutting joined ones apart again.

use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;

use crate::sys::receive::ReceiveBatch;

/// Messages read by one system call.
const MESSAGES: usize = 64;

/// Joined messages (`UDP_GRO`) are up to 64 KiB each; eight of them are 512 KiB of buffers.
const JOINED_MESSAGES: usize = 8;

/// Largest message `UDP_GRO` hands up.
const JOINED_BYTES: usize = 65_536;

/// Bytes of buffers for messages that are not joined.
const BYTES: usize = 1024 * 1024;

/// How datagrams are taken from the kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reading {
    /// One at a time, as a plain program does.
    Single,
    /// Many with one system call.
    Batched,
    /// Many with one system call, joined by the kernel before (`UDP_GRO`).
    Joined,
}

/// Reads a socket's datagrams.
pub(crate) struct Reader {
    batch: ReceiveBatch,
}

impl Reader {
    /// For datagrams of `payload` bytes. Made by the thread that reads.
    pub(crate) fn new(reading: Reading, payload: usize) -> Self {
        // Enough more than the payload that a longer, foreign datagram is seen to be one.
        let capacity = (payload + 64).next_multiple_of(64);
        let batch = match reading {
            Reading::Single => ReceiveBatch::new(1, capacity),
            Reading::Batched => ReceiveBatch::new((BYTES / capacity).clamp(4, MESSAGES), capacity),
            Reading::Joined => ReceiveBatch::new(JOINED_MESSAGES, JOINED_BYTES),
        };
        Self { batch }
    }

    /// Reads what is queued, without waiting, and shows every datagram to `each`, which says
    /// whether it is to be returned to its sender.
    pub(crate) fn read(
        &mut self,
        socket: BorrowedFd<'_>,
        mut each: impl FnMut(&[u8], &dyn Fn() -> Option<SocketAddr>) -> bool,
    ) -> io::Result<Read> {
        let messages = self.batch.receive(socket)?;
        let mut datagrams = 0;
        for message in 0..messages {
            let payload = self.batch.payload(message);
            let size = self.batch.segment(message).unwrap_or(payload.len()).max(1);
            let from = || self.batch.from(message);
            if payload.len() <= size {
                datagrams += 1;
                if each(payload, &from) {
                    self.batch.send_back(message);
                }
                continue;
            }
            for datagram in payload.chunks(size) {
                datagrams += 1;
                each(datagram, &from);
            }
        }
        Ok(Read {
            datagrams,
            emptied: messages < self.batch.slots(),
        })
    }

    /// Returns what `each` wanted returned; how many the kernel took.
    pub(crate) fn flush_back(&mut self, socket: BorrowedFd<'_>) -> u64 {
        self.batch.flush_back(socket)
    }
}

/// What one read found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    /// Datagrams, joined ones counted apart.
    pub(crate) datagrams: u64,
    /// Nothing is left in the queue.
    pub(crate) emptied: bool,
}
