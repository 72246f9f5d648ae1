//! The machine's memory for all UDP sockets together is used up (`net.ipv4.udp_mem`): a
//! socket drops although its own buffer has room. Raising one socket's buffer makes it worse.
//!
//! Evidence: `Udp: MemErrors`, `PROTO_MEM` (`udp_rmem_schedule`, `net/ipv4/udp.c`), for our
//! socket or, where another program's drops, when that counter moved further than
//! `RcvbufErrors`. An error. Cases: `udp-memory-pressure`, `udp-memory-pressure-foreign`,
//! `udp-memory-pressure-everything`.

use crate::fixes::knobs::{At, KERNEL_DEFAULT, backlog, igmp_2, rmem_default, sysctl};
use crate::fixes::{Candidate, TrialValue};
use std::collections::BTreeSet;

use hawser_model::account::Layer;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::HostName;
use hawser_model::units::Packets;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, counted, host};
use crate::causes::claims::{Lost, by_host, confidence, place_on};
use crate::causes::foreign_socket_dropping::dropping;
use crate::compare::topic::{About, Topic};
use crate::losses::{Loss, Losses};
use crate::packets::facts::MOST_PACKETS;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct UdpMemoryPressure {
    #[serde(flatten)]
    lost: Lost,
    other_sockets_dropped_packets: Packets,
    memory_errors_counted: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    udp_mem_max_pages: Option<u64>,
}

/// The kernel's reason for a drop for want of memory for all UDP sockets.
pub(crate) const NO_MEMORY: &str = "PROTO_MEM";

/// What both families' counters of the name gained on a host, over all windows.
pub(crate) fn counter(view: &View<'_>, host: &HostName, name: &str) -> u64 {
    let mut sum = 0u64;
    for (_, window) in view.windows().filter(|(of, _)| *of == host) {
        for family in ["udp", "udp6"] {
            let moved = window.counters.or_zero(&format!("{family}/{name}"));
            sum = sum.saturating_add(moved.min(MOST_PACKETS));
        }
    }
    sum
}

/// True when the host's UDP drops are rather for want of memory than of buffer.
pub(crate) fn memory_not_buffer(view: &View<'_>, host: &HostName) -> bool {
    counter(view, host, "MemErrors") > counter(view, host, "RcvbufErrors")
}

impl CheckCause for UdpMemoryPressure {
    const STANDING: bool = true;

    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let mut own = by_host(losses.claim(Self::CODE, |l| {
            l.layer == Some(Layer::SocketBuffer) && l.reason == NO_MEMORY
        }));
        let mut hosts: BTreeSet<HostName> = own.keys().cloned().collect();
        let foreign = dropping(view);
        hosts.extend(
            foreign
                .keys()
                .map(|(host, _)| host.clone())
                .filter(|host| memory_not_buffer(view, host)),
        );
        hosts
            .into_iter()
            .map(|host| {
                let group: Vec<Loss> = own.remove(&host).unwrap_or_default();
                let place = match group.is_empty() {
                    true => Place {
                        host: Some(host.clone()),
                        ..Place::default()
                    },
                    false => place_on(view, &host, &group),
                };
                let sure = match group.is_empty() {
                    true => Confidence::Likely,
                    false => confidence(&group),
                };
                let others: u64 = foreign
                    .iter()
                    .filter(|((h, _), _)| *h == host)
                    .map(|(_, (_, drops))| *drops)
                    .fold(0, u64::saturating_add);
                let limits = view
                    .host(&host)
                    .and_then(|h| h.sysctls.get("net.ipv4.udp_mem"));
                let pages = limits.and_then(|l| l.split_whitespace().nth(2)?.parse().ok());
                Found {
                    severity: Severity::Error,
                    confidence: sure,
                    place,
                    evidence: Self {
                        lost: Lost::of(view, &group),
                        other_sockets_dropped_packets: Packets(others),
                        memory_errors_counted: counter(view, &host, "MemErrors"),
                        udp_mem_max_pages: pages,
                    },
                }
            })
            .collect()
    }

    fn cost(&self) -> Packets {
        self.lost.lost_packets
    }

    fn candidates(&self, at: &At<'_>) -> Vec<Option<Candidate>> {
        vec![
            at.largest_ring(),
            igmp_2(),
            backlog(),
            rmem_default(KERNEL_DEFAULT),
            sysctl("net.ipv4.udp_mem", TrialValue::Times(8)),
        ]
    }
}

impl Cause for UdpMemoryPressure {
    const CODE: &'static str = "udp-memory-pressure";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[Topic::Sysctl.with("net.ipv4.udp_mem"), Topic::Memory.any()];

    fn words(&self, at: &Place) -> Words {
        let own = match self.lost.lost_packets.0 {
            0 => String::new(),
            _ => format!(" Our probes lost {}.", self.lost),
        };
        let others = match self.other_sockets_dropped_packets.0 {
            0 => String::new(),
            n => format!(" Other programs' sockets dropped {}.", counted(n, "packet")),
        };
        let limit = self.udp_mem_max_pages;
        let limit = limit.map_or(String::new(), |p| format!(" (net.ipv4.udp_mem, {p} pages)"));
        Words {
            text: format!(
                "All UDP sockets of {} together have used up the memory the kernel gives them{limit}: \
                 sockets drop although their own buffers have room.{own}{others}",
                host(at),
            ),
            fix: match self.udp_mem_max_pages {
                Some(p) => {
                    let p = p.saturating_mul(2);
                    format!(
                        "`sysctl -w net.ipv4.udp_mem=\"{} {} {p}\"` (the whole machine, in pages of \
                         4096 bytes), or find the socket that hoards memory: `ss -uampn`. Larger \
                         buffers for single sockets make it worse.",
                        p / 2,
                        p / 4 * 3,
                    )
                }
                None => "Raise `net.ipv4.udp_mem` (the whole machine, in pages), or find the socket \
                         that hoards memory: `ss -uampn`. Larger buffers for single sockets make it \
                         worse."
                    .to_owned(),
            },
        }
    }
}
