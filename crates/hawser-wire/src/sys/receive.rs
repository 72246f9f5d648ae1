//! `recvmmsg(2)` into buffers that are made once, and returning messages to their senders.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::zeroed;

/// Room for one `UDP_GRO` control message: header and an int, aligned (32 bytes on 64 bit).
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; 64]);

/// Buffers for messages that are read together.
///
/// As in [`super::send::SendBatch`] the kernel's view points into boxes that never grow.
pub(crate) struct ReceiveBatch {
    bytes: Box<[u8]>,
    capacity: usize,
    names: Box<[libc::sockaddr_storage]>,
    controls: Box<[Control]>,
    vectors: Box<[libc::iovec]>,
    headers: Box<[libc::mmsghdr]>,
    /// Messages marked to go back, with vectors of their own since lengths differ.
    back: Box<[libc::mmsghdr]>,
    back_vectors: Box<[libc::iovec]>,
    returning: usize,
}

impl ReceiveBatch {
    /// Room for `slots` messages of at most `capacity` bytes.
    pub(crate) fn new(slots: usize, capacity: usize) -> Self {
        let headers = || vec![zeroed!(libc::mmsghdr); slots].into_boxed_slice();
        let vectors = || vec![zeroed!(libc::iovec); slots].into_boxed_slice();
        let mut batch = Self {
            bytes: vec![0; slots * capacity].into_boxed_slice(),
            capacity,
            names: vec![zeroed!(libc::sockaddr_storage); slots].into_boxed_slice(),
            controls: vec![Control([0; 64]); slots].into_boxed_slice(),
            vectors: vectors(),
            headers: headers(),
            back: headers(),
            back_vectors: vectors(),
            returning: 0,
        };
        let slots = batch.bytes.chunks_exact_mut(capacity);
        for ((slot, vector), header) in slots.zip(&mut batch.vectors).zip(&mut batch.headers) {
            vector.iov_base = slot.as_mut_ptr().cast();
            vector.iov_len = capacity;
            header.msg_hdr.msg_iov = vector;
            header.msg_hdr.msg_iovlen = 1;
        }
        batch
    }

    /// Messages it has room for.
    pub(crate) fn slots(&self) -> usize {
        self.headers.len()
    }

    /// Reads what is queued, without waiting; zero when nothing is.
    pub(crate) fn receive(&mut self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        self.returning = 0;
        let buffers = self.names.iter_mut().zip(&mut self.controls);
        for (header, (name, control)) in self.headers.iter_mut().zip(buffers) {
            let header = &mut header.msg_hdr;
            header.msg_name = std::ptr::from_mut(name).cast();
            header.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
            header.msg_control = control.0.as_mut_ptr().cast();
            header.msg_controllen = control.0.len() as _;
        }
        // SAFETY: a valid array of its length; every pointer leads to a buffer this batch
        // owns, with its real size beside it.
        let count = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.headers.as_mut_ptr(),
                self.headers.len() as libc::c_uint,
                libc::MSG_DONTWAIT as _,
                std::ptr::null_mut(),
            )
        };
        usize::try_from(count).or_else(|_| match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            error if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            error => Err(error),
        })
    }

    /// The bytes of a message that was just read.
    pub(crate) fn payload(&self, slot: usize) -> &[u8] {
        let length = self.headers[slot].msg_len as usize;
        &self.bytes[slot * self.capacity..][..length.min(self.capacity)]
    }

    /// Who sent it.
    pub(crate) fn from(&self, slot: usize) -> Option<SocketAddr> {
        super::address(&self.names[slot])
    }

    /// Bytes of each of the packets the kernel joined into this message (`UDP_GRO`).
    pub(crate) fn segment(&self, slot: usize) -> Option<usize> {
        let header = &self.headers[slot].msg_hdr;
        if (header.msg_controllen as u64) < size_of::<libc::cmsghdr>() as u64 {
            return None;
        }
        // SAFETY: msg_control points to this slot's control buffer, which the kernel filled
        // up to msg_controllen; CMSG_FIRSTHDR checks that a whole header fits.
        let message = unsafe { libc::CMSG_FIRSTHDR(header).as_ref() }?;
        if message.cmsg_level != libc::SOL_UDP || message.cmsg_type != libc::UDP_GRO {
            return None;
        }
        // SAFETY: a UDP_GRO message carries one int (udp(7)).
        let size = unsafe {
            libc::CMSG_DATA(message)
                .cast::<libc::c_int>()
                .read_unaligned()
        };
        usize::try_from(size).ok().filter(|size| *size > 0)
    }

    /// Marks a message that was just read to be sent back as it is.
    pub(crate) fn send_back(&mut self, slot: usize) {
        let length = self.payload(slot).len();
        let vector = &mut self.back_vectors[self.returning];
        vector.iov_base = self.vectors[slot].iov_base;
        vector.iov_len = length;
        let back = &mut self.back[self.returning].msg_hdr;
        back.msg_iov = vector;
        back.msg_iovlen = 1;
        back.msg_name = self.headers[slot].msg_hdr.msg_name;
        back.msg_namelen = self.headers[slot].msg_hdr.msg_namelen;
        self.returning += 1;
    }

    /// Sends the marked messages back; how many the kernel took.
    pub(crate) fn flush_back(&mut self, socket: BorrowedFd<'_>) -> u64 {
        let mut taken = 0;
        let mut next = 0;
        while next < self.returning {
            let headers = &mut self.back[next..self.returning];
            // SAFETY: a valid array of its length, whose pointers lead to this batch's own
            // name and payload buffers.
            let count = unsafe {
                libc::sendmmsg(
                    socket.as_raw_fd(),
                    headers.as_mut_ptr(),
                    headers.len() as libc::c_uint,
                    libc::MSG_NOSIGNAL,
                )
            };
            let count = usize::try_from(count).unwrap_or(0);
            taken += count as u64;
            // The one after those that were taken was refused: skip exactly that one.
            next += count + 1;
        }
        self.returning = 0;
        taken
    }
}
