//! The same of a copy. It has no settings of the hosts, but what the receiver's buffer grew to: one that is larger than any
//! window without a scale would have offered more. Likely; a warning. Case: `copy/window-not-scaled`.

use hawser_model::finding::Severity;
use hawser_model::units::{Bytes, Nanos};

use super::{UNSCALED, WindowNotScaled, limits};
use crate::cause::{CopyCause, Found};
use crate::causes::tcp_option::ToldBy;
use crate::copy::View;
use crate::copy::fell::{at_receiver, percent};
use crate::throughput::mb::MbPerS;

/// Of the time that the receiving program waited for data: one that is slow shuts the window too.
const IDLE: f64 = 0.5;

impl CopyCause for WindowNotScaled {
    fn find(view: &View<'_>, explained: bool) -> Option<Found<Self>> {
        let slow = view.slow();
        let (sender, receiver) = (&view.case.sender.tcp, &view.case.receiver.tcp);
        let streams = sender.len().max(1) as f64;
        let round_trip = sender.iter().map(|tcp| tcp.min_rtt).max()?;
        let each = slow.mb_per_s() * 1e6 / streams;
        let unscaled = sender
            .iter()
            .all(|tcp| limits(tcp.snd_wnd.0, slow.window_share, each, round_trip));
        let grew = receiver
            .iter()
            .all(|tcp| tcp.receive_buffer.0 > 2 * UNSCALED);
        if explained || !unscaled || !grew || view.receiver_idle() < IDLE {
            return None;
        }
        let evidence = Self {
            window_bytes: Bytes(UNSCALED),
            held_up_percent: percent(slow.window_share),
            round_trip_ns: Nanos(round_trip.0),
            stream_mb_per_s: MbPerS::of(each / 1e6),
            told_by: ToldBy::Unread,
        };
        Some(Found {
            severity: Severity::Warning,
            confidence: evidence.confidence(),
            place: at_receiver(view),
            evidence,
        })
    }
}
