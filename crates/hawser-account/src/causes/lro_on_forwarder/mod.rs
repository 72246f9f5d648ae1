//! A host that forwards or bridges merges received segments in its NIC (LRO): what it merged does not
//! fit the next link, and cannot be cut again as it was. The kernel switches LRO off where it knows
//! (`dev_disable_lro`), but a driver may ignore it, or an operator switch it on again.
//!
//! Evidence: the interface's features, and that the host forwards (`ip_forward`) or that the interface
//! is a bridge's port. Certain: it is read. A warning. Cases: `lro-on-forwarder`,
//! `lro-on-forwarder-recorded` (vmxnet3 in QEMU; a veth has no LRO).

use hawser_model::finding::{Confidence, Place, Severity};
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, as_number, at_interface, host, interface};
use crate::compare::topic::{About, Topic};
use crate::losses::Losses;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct LroOnForwarder {
    #[serde(serialize_with = "as_number")]
    ip_forward: bool,
}

const LRO: &str = "rx-lro";

impl CheckCause for LroOnForwarder {
    const STANDING: bool = true;

    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let mut found = Vec::new();
        for ((link, host), (top, _)) in view.ports() {
            let Some(facts) = view.host(&host) else {
                continue;
            };
            for name in facts.with_lower(top) {
                let Some(interface) = facts.interfaces.get(name) else {
                    continue;
                };
                let bridge = facts.bridges.keys().find(|bridge| {
                    let ports = facts.interfaces.get(*bridge).map(|b| &b.lower);
                    ports.is_some_and(|ports| ports.contains(name))
                });
                let forwards = facts.sysctl_number("net.ipv4.ip_forward") == Some(1);
                let merges = interface.features_on.iter().any(|f| f == LRO);
                if !merges || (bridge.is_none() && !forwards) {
                    continue;
                }
                found.push(Found {
                    severity: Severity::Warning,
                    confidence: Confidence::Certain,
                    place: Place {
                        object: bridge.map(|b| format!("bridge {b}")),
                        ..Place::port(&host, &link, name)
                    },
                    evidence: Self {
                        ip_forward: forwards,
                    },
                });
            }
        }
        found
    }
}

impl Cause for LroOnForwarder {
    const CODE: &'static str = "lro-on-forwarder";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[
        Topic::Offload.with("rx-lro"),
        Topic::Sysctl.with("ip_forward"),
    ];

    fn words(&self, at: &Place) -> Words {
        let why = match &at.object {
            Some(bridge) => format!("it is a port of {bridge}"),
            None => "the host forwards (`ip_forward` is 1)".to_owned(),
        };
        Words {
            text: format!(
                "{} merges received segments in its NIC (LRO), although {why}: what was merged does not fit \
                 the next link.",
                at_interface(at),
            ),
            fix: format!(
                "On {}: `ethtool -K {} lro off`. GRO may stay on: what it merged can be cut again.",
                host(at),
                interface(at),
            ),
        }
    }
}
