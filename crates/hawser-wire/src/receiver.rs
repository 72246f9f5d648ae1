//! The receiving end of a flow.

use std::time::Duration;

use hawser_model::traffic::{FlowSpec, ReceiverReport, RunKey, Transport};
use hawser_model::units::{Nanos, Packets};

use crate::error::WireError;
use crate::tcp::receive::TcpReceiver;
use crate::udp::receive::UdpReceiver;

/// A flow's receiver: it reads from the moment it is open.
///
/// With [`Batching::Segment`](hawser_model::traffic::Batching::Segment) the kernel joins
/// packets before they reach the socket (`UDP_GRO`), and what it counts at the socket, drops
/// included, are joined ones: such a flow measures speed. An account that must balance to the
/// packet needs [`Batching::Mmsg`](hawser_model::traffic::Batching::Mmsg).
pub struct Receiver {
    inner: Inner,
}

enum Inner {
    Udp(UdpReceiver),
    Tcp(TcpReceiver),
}

impl Receiver {
    /// Binds an ephemeral port on the receiver's address (or the group, and joins it) and
    /// starts reading.
    ///
    /// # Errors
    /// [`WireError::Call`] when the kernel refuses, the others when the specification asks
    /// for what cannot be.
    pub fn open(spec: &FlowSpec, key: RunKey) -> Result<Self, WireError> {
        Self::open_at(spec, key, 0)
    }

    /// As [`Self::open`] on a given port: for several hosts that receive one multicast flow.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_at(spec: &FlowSpec, key: RunKey, port: u16) -> Result<Self, WireError> {
        Self::open_napping(spec, key, port, Nanos::ZERO)
    }

    /// As [`Self::open_at`], with a reader of datagrams that sleeps for `nap` whenever it has emptied
    /// its queue: where many receivers share a few processors, waking all of them for every packet
    /// would cost more than the packets.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_napping(
        spec: &FlowSpec,
        key: RunKey,
        port: u16,
        nap: Nanos,
    ) -> Result<Self, WireError> {
        let inner = match spec.transport {
            Transport::Udp => Inner::Udp(UdpReceiver::open(spec, key, port, nap)?),
            Transport::Tcp => Inner::Tcp(TcpReceiver::open(spec, key, port)?),
        };
        Ok(Self { inner })
    }

    /// The port the sender must send to.
    pub fn port(&self) -> u16 {
        match &self.inner {
            Inner::Udp(receiver) => receiver.port(),
            Inner::Tcp(receiver) => receiver.port(),
        }
    }

    /// Tells the sender's port. Not needed for intact packets; it decides whether a damaged
    /// one from the sender's address is the flow's (corrupted) or not (foreign). Without it
    /// the port of the first intact packet is taken.
    pub fn expect_from(&mut self, port: u16) {
        if let Inner::Udp(receiver) = &mut self.inner {
            receiver.expect_from(port);
        }
    }

    /// The sender is done and used `sent` sequence numbers: reads until nothing has come for
    /// `settle` (a few seconds at most), and reports.
    ///
    /// # Errors
    /// [`WireError::Call`] when reading failed.
    pub fn finish(self, sent: Packets, settle: Duration) -> Result<ReceiverReport, WireError> {
        match self.inner {
            Inner::Udp(receiver) => receiver.finish(sent, settle),
            Inner::Tcp(receiver) => receiver.finish(settle),
        }
    }
}
