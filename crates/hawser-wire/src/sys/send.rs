//! `sendmmsg(2)` from buffers that are made once.

use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};

use socket2::SockAddr;

use super::zeroed;

/// Messages of equal capacity, ready to be sent together.
///
/// The kernel's view (`iovec`, `mmsghdr`) points into `bytes` and `to`; both are on the heap,
/// never grow and live as long, so the pointers stay valid when the batch is moved.
pub(crate) struct SendBatch {
    bytes: Box<[u8]>,
    capacity: usize,
    vectors: Box<[libc::iovec]>,
    headers: Box<[libc::mmsghdr]>,
    /// Where to, for a socket that is not connected.
    to: Option<Box<SockAddr>>,
}

impl SendBatch {
    /// `slots` messages of at most `capacity` bytes, to the connected peer or to `to`.
    pub(crate) fn new(slots: usize, capacity: usize, to: Option<SockAddr>) -> Self {
        let mut batch = Self {
            bytes: vec![0; slots * capacity].into_boxed_slice(),
            capacity,
            vectors: vec![zeroed!(libc::iovec); slots].into_boxed_slice(),
            headers: vec![zeroed!(libc::mmsghdr); slots].into_boxed_slice(),
            to: to.map(Box::new),
        };
        let slots = batch.bytes.chunks_exact_mut(capacity);
        let vectors = batch.vectors.iter_mut();
        for ((slot, vector), header) in slots.zip(vectors).zip(&mut batch.headers) {
            vector.iov_base = slot.as_mut_ptr().cast();
            vector.iov_len = capacity;
            header.msg_hdr.msg_iov = vector;
            header.msg_hdr.msg_iovlen = 1;
            if let Some(to) = &batch.to {
                header.msg_hdr.msg_name = to.as_ptr().cast_mut().cast();
                header.msg_hdr.msg_namelen = to.len();
            }
        }
        batch
    }

    /// The buffer of one message.
    pub(crate) fn slot(&mut self, slot: usize) -> &mut [u8] {
        &mut self.bytes[slot * self.capacity..][..self.capacity]
    }

    /// How much of a message is sent.
    pub(crate) fn set_len(&mut self, slot: usize, bytes: usize) {
        self.vectors[slot].iov_len = bytes.min(self.capacity);
    }

    /// Hands the messages of `range` to the kernel; how many it took.
    ///
    /// Fewer than asked means that the one after them failed: it was tried, its error is
    /// not reported, and trying it again would send it twice past whatever counted it.
    pub(crate) fn send(
        &mut self,
        socket: BorrowedFd<'_>,
        range: Range<usize>,
    ) -> io::Result<usize> {
        let headers = &mut self.headers[range];
        // SAFETY: `headers` is a valid array of its length; its pointers lead to buffers
        // this batch owns, with the lengths set beside them.
        let taken = unsafe {
            libc::sendmmsg(
                socket.as_raw_fd(),
                headers.as_mut_ptr(),
                headers.len() as libc::c_uint,
                libc::MSG_NOSIGNAL,
            )
        };
        usize::try_from(taken).map_err(|_| io::Error::last_os_error())
    }
}
