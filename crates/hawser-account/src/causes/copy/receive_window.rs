//! The receiver offers less window than the path could hold: its receive buffer is fixed or capped
//! below bandwidth × delay (`net.ipv4.tcp_rmem`, a program's `SO_RCVBUF`).
//!
//! Evidence: TCP itself says that the receiver's window held the data back most of the time
//! (`tcpi_rwnd_limited`), while the receiving program was waiting for data and not busy with its
//! disk: a reader that is slow shuts the window too, and is not this. And the rate is what such a
//! window allows: no more than a window a round trip. Case: `copy/receive-window`.

use hawser_model::finding::{Confidence, Finding, Severity};

use super::{CopyCause, at_receiver, percent};
use crate::causes::support::Draft;
use crate::copy::View;

pub(super) const CAUSE: CopyCause = CopyCause {
    code: "receive-window",
    find,
};

/// Most of the time.
const MOST: f64 = 0.5;

/// Of the window, under way.
const NEARLY: f64 = 0.4;

/// A transfer that is over sooner was not limited by anything for long.
const LEAST_S: f64 = 0.5;

fn find(view: &View<'_>, explained: bool) -> Option<Finding> {
    let slow = view.slow();
    let tcp = view.case.sender.tcp.iter();
    let window: u64 = tcp.clone().map(|t| t.snd_wnd.0).sum();
    let round_trip = tcp.map(|t| t.rtt.0).max().unwrap_or(0);
    let in_flight = slow.mb_per_s() * 1e6 * round_trip as f64 / 1e9;
    if explained
        || in_flight < NEARLY * window as f64
        || slow.seconds < LEAST_S
        || slow.window_share < MOST
        || view.receiver_idle() < MOST
        || slow.write_share > MOST
    {
        return None;
    }
    let buffer: u64 = view
        .case
        .receiver
        .tcp
        .iter()
        .map(|t| t.receive_buffer.0)
        .sum();
    let draft = Draft::new(
        CAUSE.code,
        Severity::Warning,
        Confidence::Likely,
        at_receiver(view),
    )
    .change(view)
    .number("window_limited_percent", percent(slow.window_share))
    .number("receiver_idle_percent", percent(view.receiver_idle()))
    .number("window_bytes", window)
    .number("receive_buffer", buffer)
    .number("round_trip_ns", round_trip)
    .number("zero_windows", slow.zero_windows);
    Some(draft.done())
}
