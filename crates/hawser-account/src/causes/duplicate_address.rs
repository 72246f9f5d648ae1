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
//! `duplicate-address-ipv6`.

use std::collections::BTreeSet;
use std::net::IpAddr;

use hawser_model::account::Layer;
use hawser_model::finding::{Confidence, Finding, Place, Severity};
use hawser_model::host::{Interface, NeighbourFacts};
use hawser_model::names::{HostName, InterfaceName};
use hawser_model::probe::{ADDRESS_PROBES, AddressClaim};

use super::Cause;
use super::support::Draft;
use crate::losses::{Loss, Losses};
use crate::packets::facts::Side;
use crate::view::{PhaseView, View};

pub(super) const CAUSE: Cause = Cause {
    code: "duplicate-address",
    find,
};

/// MAC addresses of virtual routers, IPv4 and IPv6 (RFC 9568, 7.3); CARP has the same. A router that
/// owns the address it answers for is meant to (RFC 9568, 8.1.2).
const VIRTUAL_ROUTERS: [&str; 2] = ["00:00:5e:00:01:", "00:00:5e:00:02:"];

fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Finding> {
    let mut found = Vec::new();
    for claim in view.case.address_claims.iter().flatten() {
        if is_foreign(view, claim) {
            found.push(claimed(view, claim, losses));
        }
    }
    found.extend(not_taken(view));
    found
}

fn is_foreign(view: &View<'_>, claim: &AddressClaim) -> bool {
    let own = view
        .host(&claim.host)
        .is_none_or(|host| host.interfaces.values().any(|i| i.has_mac(&claim.mac)));
    !own && !VIRTUAL_ROUTERS.iter().any(|v| claim.mac.starts_with(v))
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
            has_address: interface.addresses.iter().any(|(a, _)| *a == address),
        })
        .max_by_key(|other| other.has_address)
}

fn claimed(view: &View<'_>, claim: &AddressClaim, losses: &mut Losses) -> Finding {
    let address = IpAddr::V4(claim.address);
    let other = other(view, &claim.host, address, |i| i.has_mac(&claim.mac));
    let lost = losses.claim(CAUSE.code, |l| {
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
    let draft = Draft::new(CAUSE.code, Severity::Error, confidence, place)
        .name("address", &address.to_string())
        .number("prefix", prefix(port.map(|(_, i)| i), address))
        .name("other_mac", &claim.mac)
        .number("answers", u64::from(claim.answers))
        .number("asked", u64::from(ADDRESS_PROBES))
        .number("hosts_answered_for", owners.len() as u64);
    let draft = match lost.is_empty() {
        true => draft,
        false => draft.losses(view, &lost),
    };
    named(draft, port.and_then(|(_, i)| i.answers_with()), other).done()
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
fn not_taken(view: &View<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for ((link, host), (name, interface)) in view.ports() {
        for &address in &interface.dad_failed {
            let other = other(view, &host, address, |i| {
                !i.dad_failed.contains(&address) && i.addresses.iter().any(|(a, _)| *a == address)
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
            let draft = Draft::new(CAUSE.code, Severity::Error, confidence, place)
                .name("address", &address.to_string())
                .number("prefix", prefix(Some(interface), address))
                .number("dad_failed", 1);
            let draft = match other_mac {
                Some(mac) => draft.name("other_mac", mac),
                None => draft,
            };
            found.push(named(draft, interface.answers_with(), other).done());
        }
    }
    found
}

fn named(draft: Draft, own: Option<&str>, other: Option<Other<'_>>) -> Draft {
    let draft = match own {
        Some(mac) => draft.name("own_mac", mac),
        None => draft,
    };
    match other {
        Some(other) => draft
            .name("other_host", other.host.as_str())
            .name("other_interface", other.name.as_str()),
        None => draft,
    }
}

fn prefix(interface: Option<&Interface>, address: IpAddr) -> u64 {
    let addresses = interface.into_iter().flat_map(|i| &i.addresses);
    let mut own = addresses.filter(|(a, _)| *a == address);
    let whole = if address.is_ipv4() { 32 } else { 128 };
    own.next().map_or(whole, |(_, prefix)| u64::from(*prefix))
}
