//! A stream waits for a window that cannot be larger than 64 KiB: its two ends do not scale windows (RFC 7323), since one
//! of them does not offer it (`net.ipv4.tcp_window_scaling = 0`), a route of the receiver caps the window (`window` of
//! ip-route(8)), or something between them takes the option out of the SYN.
//!
//! Evidence: the kernel's count of the time in which the receiver's window held the stream up (`tcpi_rwnd_limited`), and a
//! window of 65,535 bytes that was full. A window that is scaled is a multiple of a power of two, so it is never 65,535; and
//! Linux scales wherever a buffer may grow beyond that (`tcp_select_initial_window`, `net/ipv4/tcp_output.c`). If a host's
//! sysctl says 0, certain; else likely. Cases: `ladder-window-not-scaled`, `ladder-window-not-scaled-between`,
//! `stream-window-not-scaled`, `copy/window-not-scaled`.

/// The same of the streams of a check.
pub(super) mod check;

/// The same of a copy.
mod copy;

use hawser_model::case::Case;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::ladder::RungKind;
use hawser_model::names::HostName;
use hawser_model::traffic::StreamState;
use hawser_model::units::{Bytes, Nanos};
use serde::Serialize;

use super::tcp_option::{ToldBy, look_between, switch_on};
use super::window_too_small::{HELD, NEARLY};
use crate::cause::{Before, Cause, Found, LadderCause, Words, host};
use crate::compare::topic::{About, Topic};
use crate::throughput::mb::MbPerS;
use crate::throughput::view::{LadderView, share};

#[derive(Serialize)]
pub(crate) struct WindowNotScaled {
    window_bytes: Bytes,
    held_up_percent: u64,
    round_trip_ns: Nanos,
    stream_mb_per_s: MbPerS,
    /// What the hosts' own settings say of it.
    told_by: ToldBy,
}

/// The sysctl.
const SCALING: &str = "net.ipv4.tcp_window_scaling";

/// The largest window without a scale: 16 bits.
const UNSCALED: u64 = 65_535;

/// Whether `window` was not scaled, held the stream up for `held` of its time and was full at this rate.
fn limits(window: u64, held: f64, bytes_per_s: f64, round_trip: Nanos) -> bool {
    let under_way = bytes_per_s * round_trip.as_secs_f64();
    window == UNSCALED && held >= HELD && under_way >= NEARLY * UNSCALED as f64
}

/// Who does not scale, by the hosts' settings; absent where a host's buffer may not grow beyond what needs no scale.
fn told_by<'a>(
    case: &Case,
    from: &'a HostName,
    to: &'a HostName,
) -> Option<(ToldBy, &'a HostName)> {
    let (told, off) = ToldBy::of(case, SCALING, [to, from]);
    if let Some(host) = off.first() {
        return Some((told, host));
    }
    let facts = case.hosts.get(to);
    let rmem = facts.and_then(|facts| facts.sysctls.get("net.ipv4.tcp_rmem"));
    let last = rmem.and_then(|rmem| rmem.split_whitespace().next_back()?.parse().ok());
    last.is_none_or(|last: u64| last > 2 * UNSCALED)
        .then_some((told, to))
}

impl WindowNotScaled {
    /// Of a stream that got so much.
    fn of(stream: &StreamState, told_by: ToldBy, mb_per_s: f64) -> Option<Self> {
        let held = share(stream.receive_window_limited.0, stream.busy.0);
        let window = stream.receive_window.0;
        let round_trip = stream.least_round_trip;
        limits(window, held, mb_per_s * 1e6, round_trip).then(|| Self {
            window_bytes: Bytes(window),
            held_up_percent: (held * 100.0).round() as u64,
            round_trip_ns: round_trip,
            stream_mb_per_s: MbPerS::of(mb_per_s),
            told_by,
        })
    }

    fn confidence(&self) -> Confidence {
        match self.told_by {
            ToldBy::Host => Confidence::Certain,
            ToldBy::Neither | ToldBy::Unread => Confidence::Likely,
        }
    }
}

impl LadderCause for WindowNotScaled {
    fn find(view: &LadderView<'_>, _: &Before<'_>) -> Vec<Found<Self>> {
        let (from, to) = (&view.run.from, &view.run.to);
        let found = view.stream().zip(told_by(view.case, from, to));
        let found = found.and_then(|(stream, (told, host))| {
            let rate = view.mb(RungKind::WireTcp)?;
            let evidence = Self::of(stream, told, rate)?;
            Some(Found {
                severity: Severity::Error,
                confidence: evidence.confidence(),
                place: Place {
                    peer: Some(if host == to { from } else { to }.clone()),
                    ..view.place(host)
                },
                evidence,
            })
        });
        found.into_iter().collect()
    }
}

impl Cause for WindowNotScaled {
    const CODE: &'static str = "window-not-scaled";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &'static [About] = &[Topic::Sysctl.with("tcp_window_scaling").told()];

    fn words(&self, at: &Place) -> Words {
        let end = host(at);
        let who = match self.told_by {
            ToldBy::Host => format!("{SCALING} is 0 on {end}"),
            ToldBy::Neither => format!(
                "{SCALING} is on at both, so a route of {end} has a window of its own or something between them takes the \
                 option out of the SYN"
            ),
            ToldBy::Unread => format!(
                "{SCALING} is 0 on one of them, a route of {end} has a window of its own, or something between them takes \
                 the option out of the SYN"
            ),
        };
        let on = switch_on(SCALING);
        let between = format!(
            "`ip route show` on {end}: a `window` there makes the scale 0, remove it. Else {}",
            look_between("wscale")
        );
        let tail = "Streams that run keep their windows: start them again.";
        Words {
            text: format!(
                "One stream got {} and waited for the receiver's window for {} % of its time: it never offers more than {} \
                 bytes, and one such window a round trip of {} is all that passes. The two ends do not scale windows: \
                 {who}. Larger buffers do nothing.",
                self.stream_mb_per_s, self.held_up_percent, self.window_bytes.0, self.round_trip_ns,
            ),
            fix: match self.told_by {
                ToldBy::Host => format!("On {end}: {on}. {tail}"),
                ToldBy::Neither => format!("{between}."),
                ToldBy::Unread => format!(
                    "On both hosts: `sysctl {SCALING}`; where it is 0, {on}. {tail} If it is 1 on both: {between}."
                ),
            },
        }
    }
}
