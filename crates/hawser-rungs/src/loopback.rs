//! One TCP stream from this host to itself: both ends of the stack, and no wire.

use std::net::IpAddr;
use std::thread;
use std::time::Duration;

use hawser_model::ladder::Sample;
use hawser_model::traffic::{FlowId, FlowSpec, Rate, ReceiverReport, RunKey, SLICE, Transport};
use hawser_model::units::Nanos;
use hawser_wire::{Receiver, Sender};

use crate::{Measured, RungError};

/// Bytes of one write: as fast as larger ones, and still in the cache (measured: 128 KiB and
/// 256 KiB are equal, 16 KiB is a fifth slower).
pub const WRITE: u32 = 128 << 10;

pub(crate) fn measure(address: IpAddr, duration: Nanos) -> Measured {
    (format!("{address}, 128 KiB writes"), run(address, duration))
}

fn run(address: IpAddr, duration: Nanos) -> Result<Vec<Sample>, RungError> {
    let spec = stream(FlowId(0), address, address, duration);
    // Nobody but this process learns the port; the key keeps other programs' connections out.
    let key = RunKey(u64::from(std::process::id()) << 32 | 0x10_0b_ac);
    let receiver = Receiver::open(&spec, key)?;
    let sender = Sender::open(&spec, key)?;
    let port = receiver.port();
    let sending = thread::spawn(move || sender.run(port));
    let sent = sending
        .join()
        .map_err(|_| RungError::Panicked("loopback"))??;
    let report = receiver.finish(sent.sent, Duration::from_millis(60))?;
    Ok(slices(&report))
}

/// A stream as fast as it goes.
pub fn stream(flow: FlowId, source: IpAddr, destination: IpAddr, duration: Nanos) -> FlowSpec {
    FlowSpec::plain(
        flow,
        Transport::Tcp,
        (source, destination),
        WRITE,
        Rate::Max,
        duration,
    )
}

/// The slices of a stream, or all of it when it was too short for one.
pub fn slices(report: &ReceiverReport) -> Vec<Sample> {
    if report.slices.is_empty() {
        return vec![Sample {
            elapsed: report.elapsed,
            bytes: report.stream_bytes,
        }];
    }
    let slice = |&bytes| Sample {
        elapsed: SLICE,
        bytes,
    };
    report.slices.iter().map(slice).collect()
}
