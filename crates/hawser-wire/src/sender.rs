//! The sending end of a flow.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hawser_model::traffic::{FlowSpec, RunKey, SenderReport, Transport};

use crate::error::WireError;
use crate::tcp::send::TcpSender;
use crate::udp::send::UdpSender;

/// A flow's sender: its socket is open, nothing is sent yet.
pub struct Sender {
    inner: Inner,
    port: u16,
    stop: Arc<AtomicBool>,
}

enum Inner {
    Udp(UdpSender),
    Tcp(TcpSender),
}

impl Sender {
    /// Opens the socket on the flow's source address, with an ephemeral port.
    ///
    /// # Errors
    /// [`WireError::Call`] when the kernel refuses, the others when the specification asks
    /// for what cannot be.
    pub fn open(spec: &FlowSpec, key: RunKey) -> Result<Self, WireError> {
        let (inner, port) = match spec.transport {
            Transport::Udp => {
                let sender = UdpSender::open(spec, key)?;
                let port = sender.port()?;
                (Inner::Udp(sender), port)
            }
            Transport::Tcp => {
                let sender = TcpSender::open(spec, key)?;
                let port = sender.port()?;
                (Inner::Tcp(sender), port)
            }
        };
        Ok(Self {
            inner,
            port,
            stop: Arc::default(),
        })
    }

    /// The local port, for the receiver and the collectors to know the flow by.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Set to true, it ends a running flow early: after the burst being sent, or when the next
    /// one is due. The report covers what was sent until then.
    pub fn stop_handle(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Sends to the receiver's port for the flow's duration, and reports.
    ///
    /// # Errors
    /// [`WireError::Call`] when a thread or connection cannot be made. Packets the kernel
    /// refuses are counted in the report instead.
    pub fn run(self, peer_port: u16) -> Result<SenderReport, WireError> {
        match self.inner {
            Inner::Udp(sender) => sender.run(peer_port, &self.stop),
            Inner::Tcp(sender) => sender.run(peer_port, &self.stop),
        }
    }
}
