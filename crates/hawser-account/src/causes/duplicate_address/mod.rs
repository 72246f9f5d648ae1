//! Two hosts use one address: whoever answered last gets what is sent to it, so packets go now to the
//! one and now to the other. A machine cloned with its configuration, an address given twice, a
//! replaced head that was switched on again.
//!
//! Evidence: somebody with a MAC address that is not the host's own answered when the host asked for
//! its own IPv4 address (RFC 5227), or the kernel's duplicate address detection failed (IPv6). Certain
//! where another host of the case has the address, likely else, only possible where the same MAC
//! address answers for several hosts, as a device does that answers for all (proxy ARP). Other
//! interfaces of the host itself (ARP flux) and virtual routers (VRRP) are no duplicates. What the
//! sender's kernel sent to the other's MAC address and nobody received is the duplicate's doing, and so is
//! what the two hosts sent each other in vain; other losses stand for themselves. An error. Cases: `duplicate-address`, `duplicate-address-lossy`, `duplicate-address-dead`,
//! `duplicate-address-unknown`, `duplicate-address-proxy`, `duplicate-address-flux`,
//! `duplicate-address-ipv6`, `duplicate-address-pool`, `duplicate-address-moved`.

use hawser_model::units::Packets;
use std::collections::BTreeSet;
use std::net::IpAddr;

use hawser_model::account::Layer;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::host::{Interface, NeighbourFacts};
use hawser_model::names::{HostName, InterfaceName};
use hawser_model::probe::{ADDRESS_PROBES, AddressClaim};
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, host, interface, on_link};
use crate::causes::claims::Lost;
use crate::losses::{Loss, Losses};
use crate::packets::facts::Side;
use crate::view::{PhaseView, View};

#[derive(Serialize)]
pub(crate) struct DuplicateAddress {
    address: IpAddr,
    prefix: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    own_mac: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    other_mac: Option<String>,
    /// Whose address it is too, if that is a host of the case.
    #[serde(skip_serializing_if = "Option::is_none")]
    other_host: Option<HostName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    other_interface: Option<InterfaceName>,
    #[serde(flatten)]
    seen: Seen,
}

/// How it was noticed.
#[derive(Serialize)]
#[serde(untagged)]
enum Seen {
    /// Somebody else answered for it.
    Answered {
        answers: u64,
        asked: u64,
        hosts_answered_for: u64,
        /// None where it cost nothing.
        #[serde(flatten)]
        lost: Option<Lost>,
    },
    /// The host's own kernel does not use it.
    NotTaken {
        /// Always one: duplicate address detection failed.
        dad_failed: u8,
    },
}

/// MAC addresses of virtual routers, IPv4 and IPv6 (RFC 9568, 7.3); CARP has the same. A router that
/// owns the address it answers for is meant to (RFC 9568, 8.1.2).
const VIRTUAL_ROUTERS: [&str; 2] = ["00:00:5e:00:01:", "00:00:5e:00:02:"];

impl CheckCause for DuplicateAddress {
    const STANDING: bool = true;

    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let mut found: Vec<Found<Self>> = Vec::new();
        for claim in view.case.address_claims.iter().flatten() {
            // Of an address that two hosts have and both ask for, each hears the other: one trouble.
            let is_told = found.iter().any(|known| known.evidence.is_between(claim));
            if is_foreign(view, claim) && !is_told {
                found.push(claimed(view, claim, losses));
            }
        }
        found.extend(not_taken(view));
        found
    }

    fn cost(&self) -> Packets {
        match &self.seen {
            Seen::Answered {
                lost: Some(lost), ..
            } => lost.lost_packets,
            Seen::Answered { lost: None, .. } | Seen::NotTaken { .. } => Packets(0),
        }
    }
}

impl Cause for DuplicateAddress {
    const CODE: &'static str = "duplicate-address";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let (address, name, on_link) = (self.address, host(at), on_link(at));
        let other = match (&self.other_host, &self.other_mac) {
            (None, None) => "another host".to_owned(),
            (None, Some(mac)) => format!("{mac} (no host that was read)"),
            (Some(host), _) => format!(
                "{host} ({}, {})",
                self.other_interface.as_ref().map_or("", |i| i.as_str()),
                self.other_mac.as_deref().unwrap_or_default(),
            ),
        };
        let own = self.own_mac.as_ref();
        let own = own.map_or(String::new(), |mac| format!(" ({}, {mac})", interface(at)));
        let text = match &self.seen {
            Seen::NotTaken { .. } => format!(
                "{address} of {name}{own}{on_link} is taken: {other} answered for it, so the kernel of {name} does \
                 not use it (duplicate address detection failed)."
            ),
            Seen::Answered {
                answers,
                asked,
                hosts_answered_for,
                lost,
            } => {
                let effect = match (lost, hosts_answered_for) {
                    (Some(lost), _) => format!(
                        "It cost {lost}: the sender's kernel had that MAC address for {name}, or one of the two sent to the \
                         other."
                    ),
                    (None, n) if *n > 1 => {
                        format!("It answers for {n} hosts, so perhaps it answers for everybody (proxy ARP).")
                    }
                    (None, _) => {
                        "Whoever asks takes one of the answers, so packets to it may go to the wrong host at \
                         any time."
                            .to_owned()
                    }
                };
                format!(
                    "{address} is the address of {name}{own}{on_link}, and {other} answers for it too ({answers} of {asked} times). \
                     {effect}"
                )
            }
        };
        Words {
            text,
            fix: self.remove(name),
        }
    }
}

impl DuplicateAddress {
    /// Whether the claim is the other's word for the same.
    fn is_between(&self, claim: &AddressClaim) -> bool {
        self.address == claim.address && self.other_host.as_ref() == Some(&claim.host)
    }

    /// No knob: which of the two is to keep the address only people know.
    fn remove(&self, name: &str) -> String {
        let address = self.address;
        let wrong = match (&self.other_host, &self.other_mac) {
            (None, None) => format!(
                "Ask another host of the link who it is (`ip -6 neigh show {address}`), and take the address from \
                 one of the two. If no other host has it, the host hears its own frames again: look for a loop."
            ),
            (None, Some(mac)) => format!(
                "See first whether it is another head of the cluster (`ip -br link` there). Else find {mac} in the \
                 switch's table of addresses (`bridge fdb show`, `show mac address-table`) and take the address from that \
                 host; if it is a router that answers for others, switch that off there (`proxy_arp`)."
            ),
            (Some(host), _) => format!(
                "Take it from the host where it does not belong: {name}, or {host} (`ip addr del {address}/{} dev {}`).",
                self.prefix,
                self.other_interface.as_ref().map_or("", |i| i.as_str()),
            ),
        };
        format!(
            "{wrong} Change its network configuration too, or it is back after a reboot, and `ip neigh flush to \
             {address}` on the others. No setting cures this, so `hawser tune` tries none."
        )
    }
}

/// Whether somebody else claims what the host still has: a watch asks seldom, and addresses of pools move.
fn is_foreign(view: &View<'_>, claim: &AddressClaim) -> bool {
    let Some(host) = view.host(&claim.host) else {
        return false;
    };
    let own = host.interfaces.values().any(|i| i.has_mac(&claim.mac));
    let has_it = host.interface_with(claim.address.into()).is_some();
    has_it && !own && !VIRTUAL_ROUTERS.iter().any(|v| claim.mac.starts_with(v))
}

/// Another host of the case, and its interface.
struct Other<'a> {
    host: &'a HostName,
    name: &'a InterfaceName,
    /// It has the address, as its own facts say.
    has_address: bool,
}

/// Whose MAC address it is: of a host's interfaces with it the one that has the address, if one does.
fn other<'a>(
    view: &View<'a>,
    owner: &HostName,
    address: IpAddr,
    is: impl Fn(&Interface) -> bool,
) -> Option<Other<'a>> {
    let others = view.case.hosts.iter().filter(|(name, _)| *name != owner);
    others
        .flat_map(|(host, facts)| facts.interfaces.iter().map(move |i| (host, i)))
        .filter(|(_, (_, interface))| is(interface))
        .map(|(host, (name, interface))| Other {
            host,
            name,
            has_address: interface.has(address),
        })
        .max_by_key(|other| other.has_address)
}

fn claimed(view: &View<'_>, claim: &AddressClaim, losses: &mut Losses) -> Found<DuplicateAddress> {
    let address = IpAddr::V4(claim.address);
    let other = other(view, &claim.host, address, |i| i.has_mac(&claim.mac));
    let lost = losses.claim(DuplicateAddress::CODE, |l| {
        let two = other.as_ref();
        went_to_other(view, l, claim) || two.is_some_and(|o| between_the_two(view, l, claim, o))
    });
    let owners: BTreeSet<&HostName> = view
        .case
        .address_claims
        .iter()
        .flatten()
        .filter(|c| c.mac == claim.mac)
        .map(|c| &c.host)
        .collect();
    let confidence = match &other {
        Some(other) if other.has_address => Confidence::Certain,
        _ if owners.len() > 1 => Confidence::Possible,
        _ => Confidence::Likely,
    };
    let port = view
        .host(&claim.host)
        .and_then(|h| h.interface_with(address));
    let place = Place {
        host: Some(claim.host.clone()),
        link: Some(claim.link.clone()),
        interface: port.map(|(name, _)| name.clone()),
        object: Some(format!("address {address}")),
        ..Place::default()
    };
    let own = port.map(|(_, interface)| interface);
    Found {
        severity: Severity::Error,
        confidence,
        place,
        evidence: DuplicateAddress {
            address,
            prefix: prefix(own, address),
            own_mac: own.and_then(|i| i.answers_with()).map(str::to_owned),
            other_mac: Some(claim.mac.clone()),
            other_host: other.as_ref().map(|o| o.host.clone()),
            other_interface: other.as_ref().map(|o| o.name.clone()),
            seen: Seen::Answered {
                answers: u64::from(claim.answers),
                asked: u64::from(ADDRESS_PROBES),
                hosts_answered_for: owners.len() as u64,
                lost: (!lost.is_empty()).then(|| Lost::of(view, &lost)),
            },
        },
    }
}

/// What the sender's kernel sent to the other's MAC address, which it had for the receiver when the
/// flow began and when it ended: in between it may have changed its mind, but then the host itself would
/// have got packets. The other host may refuse them, and the sender hears of it.
fn went_to_other(view: &View<'_>, loss: &Loss, claim: &AddressClaim) -> bool {
    let phase = &view.phases[loss.phase];
    matches!(loss.layer, Some(Layer::BetweenHosts | Layer::SenderSocket))
        && loss.path == phase.path()
        && loss.path.to == claim.host
        && loss.path.link == claim.link
        && phase.facts.received() == 0
        && neighbour(phase, IpAddr::V4(claim.address)).is_some_and(|n| {
            let other = Some(claim.mac.as_str());
            n.mac_before.as_deref() == other && n.mac_after.as_deref() == other
        })
}

/// What went between the two of them: a host keeps what it sends to an address of its own, and neither
/// answers nor takes packets that come from one (`fib_validate_source`, `net/ipv4/fib_frontend.c`).
fn between_the_two(view: &View<'_>, loss: &Loss, claim: &AddressClaim, other: &Other<'_>) -> bool {
    let (from, to) = (&loss.path.from, &loss.path.to);
    let kept = from == other.host && *to == claim.host;
    let refused = *from == claim.host && to == other.host;
    let place = match loss.layer {
        Some(Layer::SenderIp | Layer::SenderSocket | Layer::NoListener) => kept,
        Some(Layer::Neighbour | Layer::ReceiverIp) => refused,
        _ => false,
    };
    place && other.has_address && loss.path.link == claim.link && view.received(&loss.path) == 0
}

/// What the sender knew of the address.
fn neighbour<'a>(phase: &PhaseView<'a>, address: IpAddr) -> Option<&'a NeighbourFacts> {
    let known = &phase.facts.window(Side::Sender).neighbours;
    known.iter().find(|n| n.address == address)
}

/// Addresses on the links that the host's own kernel does not use, since somebody answered for them.
fn not_taken(view: &View<'_>) -> Vec<Found<DuplicateAddress>> {
    let mut found = Vec::new();
    for ((link, host), (name, interface)) in view.ports() {
        for &address in &interface.dad_failed {
            let other = other(view, &host, address, |i| {
                !i.dad_failed.contains(&address) && i.has(address)
            });
            let confidence = match &other {
                Some(_) => Confidence::Certain,
                None => Confidence::Likely,
            };
            let place = Place {
                host: Some(host.clone()),
                link: Some(link.clone()),
                interface: Some(name.clone()),
                object: Some(format!("address {address}")),
                ..Place::default()
            };
            let other_mac = other
                .as_ref()
                .and_then(|o| view.host(o.host)?.interfaces.get(o.name)?.answers_with());
            found.push(Found {
                severity: Severity::Error,
                confidence,
                place,
                evidence: DuplicateAddress {
                    address,
                    prefix: prefix(Some(interface), address),
                    own_mac: interface.answers_with().map(str::to_owned),
                    other_mac: other_mac.map(str::to_owned),
                    other_host: other.as_ref().map(|o| o.host.clone()),
                    other_interface: other.as_ref().map(|o| o.name.clone()),
                    seen: Seen::NotTaken { dad_failed: 1 },
                },
            });
        }
    }
    found
}

fn prefix(interface: Option<&Interface>, address: IpAddr) -> u64 {
    let addresses = interface.into_iter().flat_map(|i| &i.addresses);
    let mut own = addresses.filter(|(a, _)| *a == address);
    let whole = if address.is_ipv4() { 32 } else { 128 };
    own.next().map_or(whole, |(_, prefix)| u64::from(*prefix))
}
