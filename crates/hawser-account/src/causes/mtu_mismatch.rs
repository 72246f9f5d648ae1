//! The ports of one link have different MTUs, or others than the cluster file says, or a
//! router on the way takes less than the interface and says so. Large packets from the larger
//! side die at the smaller one, or are cut.
//!
//! Evidence: the interfaces' MTUs; losses of packets larger than the receiver's MTU on that
//! link are its doing. An error when it loses packets, else a warning. Certain; likely where
//! only a router told. Cases: `mtu-mismatch-peer`, `mtu-mismatch-file`, `mtu-told`.

use std::collections::BTreeMap;

use hawser_model::account::Layer;
use hawser_model::finding::{Confidence, Finding, Place, Severity};
use hawser_model::host::Interface;
use hawser_model::names::{HostName, InterfaceName, LinkName};
use hawser_model::units::Mtu;

use super::Cause;
use super::support::{Draft, counter_over};
use crate::losses::{Loss, Losses, packets};
use crate::packets::facts::Side;
use crate::view::View;

pub(super) const CAUSE: Cause = Cause {
    code: "mtu-mismatch",
    find,
};

fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Finding> {
    let mut ports: BTreeMap<LinkName, Vec<(HostName, &InterfaceName, Mtu)>> = BTreeMap::new();
    for ((link, host), (name, interface)) in view.ports() {
        let interface: &Interface = interface;
        if let Some(mtu) = interface.mtu {
            ports.entry(link).or_default().push((host, name, mtu));
        }
    }
    let mut found = Vec::new();
    for (link, ports) in &ports {
        let file = view.case.topology.link(link).and_then(|l| l.mtu);
        let largest = ports.iter().map(|(_, _, mtu)| *mtu).max();
        let Some(due) = file.or(largest) else {
            continue;
        };
        let odd: Vec<_> = ports.iter().filter(|(_, _, mtu)| *mtu != due).collect();
        let Some((first, _, _)) = odd.first() else {
            continue;
        };
        let explained = losses.claim(CAUSE.code, |l| too_large(view, link, l));
        let cut = counter_over(view, first, &explained, |facts, side| {
            facts.counter(side, &format!("{}/FragCreates", facts.families().1))
        });
        let severity = match explained.is_empty() {
            true => Severity::Warning,
            false => Severity::Error,
        };
        // Every port alike but not as the file says is one mistake, not one a host.
        let alike = odd.len() == ports.len() && odd.iter().all(|(_, _, mtu)| *mtu == odd[0].2);
        let named: &[&(HostName, &InterfaceName, Mtu)] = match alike {
            true => &odd[..1],
            false => &odd,
        };
        for (host, name, mtu) in named {
            let place = Place {
                host: (!alike).then(|| host.clone()),
                link: Some(link.clone()),
                interface: (!alike).then(|| (*name).clone()),
                ..Place::default()
            };
            let draft = Draft::new(CAUSE.code, severity, Confidence::Certain, place)
                .number("mtu_bytes", u64::from(mtu.0))
                .number("ports", ports.len() as u64)
                .maybe("file_mtu_bytes", file.map(|m| u64::from(m.0)))
                .maybe("largest_mtu_bytes", largest.map(|m| u64::from(m.0)))
                .number("lost_packets", packets(&explained));
            found.push(match cut {
                0 => draft.done(),
                cut => draft.number("fragments_created", cut).done(),
            });
        }
    }
    found.extend(told(view, losses));
    found
}

/// A loss on the link of frames larger than the receiving interface's MTU.
fn too_large(view: &View<'_>, link: &LinkName, loss: &Loss) -> bool {
    let facts = &view.phases[loss.phase].facts;
    let mtu = |side| facts.interface(side).and_then(|(_, i)| i.mtu);
    let (Some(out), Some(into)) = (mtu(Side::Sender), mtu(Side::Receiver)) else {
        return false;
    };
    loss.path.link == *link
        && facts.packet_size().min(out) > into
        && matches!(
            loss.layer,
            None | Some(Layer::BetweenHosts | Layer::ReceiverNic | Layer::SenderNic)
        )
}

/// Paths whose router said that they take less than the interface, and do.
fn told(view: &View<'_>, losses: &mut Losses) -> Vec<Finding> {
    let mut found = Vec::new();
    for m in &view.case.measurements {
        let Some(path_mtu) = &m.path_mtu else {
            continue;
        };
        let Some(said) = path_mtu.told.filter(|t| *t < path_mtu.interface_mtu) else {
            continue;
        };
        if path_mtu.passed.is_none_or(|passed| passed > said) {
            continue;
        }
        let explained = losses.claim(CAUSE.code, |l| {
            l.path.link == m.link
                && l.path.from == m.from
                && l.path.to == m.to
                && l.layer == Some(Layer::SenderIp)
                && refused_as_too_big(&l.reason)
        });
        let severity = match explained.is_empty() {
            true => Severity::Warning,
            false => Severity::Error,
        };
        let place = Place {
            host: Some(m.from.clone()),
            peer: Some(m.to.clone()),
            link: Some(m.link.clone()),
            ..Place::default()
        };
        found.push(
            Draft::new(CAUSE.code, severity, Confidence::Likely, place)
                .number("told_mtu_bytes", u64::from(said.0))
                .number("interface_mtu_bytes", u64::from(path_mtu.interface_mtu.0))
                .number("lost_packets", packets(&explained))
                .done(),
        );
    }
    found
}

/// Reasons of a sender that holds a packet to be larger than the path takes.
pub(super) fn refused_as_too_big(reason: &str) -> bool {
    reason == "EMSGSIZE" || reason == "PKT_TOO_BIG" || reason.ends_with("/FragFails")
}
