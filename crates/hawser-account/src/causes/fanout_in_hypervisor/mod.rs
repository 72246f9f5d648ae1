//! This host is a guest, and the copies for it and the guests beside it are made in the hypervisor: VMware's
//! vmxnet3, whose switch copies a multicast packet for all guests of a host in one context, unless the
//! receiving adapters are told to take theirs in contexts of their own (splitRxMode; VMware, "Multicast
//! Performance on vSphere 5.0"). Nothing inside the guest changes that, so it is advice.
//!
//! Evidence: the driver of an interface on a link. Possible; a note. Case: `fanout-in-hypervisor`.

use hawser_model::finding::{Confidence, Place, Severity};
use serde::Serialize;

use crate::cause::{Cause, FanoutCause, Found, Words, host, interface};
use crate::fanout::FanoutView;

#[derive(Serialize)]
pub(crate) struct FanoutInHypervisor {
    driver: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    mac: Option<String>,
}

const DRIVER: &str = "vmxnet3";

impl FanoutCause for FanoutInHypervisor {
    fn find(view: &FanoutView<'_>) -> Vec<Found<Self>> {
        let mut found = Vec::new();
        for node in &view.case.topology.nodes {
            let Some(facts) = view.case.hosts.get(&node.name) else {
                continue;
            };
            for (link, address) in &node.addresses {
                let Some((name, interface)) = facts.interface_with(*address) else {
                    continue;
                };
                if interface.driver.as_deref() != Some(DRIVER) {
                    continue;
                }
                found.push(Found {
                    severity: Severity::Note,
                    confidence: Confidence::Possible,
                    place: Place {
                        link: Some(link.clone()),
                        interface: Some(name.clone()),
                        ..Place::on(&node.name)
                    },
                    evidence: Self {
                        driver: DRIVER,
                        mac: interface.mac.clone(),
                    },
                });
            }
        }
        found
    }
}

impl Cause for FanoutInHypervisor {
    const CODE: &'static str = "fanout-in-hypervisor";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let adapter = match &self.mac {
            Some(mac) => format!("the adapter with the address {mac}"),
            None => "each adapter".to_owned(),
        };
        Words {
            text: format!(
                "{} is a guest of VMware ({}, {}): multicast for it and the guests beside it is copied by the \
                 hypervisor, by default in one context for all of them. What is measured here is this guest's kernel \
                 alone.",
                host(at),
                interface(at),
                self.driver,
            ),
            fix: format!(
                "Where more receivers on one ESXi host lose packets: in the virtual machine's .vmx file, for {adapter}, \
                 `ethernetX.emuRxMode = \"1\"` (splitRxMode), then switch the guest off and on. It costs the host more \
                 processor time. Not applied by Hawser: it is the hypervisor's setting.",
            ),
        }
    }
}
