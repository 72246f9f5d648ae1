//! The sending end of a flow.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hawser_model::traffic::{FlowSpec, RunKey, SenderReport};

use crate::error::WireError;
use crate::udp::send::UdpSender;

/// A flow's sender: its socket is open, nothing is sent yet.
pub struct Sender {
    inner: UdpSender,
    port: u16,
    stop: Arc<AtomicBool>,
}

impl Sender {
    /// Opens the socket on the flow's source address, with an ephemeral port.
    ///
    /// # Errors
    /// [`WireError::Call`] when the kernel refuses, the others when the specification asks
    /// for what cannot be.
    pub fn open(spec: &FlowSpec, key: RunKey) -> Result<Self, WireError> {
        let inner = UdpSender::open(spec, key)?;
        let port = inner.port()?;
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
        self.inner.run(peer_port, &self.stop)
    }
}
