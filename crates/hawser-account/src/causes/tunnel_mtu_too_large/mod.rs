//! A link is a tunnel whose MTU leaves no room for its own headers: what fills it does not fit the interface that carries it. The
//! kernel learns the smaller size packet by packet, so that what is said of the path depends on when it is asked: a refusal
//! (EMSGSIZE), a learnt path MTU, fragments outside of the tunnel.
//!
//! Evidence: the tunnel's MTU is larger than that of the interface which it goes over, less its headers. Certain: both are read. It
//! explains what its sender refused as too large, and what vanished between the hosts and would not have fitted. An error if something was lost,
//! else a warning. Cases: `tunnel-mtu-refused`, `tunnel-mtu-learnt`, `tunnel-mtu-fits`.

use hawser_model::account::Layer;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::host::HostFacts;
use hawser_model::names::{HostName, InterfaceName};
use hawser_model::units::{Mtu, Packets};
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, host, interface};
use crate::causes::claims::Lost;
use crate::causes::mtu_mismatch::refused_as_too_big;
use crate::compare::topic::{About, Topic};
use crate::losses::{Loss, Losses};
use crate::view::{Path, View};

#[derive(Serialize)]
pub(crate) struct TunnelMtuTooLarge {
    mtu_bytes: Mtu,
    fits_bytes: Mtu,
    headers_bytes: u32,
    carrier_mtu_bytes: Mtu,
    /// None where it cost nothing.
    #[serde(flatten)]
    lost: Option<Lost>,
}

/// A tunnel that is too large, and what carries it.
fn too_large<'a>(
    facts: &'a HostFacts,
    name: &InterfaceName,
) -> Option<(&'a InterfaceName, TunnelMtuTooLarge)> {
    let interface = facts.interfaces.get(name)?;
    let tunnel = interface.tunnel.as_ref()?;
    let (mtu, carrier) = (interface.mtu?, facts.interfaces.get(&tunnel.over)?.mtu?);
    let fits = Mtu(carrier.0.saturating_sub(tunnel.headers));
    (mtu > fits).then_some((
        &tunnel.over,
        TunnelMtuTooLarge {
            mtu_bytes: mtu,
            fits_bytes: fits,
            headers_bytes: tunnel.headers,
            carrier_mtu_bytes: carrier,
            lost: None,
        },
    ))
}

/// Whether a path begins in such a tunnel: what its kernel holds of the path MTU is this one's doing.
pub(super) fn begins(view: &View<'_>, path: &Path) -> bool {
    let ports = view.ports();
    let port = ports.get(&(path.link.clone(), path.from.clone()));
    let found = port.and_then(|(name, _)| too_large(view.host(&path.from)?, name));
    found.is_some()
}

/// What a host's tunnel costs.
fn explains(view: &View<'_>, from: &HostName, fits: Mtu, loss: &Loss) -> bool {
    let larger = view.phases[loss.phase].facts.packet_size() > fits;
    let refused = loss.layer == Some(Layer::SenderIp) && refused_as_too_big(&loss.reason);
    let vanished = matches!(
        loss.layer,
        None | Some(Layer::BetweenHosts | Layer::SenderNic)
    );
    loss.path.from == *from && larger && (refused || vanished)
}

impl CheckCause for TunnelMtuTooLarge {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let mut found = Vec::new();
        for ((link, host), (name, _)) in view.ports() {
            let facts = view.host(&host);
            let Some((over, evidence)) = facts.and_then(|facts| too_large(facts, name)) else {
                continue;
            };
            let explained = losses.claim(Self::CODE, |l| {
                l.path.link == link && explains(view, &host, evidence.fits_bytes, l)
            });
            let lost = (!explained.is_empty()).then(|| Lost::of(view, &explained));
            found.push(Found {
                severity: match lost {
                    Some(_) => Severity::Error,
                    None => Severity::Warning,
                },
                confidence: Confidence::Certain,
                place: Place {
                    object: Some(format!("over {over}")),
                    ..Place::port(&host, &link, name)
                },
                evidence: Self { lost, ..evidence },
            });
        }
        found
    }

    fn cost(&self) -> Packets {
        self.lost.as_ref().map_or(Packets(0), |l| l.lost_packets)
    }
}

impl Cause for TunnelMtuTooLarge {
    const CODE: &'static str = "tunnel-mtu-too-large";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[Topic::Mtu.told()];

    fn words(&self, at: &Place) -> Words {
        let over = at.object.as_deref().unwrap_or("over another interface");
        let carrier = over.strip_prefix("over ").unwrap_or(over);
        let cost = match &self.lost {
            None => String::new(),
            Some(lost) => format!(" It cost {lost}."),
        };
        Words {
            text: format!(
                "{} of {} is a tunnel {over} and has an MTU of {} bytes: with {} bytes of headers that does not fit the {} of \
                 {carrier}.{cost}",
                interface(at),
                host(at),
                self.mtu_bytes,
                self.headers_bytes,
                self.carrier_mtu_bytes,
            ),
            fix: format!(
                "`ip link set {} mtu {}` at every end of the tunnel, or {} bytes on {carrier}, its peers and the switches between.",
                interface(at),
                self.fits_bytes,
                self.mtu_bytes.0.saturating_add(self.headers_bytes),
            ),
        }
    }
}
