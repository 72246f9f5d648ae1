//! Raising `net.core.rmem_max` halved Corosync's buffers. kronosnet asks for 8 MiB with
//! `SO_RCVBUF` and forces it (`SO_RCVBUFFORCE`) only if it reads back less. The kernel
//! doubles what it grants: with a small `rmem_max` the read-back is less, force is used, and
//! 16 MiB are in force. With `rmem_max` between 4 and 8 MiB the doubled, cut value already
//! reads as 8 MiB or more, and kronosnet is content with it
//! (`_configure_sockbuf`, `libknet/transport_common.c`).
//!
//! Evidence: the buffer of a real Corosync socket, at least 8 and below 16 MiB, not the
//! sysctl alone. Certain when it is twice the present `rmem_max`, else likely. A note; an
//! error when that socket drops. Cases: `corosync-buffer-halved`,
//! `corosync-buffer-halved-dropping`.

use hawser_model::finding::{Confidence, Finding, Place, Severity};
use hawser_model::names::HostName;
use hawser_model::sockets::SocketFacts;

use super::Cause;
use super::foreign_socket::drops_of;
use super::support::Draft;
use crate::losses::Losses;
use crate::view::View;

pub(super) const CAUSE: Cause = Cause {
    code: "corosync-buffer-halved",
    find,
};

/// What kronosnet asks for (`KNET_RING_RCVBUFF`, `libknet/internals.h`).
pub(super) const ASKED_BY_KNET: u64 = 8 * 1024 * 1024;

/// Whether the host's Corosync runs over kronosnet: its statistics have links.
pub(super) fn uses_knet(view: &View<'_>, host: &HostName) -> bool {
    view.host(host)
        .and_then(|h| h.corosync.as_ref())
        .is_some_and(|c| c.stats.keys().any(|key| key.contains("knet")))
}

/// True for a Corosync socket with the halved buffer.
pub(super) fn is_halved(view: &View<'_>, host: &HostName, socket: &SocketFacts) -> bool {
    let buffer = socket.receive_buffer.0;
    socket.process.as_deref() == Some("corosync")
        && (ASKED_BY_KNET..2 * ASKED_BY_KNET).contains(&buffer)
        && (uses_knet(view, host) || twice_the_limit(view, host, socket))
}

fn twice_the_limit(view: &View<'_>, host: &HostName, socket: &SocketFacts) -> bool {
    view.sysctl(host, "net.core.rmem_max")
        .is_some_and(|max| max.saturating_mul(2) == socket.receive_buffer.0)
}

fn find(view: &View<'_>, _: &mut Losses) -> Vec<Finding> {
    let mut found = Vec::new();
    for (host, sockets) in &view.case.sockets {
        let halved: Vec<&SocketFacts> = sockets
            .iter()
            .filter(|s| is_halved(view, host, s))
            .collect();
        let Some(first) = halved.first() else {
            continue;
        };
        let dropped: u64 = halved
            .iter()
            .map(|s| drops_of(view, host, s.inode))
            .fold(0, u64::saturating_add);
        let severity = match dropped {
            0 => Severity::Note,
            _ => Severity::Error,
        };
        let confidence = match halved.iter().all(|s| twice_the_limit(view, host, s)) {
            true => Confidence::Certain,
            false => Confidence::Likely,
        };
        let place = Place {
            host: Some(host.clone()),
            object: Some(format!("corosync {}", first.local)),
            ..Place::default()
        };
        found.push(
            Draft::new(CAUSE.code, severity, confidence, place)
                .number("buffer_bytes", first.receive_buffer.0)
                .number("asked_bytes", ASKED_BY_KNET)
                .number("sockets", halved.len() as u64)
                .maybe("rmem_max_bytes", view.sysctl(host, "net.core.rmem_max"))
                .number("dropped_packets", dropped)
                .done(),
        );
    }
    found
}
