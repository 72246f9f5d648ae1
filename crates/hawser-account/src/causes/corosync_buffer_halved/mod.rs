//! Raising `net.core.rmem_max` halved Corosync's buffers. With a small limit kronosnet forces its
//! buffers and has 16 MiB; with one between 4 and 8 MiB it is content with less ([`knet`]).
//!
//! Evidence: the buffer of a real Corosync socket, at least 8 and below 16 MiB, not the
//! sysctl alone. Certain when it is twice the present `rmem_max`, else likely. A note; an
//! error when that socket drops. Cases: `corosync-buffer-halved`,
//! `corosync-buffer-halved-dropping`.

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::HostName;
use hawser_model::sockets::SocketFacts;
use hawser_model::trial::TrialTraffic;
use hawser_model::units::{Bytes, Packets};
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, counted, host};
use crate::causes::foreign_socket_dropping::drops_of;
use crate::causes::knet;
use crate::fixes::Candidate;
use crate::fixes::knobs::At;
use crate::losses::Losses;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct CorosyncBufferHalved {
    buffer_bytes: Bytes,
    asked_bytes: Bytes,
    sockets: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    rmem_max_bytes: Option<Bytes>,
    /// In all windows of the check.
    dropped_packets: Packets,
    /// What of it `tune` can turn.
    #[serde(skip)]
    low: Option<knet::Low>,
}

/// True for a Corosync socket with the halved buffer.
pub(crate) fn is_halved(view: &View<'_>, host: &HostName, socket: &SocketFacts) -> bool {
    let buffer = socket.receive_buffer.0;
    socket.process.as_deref() == Some("corosync")
        && (knet::ASKED..2 * knet::ASKED).contains(&buffer)
        && (knet::used(view, host) || twice_the_limit(view, host, socket))
}

fn twice_the_limit(view: &View<'_>, host: &HostName, socket: &SocketFacts) -> bool {
    view.sysctl(host, "net.core.rmem_max")
        .is_some_and(|max| max.saturating_mul(2) == socket.receive_buffer.0)
}

impl CheckCause for CorosyncBufferHalved {
    const STANDING: bool = true;

    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
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
            found.push(Found {
                severity,
                confidence,
                place,
                evidence: Self {
                    buffer_bytes: first.receive_buffer,
                    asked_bytes: Bytes(knet::ASKED),
                    sockets: halved.len() as u64,
                    rmem_max_bytes: view.sysctl(host, "net.core.rmem_max").map(Bytes),
                    dropped_packets: Packets(dropped),
                    low: knet::Low::of(view, host, first),
                },
            });
        }
        found
    }

    fn cost(&self) -> Packets {
        self.dropped_packets
    }

    fn candidates(&self, _: &At<'_>) -> Vec<Option<Candidate>> {
        self.low
            .as_ref()
            .map_or_else(Vec::new, knet::Low::candidates)
    }

    fn traffic(_: &View<'_>, _: &Place, host: &HostName) -> Option<TrialTraffic> {
        Some(knet::traffic(host))
    }
}

impl Cause for CorosyncBufferHalved {
    const CODE: &'static str = "corosync-buffer-halved";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let limit = match self.rmem_max_bytes {
            Some(max) => format!("With net.core.rmem_max at {max}"),
            None => "With the present net.core.rmem_max".to_owned(),
        };
        let dropped = match self.dropped_packets.0 {
            0 => String::new(),
            n => format!(" It dropped {} during the check.", counted(n, "packet")),
        };
        Words {
            text: format!(
                "The receive buffer of {} of Corosync on {} is {} instead of 16.0 MiB. {limit} the plain request for 8 MiB \
                 seems granted, so kronosnet does not force more.{dropped}",
                counted(self.sockets, "socket"),
                host(at),
                self.buffer_bytes,
            ),
            fix: "`sysctl -w net.core.rmem_max=8388608` (the whole machine), or any value below \
                  4194304, which kronosnet overrides; then restart Corosync on this node, since \
                  open sockets keep their buffers. Set it in /etc/sysctl.d too."
                .to_owned(),
        }
    }
}
