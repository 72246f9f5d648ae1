//! A virtual machine has an emulated network card where a paravirtual one is to be had: the hypervisor imitates the
//! registers of a real card, and the guest leaves the virtual machine for each of their accesses.
//!
//! Evidence: the driver, and that the host is a virtual machine. Certain when that was seen; possible where nobody
//! looked, since these cards exist; nothing on a real machine. A note; a warning when packets were lost at the card or
//! at the backlog behind it, or a stream over it had less than half of the speed that the card reports. Cases:
//! `emulated-network-card`, `emulated-network-card-unknown`, `emulated-network-card-real`.

use hawser_model::account::Layer;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::{HostName, InterfaceName, LinkName};
use hawser_model::units::{BitsPerSec, Packets};
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, at_interface, counted, host};
use crate::compare::topic::{About, Topic};
use crate::losses::Losses;
use crate::packets::facts::Side;
use crate::stream::{rates, streams};
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct EmulatedNetworkCard {
    driver: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    virtualization: Option<String>,
    lost_packets: Packets,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_bits_per_s: Option<BitsPerSec>,
}

/// Drivers of cards that hypervisors imitate and that are not sold any more.
const EMULATED: [&str; 6] = [
    "8139cp", "8139too", "e1000", "ne2k_pci", "pcnet32", "rtl8139",
];

/// What the hypervisors that are known offer instead.
const PARAVIRTUAL: [(&[&str], &str); 3] = [
    (
        &["kvm", "qemu", "oracle", "google"],
        "virtio (driver virtio_net)",
    ),
    (&["vmware"], "vmxnet3"),
    (
        &["microsoft"],
        "the network adapter of Hyper-V, not the legacy one (driver hv_netvsc)",
    ),
];

/// Where a card that is too slow loses packets.
const AT_THE_CARD: [Layer; 3] = [Layer::SenderNic, Layer::ReceiverNic, Layer::Backlog];

impl CheckCause for EmulatedNetworkCard {
    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let mut found = Vec::new();
        for ((link, host), (name, interface)) in view.ports() {
            let Some(facts) = view.host(&host) else {
                continue;
            };
            let whose = facts.virtualization.as_deref();
            let below = interface.lower.iter();
            let cards = below.filter_map(|lower| facts.interfaces.get(lower));
            let mut drivers = [interface].into_iter().chain(cards);
            let driver = drivers.find_map(|card| {
                let driver = card.driver.as_deref()?;
                EMULATED.contains(&driver).then_some(driver)
            });
            let (Some(driver), false) = (driver, whose == Some("none")) else {
                continue;
            };
            let lost = lost_at(view, &link, &host);
            let stream = slowest_stream(view, &host, name);
            let slow = stream
                .zip(interface.speed)
                .is_some_and(|(stream, speed)| stream.0.saturating_mul(2) < speed.0);
            found.push(Found {
                severity: match lost > 0 || slow {
                    true => Severity::Warning,
                    false => Severity::Note,
                },
                confidence: match whose {
                    Some(_) => Confidence::Certain,
                    None => Confidence::Possible,
                },
                place: Place::port(&host, &link, name),
                evidence: Self {
                    driver: driver.to_owned(),
                    virtualization: whose.map(str::to_owned),
                    lost_packets: Packets(lost),
                    stream_bits_per_s: stream,
                },
            });
        }
        found
    }

    fn cost(&self) -> Packets {
        self.lost_packets
    }
}

/// What the accounts of this link book at the card of this host. Its own cause claims it.
fn lost_at(view: &View<'_>, link: &LinkName, host: &HostName) -> u64 {
    let phases = view.phases.iter().filter(|p| p.facts.link() == link);
    let lines = phases.flat_map(|p| &p.account.layers);
    lines
        .filter(|line| line.host.as_ref() == Some(host) && AT_THE_CARD.contains(&line.layer))
        .fold(0, |sum, line| sum.saturating_add(line.packets.0))
}

/// The slowest TCP stream over this interface, at its best.
fn slowest_stream(view: &View<'_>, host: &HostName, name: &InterfaceName) -> Option<BitsPerSec> {
    let streams = streams(view.case);
    let over = streams.iter().filter(|stream| {
        let mut sides = [Side::Sender, Side::Receiver].into_iter();
        sides.any(|side| {
            stream.facts.host(side) == host
                && stream.facts.interface(side).is_some_and(|(n, _)| n == name)
        })
    });
    let rates = over.map(|stream| rates(stream.facts.phase).fastest.0.saturating_mul(8));
    rates.min().map(BitsPerSec)
}

impl Cause for EmulatedNetworkCard {
    const CODE: &'static str = "emulated-network-card";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[Topic::Driver.any()];

    fn words(&self, at: &Place) -> Words {
        let mut text = match &self.virtualization {
            Some(whose) => format!(
                "{} of a virtual machine ({whose}) is an emulated card (driver {}): each packet makes the guest leave \
                 the virtual machine.",
                at_interface(at),
                self.driver,
            ),
            None => format!(
                "{} has the driver {}: in a virtual machine that is an emulated card, which makes the guest leave the \
                 virtual machine for each packet.",
                at_interface(at),
                self.driver,
            ),
        };
        if self.lost_packets.0 > 0 {
            let lost = counted(self.lost_packets.0, "packet");
            text.push_str(&format!(" {lost} of this check were lost at it."));
        }
        if let Some(rate) = self.stream_bits_per_s {
            text.push_str(&format!(" A TCP stream over it had {rate} at best."));
        }
        let whose = self.virtualization.as_deref().unwrap_or_default();
        let mut known = PARAVIRTUAL.iter();
        let instead = known.find_map(|(of, card)| of.contains(&whose).then_some(*card));
        let instead =
            instead.unwrap_or("the paravirtual one of its hypervisor (virtio, vmxnet3, hv_netvsc)");
        Words {
            text,
            fix: format!(
                "Give the virtual machine {instead}, in the hypervisor's settings of {}. The MAC address can stay; \
                 the interface may get another name, so look at the network configuration first.",
                host(at),
            ),
        }
    }
}
