//! The sender's queueing discipline is full: a shaper (`tbf`, `htb`) slower than the traffic,
//! or a queue shorter than a burst. The program is not told: `sendmsg` succeeds unless
//! IP_RECVERR is set.
//!
//! Evidence: qdisc drops, which are `Ip: OutDiscards` and `Udp: SndbufErrors` once more
//! (`net/ipv4/udp.c`, `udp_send_skb`), ENOBUFS, or `QDISC_*` events. An error.
//! netem loses on purpose: the words say so. Cases: `sender-queue-drops`, `netem-left-behind`.

use crate::fixes::knobs::{At, sysctl};
use crate::fixes::{Candidate, TrialValue};
use hawser_model::account::Layer;
use hawser_model::finding::Place;
use hawser_model::names::HostName;
use hawser_model::units::Packets;
use serde::Serialize;

use crate::cause::{
    Cause, CheckCause, Found, Words, at_interface, counted, host, in_brackets, interface, peer,
};
use crate::causes::claims::{Lost, by_host, counter_over, lost_on, main_reason};
use crate::compare::topic::{About, Topic};
use crate::losses::{Loss, Losses};
use crate::view::View;

/// The queue that loses, delays and damages on purpose (tc-netem(8)).
const NETEM: &str = "netem ";

#[derive(Serialize)]
pub(crate) struct SenderQueueDrops {
    /// The kernel's word for it.
    reason: String,
    #[serde(flatten)]
    lost: Lost,
    qdisc_drops: u64,
    /// Packets that the phase sends back to back.
    burst_packets: u64,
}

impl CheckCause for SenderQueueDrops {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        by_host(losses.claim(Self::CODE, |l| l.layer == Some(Layer::Qdisc)))
            .into_iter()
            .filter_map(|(host, group)| {
                let qdisc_drops = counter_over(view, &host, &group, |facts, side| {
                    facts
                        .devices(side)
                        .iter()
                        .map(|d| facts.sum(side, &format!("qdisc/{d}/"), "/drops"))
                        .max()
                        .unwrap_or(0)
                });
                let burst = group
                    .iter()
                    .map(|l| view.phases[l.phase].facts.phase.spec.burst)
                    .max()?;
                let evidence = Self {
                    reason: main_reason(&group),
                    lost: Lost::of(view, &group),
                    qdisc_drops,
                    burst_packets: u64::from(burst),
                };
                let mut found = lost_on(view, &host, &group, evidence);
                found.place.object = queue(view, &host, &group);
                Some(found)
            })
            .collect()
    }

    fn cost(&self) -> Packets {
        self.lost.lost_packets
    }

    fn candidates(&self, at: &At<'_>) -> Vec<Option<Candidate>> {
        vec![
            at.longer_queue(),
            sysctl("net.core.wmem_default", TrialValue::Times(4)),
        ]
    }
}

impl Cause for SenderQueueDrops {
    const CODE: &'static str = "sender-queue-drops";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[
        Topic::Ring.with("transmit"),
        Topic::Device.with("tx_queue_len"),
        Topic::Sysctl.with("default_qdisc"),
    ];

    fn words(&self, at: &Place) -> Words {
        let queue = at.object.as_deref().unwrap_or("queueing discipline");
        if queue.starts_with(NETEM) {
            return Words {
                text: format!(
                    "{queue} of {} lost {} to {}{}: an emulation of a bad network, which somebody left there.",
                    at_interface(at),
                    self.lost,
                    peer(at),
                    in_brackets(&self.reason),
                ),
                fix: format!(
                    "On {}: `tc qdisc del dev {} root`.",
                    host(at),
                    interface(at)
                ),
            };
        }
        Words {
            text: format!(
                "The queue {queue} of {} lost {} to {} before they left the host{}; the program \
                 was not told.",
                at_interface(at),
                self.lost,
                peer(at),
                in_brackets(&self.reason),
            ),
            fix: format!(
                "`tc -s qdisc show dev {0}` on {1}: a shaper (tbf, htb) must allow the link's rate \
                 and hold a burst of {2}; without one, lengthen the queue (`ip link set {0} \
                 txqueuelen 10000`) or use fq_codel.",
                interface(at),
                host(at),
                counted(self.burst_packets, "packet"),
            ),
        }
    }
}

/// The queue that dropped most, as `tc` names it: `tbf 8001:`.
fn queue(view: &View<'_>, host: &HostName, group: &[Loss]) -> Option<String> {
    let mut best: Option<(u64, String)> = None;
    for loss in group {
        let facts = &view.phases[loss.phase].facts;
        let side = view.side_of(host, loss);
        for device in facts.devices(side) {
            let prefix = format!("qdisc/{device}/");
            for (name, drops) in facts.window(side).counters.under(&prefix) {
                let mut parts = name[prefix.len()..].split('/');
                let (handle, kind, field) = (parts.next(), parts.next(), parts.next());
                if let (Some(handle), Some(kind), Some("drops")) = (handle, kind, field) {
                    let program = kind == "clsact" || kind == "ingress";
                    if !program && best.as_ref().is_none_or(|(most, _)| drops > *most) {
                        best = Some((drops, format!("{kind} {handle}")));
                    }
                }
            }
        }
    }
    best.map(|(_, name)| name)
}
