//! Netlink: one request at a time on a blocking socket, answers handed out as byte slices.
//!
//! Only the attributes that are counted are decoded, and a kernel structure may be longer or
//! shorter than the one known here: a message that grew must not cost the whole reading.

mod attributes;

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send,
    setsockopt, socket, sockopt,
};
use nix::sys::time::{TimeVal, TimeValLike};

pub(crate) use attributes::{attribute, attributes, find, mac, text, u16_at, u32_at, u64_at};

use crate::KernelError;

const HEADER: usize = 16;
const NLM_F_REQUEST: u16 = 0x01;
const NLM_F_ACK: u16 = 0x04;
const NLM_F_DUMP: u16 = 0x300;
const NLM_F_DUMP_INTR: u16 = 0x10;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;

/// How often a dump that the kernel marked as interrupted by a change is asked for again.
const DUMP_TRIES: u32 = 4;

/// A netlink socket of the network namespace in which it was opened.
pub(crate) struct Netlink {
    socket: OwnedFd,
    sequence: u32,
    buffer: Vec<u8>,
}

impl Netlink {
    /// The socket in `slot`, opened if there is none yet.
    pub(crate) fn in_slot(
        slot: &mut Option<Self>,
        protocol: SockProtocol,
    ) -> Result<&mut Self, KernelError> {
        Ok(match slot {
            Some(socket) => socket,
            none => none.insert(Self::open(protocol)?),
        })
    }

    pub(crate) fn open(protocol: SockProtocol) -> Result<Self, KernelError> {
        let fail = |e: Errno| KernelError::netlink("socket", e);
        let socket = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            protocol,
        )
        .map_err(fail)?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0)).map_err(fail)?;
        // A dump answers at once; the limit only keeps a kernel bug from blocking an agent.
        setsockopt(&socket, sockopt::ReceiveTimeout, &TimeVal::seconds(2)).map_err(fail)?;
        Ok(Self {
            socket,
            sequence: 0,
            // The kernel fills at most 32 KiB per message of a dump (`netlink_dump`).
            buffer: vec![0; 32 * 1024],
        })
    }

    /// Asks for a dump and hands each answer's body (after the netlink header) to `each`.
    ///
    /// A dump that was interrupted by a change of the dumped objects is repeated, so `start`
    /// is called before each try, for the caller to start over.
    pub(crate) fn dump<S>(
        &mut self,
        request: &'static str,
        message_type: u16,
        body: &[u8],
        start: impl Fn() -> S,
        mut each: impl FnMut(&mut S, &[u8]),
    ) -> Result<S, KernelError> {
        for _ in 0..DUMP_TRIES {
            let mut state = start();
            if self.exchange(request, message_type, NLM_F_DUMP, body, |b| {
                each(&mut state, b);
            })? {
                return Ok(state);
            }
        }
        Err(KernelError::netlink(
            request,
            io::Error::other("the objects kept changing while they were dumped"),
        ))
    }

    /// Asks for one object and hands the answer's body to `each`.
    pub(crate) fn get(
        &mut self,
        request: &'static str,
        message_type: u16,
        body: &[u8],
        each: impl FnMut(&[u8]),
    ) -> Result<(), KernelError> {
        self.exchange(request, message_type, NLM_F_ACK, body, each)
            .map(|_| ())
    }

    /// Changes one object; `flags` beside those of a request that is acknowledged.
    pub(crate) fn change(
        &mut self,
        request: &'static str,
        message_type: u16,
        flags: u16,
        body: &[u8],
    ) -> Result<(), KernelError> {
        self.exchange(request, message_type, NLM_F_ACK | flags, body, |_| {})
            .map(|_| ())
    }

    /// True when the answer is consistent, false when a dump was interrupted.
    fn exchange(
        &mut self,
        request: &'static str,
        message_type: u16,
        flags: u16,
        body: &[u8],
        mut each: impl FnMut(&[u8]),
    ) -> Result<bool, KernelError> {
        let fail = |e: Errno| KernelError::netlink(request, e);
        self.sequence += 1;
        let mut message = Vec::with_capacity(HEADER + body.len());
        message.extend(((HEADER + body.len()) as u32).to_ne_bytes());
        message.extend(message_type.to_ne_bytes());
        message.extend((NLM_F_REQUEST | flags).to_ne_bytes());
        message.extend(self.sequence.to_ne_bytes());
        message.extend(0u32.to_ne_bytes());
        message.extend(body);
        send(self.socket.as_raw_fd(), &message, MsgFlags::empty()).map_err(fail)?;

        let mut consistent = true;
        loop {
            let n = recv(
                self.socket.as_raw_fd(),
                &mut self.buffer,
                MsgFlags::MSG_TRUNC,
            )
            .map_err(fail)?;
            if n > self.buffer.len() {
                // The rest of the answer is lost with the tail of this message.
                return Err(KernelError::netlink(
                    request,
                    io::Error::other(format!("an answer of {n} bytes was cut")),
                ));
            }
            let mut rest = &self.buffer[..n];
            while let (Some(length), Some(kind), Some(flags), Some(sequence)) = (
                u32_at(rest, 0),
                u16_at(rest, 4),
                u16_at(rest, 6),
                u32_at(rest, 8),
            ) {
                let length = length as usize;
                let Some(message) = rest.get(..length).filter(|m| m.len() >= HEADER) else {
                    break;
                };
                rest = rest.get(length.next_multiple_of(4)..).unwrap_or(&[]);
                if sequence != self.sequence {
                    continue; // The tail of an earlier request that ended in an error.
                }
                consistent &= flags & NLM_F_DUMP_INTR == 0;
                match kind {
                    NLMSG_DONE => return Ok(consistent),
                    NLMSG_ERROR => {
                        let code = u32_at(message, HEADER).unwrap_or(0) as i32;
                        return match code {
                            0 => Ok(consistent),
                            code => Err(fail(Errno::from_raw(-code))),
                        };
                    }
                    _ => each(&message[HEADER..]),
                }
            }
        }
    }
}
