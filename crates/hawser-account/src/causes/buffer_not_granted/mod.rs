//! A socket asked for a receive buffer and got less: `SO_RCVBUF` is cut to
//! `net.core.rmem_max` without an error, and doubled afterwards for the kernel's overhead
//! (socket(7); `sk_setsockopt`, `net/core/sock.c`). So a grant is right when it is twice what
//! was asked.
//!
//! Evidence: asked and granted. Where that socket then lost packets that the buffer asked for
//! would have held, it is their cause: an error. Otherwise a note. The engine's own sockets
//! are judged too: kronosnet asks for 8 MiB and forces them, so one that has what it
//! would have got unforced could not. One that has another size was set smaller for a reason that is not
//! known. Certain. Cases: `buffer-not-granted`, `buffer-not-granted-lossy`,
//! `buffer-not-granted-corosync`, `corosync-buffer-shrunk`.

use crate::fixes::Candidate;
use crate::fixes::knobs::{At, KERNEL_DEFAULT, igmp_2, rmem_default, rmem_max};
use hawser_model::trial::TrialTraffic;
use std::collections::BTreeMap;

use hawser_model::account::Layer;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::HostName;
use hawser_model::units::{Bytes, Packets};
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, host};
use crate::causes::claims::{Lost, place_on};
use crate::causes::knet;
use crate::causes::socket_drain::Pace;
use crate::compare::topic::{About, Topic};
use crate::losses::{Loss, Losses};
use crate::packets::facts::{PhaseFacts, Side};
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct BufferNotGranted {
    asked_bytes: Bytes,
    granted_bytes: Bytes,
    #[serde(skip_serializing_if = "Option::is_none")]
    rmem_max_bytes: Option<Bytes>,
    #[serde(flatten)]
    cost: Cost,
    /// Of a cluster engine's own socket, what of it `tune` can turn.
    #[serde(skip)]
    low: Option<knet::Low>,
}

/// What it cost.
#[derive(Serialize)]
#[serde(untagged)]
enum Cost {
    Lost(Lost),
    Nothing { lost_packets: Packets },
}

const NOTHING: Cost = Cost::Nothing {
    lost_packets: Packets(0),
};

/// Asked and granted bytes of a phase's receiver that got less than twice what it asked for.
pub(crate) fn short(facts: &PhaseFacts<'_>) -> Option<(u64, u64)> {
    let asked = facts.phase.receiver.buffer_asked?.0;
    let granted = facts.phase.receiver.buffer_granted.0;
    (granted < asked.saturating_mul(2)).then_some((asked, granted))
}

impl CheckCause for BufferNotGranted {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
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
            let explained = losses.claim(Self::CODE, |l| {
                l.host.as_ref() == Some(&host) && would_have_held(view, l)
            });
            let (severity, place, cost) = match explained.is_empty() {
                true => (Severity::Note, Place::on(&host), NOTHING),
                false => {
                    let cost = Cost::Lost(Lost::of(view, &explained));
                    (Severity::Error, place_on(view, &host, &explained), cost)
                }
            };
            found.push(Found {
                severity,
                confidence: Confidence::Certain,
                place,
                evidence: Self {
                    asked_bytes: Bytes(asked),
                    granted_bytes: Bytes(granted),
                    rmem_max_bytes: view.sysctl(&host, "net.core.rmem_max").map(Bytes),
                    cost,
                    low: None,
                },
            });
        }
        found.extend(of_corosync(view));
        found
    }

    fn cost(&self) -> Packets {
        match &self.cost {
            Cost::Lost(lost) => lost.lost_packets,
            Cost::Nothing { lost_packets } => *lost_packets,
        }
    }

    fn candidates(&self, at: &At<'_>) -> Vec<Option<Candidate>> {
        if let Some(low) = &self.low {
            return low.candidates();
        }
        vec![
            at.largest_ring(),
            igmp_2(),
            rmem_default(KERNEL_DEFAULT),
            rmem_max(self.asked_bytes.0),
        ]
    }

    /// The traffic whose receiver on this host was granted least of what it asked for, as the fault itself; of an engine's
    /// socket, which a place names, its own.
    fn traffic(view: &View<'_>, place: &Place, host: &HostName) -> Option<TrialTraffic> {
        if place.object.is_some() {
            return Some(knet::traffic(host));
        }
        let into = view.phases.iter().map(|phase| &phase.facts);
        let short = into
            .filter(|facts| facts.host(Side::Receiver) == host)
            .filter_map(|facts| Some((facts, short(facts)?)));
        let (facts, (asked, _)) = short.max_by_key(|(_, (asked, granted))| 2 * asked - granted)?;
        Some(TrialTraffic {
            from: facts.host(Side::Sender).clone(),
            to: host.clone(),
            link: facts.link().clone(),
            phase: facts.phase.kind,
            fanout: None,
            due: Some(Bytes(2 * asked)),
            engine: false,
        })
    }
}

impl Cause for BufferNotGranted {
    const CODE: &'static str = "buffer-not-granted";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[Topic::Sysctl.with("net.core.rmem_max").told()];

    fn words(&self, at: &Place) -> Words {
        let (asked, granted) = (self.asked_bytes, self.granted_bytes);
        let limit = self.rmem_max_bytes.map_or(String::new(), |max| {
            format!(" (net.core.rmem_max is {max})")
        });
        if let (Some(object), Some(reason)) = (&at.object, self.not_for_the_limit()) {
            return Words {
                text: format!(
                    "{object} on {} has a receive buffer of {granted} although kronosnet asks for {asked}. Why is not \
                     known: {reason}",
                    host(at),
                ),
                fix: "Restart Corosync, which asks again, and look whether the buffer stays: another program may have set it from \
                      outside, or net.core.rmem_max was smaller when Corosync started."
                    .to_owned(),
            };
        }
        if let Some(object) = &at.object {
            return Words {
                text: format!(
                    "{object} on {} has a receive buffer of {granted} although kronosnet asks for {asked}: it \
                     could not force it{limit}.",
                    host(at),
                ),
                fix: format!(
                    "Give Corosync CAP_NET_ADMIN (it has it as root outside containers), or {} Then \
                     restart it.",
                    knet::raise_rmem_max(knet::ASKED)
                ),
            };
        }
        let lost = match &self.cost {
            Cost::Nothing { .. } => " Nothing was lost for it today.".to_owned(),
            Cost::Lost(lost) => {
                format!(" It then lost {lost}; the buffer asked for would have held them.")
            }
        };
        Words {
            text: format!(
                "A socket on {} asked for a receive buffer of {asked} and got {granted} instead of {}{limit}; \
                 the kernel cuts the request without an error.{lost}",
                host(at),
                Bytes(asked.0.saturating_mul(2)),
            ),
            fix: format!(
                "{} Or let a privileged program use SO_RCVBUFFORCE.",
                knet::raise_rmem_max(asked.0)
            ),
        }
    }
}

impl BufferNotGranted {
    /// Why the limit is not the reason: what the kernel grants without force is another size.
    fn not_for_the_limit(&self) -> Option<String> {
        let limit = self.rmem_max_bytes?;
        let unforced = Bytes(self.asked_bytes.0.min(limit.0).saturating_mul(2));
        (self.granted_bytes != unforced).then(|| {
            format!("without the right to force it, it would have {unforced} (net.core.rmem_max is {limit}).")
        })
    }
}

/// A socket-buffer loss that the buffer asked for would have prevented.
fn would_have_held(view: &View<'_>, loss: &Loss) -> bool {
    let facts = &view.phases[loss.phase].facts;
    let pace = Pace::of(facts.phase);
    loss.layer == Some(Layer::SocketBuffer)
        && !pace.too_slow()
        && short(facts).is_some_and(|(asked, _)| pace.needed <= asked.saturating_mul(2))
}

/// kronosnet sockets below what it asks for.
fn of_corosync(view: &View<'_>) -> Vec<Found<BufferNotGranted>> {
    let mut found = Vec::new();
    for (host, sockets) in &view.case.sockets {
        let low = sockets
            .iter()
            .filter_map(|s| Some((s, knet::asked(view, host, s)?)));
        for (socket, asked) in low {
            let place = Place {
                host: Some(host.clone()),
                object: Some(format!("corosync {}", socket.local)),
                ..Place::default()
            };
            found.push(Found {
                severity: Severity::Warning,
                confidence: Confidence::Likely,
                place,
                evidence: BufferNotGranted {
                    asked_bytes: asked,
                    granted_bytes: socket.receive_buffer,
                    rmem_max_bytes: view.sysctl(host, "net.core.rmem_max").map(Bytes),
                    cost: NOTHING,
                    low: knet::Low::of(view, host, socket),
                },
            });
        }
    }
    found
}
