//! The receiver offers less window than the path could hold: its receive buffer is fixed or capped
//! below bandwidth × delay (`net.ipv4.tcp_rmem`, a program's `SO_RCVBUF`).
//!
//! Evidence: TCP itself says that the receiver's window held the data back most of the time
//! (`tcpi_rwnd_limited`), while the receiving program was waiting for data and not busy with its
//! disk: a reader that is slow shuts the window too, and is not this. And the rate is what such a
//! window allows: no more than a window a round trip. Cases: `copy/receive-window`, `copy/receive-window-large-buffer`.

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::units::{Bytes, Nanos};
use serde::Serialize;

use super::window_too_small::USUAL;
use crate::cause::{Cause, CopyCause, Found, Words, host, peer};
use crate::copy::View;
use crate::copy::fell::{Fell, at_receiver, percent};

#[derive(Serialize)]
pub(crate) struct ReceiveWindow {
    #[serde(flatten)]
    fell: Fell,
    window_limited_percent: u64,
    receiver_idle_percent: u64,
    window_bytes: Bytes,
    receive_buffer: Bytes,
    round_trip_ns: Nanos,
    zero_windows: u64,
}

/// Most of the time.
const MOST: f64 = 0.5;

/// Of the window, under way.
const NEARLY: f64 = 0.4;

/// A transfer that is over sooner was not limited by anything for long.
const LEAST_S: f64 = 0.5;

impl CopyCause for ReceiveWindow {
    fn find(view: &View<'_>, explained: bool) -> Option<Found<Self>> {
        let slow = view.slow();
        let tcp = view.case.sender.tcp.iter();
        let window = tcp.clone().map(|t| t.snd_wnd).sum::<Bytes>().0;
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
        let tcp = view.case.receiver.tcp.iter();
        Some(Found {
            severity: Severity::Warning,
            confidence: Confidence::Likely,
            place: at_receiver(view),
            evidence: Self {
                fell: Fell::of(view),
                window_limited_percent: percent(slow.window_share),
                receiver_idle_percent: percent(view.receiver_idle()),
                window_bytes: Bytes(window),
                receive_buffer: tcp.map(|t| t.receive_buffer).sum(),
                round_trip_ns: Nanos(round_trip),
                zero_windows: slow.zero_windows,
            },
        })
    }
}

impl Cause for ReceiveWindow {
    const CODE: &'static str = "receive-window";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        // The setting may be more than the buffer, but hardly less: the command is not to lower it.
        let needed = self.window_bytes.0.saturating_mul(4);
        let needed = needed.max(USUAL).max(self.receive_buffer.0);
        let host = host(at);
        Words {
            text: format!(
                "The copy from {} {}: {} % of the time {host} offered no more window ({}, receive buffer \
                 {}), although its program was waiting for data {} % of the time. The round trip takes \
                 {}.",
                peer(at),
                self.fell,
                self.window_limited_percent,
                self.window_bytes,
                self.receive_buffer,
                self.receiver_idle_percent,
                self.round_trip_ns,
            ),
            fix: format!(
                "On {host}: raise the third value of `net.ipv4.tcp_rmem` to at least bandwidth × round trip \
                 × 2, for example `sysctl -w net.ipv4.tcp_rmem='4096 131072 {needed}'` if it is less; or copy with \
                 `--streams 4`.",
            ),
        }
    }
}
