//! A receiver that reads nothing: the kernel counts what reaches its socket. It costs no more than the delivery, so
//! that of a host that copies for many receivers the copying is what is measured, and not their programs.
//!
//! A filter drops this flow's packets where they would be queued (`udp_queue_rcv_one_skb`, net/ipv4/udp.c), and the
//! socket counts its drops (`SK_MEMINFO_DROPS`). So contents and sequence are not checked, a packet that came twice
//! counts twice, and the host's `Udp InErrors` rise by as much.

use std::io;
use std::os::fd::AsFd;

use hawser_model::traffic::{FlowSpec, PROBE_MAGIC, RunKey};
use hawser_model::units::{Bytes, Packets};
use socket2::{Socket, Type};

use crate::error::WireError;
use crate::socket;
use crate::sys::{link, option};

/// Room for what is not the flow's.
const KEPT: Bytes = Bytes(64 << 10);

/// A socket that counts its flow's packets from the moment it is open.
pub struct CountingReceiver {
    socket: Socket,
    port: u16,
}

impl CountingReceiver {
    /// Binds `port`, or one of the kernel's choice for 0, on the receiver's address or the group, and joins it.
    ///
    /// # Errors
    /// As [`Receiver::open`](crate::Receiver::open).
    pub fn open(spec: &FlowSpec, key: RunKey, port: u16) -> Result<Self, WireError> {
        socket::validate(spec)?;
        let multicast = spec.destination.is_multicast();
        let address = match multicast {
            true => spec.destination,
            false => spec.receiver,
        };
        let socket = socket::bound(Type::DGRAM, socket::scoped(address, port, spec.receiver)?)?;
        link::attach(socket.as_fd(), &all_but(spec, key))
            .map_err(WireError::call("setsockopt SO_ATTACH_FILTER", address))?;
        // What is not the flow's is kept here: enough to see that it comes.
        socket::ask_receive_buffer(&socket, Some(KEPT))?;
        if multicast {
            socket::join(&socket, spec)?;
        }
        let port = socket::port(&socket)?;
        Ok(Self { socket, port })
    }

    /// The port the sender must send to.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// What has come so far.
    ///
    /// # Errors
    /// [`WireError::Call`] when the socket cannot be asked; or when so much that is not the flow's has been kept that
    /// some of it may have been dropped as well.
    pub fn counted(&self) -> Result<Packets, WireError> {
        let memory = option::memory(self.socket.as_fd())
            .map_err(WireError::call("getsockopt SO_MEMINFO", self.port))?;
        if memory.receive_queued > memory.receive_buffer / 2 {
            let foreign = io::Error::other("packets of other flows fill its queue");
            return Err(WireError::call("count at port", self.port)(foreign));
        }
        Ok(Packets(u64::from(memory.drops)))
    }
}

/// A filter that keeps what is not this run's and flow's, so that only that is dropped and counted. Offsets are from the
/// UDP header (`sk_filter_trim_cap` in `udp_queue_rcv_one_skb`); the fields are those of [`crate::packet`].
fn all_but(spec: &FlowSpec, key: RunKey) -> Vec<libc::sock_filter> {
    const LOAD_WORD: u16 = 0x20;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    const PAYLOAD: u32 = 8;
    let op = |code, k, jt, jf| libc::sock_filter { code, jt, jf, k };
    let [magic, key] = [u64::from_be_bytes(PROBE_MAGIC), key.0];
    let words = [
        (magic >> 32) as u32,
        magic as u32,
        (key >> 32) as u32,
        key as u32,
        spec.flow.0,
    ];
    let mut program = Vec::new();
    for (number, word) in words.iter().enumerate() {
        // To the last instruction from here: those of the words that follow, and the one in between.
        let keep = 2 * (words.len() - 1 - number) + 1;
        program.push(op(LOAD_WORD, PAYLOAD + 4 * number as u32, 0, 0));
        program.push(op(JUMP_IF_EQUAL, *word, 0, keep as u8));
    }
    program.push(op(RETURN, 0, 0, 0));
    program.push(op(RETURN, u32::MAX, 0, 0));
    program
}
