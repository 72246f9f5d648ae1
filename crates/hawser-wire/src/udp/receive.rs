//! The receiving side of a UDP flow.

use std::os::fd::{AsFd, BorrowedFd};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hawser_model::traffic::{Batching, Drain, FlowSpec, ReceiverReport, RunKey};
use hawser_model::units::{Bytes, Nanos, Packets};
use socket2::{Socket, Type};

use super::read::{Reader, Reading};
use crate::clock;
use crate::drain::DrainMeter;
use crate::error::WireError;
use crate::packet::Template;
use crate::packet_memory::PacketMemory;
use crate::socket;
use crate::sys::option::{self, MemoryInfo};
use crate::tally::Tally;
use crate::thread::{NotGranted, errno, note, prepare, runnable};
use crate::waiting::Stop;

/// A receiver is given this long to find its queue empty, whatever still comes in.
const LONGEST: Nanos = Nanos::from_millis(3_000);

/// And then, at full speed even if it is a slow reader, this much longer.
const GRACE: Nanos = Nanos::from_millis(1_000);

/// A bound socket and the thread that reads it.
pub(crate) struct UdpReceiver {
    port: u16,
    sender_port: Option<u16>,
    asked: Option<Bytes>,
    stop: Stop,
    thread: Option<JoinHandle<std::io::Result<Outcome>>>,
    not_granted: NotGranted,
}

/// What the reading thread found.
struct Outcome {
    tally: Tally,
    drain: DrainMeter,
    packet_memory: PacketMemory,
    memory: MemoryInfo,
    echoed: u64,
    cpu: Nanos,
    runnable: Option<Nanos>,
    not_granted: NotGranted,
}

impl UdpReceiver {
    pub(crate) fn open(
        spec: &FlowSpec,
        key: RunKey,
        port: u16,
        nap: Nanos,
    ) -> Result<Self, WireError> {
        socket::validate(spec)?;
        let multicast = spec.destination.is_multicast();
        let address = if multicast {
            spec.destination
        } else {
            spec.receiver
        };
        let socket = socket::bound(Type::DGRAM, socket::scoped(address, port, spec.receiver)?)?;
        socket::ask_receive_buffer(&socket, spec.receive_buffer)?;
        if multicast {
            socket::join(&socket, spec)?;
        }
        let mut not_granted = NotGranted::new();
        let reading = reading(&socket, spec, &mut not_granted);
        let port = socket::port(&socket)?;
        let stop = Stop::new()?;
        let (spec, told) = (spec.clone(), stop.clone());
        let asked = spec.receive_buffer;
        let thread = thread::Builder::new()
            .name("hawser-receive".to_owned())
            .spawn(move || Loop::new(&socket, &spec, key, &told).run(reading, nap))
            .map_err(WireError::call("clone", "reading thread"))?;
        Ok(Self {
            port,
            sender_port: None,
            asked,
            stop,
            thread: Some(thread),
            not_granted,
        })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn expect_from(&mut self, port: u16) {
        self.sender_port = Some(port);
    }

    pub(crate) fn finish(
        mut self,
        sent: Packets,
        settle: Duration,
    ) -> Result<ReceiverReport, WireError> {
        self.stop
            .tell(Nanos(settle.as_nanos().try_into().unwrap_or(u64::MAX)));
        let thread = self.thread.take().ok_or(WireError::Thread("reading"))?;
        let mut outcome = thread
            .join()
            .map_err(|_| WireError::Thread("reading"))?
            .map_err(WireError::call("read", "probe socket"))?;
        if let Some(port) = self.sender_port {
            outcome.tally.expect_from(port);
        }
        outcome
            .not_granted
            .append(&mut std::mem::take(&mut self.not_granted));
        Ok(ReceiverReport {
            cpu: outcome.cpu,
            drain: Drain {
                runnable: outcome.runnable,
                ..outcome.drain.finish()
            },
            buffer_asked: self.asked,
            buffer_granted: Bytes(u64::from(outcome.memory.receive_buffer)),
            socket_drops: Packets(u64::from(outcome.memory.drops)),
            packet_memory: outcome.packet_memory.finish(),
            echoed: Packets(outcome.echoed),
            not_granted: outcome.not_granted,
            ..outcome.tally.finish(sent)
        })
    }
}

impl Drop for UdpReceiver {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.stop.tell(Nanos::ZERO);
            // Nobody is left to be told of a panic; the panic itself was printed.
            let _ = thread.join();
        }
    }
}

/// How the flow's datagrams are read: one at a time by a reader that is made slow, joined by
/// the kernel where asked (never to be echoed: each goes back by itself), else in batches.
fn reading(socket: &Socket, spec: &FlowSpec, not_granted: &mut NotGranted) -> Reading {
    if spec.reader_delay > Nanos::ZERO {
        return Reading::Single;
    }
    if spec.batching == Batching::Segment && !spec.echo {
        let set = option::set_int(socket.as_fd(), libc::SOL_UDP, libc::UDP_GRO, 1);
        let granted = set.is_ok();
        note(not_granted, "UDP_GRO", set.map_err(|e| errno(&e)));
        if granted {
            return Reading::Joined;
        }
    }
    Reading::Batched
}

/// The reading thread's loop.
struct Loop<'a> {
    socket: BorrowedFd<'a>,
    spec: &'a FlowSpec,
    stop: &'a Stop,
    tally: Tally,
    drain: DrainMeter,
    packet_memory: PacketMemory,
    echoed: u64,
}

impl<'a> Loop<'a> {
    fn new(socket: &'a Socket, spec: &'a FlowSpec, key: RunKey, stop: &'a Stop) -> Self {
        Self {
            socket: socket.as_fd(),
            spec,
            stop,
            tally: Tally::new(
                Template::new(key, spec.flow, spec.payload as usize),
                spec.source,
            ),
            drain: DrainMeter::default(),
            packet_memory: PacketMemory::new(u64::from(spec.payload)),
            echoed: 0,
        }
    }

    fn run(mut self, reading: Reading, nap: Nanos) -> std::io::Result<Outcome> {
        let mut not_granted = NotGranted::new();
        prepare(self.spec.receiver_cpu, self.spec.realtime, &mut not_granted);
        if matches!(reading, Reading::Joined) {
            self.packet_memory = PacketMemory::unknowable();
        }
        let mut reader = Reader::new(reading, self.spec.payload as usize);
        let waited_before = runnable();
        // When it was told to stop, and when something last arrived.
        let mut stopped: Option<Nanos> = None;
        let mut last = Nanos::ZERO;
        loop {
            let waiting_since = clock::now();
            let until = self.stop.told().map(|settle| {
                let since = *stopped.get_or_insert(waiting_since);
                (last.max(since) + settle).min(since + LONGEST)
            });
            if until.is_some_and(|until| waiting_since >= until) {
                break;
            }
            if !self.stop.wait(self.socket, until) {
                continue;
            }
            let now = clock::now();
            self.drain.woke(waiting_since, now);
            if self.packet_memory.wanted() {
                let charged = option::memory(self.socket)?.receive_queued;
                self.packet_memory.woke(u64::from(charged));
            }
            last = self.work_off(&mut reader, now, stopped)?;
            if !nap.is_zero() && self.stop.told().is_none() {
                clock::wait_until(last + nap);
            }
        }
        let memory = option::memory(self.socket)?;
        Ok(Outcome {
            tally: self.tally,
            drain: self.drain,
            packet_memory: self.packet_memory,
            memory,
            echoed: self.echoed,
            cpu: clock::thread_cpu(),
            runnable: runnable()
                .zip(waited_before)
                .map(|(all, before)| all.saturating_sub(before)),
            not_granted,
        })
    }

    /// Reads until the queue is empty; when that was.
    fn work_off(
        &mut self,
        reader: &mut Reader,
        mut now: Nanos,
        mut stopped: Option<Nanos>,
    ) -> std::io::Result<Nanos> {
        loop {
            let mut ours = 0;
            let (tally, echo) = (&mut self.tally, self.spec.echo);
            let read = reader.read(self.socket, |datagram, from| {
                let own = tally.arrived(datagram, from, now);
                ours += u64::from(own);
                own && echo
            })?;
            if echo {
                self.echoed += reader.flush_back(self.socket);
            }
            if ours > 0 {
                self.drain.read();
            }
            if read.datagrams > 0 {
                let all = ours == read.datagrams && read.emptied;
                self.packet_memory.read(all.then_some(ours));
            }
            let delay = self.spec.reader_delay;
            now = clock::now();
            let hurry = stopped.is_some_and(|since| now.saturating_sub(since) > LONGEST);
            if read.datagrams > 0 && !delay.is_zero() && !hurry {
                clock::wait_until(now + Nanos(delay.0.saturating_mul(read.datagrams)));
                now = clock::now();
            }
            if read.emptied {
                self.drain.emptied(now);
                return Ok(now);
            }
            // A stream of packets that never leaves the queue empty must not hold us for ever.
            if stopped.is_none() && self.stop.told().is_some() {
                stopped = Some(now);
            }
            if stopped.is_some_and(|since| now.saturating_sub(since) > LONGEST + GRACE) {
                return Ok(now);
            }
        }
    }
}
