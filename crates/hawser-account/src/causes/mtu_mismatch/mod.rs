//! The ports of one link have different MTUs, or others than the cluster file says, or a
//! router on the way takes less than the interface and says so. Large packets from the larger
//! side die at the smaller one, or are cut.
//!
//! Evidence: the interfaces' MTUs; losses of packets larger than the receiver's MTU on that
//! link are its doing. An error when it loses packets, else a warning. Certain; likely where
//! only a router told. Cases: `mtu-mismatch-peer`, `mtu-mismatch-file`, `mtu-told`, `mtu-told-by-router`,
//! `mtu-mismatch-below-vlan`.

use crate::fixes::knobs::At;
use crate::fixes::{Candidate, TrialValue, stream_of};
use hawser_model::case::Case;
use hawser_model::trial::TrialTraffic;
use std::collections::BTreeMap;
use std::net::IpAddr;

use hawser_model::account::Layer;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::host::Interface;
use hawser_model::names::{HostName, InterfaceName, LinkName};
use hawser_model::units::{Mtu, Packets};
use serde::Serialize;

use crate::cause::{
    Cause, CheckCause, Found, Words, at_interface, counted, host, interface, on_link, peer, way,
};
use crate::causes::claims::counter_over;
use crate::causes::tunnel_mtu_too_large;
use crate::compare::topic::{About, Topic};
use crate::losses::{Loss, Losses, packets};
use crate::packets::facts::Side;
use crate::place_words::listed;
use crate::view::{Path, View};

#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum MtuMismatch {
    /// A port differs from the file, or from the largest.
    Port {
        mtu_bytes: Mtu,
        ports: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        file_mtu_bytes: Option<Mtu>,
        #[serde(skip_serializing_if = "Option::is_none")]
        largest_mtu_bytes: Option<Mtu>,
        #[serde(skip_serializing_if = "Option::is_none")]
        fragments_created: Option<u64>,
        /// What cannot keep its MTU if those of the link are lowered.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        larger_above: Vec<Above>,
        lost_packets: Packets,
    },
    /// A router, or a route, says that it takes less.
    Told {
        told_mtu_bytes: Mtu,
        interface_mtu_bytes: Mtu,
        /// The router that said so; none for a route of the host itself, or what it had learnt.
        #[serde(skip_serializing_if = "Option::is_none")]
        told_by: Option<IpAddr>,
        lost_packets: Packets,
    },
}

/// An interface above a port. The kernel lowers the MTU of a VLAN or a macvlan with that of the interface below it, and never
/// raises it again (`vlan_device_event`, net/8021q/vlan.c; `macvlan_device_event`, drivers/net/macvlan.c).
#[derive(Clone, Serialize)]
pub(crate) struct Above {
    host: HostName,
    interface: InterfaceName,
    mtu_bytes: Mtu,
}

impl CheckCause for MtuMismatch {
    const STANDING: bool = true;
    const BY_INTERFACE: bool = true;
    const SHOWN_BY_RATE: bool = true;

    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
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
            let explained = losses.claim(Self::CODE, |l| too_large(view, link, l));
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
            let above = larger_above(view, &odd, due);
            for (host, name, mtu) in named {
                let place = Place {
                    host: (!alike).then(|| host.clone()),
                    link: Some(link.clone()),
                    interface: (!alike).then(|| (*name).clone()),
                    ..Place::default()
                };
                found.push(Found {
                    severity,
                    confidence: Confidence::Certain,
                    place,
                    evidence: Self::Port {
                        mtu_bytes: *mtu,
                        ports: ports.len() as u64,
                        file_mtu_bytes: file,
                        largest_mtu_bytes: largest,
                        fragments_created: Some(cut).filter(|cut| *cut > 0),
                        larger_above: above.iter().filter(|_| *mtu > due).cloned().collect(),
                        lost_packets: Packets(packets(&explained)),
                    },
                });
            }
        }
        found.extend(told(view, losses));
        found
    }

    fn cost(&self) -> Packets {
        let (Self::Port { lost_packets, .. } | Self::Told { lost_packets, .. }) = self;
        *lost_packets
    }

    fn candidates(&self, at: &At<'_>) -> Vec<Option<Candidate>> {
        let Self::Port {
            file_mtu_bytes,
            largest_mtu_bytes,
            larger_above,
            ..
        } = self
        else {
            return Vec::new();
        };
        let due = file_mtu_bytes.or(*largest_mtu_bytes);
        let mut candidate = due.and_then(|mtu| at.mtu(mtu));
        if let (Some(candidate), Some(above)) = (&mut candidate, larger_above.first()) {
            let Above {
                host,
                interface,
                mtu_bytes,
            } = above;
            candidate.value = TrialValue::Refused(format!(
                "it would lower {interface} on {host} too, which has {mtu_bytes}, and undoing it would not raise that again"
            ));
        }
        vec![candidate]
    }

    /// At the host of the finding, or, when all ports of the link are alike, at its first one; the other ends are
    /// turned with it.
    fn turned_at(case: &Case, place: &Place) -> Option<(HostName, InterfaceName)> {
        let mut nodes = case.topology.nodes.iter();
        nodes.find_map(|node| {
            if place.host.as_ref().is_some_and(|host| *host != node.name) {
                return None;
            }
            let facts = case.hosts.get(&node.name)?;
            let address = *node.addresses.get(place.link.as_ref()?)?;
            let (name, _) = facts.interface_with(address)?;
            Some((node.name.clone(), name.clone()))
        })
    }

    /// A stream of the link, from or to the host, shows what a larger MTU gains.
    fn traffic(view: &View<'_>, place: &Place, host: &HostName) -> Option<TrialTraffic> {
        let measured = view.case.measurements.iter();
        let mut measured = measured.filter(|m| Some(&m.link) == place.link.as_ref());
        measured.find_map(|m| match [&m.from, &m.to].contains(&host) {
            true => stream_of(m),
            false => None,
        })
    }
}

impl Cause for MtuMismatch {
    const CODE: &'static str = "mtu-mismatch";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[Topic::Mtu.told()];

    fn words(&self, at: &Place) -> Words {
        let (Self::Port { lost_packets, .. } | Self::Told { lost_packets, .. }) = self;
        let cost = match lost_packets.0 {
            0 => " Nothing of this check was lost for it.".to_owned(),
            n => format!(" It cost {} of the check.", counted(n, "packet")),
        };
        let (mtu, file, largest, above) = match self {
            Self::Told {
                told_mtu_bytes,
                interface_mtu_bytes,
                told_by,
                ..
            } => {
                if let Some(router) = told_by {
                    return Words {
                        text: format!(
                            "Packets {} pass the router {router}, which says that its next hop takes only {told_mtu_bytes} \
                             bytes; the interface is set to {interface_mtu_bytes}.{cost}",
                            way(at),
                        ),
                        fix: format!(
                            "On {router}: the MTU of its interface towards {}, or of its route. Give the whole link one MTU. A link \
                             between heads should have no router.",
                            peer(at),
                        ),
                    };
                }
                return Words {
                    text: format!(
                        "From {} to {}{} a hop or a route takes only {told_mtu_bytes} bytes, and says so; the \
                         interface is set to {interface_mtu_bytes}.{cost}",
                        host(at),
                        peer(at),
                        on_link(at),
                    ),
                    fix: "`ip route get ADDRESS` shows a route's own mtu; `tracepath -n ADDRESS` the hop \
                          that answers. Give the whole link one MTU."
                        .to_owned(),
                };
            }
            Self::Port {
                mtu_bytes,
                file_mtu_bytes,
                largest_mtu_bytes,
                larger_above,
                ..
            } => (
                *mtu_bytes,
                *file_mtu_bytes,
                *largest_mtu_bytes,
                larger_above,
            ),
        };
        let against = match (file, largest) {
            (Some(file), _) => format!("the cluster file says {file}"),
            (None, Some(largest)) => format!("another port of the link has {largest}"),
            (None, None) => "the others differ".to_owned(),
        };
        let due = file.or(largest).unwrap_or(mtu);
        let link = at.link.as_ref().map_or("the link", |link| link.as_str());
        let (who, interface, host) = match at.host {
            None => (format!("Every port of {link}"), "IF", "each host"),
            Some(_) => (at_interface(at), interface(at), host(at)),
        };
        let text = format!("{who} has an MTU of {mtu}; {against}.{cost}");
        if !above.is_empty() {
            let named = |it: &Above| format!("{} on {} ({})", it.interface, it.host, it.mtu_bytes);
            let named: Vec<String> = above.iter().map(named).collect();
            return Words {
                text,
                fix: format!(
                    "Lowering it lowers what stands on it too, and nothing raises that again: {}. If that needs its MTU, write \
                     `mtu = {mtu}` for {link} in the cluster file; else lower that first, on all hosts of its network.",
                    listed(&named),
                ),
            };
        }
        Words {
            text,
            fix: format!(
                "`ip link set {interface} mtu {due}` on {host}, and in its network configuration; \
                 over another link or on a console, since the one you change may stop. The switch \
                 must take it too."
            ),
        }
    }
}

/// What stands on these ports of a link and has more than their link is due.
fn larger_above(
    view: &View<'_>,
    ports: &[&(HostName, &InterfaceName, Mtu)],
    due: Mtu,
) -> Vec<Above> {
    let of = |(host, port, _): &&(HostName, &InterfaceName, Mtu)| {
        let all = view.host(host).map(|facts| &facts.interfaces);
        let above = all.into_iter().flatten().filter_map(|(name, facts)| {
            let mtu_bytes = facts.mtu.filter(|mtu| *mtu > due)?;
            facts.lower.contains(*port).then(|| Above {
                host: host.clone(),
                interface: name.clone(),
                mtu_bytes,
            })
        });
        above.collect::<Vec<_>>()
    };
    ports.iter().flat_map(of).collect()
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
fn told(view: &View<'_>, losses: &mut Losses) -> Vec<Found<MtuMismatch>> {
    let mut found = Vec::new();
    for m in &view.case.measurements {
        let Some(path_mtu) = &m.path_mtu else {
            continue;
        };
        let Some(said) = path_mtu.told.filter(|t| *t < path_mtu.interface_mtu) else {
            continue;
        };
        let in_tunnel = tunnel_mtu_too_large::begins(view, &Path::of(m));
        if in_tunnel || path_mtu.passed.is_none_or(|passed| passed > said) {
            continue;
        }
        let explained = losses.claim(MtuMismatch::CODE, |l| {
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
        found.push(Found {
            severity,
            confidence: Confidence::Likely,
            place,
            evidence: MtuMismatch::Told {
                told_mtu_bytes: said,
                told_by: path_mtu.told_by,
                interface_mtu_bytes: path_mtu.interface_mtu,
                lost_packets: Packets(packets(&explained)),
            },
        });
    }
    found
}

/// Reasons of a sender that holds a packet to be larger than the path takes.
pub(crate) fn refused_as_too_big(reason: &str) -> bool {
    reason == "EMSGSIZE" || reason == "PKT_TOO_BIG" || reason.ends_with("/FragFails")
}
