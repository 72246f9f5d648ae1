//! The sending side of a UDP flow.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use hawser_model::traffic::{Batching, FlowSpec, Rate, RunKey, SenderReport};
use hawser_model::units::{Bytes, Nanos, Packets};
use socket2::{SockAddr, Socket, Type};

use super::echoes::Echoes;
use super::transmit::Transmitter;
use crate::clock;
use crate::error::{LARGEST_PAYLOAD, WireError};
use crate::pacing::{self, Pacer};
use crate::packet::Template;
use crate::socket;
use crate::sys::option;
use crate::thread::{NotGranted, errno, note, prepare};

/// Packets the kernel cuts from one message at most (`UDP_MAX_SEGMENTS` before Linux 6.9).
const SEGMENTS: u32 = 64;

/// A bound socket, ready to send.
pub(crate) struct UdpSender {
    socket: Socket,
    spec: FlowSpec,
    key: RunKey,
    segments: usize,
    not_granted: NotGranted,
}

/// What the sending thread found.
#[derive(Default)]
struct Transmission {
    report: SenderReport,
    not_granted: NotGranted,
}

impl UdpSender {
    pub(crate) fn open(spec: &FlowSpec, key: RunKey) -> Result<Self, WireError> {
        socket::validate(spec)?;
        let socket = socket::bound(Type::DGRAM, socket::scoped(spec.source, 0, spec.source)?)?;
        socket::prepare_sender(&socket, spec)?;
        let mut not_granted = NotGranted::new();
        let segments = segments(&socket, spec, &mut not_granted);
        Ok(Self {
            socket,
            spec: spec.clone(),
            key,
            segments,
            not_granted,
        })
    }

    pub(crate) fn port(&self) -> Result<u16, WireError> {
        socket::port(&self.socket)
    }

    pub(crate) fn run(self, peer_port: u16, stop: &AtomicBool) -> Result<SenderReport, WireError> {
        let to = socket::scoped(self.spec.destination, peer_port, self.spec.source)?;
        let to = SockAddr::from(to);
        // A connected socket sends faster and learns of refusals (ICMP), but would not hear
        // the echoes of a multicast flow, which come from the receivers' own addresses.
        let connected = !(self.spec.echo && self.spec.destination.is_multicast());
        if connected {
            self.socket
                .connect(&to)
                .map_err(WireError::call("connect", self.spec.destination))?;
        }
        let to = (!connected).then_some(to);
        let echoes = self
            .spec
            .echo
            .then(|| Echoes::start(&self.socket, &self.spec, self.key))
            .transpose()?;
        let sending = thread::scope(|scope| {
            thread::Builder::new()
                .name("hawser-send".to_owned())
                .spawn_scoped(scope, || self.transmit(to, stop))
                .map_err(WireError::call("clone", "sending thread"))?
                .join()
                .map_err(|_| WireError::Thread("sending"))
        })?;
        let mut report = sending.report;
        if let Some(echoes) = echoes {
            let heard = echoes.finish(report.sent.saturating_sub(report.refused_total()))?;
            report.echoed_back = heard.received;
            report.round_trip = Some(heard.round_trip);
        }
        let memory = option::memory(self.socket.as_fd())
            .map_err(WireError::call("getsockopt SO_MEMINFO", self.spec.source))?;
        report.send_buffer = Bytes(u64::from(memory.send_buffer));
        report.not_granted = self.not_granted;
        report.not_granted.extend(sending.not_granted);
        Ok(report)
    }

    fn transmit(&self, to: Option<SockAddr>, stop: &AtomicBool) -> Transmission {
        let spec = &self.spec;
        let mut not_granted = NotGranted::new();
        prepare(spec.sender_cpu, spec.realtime, &mut not_granted);
        let template = Template::new(self.key, spec.flow, spec.payload as usize);
        let mut transmitter = Transmitter::new(self.socket.as_fd(), &template, self.segments, to);
        let start = clock::now();
        let end = start + spec.duration;
        let until = match spec.rate {
            Rate::Max => flood(&mut transmitter, end, stop),
            Rate::PerSecond(rate) => {
                let pacer = Pacer::new(rate, spec.burst, start);
                pace(
                    &mut transmitter,
                    pacer,
                    pacing::total(rate, spec.duration),
                    end,
                    stop,
                )
            }
        };
        let sent = transmitter.sent();
        Transmission {
            report: SenderReport {
                sent,
                refused: transmitter.finish().finish(),
                elapsed: until.saturating_sub(start),
                cpu: clock::thread_cpu(),
                ..SenderReport::default()
            },
            not_granted,
        }
    }
}

/// Packets to a message: one, unless segmentation is asked for, makes sense and is granted.
fn segments(socket: &Socket, spec: &FlowSpec, not_granted: &mut NotGranted) -> usize {
    let fit = (LARGEST_PAYLOAD / spec.payload).min(SEGMENTS);
    if spec.batching != Batching::Segment || fit < 2 {
        return 1;
    }
    let set = option::set_int(
        socket.as_fd(),
        libc::SOL_UDP,
        libc::UDP_SEGMENT,
        spec.payload as libc::c_int,
    );
    let granted = set.is_ok();
    note(not_granted, "UDP_SEGMENT", set.map_err(|e| errno(&e)));
    if granted { fit as usize } else { 1 }
}

/// Sends without a pause until `end` or told to stop; when it was done.
fn flood(transmitter: &mut Transmitter<'_>, end: Nanos, stop: &AtomicBool) -> Nanos {
    loop {
        transmitter.burst(transmitter.batch_packets(), end);
        let now = clock::now();
        if now >= end || stop.load(Ordering::Relaxed) {
            return now;
        }
    }
}

/// Sends `total` packets on schedule, until `end` or told to stop; when the last one's turn was
/// over.
fn pace(
    transmitter: &mut Transmitter<'_>,
    mut pacer: Pacer,
    total: u64,
    end: Nanos,
    stop: &AtomicBool,
) -> Nanos {
    loop {
        let due = pacer.due();
        let left = Packets(total).saturating_sub(transmitter.sent());
        if left.is_zero() || due >= end {
            return due.min(end).max(clock::now().min(end));
        }
        clock::wait_until(due);
        let now = clock::now();
        if now >= end || stop.load(Ordering::Relaxed) {
            return now;
        }
        transmitter.burst(left.0.min(pacer.burst()), end);
        pacer.sent(now);
    }
}
