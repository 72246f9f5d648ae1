//! A stream waits for a window that is smaller than what the path holds: bandwidth × round trip.
//!
//! The receiver's window grows to half of the last value of `net.ipv4.tcp_rmem`, what the sender
//! may have under way to the last of `net.ipv4.tcp_wmem` (tcp(7)).
//!
//! Evidence: the kernel's own count of the time in which the stream was held up by either
//! (`tcpi_rwnd_limited`, `tcpi_sndbuf_limited`), the setting, and the product of what several
//! streams or datagrams got and the round trip. Certain; an error. Case: `ladder-window`.

use hawser_model::finding::{Confidence, Finding, Severity};
use hawser_model::ladder::RungKind;

use super::LadderCause;
use crate::causes::support::Draft;
use crate::throughput::view::{LadderView, share};

pub(super) const CAUSE: LadderCause = LadderCause {
    code: "window-too-small",
    find,
};

/// Share of a stream's time from which its window counts as what holds it up.
const HELD: f64 = 0.2;

/// A smaller buffer holds up even the shortest path: a super-packet and its acknowledgement.
const LEAST: u64 = 128 << 10;

fn find(view: &LadderView<'_>, _: &[Finding]) -> Vec<Finding> {
    let Some(stream) = view.stream() else {
        return Vec::new();
    };
    let kinds = [
        RungKind::WireTcp,
        RungKind::WireTcpOther,
        RungKind::WireTcpMany,
        RungKind::WireUdp,
        RungKind::LoopbackTcp,
    ];
    let seen = kinds.into_iter().filter_map(|kind| view.mb(kind));
    let seen = seen.fold(0.0, f64::max);
    let bandwidth = view.speed().map_or(seen, |speed| speed.min(seen)) * 1e6;
    let round_trip = stream.least_round_trip;
    let product = (bandwidth * round_trip.as_secs_f64()) as u64;
    // A window is half of its buffer, and a path in use holds more than an idle one.
    let needed = (2 * product).max(LEAST).next_power_of_two();
    let sides = [
        (
            &view.run.to,
            "net.ipv4.tcp_rmem",
            stream.receive_window_limited,
        ),
        (
            &view.run.from,
            "net.ipv4.tcp_wmem",
            stream.send_buffer_limited,
        ),
    ];
    let mut found = Vec::new();
    for (host, sysctl, limited) in sides {
        let held = share(limited.0, stream.busy.0);
        let setting = view.facts(host).and_then(|f| f.sysctls.get(sysctl));
        let most = setting.and_then(|s| s.split_whitespace().next_back()?.parse::<u64>().ok());
        let Some(most) = most.filter(|most| held >= HELD && *most < needed) else {
            continue;
        };
        found.push(
            Draft::new(
                CAUSE.code,
                Severity::Error,
                Confidence::Certain,
                view.place(host),
            )
            .name("sysctl", sysctl)
            .number("largest_bytes", most)
            .number("needed_bytes", needed)
            .number("held_up_percent", (held * 100.0).round() as u64)
            .number("round_trip_ns", round_trip.0)
            .number("bandwidth_delay_bytes", product)
            .maybe(
                "window_bytes",
                Some(stream.receive_window.0).filter(|w| *w > 0),
            )
            .decimal("stream_mb_per_s", view.mb(RungKind::WireTcp).unwrap_or(0.0))
            .done(),
        );
    }
    found
}
