//! The receiving side of a TCP flow.

use std::io::Read;
use std::os::fd::{AsFd, AsRawFd};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hawser_model::traffic::{FlowSpec, ReceiverReport, RunKey, SLICE};
use hawser_model::units::{Bytes, Nanos, Packets};
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};
use socket2::{Socket, Type};

use crate::clock;
use crate::drain::DrainMeter;
use crate::error::WireError;
use crate::packet::{self, HEADER_BYTES};
use crate::socket;
use crate::sys::option::{self, MemoryInfo};
use crate::thread::{NotGranted, prepare};
use crate::waiting::Stop;

/// Bytes taken with one read. They are discarded in the kernel (`MSG_TRUNC`, tcp(7)).
const READ: usize = 256 * 1024;

/// A connection must show the run's key within this time.
const GREETING: Duration = Duration::from_secs(1);

/// A stream is over when its end was read. Until then a lost segment may still be on its way: it is sent
/// again after 200 ms at the least (`TCP_RTO_MIN`, include/net/tcp.h), and each time twice as late (RFC 6298).
const SENT_AGAIN: Nanos = Nanos::from_millis(2_000);

/// However much still comes, the reading ends this long after it was told to.
const LONGEST: Nanos = Nanos::from_millis(3_000);

/// A listening socket and the thread that reads the one stream it accepts.
pub(crate) struct TcpReceiver {
    port: u16,
    payload: u64,
    asked: Option<Bytes>,
    stop: Stop,
    thread: Option<JoinHandle<Outcome>>,
}

/// What the reading thread found.
#[derive(Default)]
struct Outcome {
    bytes: u64,
    foreign: u64,
    first: Option<Nanos>,
    last: Nanos,
    longest_gap: Nanos,
    slices: Slices,
    drain: DrainMeter,
    memory: MemoryInfo,
    cpu: Nanos,
    not_granted: NotGranted,
}

/// Bytes by slices of time.
#[derive(Default)]
struct Slices {
    full: Vec<Bytes>,
    current: u64,
}

impl Slices {
    /// Bytes that were read at `now` of a stream that began at `first`. An hour at most is kept.
    fn add(&mut self, first: Nanos, now: Nanos, bytes: u64) {
        let slice = (now.saturating_sub(first).0 / SLICE.0) as usize;
        while self.full.len() < slice.min(72_000) {
            self.full.push(Bytes(std::mem::take(&mut self.current)));
        }
        self.current += bytes;
    }
}

impl TcpReceiver {
    pub(crate) fn open(spec: &FlowSpec, key: RunKey, port: u16) -> Result<Self, WireError> {
        socket::validate(spec)?;
        let address = socket::scoped(spec.receiver, port, spec.receiver)?;
        let listener = socket::bound(Type::STREAM, address)?;
        // The accepted socket inherits it.
        socket::ask_receive_buffer(&listener, spec.receive_buffer)?;
        listener
            .listen(8)
            .and_then(|()| listener.set_nonblocking(true))
            .map_err(WireError::call("listen", address))?;
        let port = socket::port(&listener)?;
        let stop = Stop::new()?;
        let (spec_there, told) = (spec.clone(), stop.clone());
        let thread = thread::Builder::new()
            .name("hawser-receive".to_owned())
            .spawn(move || serve(&listener, &spec_there, key, &told))
            .map_err(WireError::call("clone", "reading thread"))?;
        Ok(Self {
            port,
            payload: u64::from(spec.payload),
            asked: spec.receive_buffer,
            stop,
            thread: Some(thread),
        })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn finish(mut self, settle: Duration) -> Result<ReceiverReport, WireError> {
        self.stop
            .tell(Nanos(settle.as_nanos().try_into().unwrap_or(u64::MAX)));
        let thread = self.thread.take().ok_or(WireError::Thread("reading"))?;
        let outcome = thread.join().map_err(|_| WireError::Thread("reading"))?;
        let elapsed = outcome
            .first
            .map(|first| outcome.last.saturating_sub(first));
        Ok(ReceiverReport {
            received: Packets(outcome.bytes.saturating_sub(HEADER_BYTES as u64) / self.payload),
            foreign: Packets(outcome.foreign),
            elapsed: elapsed.unwrap_or_default(),
            longest_gap: outcome.longest_gap,
            cpu: outcome.cpu,
            drain: outcome.drain.finish(),
            buffer_asked: self.asked,
            buffer_granted: Bytes(u64::from(outcome.memory.receive_buffer)),
            socket_drops: Packets(u64::from(outcome.memory.drops)),
            stream_bytes: Bytes(outcome.bytes),
            slices: outcome.slices.full,
            not_granted: outcome.not_granted,
            ..ReceiverReport::default()
        })
    }
}

impl Drop for TcpReceiver {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.stop.tell(Nanos::ZERO);
            // Nobody is left to be told of a panic; the panic itself was printed.
            let _ = thread.join();
        }
    }
}

fn serve(listener: &Socket, spec: &FlowSpec, key: RunKey, stop: &Stop) -> Outcome {
    let mut outcome = Outcome::default();
    prepare(spec.receiver_cpu, spec.realtime, &mut outcome.not_granted);
    while stop.told().is_none() {
        if !stop.wait(listener.as_fd(), None) {
            continue;
        }
        let Ok((stream, _)) = listener.accept() else {
            continue;
        };
        if greeted(&stream, spec, key) {
            outcome.bytes = HEADER_BYTES as u64;
            read(&stream, spec, stop, &mut outcome);
            break;
        }
        outcome.foreign += 1;
    }
    outcome.cpu = clock::thread_cpu();
    outcome
}

/// Whether the connection begins with the flow's header.
fn greeted(mut stream: &Socket, spec: &FlowSpec, key: RunKey) -> bool {
    let mut header = [0; HEADER_BYTES];
    stream.set_read_timeout(Some(GREETING)).is_ok()
        && stream.read_exact(&mut header).is_ok()
        && packet::parse(&header).is_ok_and(|p| p.key == key && p.flow == spec.flow)
}

/// Reads the stream to its end, or until told to stop and nothing came for a while.
fn read(stream: &Socket, spec: &FlowSpec, stop: &Stop, outcome: &mut Outcome) {
    let delay = spec.reader_delay;
    let size = if delay.is_zero() {
        READ
    } else {
        spec.payload as usize
    };
    let mut buffer = vec![0; size];
    let mut stopped: Option<Nanos> = None;
    let first = clock::now();
    outcome.last = first;
    outcome.first = Some(first);
    'stream: loop {
        let waiting_since = clock::now();
        let until = stop.told().map(|settle| {
            let since = *stopped.get_or_insert(waiting_since);
            (outcome.last.max(since) + settle.max(SENT_AGAIN)).min(since + LONGEST)
        });
        if until.is_some_and(|until| waiting_since >= until) {
            break;
        }
        if !stop.wait(stream.as_fd(), until) {
            continue;
        }
        outcome.drain.woke(waiting_since, clock::now());
        loop {
            let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_TRUNC;
            match recv(stream.as_raw_fd(), &mut buffer, flags) {
                Ok(0) => break 'stream,
                Ok(bytes) => {
                    outcome.bytes += bytes as u64;
                    outcome.drain.read();
                    let now = clock::now();
                    outcome.slices.add(first, now, bytes as u64);
                    let gap = now.saturating_sub(outcome.last);
                    outcome.longest_gap = outcome.longest_gap.max(gap);
                    outcome.last = now;
                    if stopped.is_some_and(|since| now.saturating_sub(since) > LONGEST) {
                        break 'stream;
                    }
                    if !delay.is_zero() {
                        clock::wait_until(now + delay);
                    }
                }
                Err(Errno::EAGAIN) => break,
                Err(Errno::EINTR) => {}
                // Reset by the other side: what was read is what arrived.
                Err(_) => break 'stream,
            }
        }
        outcome.drain.emptied(clock::now());
    }
    outcome.drain.emptied(clock::now());
    outcome.memory = option::memory(stream.as_fd()).unwrap_or_default();
}
