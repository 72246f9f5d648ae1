//! Two hosts have a link in different VLANs: both are up, and nothing arrives.
//!
//! Evidence: the VLAN of the interface differs from that which most hosts of the link have (of as many, that of the first host), and
//! nothing arrives between them, hellos included. Likely, since a switch may translate VLANs. An error. A tagged and an untagged
//! interface may be one network by the switch, and are not compared. Cases: `vlan-mismatch`, `vlan-mismatch-translated`,
//! `vlan-alike`.

use std::collections::BTreeMap;

use hawser_model::account::Layer;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::{HostName, InterfaceName, LinkName};
use hawser_model::units::Packets;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, host, interface};
use crate::causes::claims::Lost;
use crate::losses::Losses;
use crate::view::{Path, View};

#[derive(Serialize)]
pub(crate) struct VlanMismatch {
    vlan: u16,
    others_vlan: u16,
    #[serde(flatten)]
    lost: Lost,
}

/// The one that most have; of as many, that of the first host.
fn usual(ports: &[(HostName, &InterfaceName, u16)]) -> Option<u16> {
    let mut seen: Vec<(u16, usize)> = Vec::new();
    for (_, _, vlan) in ports {
        match seen.iter_mut().find(|(of, _)| of == vlan) {
            Some((_, hosts)) => *hosts += 1,
            None => seen.push((*vlan, 1)),
        }
    }
    let most = seen.iter().map(|(_, hosts)| *hosts).max()?;
    seen.iter()
        .find(|(_, hosts)| *hosts == most)
        .map(|(vlan, _)| *vlan)
}

impl CheckCause for VlanMismatch {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let mut links: BTreeMap<LinkName, Vec<(HostName, &InterfaceName, u16)>> = BTreeMap::new();
        for ((link, host), (name, interface)) in view.ports() {
            if let Some(vlan) = interface.vlan {
                links.entry(link).or_default().push((host, name, vlan));
            }
        }
        let silent =
            |path: &Path| view.received(path) == 0 && view.hello_passed(path) != Some(true);
        let mut found = Vec::new();
        for (link, ports) in links {
            let Some(others) = usual(&ports) else {
                continue;
            };
            let usual: Vec<&HostName> = ports
                .iter()
                .filter(|(_, _, vlan)| *vlan == others)
                .map(|(host, ..)| host)
                .collect();
            for (host, name, vlan) in ports.iter().filter(|(_, _, vlan)| *vlan != others) {
                let between = |path: &Path| {
                    let ends = [(&path.from, &path.to), (&path.to, &path.from)];
                    path.link == link && ends.iter().any(|(a, b)| *a == host && usual.contains(b))
                };
                let explained = losses.claim(Self::CODE, |l| {
                    let quiet =
                        matches!(l.layer, None | Some(Layer::BetweenHosts | Layer::Neighbour));
                    quiet && between(&l.path) && silent(&l.path)
                });
                if explained.is_empty() {
                    continue;
                }
                found.push(Found {
                    severity: Severity::Error,
                    confidence: Confidence::Likely,
                    place: Place::port(host, &link, name),
                    evidence: Self {
                        vlan: *vlan,
                        others_vlan: others,
                        lost: Lost::of(view, &explained),
                    },
                });
            }
        }
        found
    }

    fn cost(&self) -> Packets {
        self.lost.lost_packets
    }
}

impl Cause for VlanMismatch {
    const CODE: &'static str = "vlan-mismatch";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        Words {
            text: format!(
                "{} of {} is in VLAN {}, and the other hosts of link {} are in VLAN {}: nothing arrives between them, {} lost.",
                interface(at),
                host(at),
                self.vlan,
                at.link.as_ref().map_or("", |link| link.as_str()),
                self.others_vlan,
                self.lost,
            ),
            fix: "Give all hosts of the link the same VLAN, and see that the switch's ports carry it."
                .to_owned(),
        }
    }
}
