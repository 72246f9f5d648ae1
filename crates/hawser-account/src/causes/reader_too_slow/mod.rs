//! The receiving program takes fewer packets a second than arrive. The buffer fills, whatever
//! its size; a larger one only postpones the loss. The cure is in the program or in the CPU
//! it gets. If the buffer does not hold a burst, at most what arrives above the reader's rate is
//! told here; the rest is `receive-buffer-too-small`.
//!
//! Evidence: the socket's own drops, and a drain rate (packets read over the time the reader
//! was busy) below the arrival rate. Certain when the rates are clearly apart, likely when they are
//! not, or when the loss is shared with the buffer: the reader's share is an upper bound. An error; a warning when the flow was unpaced and the reader our own,
//! since that is the host's limit rather than a fault. Cases:
//! `reader-too-slow`, `reader-too-slow-small-buffer`.

use hawser_model::account::Layer;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::units::{Bytes, Packets, PacketsPerSec};
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, as_number, counted, host, on_link, peer};
use crate::causes::claims::{Lost, by_host, place_on};
use crate::causes::socket_drain::{Pace, unpaced, waiting};
use crate::compare::topic::{About, COMPUTING};
use crate::losses::{Loss, Losses};
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct ReaderTooSlow {
    #[serde(flatten)]
    lost: Lost,
    /// Sent as fast as the sender could.
    #[serde(serialize_with = "as_number")]
    unpaced: bool,
    arrival_packets_per_s: PacketsPerSec,
    capacity_packets_per_s: PacketsPerSec,
    /// Of its time, for which the reader waited.
    #[serde(skip_serializing_if = "Option::is_none")]
    idle_percent: Option<u64>,
    /// For which it was ready to run and waited for a processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    starved_percent: Option<u64>,
    buffer_bytes: Bytes,
    /// What the same socket lost because its buffer does not hold a burst.
    #[serde(skip_serializing_if = "Option::is_none")]
    lost_to_buffer_packets: Option<Packets>,
}

impl CheckCause for ReaderTooSlow {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let claimed = losses.claim_part(Self::CODE, |l| {
            let phase = view.phases[l.phase].facts.phase;
            match l.layer == Some(Layer::SocketBuffer) {
                true => Pace::of(phase).readers_share(phase, l.packets),
                false => 0,
            }
        });
        let buffers = |group: &[Loss]| -> u64 {
            let open = losses
                .open()
                .filter(|l| l.layer == Some(Layer::SocketBuffer));
            let of_group =
                open.filter(|l| group.iter().any(|g| g.phase == l.phase && g.host == l.host));
            of_group.map(|l| l.packets).sum()
        };
        let found = by_host(claimed).into_iter().filter_map(|(host, group)| {
            let phases = || group.iter().map(|l| view.phases[l.phase].facts.phase);
            let own_limit = phases().all(unpaced);
            let clear = phases().all(|phase| Pace::of(phase).clear());
            let to_buffer = buffers(&group);
            let most = group.iter().max_by_key(|l| l.packets)?;
            let phase = view.phases[most.phase].facts.phase;
            let pace = Pace::of(phase);
            Some(Found {
                severity: match own_limit {
                    true => Severity::Warning,
                    false => Severity::Error,
                },
                confidence: match clear && to_buffer == 0 {
                    true => Confidence::Certain,
                    false => Confidence::Likely,
                },
                place: place_on(view, &host, &group),
                evidence: Self {
                    lost: Lost::of(view, &group),
                    unpaced: own_limit,
                    arrival_packets_per_s: PacketsPerSec(pace.arrival?),
                    capacity_packets_per_s: PacketsPerSec(pace.capacity?),
                    idle_percent: pace.idle_percent,
                    starved_percent: pace.starved_percent,
                    buffer_bytes: phase.receiver.buffer_granted,
                    lost_to_buffer_packets: (to_buffer > 0).then_some(Packets(to_buffer)),
                },
            })
        });
        found.collect()
    }

    fn cost(&self) -> Packets {
        self.lost.lost_packets
    }
}

impl Cause for ReaderTooSlow {
    const CODE: &'static str = "reader-too-slow";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &COMPUTING;

    fn words(&self, at: &Place) -> Words {
        let (host, peer, on_link) = (host(at), peer(at), on_link(at));
        let (lost, capacity) = (&self.lost, self.capacity_packets_per_s);
        let arrival = self.arrival_packets_per_s;
        let idle = self
            .idle_percent
            .map_or(String::new(), |i| match self.starved_percent {
                Some(_) => format!(", and it waited {}", waiting(i, self.starved_percent)),
                None => format!(", and it waited {i} % of the time"),
            });
        if self.unpaced {
            return Words {
                text: format!(
                    "Sent as fast as the sender could, {host} lost {lost} from {peer}{on_link}: one reader there took \
                     {capacity} of {arrival} that arrived{idle}. That is this host's limit, not a fault of \
                     the path."
                ),
                fix: "Nothing, if the programs here need less. Otherwise spread the work: several \
                      reading threads (SO_REUSEPORT), receive steering (RPS), a faster CPU."
                    .to_owned(),
            };
        }
        let faster = "Make the reader faster: read in batches (recvmmsg), in several threads \
                      (SO_REUSEPORT), on a CPU of its own or with real-time priority; or send less.";
        if let Some(Packets(to_buffer)) = self.lost_to_buffer_packets {
            return Words {
                text: format!(
                    "{host} lost up to {lost} from {peer}{on_link} to a slow reader: the program takes {capacity} while \
                     it reads, {arrival} arrive{idle}. The other {} went to the buffer of {}, which does not \
                     hold a burst.",
                    counted(to_buffer, "packet"),
                    self.buffer_bytes,
                ),
                fix: format!(
                    "Raise the buffer first (receive-buffer-too-small), then measure again. {faster}"
                ),
            };
        }
        Words {
            text: format!(
                "{host} lost {lost} from {peer}{on_link}: the program takes {capacity}, {arrival} arrive{idle}. A \
                 larger buffer ({} now) would only postpone the loss.",
                self.buffer_bytes,
            ),
            fix: format!("{faster} Do not raise the buffer for it."),
        }
    }
}
