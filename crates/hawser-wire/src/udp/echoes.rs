//! Round trips: the echoes of a flow's packets, read while it is being sent.

use std::os::fd::AsFd;
use std::thread::{self, JoinHandle};

use hawser_model::traffic::{FlowId, FlowSpec, Quantiles, RunKey};
use hawser_model::units::{Nanos, Packets};
use socket2::Socket;

use super::read::{Reader, Reading};
use crate::clock;
use crate::error::WireError;
use crate::histogram::Times;
use crate::packet;
use crate::sequence::{Arrival, Sequence};
use crate::thread::{NotGranted, prepare};
use crate::waiting::Stop;

/// Echoes slower than this after the last one are given up. Nobody waits so long if all are back; a host whose processor is
/// taken for half a second has lost none.
const SETTLE: Nanos = Nanos::from_millis(1_000);

/// Echoes are waited for no longer than this after sending ended.
const LONGEST: Nanos = Nanos::from_millis(2_000);

/// The thread that hears the echoes.
pub(crate) struct Echoes {
    stop: Stop,
    thread: JoinHandle<Heard>,
}

/// What came back.
pub(crate) struct Heard {
    /// Distinct packets.
    pub(crate) received: Packets,
    /// Their round trips.
    pub(crate) round_trip: Quantiles,
}

impl Echoes {
    pub(crate) fn start(socket: &Socket, spec: &FlowSpec, key: RunKey) -> Result<Self, WireError> {
        let socket = socket
            .try_clone()
            .map_err(WireError::call("dup", "sending socket"))?;
        let stop = Stop::new()?;
        let (spec, told) = (spec.clone(), stop.clone());
        let thread = thread::Builder::new()
            .name("hawser-echo".to_owned())
            .spawn(move || {
                prepare(None, spec.realtime, &mut NotGranted::new());
                listen(&socket, spec.payload as usize, key, spec.flow, &told)
            })
            .map_err(WireError::call("clone", "echo thread"))?;
        Ok(Self { stop, thread })
    }

    /// Sending is over; `expected` packets went out.
    pub(crate) fn finish(self, expected: Packets) -> Result<Heard, WireError> {
        self.stop.expect(expected);
        self.stop.tell(SETTLE);
        self.thread.join().map_err(|_| WireError::Thread("echo"))
    }
}

fn listen(socket: &Socket, payload: usize, key: RunKey, flow: FlowId, stop: &Stop) -> Heard {
    let mut reader = Reader::new(Reading::Batched, payload);
    let mut sequence = Sequence::default();
    let mut times = Times::default();
    let mut last = Nanos::ZERO;
    let mut stopped: Option<Nanos> = None;
    loop {
        let until = stop.told().map(|settle| {
            let since = *stopped.get_or_insert_with(clock::now);
            (last.max(since) + settle).min(since + LONGEST)
        });
        let all_back = stop.expected().is_some_and(|n| sequence.received() >= n);
        if until.is_some_and(|until| all_back || clock::now() >= until) {
            return Heard {
                received: sequence.received(),
                round_trip: times.quantiles(),
            };
        }
        if !stop.wait(socket.as_fd(), until) {
            continue;
        }
        let now = clock::now();
        // An error here is an ICMP message for a packet that was sent (ECONNREFUSED): the
        // packet is lost and will be missing; nothing else is to be done.
        let _ = reader.read(socket.as_fd(), |datagram, _| {
            if let Ok(probe) = packet::parse(datagram) {
                if probe.key == key && probe.flow == flow {
                    last = now;
                    if sequence.arrived(probe.sequence, now) != Arrival::Duplicate {
                        times.record(now.saturating_sub(probe.sent_at));
                    }
                }
            }
            false
        });
    }
}
