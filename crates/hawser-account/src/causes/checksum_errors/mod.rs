//! Packets arrive damaged. Where the receiver verifies, UDP drops them (`InCsumErrors`, found
//! at `recv()`); where it does not (checksum offload between virtual machines, a NIC that
//! says "verified") the program gets them and only the probe's own checksum tells.
//!
//! Evidence: packets in the layer checksum. The damage was done on the way: cable, switch
//! memory, NIC. If all of the damage is in the 20 bytes of the IP header and none in the payload, a device rewrites headers and
//! forgets their checksum: no cable chooses so. An error, also at one packet: storage protocols without checksums of their
//! own store such data. What is lost beside them in the same phase, and is no more than damage of
//! headers explains, is theirs, and likely. Cases: `checksum-errors`, `delivered-corrupted`, `checksum-errors-header`,
//! `checksum-errors-beside`, `checksum-errors-and-loss`; `netem-corrupt`, recorded.

use std::collections::BTreeSet;

use hawser_model::account::Layer;
use hawser_model::case::Case;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::{HostName, InterfaceName};
use hawser_model::trial::TrialTraffic;
use hawser_model::units::Packets;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, host, on_link, peer};
use crate::causes::claims::{Lost, confidence, place_on};
use crate::causes::pattern::{Pattern, localize};
use crate::compare::topic::{About, Topic};
use crate::fixes::knobs::At;
use crate::fixes::{Candidate, end, traffic_of};
use crate::losses::{Loss, Losses, packets};
use crate::packets::facts::Side;
use crate::view::{Path, PhaseView, View};

#[derive(Serialize)]
pub(crate) struct ChecksumErrors {
    pattern: Pattern,
    #[serde(flatten)]
    lost: Lost,
    delivered_corrupted_packets: Packets,
    checksum_errors_counted: u64,
    /// Packets whose IP header was damaged.
    header_packets: Packets,
    /// Packets that were lost for other reasons, or for none that is known, in no greater number than damage of headers explains.
    elsewhere_packets: Packets,
}

/// So many packets damaged in the header and none in the payload are no chance: a header is a tenth of the smallest probe.
const NO_CHANCE: u64 = 5;

/// Whether the packets were dropped for a wrong checksum of the IP header, which the payload has no part in
/// (`ip_rcv_core`, `net/ipv4/ip_input.c`).
fn of_header(loss: &Loss) -> bool {
    loss.reason == "IP_CSUM" || loss.reason == "ipext/InCsumErrors"
}

/// The headers in front of the payload: Ethernet, IPv4, UDP. Damage there is dropped by whoever reads the field: the card, IP,
/// the socket that it now names; or by nobody who counts.
const HEADERS: f64 = 42.0;

/// What damage of headers can have cost in a phase in which so many packets were damaged: bits are hit alike, so headers by their
/// part of the packet; and three standard deviations more.
fn in_headers(payload: u32, damaged: u64) -> u64 {
    let expected = damaged as f64 * HEADERS / f64::from(payload.max(1));
    (expected + 3.0 * expected.sqrt()).ceil() as u64
}

/// Claims what damage of headers explains in phases in which the receiver counted damaged packets.
fn beside(view: &View<'_>, losses: &mut Losses, group: &[Loss]) -> Vec<Loss> {
    let phases: BTreeSet<usize> = group.iter().map(|l| l.phase).collect();
    let misread = |l: &Loss| {
        matches!(
            l.layer,
            None | Some(Layer::BetweenHosts | Layer::ReceiverIp | Layer::NoListener)
        )
    };
    let mut claimed = Vec::new();
    for phase in phases {
        let here = group.iter().filter(|l| l.phase == phase);
        let damaged = here.fold(0u64, |sum, l| sum.saturating_add(l.packets));
        let (payload, path) = {
            let phase = &view.phases[phase];
            (phase.facts.phase.spec.payload, phase.path())
        };
        let odd = |l: &Loss| l.phase == phase && l.path == path && misread(l);
        let all = losses
            .open()
            .filter(|l| odd(l))
            .fold(0u64, |sum, l| sum.saturating_add(l.packets));
        if all <= in_headers(payload, damaged) {
            claimed.extend(losses.claim(ChecksumErrors::CODE, odd));
        }
    }
    claimed
}

impl CheckCause for ChecksumErrors {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let damaged = |l: &Loss| l.layer == Some(Layer::Checksum);
        let affected: BTreeSet<Path> = losses
            .open()
            .filter(|l| damaged(l))
            .map(|l| l.path.clone())
            .collect();
        let measured = view.paths();
        let mut found = Vec::new();
        for spot in localize(&affected, &measured) {
            let mut group =
                losses.claim(Self::CODE, |l| damaged(l) && spot.paths.contains(&l.path));
            let mut place = spot.place;
            // One direction: the receiver is where the damage was counted.
            if spot.pattern == Pattern::Direction {
                if let Some(receiver) = place.peer.clone() {
                    place = place_on(view, &receiver, &group);
                }
            }
            let delivered: Vec<Loss> = group
                .iter()
                .filter(|l| l.reason == "delivered corrupted")
                .cloned()
                .collect();
            let header: Vec<Loss> = group.iter().filter(|l| of_header(l)).cloned().collect();
            let phases: BTreeSet<usize> = group.iter().map(|l| l.phase).collect();
            let counted = phases
                .into_iter()
                .map(|phase| {
                    let facts = &view.phases[phase].facts;
                    let (udp, _) = facts.families();
                    facts.counter(Side::Receiver, &format!("{udp}/InCsumErrors"))
                })
                .sum();
            let sure = confidence(&group);
            let elsewhere = beside(view, losses, &group);
            let guessed = Packets(packets(&elsewhere));
            group.extend(elsewhere);
            found.push(Found {
                severity: Severity::Error,
                confidence: match guessed {
                    Packets(0) => sure,
                    _ => sure.min(Confidence::Likely),
                },
                place,
                evidence: Self {
                    pattern: spot.pattern,
                    lost: Lost::of(view, &group),
                    delivered_corrupted_packets: Packets(packets(&delivered)),
                    checksum_errors_counted: counted,
                    header_packets: Packets(packets(&header)),
                    elsewhere_packets: guessed,
                },
            });
        }
        found
    }

    fn cost(&self) -> Packets {
        self.lost.lost_packets
    }

    /// A card that computes checksums badly damages all that it sends, and nothing on the way does.
    fn candidates(&self, at: &At<'_>) -> Vec<Option<Candidate>> {
        match self.pattern {
            _ if self.header_alone() => Vec::new(),
            Pattern::Direction => vec![
                at.offload_off("tx-udp-segmentation"),
                at.offload_off("tx-scatter-gather"),
                at.transmit_checksum_off(),
            ],
            _ => Vec::new(),
        }
    }

    /// At the sender's end of the link.
    fn turned_at(case: &Case, place: &Place) -> Option<(HostName, InterfaceName)> {
        end(case, place.peer.as_ref()?, place.link.as_ref()?)
    }

    /// The flow whose packets arrived damaged most.
    fn traffic(view: &View<'_>, place: &Place, _: &HostName) -> Option<TrialTraffic> {
        let path = Path {
            link: place.link.clone()?,
            from: place.peer.clone()?,
            to: place.host.clone()?,
        };
        let damaged = |phase: &&PhaseView<'_>| {
            let lines = phase.account.layers.iter();
            let own = lines.filter(|line| line.layer == Layer::Checksum);
            own.map(|line| line.packets).sum::<Packets>().0
        };
        let worst = view.on(&path).max_by_key(damaged)?;
        (damaged(&worst) > 0).then(|| traffic_of(&path, worst.facts.phase.kind))
    }
}

impl ChecksumErrors {
    /// Whether the IP headers were damaged and no payload was.
    fn header_alone(&self) -> bool {
        let header = self.header_packets;
        header.0 >= NO_CHANCE
            && header == self.lost.lost_packets
            && self.checksum_errors_counted == 0
    }
}

impl Cause for ChecksumErrors {
    const CODE: &'static str = "checksum-errors";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[
        Topic::Offload.with("checksum"),
        Topic::Driver.any(),
        Topic::Firmware.any(),
    ];

    fn words(&self, at: &Place) -> Words {
        let lost = &self.lost;
        let seen = match self.delivered_corrupted_packets {
            Packets(0) => "The kernel noticed and dropped them.".to_owned(),
            n if n >= lost.lost_packets => {
                "The kernel did not notice: programs get such data.".to_owned()
            }
            n => format!("{n} of them reached the program, unnoticed by the kernel."),
        };
        let seen = match self.elsewhere_packets.0 {
            0 => seen,
            n => format!(
                "{seen} {} counted as something else, or not at all: as many as damage of headers explains.",
                match n {
                    1 => "One of them is".to_owned(),
                    n => format!("{n} of them are"),
                }
            ),
        };
        let text = match self.pattern {
            Pattern::Direction => format!(
                "{lost} from {} reached {}{} damaged. {seen} The other direction is clean.",
                peer(at),
                host(at),
                on_link(at),
            ),
            pattern => format!("{lost} arrived damaged. {seen} {}", pattern.suspect(at)),
        };
        if self.header_alone() {
            return Words {
                text: format!(
                    "{text} All of the damage is in the 20 bytes of the IP header and none in the payload: no cable does that."
                ),
                fix: "A device between the hosts rewrites IP headers and forgets their checksum: a switch or router that marks \
                      DSCP or TOS, counts the TTL down or translates addresses, or a program (tc, eBPF) on a port. Compare a packet \
                      at both ends (`tcpdump -v`: bad cksum): the field that differs tells which. Switch such rules off one at a \
                      time, and repeat the check."
                    .to_owned(),
            };
        }
        Words {
            text,
            fix: "The damage is done on the way: exchange cable and transceivers, then the switch \
                  port. Test the receiving card without checksum offload (`ethtool -K IF rx off`), \
                  which also shows whether the card hides errors."
                .to_owned(),
        }
    }
}
