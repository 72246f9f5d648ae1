//! One TCP stream from this host to itself: both ends of the stack, and no wire.

use std::net::IpAddr;
use std::thread;
use std::time::Duration;

use hawser_model::ladder::Sample;
use hawser_model::traffic::{FlowId, FlowSpec, Rate, ReceiverReport, RunKey, SLICE, Transport};
use hawser_model::units::{Bytes, Nanos};
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
    Ok(slices(&report, sent.elapsed.min(duration)))
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

/// The slices of a stream whose sender had this time, or all of it when it was too short for one. The receiver's list
/// ends with the last slice after which something was read: a stream that stands still to its end has nothing beyond it.
pub fn slices(report: &ReceiverReport, lasted: Nanos) -> Vec<Sample> {
    let mut all = report.slices.clone();
    let due = (lasted.0 / SLICE.0) as usize;
    if all.len() < due {
        let told = all.iter().copied().sum::<Bytes>();
        all.push(Bytes(report.stream_bytes.0.saturating_sub(told.0)));
        all.resize(due, Bytes(0));
    }
    if all.is_empty() {
        return vec![Sample {
            elapsed: report.elapsed.max(lasted),
            bytes: report.stream_bytes,
        }];
    }
    let slice = |bytes| Sample {
        elapsed: SLICE,
        bytes,
    };
    all.into_iter().map(slice).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(slices: &[u64], all: u64, lasted: u64) -> Vec<u64> {
        let report = ReceiverReport {
            slices: slices.iter().copied().map(Bytes).collect(),
            stream_bytes: Bytes(all),
            ..ReceiverReport::default()
        };
        let samples = super::slices(&report, Nanos::from_millis(lasted));
        samples.iter().map(|sample| sample.bytes.0).collect()
    }

    #[test]
    fn a_stream_that_stands_still_has_slices_to_its_end() {
        assert_eq!(bytes(&[9, 9], 20, 210), [9, 9, 2, 0]);
        assert_eq!(bytes(&[], 8, 150), [8, 0, 0]);
        // What came later than the sender's time, and of one that was too short.
        assert_eq!(bytes(&[9, 9, 9], 30, 100), [9, 9, 9]);
        assert_eq!(bytes(&[], 8, 40), [8]);
    }
}
