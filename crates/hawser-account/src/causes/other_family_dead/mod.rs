//! Nothing of one address family passes a link, though both interfaces have addresses of one network in it and the
//! other family, which the flows use, passes. Mostly it is IPv6 behind a packet filter that drops ICMPv6: without
//! neighbour discovery no host finds another's MAC address, while ARP, which no IP filter sees, still works.
//!
//! Evidence: two searches with confirmed packets of which not even the smallest arrived, the second of them between two
//! windows. The receiver's filter is named if it dropped something on that interface and at least as many packets in all as the
//! sender sent neighbour solicitations, its IPv6 layer took as many, and its ICMPv6 saw no solicitation.
//! Where no filter is seen, a link that loses one packet in a hundred or more is not judged: it may have lost the one
//! solicitation of each search. Certain that it does not pass; likely of the filter. A warning: nothing that was measured is lost.
//! Cases: `other-family-dead`, `other-family-unknown`, `other-family-passes`; not
//! `conntrack-full-both-families`, `other-family-lossy`.

use hawser_model::case::{BothWindows, Measurement};
use hawser_model::drops::DropRecord;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::host::HostWindow;
use hawser_model::names::InterfaceName;
use hawser_model::probe::PathMtu;
use hawser_model::units::Packets;
use serde::Serialize;

use crate::cause::{
    Cause, CheckCause, Found, Words, as_number, between, counted, host, on_link, peer,
};
use crate::causes::cables_swapped::is_crossed;
use crate::losses::Losses;
use crate::multicast::groups;
use crate::view::{Path, View};

#[derive(Serialize)]
pub(crate) struct OtherFamilyDead {
    ip_version: u64,
    /// Between the two hosts, on all links together.
    directions_affected: u64,
    links_affected: u64,
    /// Neither does multicast pass, which neighbour discovery is.
    #[serde(
        skip_serializing_if = "std::ops::Not::not",
        serialize_with = "as_number"
    )]
    multicast_dead: bool,
    #[serde(flatten)]
    filter: Option<Filter>,
}

/// What the receiver's packet filter did with neighbour discovery.
#[derive(Clone, Serialize)]
struct Filter {
    solicitations_sent: Packets,
    filter_dropped: Packets,
    solicitations_seen: Packets,
}

/// The kernel's reason for what a packet filter drops.
const FILTERED: &str = "NETFILTER_DROP";

impl CheckCause for OtherFamilyDead {
    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let dead: Vec<(&Measurement, &PathMtu)> = view
            .case
            .measurements
            .iter()
            .filter(|m| !is_crossed(view, &m.from, &m.to, &m.link))
            .filter_map(|m| Some((m, dead(view, m)?)))
            .collect();
        let mut found: Vec<Found<Self>> = Vec::new();
        for (m, search) in &dead {
            let back = |(other, _): &&(&Measurement, &PathMtu)| {
                other.link == m.link && other.from == m.to && other.to == m.from
            };
            let filter = filter(view, m, search);
            let both = dead.iter().find(back);
            // Where the filters of both hosts are known, each is told; else both directions are one finding.
            let told_by_back = both.is_some_and(|(other, search)| {
                filter.is_none()
                    && (self::filter(view, other, search).is_some() || other.from < m.from)
            });
            if told_by_back || (filter.is_none() && view.loses_questions(&Path::of(m))) {
                continue;
            }
            let one = finding(view, m, search, filter, 1 + u64::from(both.is_some()));
            // One filter on several links is one finding, and so is a family that none of them lets through.
            let same = found.iter_mut().find(|other| {
                other.place.host == one.place.host
                    && other.place.peer == one.place.peer
                    && other.evidence.filter.is_some() == one.evidence.filter.is_some()
            });
            match same {
                Some(other) => join(other, &one),
                None => found.push(one),
            }
        }
        found
    }
}

fn finding(
    view: &View<'_>,
    m: &Measurement,
    search: &PathMtu,
    filter: Option<Filter>,
    directions: u64,
) -> Found<OtherFamilyDead> {
    // A filter is the receiver's: that is the host to look at.
    let (host, peer) = match filter {
        Some(_) => (&m.to, &m.from),
        None => (&m.from, &m.to),
    };
    let interface = filter.as_ref().and_then(|_| receivers(view, m, search));
    Found {
        severity: Severity::Warning,
        confidence: match filter {
            Some(_) => Confidence::Likely,
            None => Confidence::Certain,
        },
        place: Place {
            host: Some(host.clone()),
            peer: Some(peer.clone()),
            link: Some(m.link.clone()),
            interface: interface.cloned(),
            ..Place::default()
        },
        evidence: OtherFamilyDead {
            ip_version: search.ip_version(),
            directions_affected: directions,
            links_affected: 1,
            multicast_dead: filter.is_none()
                && !search.source.is_ipv4()
                && groups(view)
                    .iter()
                    .any(|group| group.path == Path::of(m) && group.is_shut()),
            filter,
        },
    }
}

fn join(into: &mut Found<OtherFamilyDead>, other: &Found<OtherFamilyDead>) {
    into.place.link = None;
    into.place.interface = None;
    into.evidence.multicast_dead &= other.evidence.multicast_dead;
    into.evidence.links_affected += 1;
    into.evidence.directions_affected += other.evidence.directions_affected;
    if let (Some(sum), Some(more)) = (&mut into.evidence.filter, &other.evidence.filter) {
        sum.solicitations_sent += more.solicitations_sent;
        sum.filter_dropped += more.filter_dropped;
        sum.solicitations_seen += more.solicitations_seen;
    }
}

/// The search of the other family, if nothing of it arrived while the flows' own passed. An address that its own kernel
/// does not use is `duplicate-address`.
fn dead<'a>(view: &View<'_>, m: &'a Measurement) -> Option<&'a PathMtu> {
    let other = m.path_mtu_other.as_ref()?;
    let own = m.path_mtu.as_ref()?;
    let refused = view.case.hosts.values().any(|facts| {
        facts.interfaces.values().any(|interface| {
            let failed = &interface.dad_failed;
            failed.contains(&other.source) || failed.contains(&other.destination)
        })
    });
    // A search may pass where the flows do not (a table of connections that is full): then nothing is told of a family alone.
    let flows_pass = m
        .phases
        .iter()
        .any(|phase| !phase.receiver.received.is_zero());
    (own.passed.is_some() && flows_pass && other.passed.is_none() && !refused).then_some(other)
}

/// Whether IPv6 is dead on this path, and no filter of the receiver was seen to stop its neighbour discovery.
pub(in crate::causes) fn is_silent(view: &View<'_>, path: &Path) -> bool {
    let mut measured = view.case.measurements.iter();
    measured.any(|m| {
        let search = dead(view, m).filter(|search| !search.source.is_ipv4());
        Path::of(m) == *path && search.is_some_and(|search| filter(view, m, search).is_none())
    })
}

/// The receiver's interface.
fn receivers<'a>(view: &View<'a>, m: &Measurement, search: &PathMtu) -> Option<&'a InterfaceName> {
    let facts = view.host(&m.to)?;
    Some(facts.interface_with(search.destination)?.0)
}

fn filter(view: &View<'_>, m: &Measurement, search: &PathMtu) -> Option<Filter> {
    if search.source.is_ipv4() {
        return None;
    }
    let BothWindows { sender, receiver } = m.other_family.as_ref()?;
    let interface = receivers(view, m, search)?;
    let counted = |window: &HostWindow, name: &str| window.counters.or_zero(name);
    let sent = counted(sender, "icmp6/OutNeighborSolicits");
    let came = counted(receiver, "ip6/InReceives");
    let seen = counted(receiver, "icmp6/InNeighborSolicits");
    let events = receiver.drops.as_ref()?.iter();
    let filtered: Vec<&DropRecord> = events.filter(|event| event.reason == FILTERED).collect();
    let here = filtered
        .iter()
        .any(|e| e.interface.as_ref() == Some(interface));
    // The counters are those of all interfaces, so the drops are too: another link may be asked meanwhile.
    let dropped = filtered
        .iter()
        .fold(0u64, |sum, event| sum.saturating_add(event.packets.0));
    (sent > 0 && seen == 0 && came >= sent && here && dropped >= sent).then_some(Filter {
        solicitations_sent: Packets(sent),
        filter_dropped: Packets(dropped),
        solicitations_seen: Packets(seen),
    })
}

impl Cause for OtherFamilyDead {
    const CODE: &'static str = "other-family-dead";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let version = self.ip_version;
        let other = if version == 4 { 6 } else { 4 };
        let Some(filter) = &self.filter else {
            let ways = match self.directions_affected {
                1 => format!("from {} to {}{}", host(at), peer(at), on_link(at)),
                _ => format!("between {}, neither way", between(at)),
            };
            return Words {
                text: format!(
                    "IPv{version} does not pass {ways}: not even the smallest packet arrived, although both have addresses of \
                     one network there. IPv{other} passes.{}",
                    match self.multicast_dead {
                        true => " IPv6 asks for a neighbour by multicast, which does not pass either: what stops that \
                                 (group-not-forwarded) stops this.",
                        false => " Which host or filter it is was not seen.",
                    }
                ),
                fix: "`ip -6 neigh` on both hosts while one pings the other: FAILED is neighbour discovery that stays unanswered (a \
                      filter for ICMPv6, a switch that filters multicast, the wrong VLAN); else a packet filter for the family. \
                      Or remove the addresses of the family that is not to be used."
                    .to_owned(),
            };
        };
        Words {
            text: format!(
                "IPv6 does not pass from {1} to {0}{2}, although both have addresses of one network in it, and IPv4 passes: {1} sent \
                 {3}, and the packet filter of {0} dropped {4} meanwhile, before ICMPv6 saw one. Without neighbour \
                 discovery {1} never learns {0}'s MAC address.",
                host(at),
                peer(at),
                on_link(at),
                counted(filter.solicitations_sent.0, "neighbour solicitation"),
                counted(filter.filter_dropped.0, "packet"),
            ),
            fix: format!(
                "On {}: let ICMPv6 in, at least neighbour discovery and \"packet too big\" (RFC 4890): `nft insert rule TABLE CHAIN meta \
                 l4proto ipv6-icmp accept` before the rule that drops; `nft list ruleset` shows it.",
                host(at),
            ),
        }
    }
}
