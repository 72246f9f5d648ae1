//! Two links that should fail independently do not: they are one layer-2 network, or on some
//! host they run over one physical device (two addresses on one interface, VLANs of one port,
//! one bond, two ports of one card). One switch, port or card then takes both.
//!
//! Evidence: a layer-2 hello sent out of one link was heard on the other (certain); equal
//! interfaces or lower devices (certain); equal bus addresses (certain, a note, since a
//! dual-port card is often accepted). Links that the file puts on one switch are known to
//! share it, and what hellos say of them is no news. A warning.
//! Cases: `shared-domain-hello`, `shared-domain-vlan`, `shared-domain-card`, `shared-domain-one-port`, `shared-domain-other-bus`.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::host::{HostFacts, Interface};
use hawser_model::names::{HostName, InterfaceName, LinkName};
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, as_number, host};
use crate::causes::cables_swapped::is_crossed;
use crate::losses::Losses;
use crate::view::View;

#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum SharedFailureDomain {
    /// Two links are one network.
    Network {
        hellos_heard_across: u64,
        hosts: u64,
    },
    /// They run over one device, or over one card.
    Device {
        #[serde(serialize_with = "as_number")]
        same_device: bool,
    },
}

type Pair = (LinkName, LinkName);

impl CheckCause for SharedFailureDomain {
    const STANDING: bool = true;

    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let mut found = one_network(view);
        found.extend(one_device(view));
        found
    }
}

impl Cause for SharedFailureDomain {
    const CODE: &'static str = "shared-failure-domain";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let link = at.link.as_ref().map_or("one link", |link| link.as_str());
        let object = at.object.as_deref().unwrap_or("another link");
        let (same, fix) = match self {
            Self::Network {
                hellos_heard_across,
                ..
            } => {
                let other = object.strip_prefix("link ").unwrap_or(object);
                return Words {
                    text: format!(
                        "Links {link} and {other} are one layer-2 network: {hellos_heard_across} frames sent out of \
                         the one arrived on the other, so one switch, loop or storm takes both."
                    ),
                    fix: "Separate them: different switches without a trunk between them, or at least \
                          different VLANs (which still share the switch). If they are meant to share a \
                          switch, say so in the cluster file (`switch` of both links)."
                        .to_owned(),
                };
            }
            Self::Device { same_device: true } => (
                "they go down together with that port, its cable or its switch",
                "Move one of the links to a port of its own; VLANs and addresses do not make \
                 two links out of one cable.",
            ),
            Self::Device { same_device: false } => (
                "they go down together if that card or its driver fails",
                "Use a port of another card, or of the mainboard, for one of the links, if \
                 the cluster must survive a card.",
            ),
        };
        Words {
            text: format!("On {} {link} and {object}: {same}.", host(at)),
            fix: fix.to_owned(),
        }
    }
}

/// The same two links in one order.
fn pair(a: &LinkName, b: &LinkName) -> Pair {
    if a < b {
        (a.clone(), b.clone())
    } else {
        (b.clone(), a.clone())
    }
}

/// True when the file itself puts both links on one switch.
fn declared(view: &View<'_>, (a, b): &Pair) -> bool {
    let switch = |link| {
        view.case
            .topology
            .link(link)
            .and_then(|l| l.switch.as_ref())
    };
    switch(a).is_some() && switch(a) == switch(b)
}

/// Links whose hellos are heard on each other.
fn one_network(view: &View<'_>) -> Vec<Found<SharedFailureDomain>> {
    let mut across: BTreeMap<Pair, (u64, BTreeSet<&HostName>)> = BTreeMap::new();
    let ports = view.ports();
    // A host that has both links' addresses on one interface hears and sends for both there, whatever the wires are.
    let on_one_port = |host: &HostName, links: &Pair| {
        let port = |link: &LinkName| Some(ports.get(&(link.clone(), host.clone()))?.0);
        port(&links.0).is_some() && port(&links.0) == port(&links.1)
    };
    for hello in view.case.hellos.iter().flatten() {
        // What only arrives crossed is two cables that are swapped, not one network.
        if hello.from_link != hello.on_link
            && !is_crossed(view, &hello.from, &hello.by, &hello.on_link)
        {
            let key = pair(&hello.from_link, &hello.on_link);
            if on_one_port(&hello.from, &key) || on_one_port(&hello.by, &key) {
                continue;
            }
            let (heard, hosts) = across.entry(key).or_default();
            *heard += 1;
            hosts.extend([&hello.from, &hello.by]);
        }
    }
    across
        .into_iter()
        .filter(|(links, _)| !declared(view, links))
        .map(|(links, (heard, hosts))| {
            let place = Place {
                link: Some(links.0),
                object: Some(format!("link {}", links.1)),
                ..Place::default()
            };
            Found {
                severity: Severity::Warning,
                confidence: Confidence::Certain,
                place,
                evidence: SharedFailureDomain::Network {
                    hellos_heard_across: heard,
                    hosts: hosts.len() as u64,
                },
            }
        })
        .collect()
}

/// Links that run over one device of a host.
fn one_device(view: &View<'_>) -> Vec<Found<SharedFailureDomain>> {
    let mut ports: BTreeMap<HostName, Vec<(LinkName, &InterfaceName)>> = BTreeMap::new();
    for ((link, host), (name, _)) in view.ports() {
        ports.entry(host).or_default().push((link, name));
    }
    let mut found = Vec::new();
    for (host, ports) in &ports {
        let Some(facts) = view.host(host) else {
            continue;
        };
        for (i, (link, name)) in ports.iter().enumerate() {
            for (other_link, other_name) in &ports[i + 1..] {
                let (own, others) = (facts.with_lower(name), facts.with_lower(other_name));
                let common: Vec<&InterfaceName> = own.intersection(&others).copied().collect();
                let card = (cards(facts, name), cards(facts, other_name));
                let card = card.0.intersection(&card.1).next().cloned();
                let (severity, what) = match (common.first(), card) {
                    (Some(device), _) => (Severity::Warning, device.to_string()),
                    (None, Some(card)) => (Severity::Note, format!("card {card}")),
                    (None, None) => continue,
                };
                let place = Place {
                    host: Some(host.clone()),
                    link: Some(link.clone()),
                    interface: Some((*name).clone()),
                    object: Some(format!("link {other_link} over {what}")),
                    ..Place::default()
                };
                found.push(Found {
                    severity,
                    confidence: Confidence::Certain,
                    place,
                    evidence: SharedFailureDomain::Device {
                        same_device: !common.is_empty(),
                    },
                });
            }
        }
    }
    found
}

/// The bus addresses of the cards that carry the interface: of a PCI card without the function, which tells its ports apart.
/// Other buses number what may be cards of their own (`uml-vector.0`, `usb-0000:00:14.0-1.2`).
fn cards(facts: &HostFacts, name: &InterfaceName) -> BTreeSet<String> {
    let of = |i: &Interface| {
        let bus = i.bus.as_deref().filter(|bus| !bus.is_empty())?;
        Some(pci_card(bus).unwrap_or(bus).to_owned())
    };
    let devices = facts.with_lower(name).into_iter();
    devices
        .filter_map(|device| of(facts.interfaces.get(device)?))
        .collect()
}

/// Of the address of a PCI function (`0000:03:00.1`, pci_setup_device in drivers/pci/probe.c) that of its device.
fn pci_card(bus: &str) -> Option<&str> {
    let (card, function) = bus.rsplit_once('.')?;
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut parts = card.split(':');
    let (domain, bus, device) = (parts.next()?, parts.next()?, parts.next()?);
    let is_pci = domain.len() >= 4 && bus.len() == 2 && device.len() == 2 && function.len() == 1;
    let all_hex = [domain, bus, device, function].into_iter().all(is_hex);
    (is_pci && all_hex && parts.next().is_none()).then_some(card)
}
