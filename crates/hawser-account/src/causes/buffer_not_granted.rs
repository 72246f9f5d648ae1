//! A socket asked for a receive buffer and got less: `SO_RCVBUF` is cut to
//! `net.core.rmem_max` without an error, and doubled afterwards for the kernel's overhead
//! (socket(7); `sk_setsockopt`, `net/core/sock.c`). So a grant is right when it is twice what
//! was asked.
//!
//! Evidence: asked and granted. Where that socket then lost packets that the buffer asked for
//! would have held, it is their cause: an error. Otherwise a note. The engine's own sockets
//! are judged too: kronosnet asks for 8 MiB and forces them, so one below 8 MiB could not.
//! Certain. Cases: `buffer-not-granted`, `buffer-not-granted-lossy`.

use std::collections::BTreeMap;

use hawser_model::account::Layer;
use hawser_model::finding::{Confidence, Finding, Place, Severity};
use hawser_model::names::HostName;

use super::Cause;
use super::corosync_buffer::{ASKED_BY_KNET, uses_knet};
use super::socket_drain::Pace;
use super::support::{Draft, place_on};
use crate::losses::{Loss, Losses};
use crate::packets::facts::{PhaseFacts, Side};
use crate::view::View;

pub(super) const CAUSE: Cause = Cause {
    code: "buffer-not-granted",
    find,
};

/// Asked and granted bytes of a phase's receiver that got less than twice what it asked for.
pub(crate) fn short(facts: &PhaseFacts<'_>) -> Option<(u64, u64)> {
    let asked = facts.phase.receiver.buffer_asked?.0;
    let granted = facts.phase.receiver.buffer_granted.0;
    (granted < asked.saturating_mul(2)).then_some((asked, granted))
}

fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Finding> {
    let mut worst: BTreeMap<HostName, (u64, u64)> = BTreeMap::new();
    for phase in &view.phases {
        if let Some((asked, granted)) = short(&phase.facts) {
            let host = phase.facts.host(Side::Receiver).clone();
            let entry = worst.entry(host).or_insert((asked, granted));
            if asked - asked.min(granted / 2) > entry.0 - entry.0.min(entry.1 / 2) {
                *entry = (asked, granted);
            }
        }
    }
    let mut found = Vec::new();
    for (host, (asked, granted)) in worst {
        let explained = losses.claim(CAUSE.code, |l| {
            l.host.as_ref() == Some(&host) && would_have_held(view, l)
        });
        let (severity, place) = match explained.is_empty() {
            true => {
                let place = Place {
                    host: Some(host.clone()),
                    ..Place::default()
                };
                (Severity::Note, place)
            }
            false => (Severity::Error, place_on(view, &host, &explained)),
        };
        let draft = Draft::new(CAUSE.code, severity, Confidence::Certain, place)
            .number("asked_bytes", asked)
            .number("granted_bytes", granted)
            .maybe("rmem_max_bytes", view.sysctl(&host, "net.core.rmem_max"));
        found.push(match explained.is_empty() {
            true => draft.number("lost_packets", 0).done(),
            false => draft.losses(view, &explained).done(),
        });
    }
    found.extend(of_corosync(view));
    found
}

/// A socket-buffer loss that the buffer asked for would have prevented.
fn would_have_held(view: &View<'_>, loss: &Loss) -> bool {
    let facts = &view.phases[loss.phase].facts;
    let pace = Pace::of(facts.phase);
    loss.layer == Some(Layer::SocketBuffer)
        && !pace.too_slow()
        && short(facts).is_some_and(|(asked, _)| pace.needed <= asked.saturating_mul(2))
}

/// kronosnet sockets below what it asks for: it lacked the right to force them.
fn of_corosync(view: &View<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (host, sockets) in &view.case.sockets {
        if !uses_knet(view, host) {
            continue;
        }
        let low = sockets
            .iter()
            .filter(|s| s.process.as_deref() == Some("corosync"))
            .filter(|s| s.receive_buffer.0 < ASKED_BY_KNET);
        for socket in low {
            let place = Place {
                host: Some(host.clone()),
                object: Some(format!("corosync {}", socket.local)),
                ..Place::default()
            };
            found.push(
                Draft::new(CAUSE.code, Severity::Warning, Confidence::Likely, place)
                    .number("asked_bytes", ASKED_BY_KNET)
                    .number("granted_bytes", socket.receive_buffer.0)
                    .maybe("rmem_max_bytes", view.sysctl(host, "net.core.rmem_max"))
                    .number("lost_packets", 0)
                    .done(),
            );
        }
    }
    found
}
