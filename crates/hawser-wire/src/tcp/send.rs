//! The sending side of a TCP flow.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use hawser_model::traffic::{FlowSpec, Rate, RunKey, SenderReport, StreamState};
use hawser_model::units::{Bytes, Nanos, Packets};
use nix::errno::Errno;
use socket2::{SockAddr, Socket, Type};

use crate::clock;
use crate::error::WireError;
use crate::pacing::{self, Pacer};
use crate::packet::{HEADER_BYTES, Template};
use crate::refusals::Refusals;
use crate::socket;
use crate::sys::option;
use crate::thread::{NotGranted, errno, prepare};

/// A host that does not answer three SYNs (sent at 0, 1 and 3 s) is not there.
const CONNECT: Duration = Duration::from_secs(4);

/// What is still under way at the end is given this long to arrive, but no longer than a quarter
/// of the time that the flow took: a stalled stream would never end.
const LINGER: Duration = Duration::from_secs(2);
const LEAST_LINGER: Duration = Duration::from_millis(50);

/// A bound socket, not yet connected.
pub(crate) struct TcpSender {
    socket: Socket,
    spec: FlowSpec,
    key: RunKey,
}

impl TcpSender {
    pub(crate) fn open(spec: &FlowSpec, key: RunKey) -> Result<Self, WireError> {
        socket::validate(spec)?;
        let socket = socket::bound(Type::STREAM, socket::scoped(spec.source, 0, spec.source)?)?;
        socket::prepare_sender(&socket, spec)?;
        Ok(Self {
            socket,
            spec: spec.clone(),
            key,
        })
    }

    pub(crate) fn port(&self) -> Result<u16, WireError> {
        socket::port(&self.socket)
    }

    pub(crate) fn run(self, peer_port: u16, stop: &AtomicBool) -> Result<SenderReport, WireError> {
        let to = socket::scoped(self.spec.destination, peer_port, self.spec.source)?;
        self.socket
            .connect_timeout(&SockAddr::from(to), CONNECT)
            .map_err(WireError::call("connect", to))?;
        let mut report = thread::scope(|scope| {
            thread::Builder::new()
                .name("hawser-stream".to_owned())
                .spawn_scoped(scope, || self.transmit(stop))
                .map_err(WireError::call("clone", "sending thread"))?
                .join()
                .map_err(|_| WireError::Thread("sending"))
        })?;
        let state = option::stream(self.socket.as_fd()).ok();
        let end = self.end();
        report.retransmits = end.retransmits;
        report.segment_size = Some(end.segment);
        report.stream = state;
        let memory = option::memory(self.socket.as_fd())
            .map_err(WireError::call("getsockopt SO_MEMINFO", to))?;
        report.send_buffer = Bytes(u64::from(memory.send_buffer));
        Ok(report)
    }

    fn transmit(&self, stop: &AtomicBool) -> SenderReport {
        let spec = &self.spec;
        let mut not_granted = NotGranted::new();
        prepare(spec.sender_cpu, spec.realtime, &mut not_granted);
        let packet = |bytes| Template::new(self.key, spec.flow, bytes).packet(0, clock::now());
        let greeting = packet(HEADER_BYTES);
        let write = packet(spec.payload as usize);
        let mut stream = Stream {
            socket: &self.socket,
            bytes: 0,
            refusals: Refusals::default(),
            broken: false,
        };
        let start = clock::now();
        let end = start + spec.duration;
        let mut pacer = match spec.rate {
            Rate::Max => None,
            Rate::PerSecond(rate) => Some((
                Pacer::new(rate, spec.burst, start),
                pacing::total(rate, spec.duration),
            )),
        };
        stream.write(&greeting, end);
        let mut writes = 0;
        while !stream.broken {
            let mut count = 1;
            if let Some((pacer, total)) = &mut pacer {
                count = pacer.burst().min(*total - writes);
                if count == 0 || pacer.due() >= end {
                    break;
                }
                clock::wait_until(pacer.due());
                pacer.sent(clock::now());
            }
            if clock::now() >= end || stop.load(Ordering::Relaxed) {
                break;
            }
            for _ in 0..count {
                if stream.write(&write, end) {
                    writes += 1;
                }
            }
        }
        SenderReport {
            sent: Packets(writes),
            refused: stream.refusals.finish(),
            elapsed: clock::now().saturating_sub(start),
            cpu: clock::thread_cpu(),
            stream_bytes: Bytes(stream.bytes),
            not_granted,
            ..SenderReport::default()
        }
    }

    /// Ends the stream, waits until the other side has read it all, and reads its state.
    fn end(&self) -> StreamState {
        // None of this can fail in a way that says more than the numbers do.
        let _ = self.socket.shutdown(std::net::Shutdown::Write);
        let quarter = Duration::from_nanos(self.spec.duration.0 / 4);
        let linger = quarter.clamp(LEAST_LINGER, LINGER);
        let _ = self.socket.set_read_timeout(Some(linger));
        let _ = (&self.socket).read(&mut [0; 1]);
        let info = option::stream(self.socket.as_fd()).unwrap_or_default();
        // What is stuck by now must not go on into the next measurement.
        let _ = self.socket.set_linger(Some(Duration::ZERO));
        info
    }
}

/// A stream being written.
struct Stream<'a> {
    socket: &'a Socket,
    bytes: u64,
    refusals: Refusals,
    broken: bool,
}

impl Stream<'_> {
    /// Writes all of `data`, unless it is still stuck at `end` or the connection breaks.
    fn write(&mut self, data: &[u8], end: Nanos) -> bool {
        let mut rest = data;
        while !rest.is_empty() && !self.broken {
            match (&mut &*self.socket).write(rest) {
                Ok(written) => {
                    self.bytes += written as u64;
                    rest = &rest[written..];
                }
                Err(error) => match errno(&error) {
                    Errno::EINTR => {}
                    Errno::EAGAIN if clock::now() < end => {}
                    Errno::EAGAIN => self.broken = true,
                    error => {
                        self.refusals.named(error, 1);
                        self.broken = true;
                    }
                },
            }
        }
        rest.is_empty()
    }
}
