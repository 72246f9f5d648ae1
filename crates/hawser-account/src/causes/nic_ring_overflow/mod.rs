//! The receiving NIC's ring is full: frames come faster than the host takes them out of it
//! (too few descriptors for a burst, an interrupt storm, a busy CPU). On a veth the ring is
//! the 256 slots of its NAPI mode (`VETH_RING_SIZE`, `drivers/net/veth.c`).
//!
//! Evidence: the driver's own counters (`rx_missed_errors`, `rx_no_buffer_count`,
//! `rx_out_of_buffer`, …) or `veth_xmit` as the place of the drop. `rx_dropped` alone is not
//! evidence: it also holds harmless drops. An error. In a watch, which sends nothing: many of them in a minute; a warning.
//! Cases: `nic-ring-overflow`, `nic-ring-overflow-recorded` (vmxnet3), `nic-ring-overflow-counted`, `nic-ring-waited`,
//! `nic-ring-by-device` (virtio-net), `nic-ring-bridge-port`; not `nic-ring-by-xdp` and `nic-ring-other-port`.

use crate::fixes::Candidate;
use crate::fixes::knobs::{At, backlog};
use hawser_model::account::Layer;
use hawser_model::finding::{Place, Severity};
use hawser_model::units::Packets;
use serde::Serialize;

use crate::cause::{
    Cause, CheckCause, Found, Words, as_number, at_interface, in_brackets, interface, peer,
};
use crate::causes::claims::{Lost, by_host, confidence, main_reason, place_on};
use crate::compare::topic::{About, CARD};
use crate::losses::{Loss, Losses};
use crate::packets::DAMAGE;
use crate::view::View;

pub(crate) mod counted;

/// What some drivers take when they are loaded and not later: the size of the ring, and interrupts that wait for nothing
/// (their own documents in Documentation/networking/device_drivers/ethernet/intel).
const AT_LOAD: [(&str, &str, &str); 2] = [
    ("e1000", "RxDescriptors", "4096"),
    ("e1000e", "InterruptThrottleRate", "0"),
];

#[derive(Serialize)]
pub(crate) struct NicRingOverflow {
    /// The kernel's word for it.
    reason: String,
    #[serde(serialize_with = "as_number")]
    veth: bool,
    #[serde(flatten)]
    lost: Lost,
}

pub(in crate::causes) fn is_ring(loss: &Loss) -> bool {
    loss.layer == Some(Layer::ReceiverNic)
        && !loss.reason.contains("dev_forward_skb")
        && !DAMAGE.iter().any(|e| loss.reason.ends_with(e))
        && (["driver/", "queue/", "link/"]
            .iter()
            .any(|from| loss.reason.starts_with(from))
            || loss.reason.contains("_xmit")
            || loss.reason == "FULL_RING")
}

impl CheckCause for NicRingOverflow {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        by_host(losses.claim(Self::CODE, is_ring))
            .into_iter()
            .map(|(host, group)| {
                let place = place_on(view, &host, &group);
                Found {
                    severity: Severity::Error,
                    confidence: confidence(&group),
                    evidence: Self {
                        reason: main_reason(&group),
                        veth: is_veth(view, &place),
                        lost: Lost::of(view, &group),
                    },
                    place,
                }
            })
            .collect()
    }

    fn cost(&self) -> Packets {
        self.lost.lost_packets
    }

    fn candidates(&self, at: &At<'_>) -> Vec<Option<Candidate>> {
        let mut all = vec![
            at.largest_ring(),
            at.threaded(),
            at.no_coalescing(),
            at.more_queues(),
            at.interrupts_in_turn(),
            backlog(),
        ];
        all.extend(at.module_parameters(&AT_LOAD));
        all.push(at.no_msi());
        all
    }
}

impl Cause for NicRingOverflow {
    const CODE: &'static str = "nic-ring-overflow";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &CARD;

    fn words(&self, at: &Place) -> Words {
        Words {
            text: format!(
                "The receive ring of {} was full: {} from {} were lost before the kernel saw \
                 them{}.",
                at_interface(at),
                self.lost,
                peer(at),
                in_brackets(&self.reason),
            ),
            fix: fix(self.veth, at),
        }
    }
}

/// What to do about the ring of such an interface.
fn fix(veth: bool, at: &Place) -> String {
    match veth {
            true => "A veth's ring is 256 slots and cannot be set. Turn GRO off on it (`ethtool -K \
                     IF gro off` leaves NAPI mode unless an XDP program holds it), give its NAPI a CPU of \
                     its own, or smooth the bursts in front of it."
                .to_owned(),
            false => format!(
                "`ethtool -g {0}` shows the ring's size and limit: `ethtool -G {0} rx LIMIT` (this \
                 interface; the link may flap). Then spread interrupts over CPUs (`ethtool -L`, \
                 irqbalance) and look at `ethtool -c` for coalescing.",
                interface(at),
            ),
        }
}

/// Whether it is one end of a veth pair.
fn is_veth(view: &View<'_>, at: &Place) -> bool {
    let facts = at.host.as_ref().and_then(|host| view.host(host));
    let port = facts.zip(at.interface.as_ref());
    let port = port.and_then(|(facts, name)| facts.interfaces.get(name));
    port.is_some_and(|port| port.driver.as_deref() == Some("veth"))
}
