//! A link is a VLAN over a bridge of its own host, and the bridge filters that VLAN out: at its own interface, or at every port.
//! The bridge drops such frames without counting them (`br_allowed_ingress`, `br_allowed_egress`, net/bridge/br_vlan.c).
//!
//! Evidence: the VLAN of the link's interface, and the VLANs that pass the bridge below it and its ports (`bridge vlan`). Certain:
//! it is read. It explains what was lost between the hosts, without a place or for want of a neighbour in directions of that port in
//! which nothing arrived. An error. Cases: `vlan-filtered`, `vlan-filtered-at-bridge`, `vlan-passes`.

use hawser_model::account::Layer;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::host::HostFacts;
use hawser_model::names::InterfaceName;
use hawser_model::units::Packets;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, as_number, host, interface};
use crate::causes::claims::Lost;
use crate::losses::Losses;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct VlanFiltered {
    vlan: u16,
    /// It passes between the host and the bridge.
    #[serde(serialize_with = "as_number")]
    passes_bridge: bool,
    ports: usize,
    ports_passing: usize,
    /// None where it cost nothing.
    #[serde(flatten)]
    lost: Option<Lost>,
}

/// The bridge below a VLAN of a host, and what of it does not let the VLAN pass.
fn filtered<'a>(
    facts: &'a HostFacts,
    top: &InterfaceName,
) -> Option<(&'a InterfaceName, VlanFiltered)> {
    let interface = facts.interfaces.get(top)?;
    let vlan = interface.vlan?;
    let below = interface.lower.first()?;
    let (name, bridge) = facts.bridges.get_key_value(below)?;
    let ports = &facts.interfaces.get(name)?.lower;
    let passing = ports
        .iter()
        .filter(|port| bridge.passes(port, vlan))
        .count();
    let passes_bridge = bridge.passes(name, vlan);
    let is_filtered = !passes_bridge || (passing == 0 && !ports.is_empty());
    is_filtered.then_some((
        name,
        VlanFiltered {
            vlan,
            passes_bridge,
            ports: ports.len(),
            ports_passing: passing,
            lost: None,
        },
    ))
}

impl CheckCause for VlanFiltered {
    const STANDING: bool = true;

    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let mut found = Vec::new();
        for ((link, host), (top, _)) in view.ports() {
            let facts = view.host(&host);
            let Some((bridge, evidence)) = facts.and_then(|facts| filtered(facts, top)) else {
                continue;
            };
            let explained = losses.claim(Self::CODE, |l| {
                let of_port = l.path.link == link && (l.path.from == host || l.path.to == host);
                let quiet = matches!(l.layer, None | Some(Layer::BetweenHosts | Layer::Neighbour));
                of_port && quiet && view.received(&l.path) == 0
            });
            found.push(Found {
                severity: Severity::Error,
                confidence: Confidence::Certain,
                place: Place {
                    object: Some(format!("bridge {bridge}")),
                    ..Place::port(&host, &link, top)
                },
                evidence: Self {
                    lost: (!explained.is_empty()).then(|| Lost::of(view, &explained)),
                    ..evidence
                },
            });
        }
        found
    }

    fn cost(&self) -> Packets {
        self.lost.as_ref().map_or(Packets(0), |l| l.lost_packets)
    }
}

impl Cause for VlanFiltered {
    const CODE: &'static str = "vlan-filtered";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let bridge = at.object.as_deref().unwrap_or("the bridge");
        let name = bridge.strip_prefix("bridge ").unwrap_or(bridge);
        let (vlan, top) = (self.vlan, interface(at));
        let cost = match &self.lost {
            None => String::new(),
            Some(lost) => format!(" It cost {lost}; the bridge counts none of them."),
        };
        let (what, command) = match self.passes_bridge {
            false => (
                format!("does not let VLAN {vlan} through to the host itself"),
                format!("bridge vlan add dev {name} vid {vlan} self"),
            ),
            true => (
                format!("lets VLAN {vlan} through none of its ports"),
                format!("bridge vlan add dev PORT vid {vlan}"),
            ),
        };
        Words {
            text: format!(
                "Bridge {name} of {} filters VLANs and {what}: {top} is cut off.{cost}",
                host(at)
            ),
            fix: format!(
                "On {}: `{command}`, and the same where the bridge is configured. `bridge vlan show` lists what passes.",
                host(at),
            ),
        }
    }
}
