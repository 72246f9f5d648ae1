//! The receiver drops packets whose source it would not reach through the interface they came
//! in on (`net.ipv4.conf.*.rp_filter`, RFC 3704): usual where two links share a subnet, or
//! where the route back goes elsewhere.
//!
//! Evidence: `IP_RPFILTER` events or `TcpExt: IPReversePathFilter`
//! (`fib_validate_source`, `net/ipv4/ip_input.c`). With an empty neighbour table not even that is seen: a strict filter
//! refuses the sender's ARP requests too (`arp_process` asks the same function), in silence. Then the evidence is that the
//! sender got no answer, that the filter in force on the receiver's interface is strict, and that the receiver's own
//! lookup of the way back names another interface: likely. An error.
//! Cases: `reverse-path-filter`, `reverse-path-filter-arp`, `neighbour-unresolved-strict`.

use std::collections::{BTreeMap, BTreeSet};

use crate::fixes::Candidate;
use crate::fixes::knobs::At;
use hawser_model::account::Layer;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::{HostName, InterfaceName};
use hawser_model::units::Packets;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, host, interface, on_link, peer};
use crate::causes::claims::{Lost, by_host, confidence, only, place_on};
use crate::compare::topic::{About, Topic};
use crate::losses::{Loss, Losses, packets};
use crate::packets::facts::Side;
use crate::view::{Path, View};

#[derive(Serialize)]
pub(crate) struct ReversePathFilter {
    #[serde(flatten)]
    lost: Lost,
    /// The larger of the interface's own and that of `all`.
    #[serde(skip_serializing_if = "Option::is_none")]
    rp_filter: Option<u64>,
    /// Through which the receiver would answer, if it is another one and the kernel was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer_interface: Option<InterfaceName>,
    /// Packets that waited for an answer to ARP, which it refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    arp_refused_packets: Option<Packets>,
}

/// Strict (ip-sysctl, `rp_filter`).
const STRICT: u64 = 1;

/// The `rp_filter` in force on an interface: the kernel applies the larger of `all` and its own (ip-sysctl).
pub(super) fn in_force(
    view: &View<'_>,
    host: &HostName,
    interface: Option<&InterfaceName>,
) -> Option<u64> {
    // sysctl(8) writes the dot of `eth0.100` as a slash.
    let own =
        interface.map(|i| format!("net.ipv4.conf.{}.rp_filter", i.as_str().replace('.', "/")));
    [own.as_deref(), Some("net.ipv4.conf.all.rp_filter")]
        .into_iter()
        .flatten()
        .filter_map(|name| view.sysctl(host, name))
        .max()
}

/// The interface through which the receiver would answer the packets of a loss, as its kernel said while they came;
/// absent when nobody asked it, or it has no route.
pub(super) fn answers_through(view: &View<'_>, loss: &Loss) -> Option<InterfaceName> {
    let facts = &view.phases[loss.phase].facts;
    let spec = &facts.phase.spec;
    let mut routes = facts.window(Side::Receiver).answers.iter();
    let route = routes.find(|route| route.to == spec.source && route.from == spec.receiver)?;
    route.interface.clone()
}

/// The same, if it is not the one that the packets came in on.
fn other_interface(view: &View<'_>, loss: &Loss) -> Option<InterfaceName> {
    let (own, _) = view.phases[loss.phase].facts.interface(Side::Receiver)?;
    answers_through(view, loss).filter(|through| through != own)
}

/// A packet that waited for the receiver's MAC address, which a strict filter kept back.
fn arp_refused(view: &View<'_>, loss: &Loss) -> bool {
    let facts = &view.phases[loss.phase].facts;
    let interface = facts.interface(Side::Receiver).map(|(name, _)| name);
    loss.layer == Some(Layer::Neighbour)
        && loss.path == view.phases[loss.phase].path()
        && facts.phase.spec.source.is_ipv4()
        && in_force(view, &loss.path.to, interface) == Some(STRICT)
        && other_interface(view, loss).is_some()
}

/// By receiver.
fn refused_arp(view: &View<'_>, losses: &mut Losses) -> Vec<Found<ReversePathFilter>> {
    let mut claimed = losses.claim(ReversePathFilter::CODE, |l| arp_refused(view, l));
    let paths: BTreeSet<Path> = claimed.iter().map(|l| l.path.clone()).collect();
    // What of the same directions is unexplained waits in the same queue.
    claimed.extend(losses.claim(ReversePathFilter::CODE, |l| {
        l.layer.is_none() && paths.contains(&l.path) && view.received(&l.path) == 0
    }));
    let mut by_receiver: BTreeMap<HostName, Vec<Loss>> = BTreeMap::new();
    for loss in claimed {
        by_receiver
            .entry(loss.path.to.clone())
            .or_default()
            .push(loss);
    }
    let found = by_receiver.into_iter().map(|(host, group)| {
        let place = place_on(view, &host, &group);
        Found {
            severity: Severity::Error,
            confidence: Confidence::Likely,
            evidence: ReversePathFilter {
                rp_filter: in_force(view, &host, place.interface.as_ref()),
                answer_interface: only(group.iter().filter_map(|l| other_interface(view, l))),
                arp_refused_packets: Some(Packets(packets(&group))),
                lost: Lost::of(view, &group),
            },
            place,
        }
    });
    found.collect()
}

fn is_reverse_path(loss: &Loss) -> bool {
    loss.layer == Some(Layer::ReceiverIp)
        && (loss.reason == "IP_RPFILTER" || loss.reason.ends_with("IPReversePathFilter"))
}

impl CheckCause for ReversePathFilter {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let dropped = by_host(losses.claim(Self::CODE, is_reverse_path));
        let dropped = dropped.into_iter().map(|(host, group)| {
            let place = place_on(view, &host, &group);
            Found {
                severity: Severity::Error,
                confidence: confidence(&group),
                evidence: Self {
                    lost: Lost::of(view, &group),
                    rp_filter: in_force(view, &host, place.interface.as_ref()),
                    answer_interface: only(group.iter().filter_map(|l| other_interface(view, l))),
                    arp_refused_packets: None,
                },
                place,
            }
        });
        let mut found: Vec<_> = dropped.collect();
        found.extend(refused_arp(view, losses));
        found
    }

    fn cost(&self) -> Packets {
        self.lost.lost_packets
    }

    fn candidates(&self, at: &At<'_>) -> Vec<Option<Candidate>> {
        vec![
            at.setting("arp_ignore", "1"),
            at.setting("accept_local", "1"),
            // 2 is loose: any route back will do. The larger of this and `all` is in force.
            at.setting("rp_filter", "2"),
        ]
    }
}

impl Cause for ReversePathFilter {
    const CODE: &'static str = "reverse-path-filter";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[Topic::Sysctl.with("rp_filter")];

    fn words(&self, at: &Place) -> Words {
        let strict = match self.rp_filter {
            Some(1) => " (rp_filter is 1, strict)".to_owned(),
            Some(n) => format!(" (rp_filter is {n})"),
            None => String::new(),
        };
        let through = self.answer_interface.as_ref();
        let through = through.map_or("another interface".to_owned(), ToString::to_string);
        let text = match self.arp_refused_packets {
            None => format!(
                "{} drops {} from {}{} because it would answer them through {through}{strict}.",
                host(at),
                self.lost,
                peer(at),
                on_link(at),
            ),
            Some(_) => format!(
                "{} does not answer the ARP requests of {}{}: it would answer through {through}{strict}, and the filter refuses ARP \
                 too. {} died waiting for its MAC address.",
                host(at),
                peer(at),
                on_link(at),
                self.lost,
            ),
        };
        Words {
            text,
            fix: format!(
                "Give each link a subnet of its own, so that `ip route get ADDRESS` on {} names {}. \
                 Where two links must share one: `sysctl -w net.ipv4.conf.{}.rp_filter=2` (this \
                 interface; `all` must not be 1).",
                host(at),
                interface(at),
                interface(at).replace('.', "/"),
            ),
        }
    }
}
