//! Packets were lost and nothing that could be read says where: a place without a counter
//! (a queue freed with its socket), a host without drop events, a counter that other traffic
//! moves too. Hawser does not guess.
//!
//! Evidence: what the account could not book. Possible; an error. Cases: `unattributed-loss`,
//! `echo-lost`.

use std::collections::BTreeSet;

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::host::HostWindow;
use hawser_model::names::HostName;
use hawser_model::units::Packets;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, as_number, counted};
use crate::causes::claims::sent_in;
use crate::causes::pattern::{Pattern, localize};
use crate::losses::{Losses, packets};
use crate::packets::facts::Side;
use crate::view::{Path, View};

#[derive(Serialize)]
pub(crate) struct UnattributedLoss {
    pattern: Pattern,
    unattributed_packets: Packets,
    sent_packets: Packets,
    #[serde(serialize_with = "as_number")]
    echoes_only: bool,
    #[serde(serialize_with = "as_number")]
    drop_events_read: bool,
    #[serde(serialize_with = "as_number")]
    taps_read: bool,
    /// What would have told more, and why it could not.
    #[serde(skip_serializing_if = "Option::is_none")]
    collector_unavailable: Option<String>,
}

impl CheckCause for UnattributedLoss {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let affected: BTreeSet<Path> = losses.open().map(|l| l.path.clone()).collect();
        let mut measured = view.paths();
        measured.extend(affected.iter().cloned());
        localize(&affected, &measured)
            .into_iter()
            .map(|spot| {
                let group = losses.claim(Self::CODE, |l| spot.paths.contains(&l.path));
                let phases = || group.iter().map(|l| &view.phases[l.phase].facts);
                let both = |has: fn(&HostWindow) -> bool| {
                    phases().all(|f| {
                        [Side::Sender, Side::Receiver]
                            .iter()
                            .all(|s| has(f.window(*s)))
                    })
                };
                let of_echoes = group.iter().all(|l| view.phases[l.phase].path() != l.path);
                let hosts: BTreeSet<&HostName> =
                    spot.paths.iter().flat_map(|p| [&p.from, &p.to]).collect();
                Found {
                    severity: Severity::Error,
                    confidence: Confidence::Possible,
                    place: spot.place,
                    evidence: Self {
                        pattern: spot.pattern,
                        unattributed_packets: Packets(packets(&group)),
                        sent_packets: Packets(sent_in(view, &group)),
                        echoes_only: of_echoes,
                        drop_events_read: both(|w| w.drops.is_some()),
                        taps_read: both(|w| w.taps.is_some()),
                        collector_unavailable: hosts
                            .into_iter()
                            .find_map(|host| missing(view, host)),
                    },
                }
            })
            .collect()
    }

    fn cost(&self) -> Packets {
        self.unattributed_packets
    }
}

impl Cause for UnattributedLoss {
    const CODE: &'static str = "unattributed-loss";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let lost = counted(self.unattributed_packets.0, "packet");
        let missing = match self.echoes_only {
            true => format!("Echoes of {lost}"),
            false => lost,
        };
        let blind = match (self.drop_events_read, self.taps_read) {
            (true, true) => {
                "The kernel's drop events and both taps were read, so the place has no counter and \
                 raises no event"
            }
            (false, true) => "The kernel's drop events could not be read on every host",
            (true, false) => "The interfaces could not be tapped on every host",
            (false, false) => {
                "Neither drop events nor taps could be read on every host, and counters alone leave \
                 this much open"
            }
        };
        let why = self.collector_unavailable.as_ref();
        let why = why.map_or(String::new(), |why| format!(" ({why})"));
        Words {
            text: format!(
                "{missing} of {} were lost and nothing says where. {blind}{why}. {}",
                self.sent_packets,
                self.pattern.suspect(at),
            ),
            fix: match self.drop_events_read && self.taps_read {
                true => "Send the case file with a report: `hawser explain` repeats this account \
                         from it anywhere."
                    .to_owned(),
                false => "Let the agents run as root on a kernel with BTF \
                          (`/sys/kernel/btf/vmlinux`), so that they see the kernel's drop reasons, \
                          and repeat the check."
                    .to_owned(),
            },
        }
    }
}

/// The first collector that would have told more and cannot run on the host, and why.
fn missing(view: &View<'_>, host: &HostName) -> Option<String> {
    let telling = ["drop-reasons", "tap"];
    let collectors = &view.host(host)?.collectors;
    let blind = collectors
        .iter()
        .find(|c| telling.contains(&c.name.as_str()) && c.unavailable.is_some())?;
    let why = blind.unavailable.as_deref().unwrap_or_default();
    Some(format!("{} on {host}: {why}", blind.name))
}
