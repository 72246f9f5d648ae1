//! The far end of a path-MTU search: confirms every intact probe with a small packet.

use std::net::IpAddr;
use std::os::fd::AsFd;
use std::thread::{self, JoinHandle};

use hawser_model::traffic::RunKey;
use hawser_model::units::Nanos;
use socket2::{SockAddr, Socket, Type};

use super::{CONFIRMATIONS, PROBES};
use crate::error::{LARGEST_PAYLOAD, WireError};
use crate::packet::{self, HEADER_BYTES, Template};
use crate::socket;
use crate::udp::read::{Reader, Reading};
use crate::waiting::Stop;

/// Answers searches until it is dropped.
pub struct PathMtuResponder {
    port: u16,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

impl PathMtuResponder {
    /// Binds an ephemeral port on `address` and answers probes that carry the run's key.
    ///
    /// # Errors
    /// [`WireError::Call`] when the socket or thread cannot be made.
    pub fn open(address: IpAddr, key: RunKey) -> Result<Self, WireError> {
        let socket = socket::bound(Type::DGRAM, socket::scoped(address, 0, address)?)?;
        let port = socket::port(&socket)?;
        let stop = Stop::new()?;
        let told = stop.clone();
        let thread = thread::Builder::new()
            .name("hawser-path-mtu".to_owned())
            .spawn(move || answer(&socket, key, &told))
            .map_err(WireError::call("clone", "path MTU thread"))?;
        Ok(Self {
            port,
            stop,
            thread: Some(thread),
        })
    }

    /// Where to send probes.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for PathMtuResponder {
    fn drop(&mut self) {
        self.stop.tell(Nanos::ZERO);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed; there is nobody else to tell.
            let _ = thread.join();
        }
    }
}

fn answer(socket: &Socket, key: RunKey, stop: &Stop) {
    let mut reader = Reader::new(Reading::Batched, LARGEST_PAYLOAD as usize);
    let template = Template::new(key, CONFIRMATIONS, HEADER_BYTES);
    while stop.told().is_none() {
        if !stop.wait(socket.as_fd(), None) {
            continue;
        }
        // A probe that cannot be read or answered is one that was not confirmed.
        let _ = reader.read(socket.as_fd(), |datagram, from| {
            if let (Ok(probe), Some(from)) = (packet::parse(datagram), from()) {
                if probe.key == key && probe.flow == PROBES {
                    let answer = template.packet(probe.sequence, probe.sent_at);
                    let _ = socket.send_to(&answer, &SockAddr::from(from));
                }
            }
            false
        });
    }
}
