//! A stream waits for a window that is smaller than what the path holds: bandwidth × round trip.
//!
//! The receiver's window grows to half of the last value of `net.ipv4.tcp_rmem`, what the sender
//! may have under way to the last of `net.ipv4.tcp_wmem` (tcp(7)).
//!
//! Evidence: the kernel's own count of the time in which the stream was held up by either
//! (`tcpi_rwnd_limited`, `tcpi_sndbuf_limited`), a window that stood at the most the setting allows and was full, and
//! the product of what several streams or datagrams got on this path and the round trip. What a port calls its speed is
//! no evidence: a virtual one names any. Certain; an error. Case: `ladder-window`; not `ladder-window-wide`.

/// The same of the streams of a check.
pub(super) mod check;

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::host::HostFacts;
use hawser_model::ladder::RungKind;
use hawser_model::traffic::StreamState;
use hawser_model::units::{Bytes, Nanos};
use serde::Serialize;

use crate::cause::{Before, Cause, Found, LadderCause, Words, host};
use crate::compare::topic::{About, Topic};
use crate::throughput::mb::MbPerS;
use crate::throughput::view::{LadderView, share};

#[derive(Serialize)]
pub(crate) struct WindowTooSmall {
    sysctl: &'static str,
    largest_bytes: Bytes,
    needed_bytes: u64,
    held_up_percent: u64,
    round_trip_ns: Nanos,
    bandwidth_delay_bytes: Bytes,
    #[serde(skip_serializing_if = "Option::is_none")]
    window_bytes: Option<u64>,
    stream_mb_per_s: MbPerS,
    /// The most that this path was seen to carry.
    path_mb_per_s: MbPerS,
}

/// The receiver's side.
const RECEIVES: &str = "net.ipv4.tcp_rmem";

/// The sender's.
const SENDS: &str = "net.ipv4.tcp_wmem";

/// Share of a stream's time from which its window counts as what holds it up.
pub(super) const HELD: f64 = 0.2;

/// Of a window that is full, under way; and of the setting, in a window that stands at the most it allows.
pub(super) const NEARLY: f64 = 0.4;

/// A smaller buffer holds up even the shortest path: a super-packet and its acknowledgement.
const LEAST: u64 = 128 << 10;

impl LadderCause for WindowTooSmall {
    fn find(view: &LadderView<'_>, _: &Before<'_>) -> Vec<Found<Self>> {
        let Some(stream) = view.stream() else {
            return Vec::new();
        };
        let kinds = [
            RungKind::WireTcp,
            RungKind::WireTcpOther,
            RungKind::WireTcpMany,
            RungKind::WireUdp,
        ];
        let seen = kinds.into_iter().filter_map(|kind| view.mb(kind));
        let seen = seen.fold(0.0, f64::max);
        let rate = view.mb(RungKind::WireTcp).unwrap_or(0.0);
        let round_trip = stream.least_round_trip;
        let product = held_by(seen, round_trip);
        let needed = needed(product);
        let (from, to) = (&view.run.from, &view.run.to);
        let sides = [
            (to, RECEIVES, stream.receive_window_limited),
            (from, SENDS, stream.send_buffer_limited),
        ];
        let mut found = Vec::new();
        for (host, sysctl, limited) in sides {
            let held = share(limited.0, stream.busy.0);
            let most = view.facts(host).and_then(|facts| most(facts, sysctl));
            let full = |most: &u64| match sysctl == RECEIVES {
                true => window_full(stream, rate, *most),
                false => buffer_full(stream, rate, *most),
            };
            let most = most.filter(|most| held >= HELD && *most < needed);
            let Some(most) = most.filter(full) else {
                continue;
            };
            found.push(Found {
                severity: Severity::Error,
                confidence: Confidence::Certain,
                place: view.place(host),
                evidence: Self {
                    sysctl,
                    largest_bytes: Bytes(most),
                    needed_bytes: needed,
                    held_up_percent: (held * 100.0).round() as u64,
                    round_trip_ns: round_trip,
                    bandwidth_delay_bytes: Bytes(product),
                    window_bytes: Some(stream.receive_window.0).filter(|w| *w > 0),
                    stream_mb_per_s: MbPerS::of(rate),
                    path_mb_per_s: MbPerS::of(seen),
                },
            });
        }
        found
    }
}

/// The last value of `net.ipv4.tcp_rmem` as the kernel sets it (`tcp_init`, `net/ipv4/tcp.c`).
pub(super) const USUAL: u64 = 6 << 20;

impl WindowTooSmall {
    /// What to set: what is needed, and not less than is usual.
    fn enough(&self) -> u64 {
        self.needed_bytes.max(USUAL)
    }
}

/// The largest buffer that the kernel gives a stream by itself: the last value of the sysctl.
fn most(facts: &HostFacts, sysctl: &str) -> Option<u64> {
    let last = facts.sysctls.get(sysctl)?.split_whitespace().next_back()?;
    last.parse().ok()
}

/// What a round trip holds at a rate in MB/s.
fn held_by(mb_per_s: f64, round_trip: Nanos) -> u64 {
    (mb_per_s * 1e6 * round_trip.as_secs_f64()) as u64
}

/// Whether so much was under way as the receiver offered, and that was the most that its setting allows. The least round
/// trip counts: what waits in a queue of the path is under way too, and a larger window only adds to it.
fn window_full(stream: &StreamState, mb_per_s: f64, most: u64) -> bool {
    let offered = stream.receive_window.0;
    // Not told before Linux 5.4. A window is half of the buffer.
    let window = if offered == 0 { most / 2 } else { offered };
    let filled = nearly(held_by(mb_per_s, stream.least_round_trip), window);
    most < LEAST || (filled && nearly(window, most))
}

/// The same of what the sender may have under way.
fn buffer_full(stream: &StreamState, mb_per_s: f64, most: u64) -> bool {
    most < LEAST || nearly(held_by(mb_per_s, stream.least_round_trip), most)
}

fn nearly(part: u64, whole: u64) -> bool {
    part as f64 >= NEARLY * whole as f64
}

/// The buffer for what a path holds: a window is half of it, and a path in use holds more than an idle one.
fn needed(product: u64) -> u64 {
    let needed = product.saturating_mul(2).max(LEAST);
    needed.checked_next_power_of_two().unwrap_or(needed)
}

impl Cause for WindowTooSmall {
    const CODE: &'static str = "window-too-small";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[
        Topic::Sysctl.with("tcp_rmem"),
        Topic::Sysctl.with("tcp_wmem"),
        Topic::Sysctl.with("tcp_window_scaling"),
        Topic::Sysctl.with("net.core.rmem_max"),
        Topic::Sysctl.with("net.core.wmem_max"),
    ];

    fn words(&self, at: &Place) -> Words {
        let side = match self.sysctl == RECEIVES {
            true => "for the receiver's window",
            false => "for room in the send buffer",
        };
        Words {
            text: format!(
                "One stream got {} and waited {side} for {} % of its time: {} on {} ends at {}, and a \
                 round trip of {} at the {} that the path was seen to carry holds {}.",
                self.stream_mb_per_s,
                self.held_up_percent,
                self.sysctl,
                host(at),
                self.largest_bytes,
                self.round_trip_ns,
                self.path_mb_per_s,
                self.bandwidth_delay_bytes,
            ),
            fix: format!(
                "On {}: `sysctl -w {}='4096 131072 {}'` (at least {}; the default or more costs \
                 nothing), and the same in /etc/sysctl.d. A program that sets SO_RCVBUF or SO_SNDBUF \
                 itself is capped by net.core.rmem_max and wmem_max instead.",
                host(at),
                self.sysctl,
                self.enough(),
                self.needed_bytes,
            ),
        }
    }
}
