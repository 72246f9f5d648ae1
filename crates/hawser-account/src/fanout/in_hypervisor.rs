//! This host is a guest, and the copies for it and the guests beside it are made in the hypervisor: VMware's
//! vmxnet3, whose switch copies a multicast packet for all guests of a host in one context, unless the
//! receiving adapters are told to take theirs in contexts of their own (splitRxMode; VMware, "Multicast
//! Performance on vSphere 5.0"). Nothing inside the guest changes that, so it is advice.
//!
//! Evidence: the driver of an interface on a link. Possible; a note. Case: `fanout-in-hypervisor`.

use hawser_model::finding::{Confidence, Finding, Place, Severity};

use super::{FanoutCause, FanoutView};
use crate::causes::support::Draft;

pub(super) const CAUSE: FanoutCause = FanoutCause {
    code: "fanout-in-hypervisor",
    find,
};

fn find(view: &FanoutView<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for node in &view.case.topology.nodes {
        let Some(facts) = view.case.hosts.get(&node.name) else {
            continue;
        };
        for (link, address) in &node.addresses {
            let Some((name, interface)) = facts.interface_with(*address) else {
                continue;
            };
            if interface.driver.as_deref() != Some("vmxnet3") {
                continue;
            }
            let place = Place {
                host: Some(node.name.clone()),
                link: Some(link.clone()),
                interface: Some(name.clone()),
                ..Place::default()
            };
            let draft = Draft::new(CAUSE.code, Severity::Note, Confidence::Possible, place)
                .name("driver", "vmxnet3")
                .name("mac", interface.mac.as_deref().unwrap_or("unknown"));
            found.push(draft.done());
        }
    }
    found
}
