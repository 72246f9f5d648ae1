//! The receiving socket's buffer is smaller than a burst. The reader is fast enough for the
//! rate and waits between bursts; it only cannot be there in time. This is the report every
//! cluster operator has met: UDP loses at 800 Mbit/s while TCP does 6 Gbit/s, `netstat -su`
//! shows receive errors, and Corosync "failed to receive".
//!
//! Evidence: the socket's own drops (`SK_MEMINFO_DROPS`, `SOCKET_RCVBUFF`), a drain rate
//! above the arrival rate, packet memory × burst against the buffer. Certain when the rates
//! are clearly apart, else likely, as it is when a burst alone would fit, or when the reader waited for a processor for a quarter of its time; possible when the
//! reader was not timed. If the reader is too slow as well, only what it cannot have lost is told here
//! (`reader-too-slow` has the rest). An error; a warning of a flow that was sent at full speed.
//! Cases: `receive-buffer-too-small`, `counters-only-rcvbuf`, `reader-too-slow-small-buffer`.

use crate::fixes::Candidate;
use crate::fixes::knobs::{At, backlog, budget, igmp_2, rmem_default, rmem_max};
use hawser_model::account::Layer;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::HostName;
use hawser_model::units::{Bytes, Nanos, Packets, PacketsPerSec};
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, as_number, counted, host, on_link, peer};
use crate::causes::claims::{Lost, by_host, place_on};
use crate::causes::knet;
use crate::causes::socket_drain::{Pace, unpaced, waiting};
use crate::compare::topic::{About, Topic};
use crate::losses::{Loss, Losses};
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct ReceiveBufferTooSmall {
    #[serde(flatten)]
    lost: Lost,
    /// Sent as fast as the sender could.
    #[serde(serialize_with = "as_number")]
    unpaced: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    buffer_lasts_ns: Option<Nanos>,
    buffer_bytes: Bytes,
    #[serde(skip_serializing_if = "Option::is_none")]
    asked_bytes: Option<Bytes>,
    /// None of an unpaced flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    burst_packets: Option<u64>,
    /// Where the network doubles packets: what arrives of a burst.
    #[serde(skip_serializing_if = "Option::is_none")]
    burst_arriving_packets: Option<u64>,
    packet_memory_bytes: Bytes,
    #[serde(serialize_with = "as_number")]
    packet_memory_measured: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    arrival_packets_per_s: Option<PacketsPerSec>,
    #[serde(skip_serializing_if = "Option::is_none")]
    capacity_packets_per_s: Option<PacketsPerSec>,
    /// Of its time, for which the reader waited for packets; and awake for a processor, if that was not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    idle_percent: Option<u64>,
    /// For which it was ready to run and waited for a processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    starved_percent: Option<u64>,
    longest_loss_run_packets: u64,
    /// What would have held it.
    needed_buffer_bytes: Bytes,
    #[serde(skip_serializing_if = "Option::is_none")]
    rmem_default_bytes: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rmem_max_bytes: Option<Bytes>,
}

impl CheckCause for ReceiveBufferTooSmall {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let claimed = losses.claim(Self::CODE, |l| l.layer == Some(Layer::SocketBuffer));
        let groups = by_host(claimed).into_iter();
        let found = groups.filter_map(|(host, group)| finding(view, &host, &group));
        found.collect()
    }

    fn cost(&self) -> Packets {
        self.lost.lost_packets
    }

    fn candidates(&self, at: &At<'_>) -> Vec<Option<Candidate>> {
        // With room for twice what one check saw: the next burst need not be the same.
        let buffer = self.needed_buffer_bytes.0.saturating_mul(2);
        vec![
            at.largest_ring(),
            at.no_coalescing(),
            at.threaded(),
            at.all_cpus(),
            igmp_2(),
            budget(),
            backlog(),
            rmem_max(self.asked_bytes.map_or(buffer, |asked| asked.0)),
            rmem_default(buffer),
        ]
    }
}

fn finding(
    view: &View<'_>,
    host: &HostName,
    group: &[Loss],
) -> Option<Found<ReceiveBufferTooSmall>> {
    let paces = || {
        let phases = group.iter().map(|l| view.phases[l.phase].facts.phase);
        phases.map(Pace::of)
    };
    // The phase that lost most speaks for the group; what it would have taken, all of them.
    let most = group.iter().max_by_key(|l| l.packets)?;
    let phase = view.phases[most.phase].facts.phase;
    let pace = Pace::of(phase);
    // A burst that fits is not what filled the buffer: several came together.
    let fits = !unpaced(phase) && pace.takes_bursts();
    let confidence = match (pace.capacity.is_some(), pace.clear()) {
        (true, _) if fits || pace.often_starved() => Confidence::Likely,
        (true, true) => Confidence::Certain,
        (true, false) => Confidence::Likely,
        (false, _) => Confidence::Possible,
    };
    Some(Found {
        // A flow as fast as the sender can is a stress test: what it loses is not lost in operation.
        severity: match unpaced(phase) {
            true => Severity::Warning,
            false => Severity::Error,
        },
        confidence,
        place: place_on(view, host, group),
        evidence: ReceiveBufferTooSmall {
            lost: Lost::of(view, group),
            unpaced: unpaced(phase),
            buffer_lasts_ns: pace.buffer_lasts.map(Nanos),
            buffer_bytes: phase.receiver.buffer_granted,
            asked_bytes: phase.receiver.buffer_asked,
            burst_packets: (!unpaced(phase)).then_some(u64::from(phase.spec.burst)),
            burst_arriving_packets: (!unpaced(phase) && pace.burst > u64::from(phase.spec.burst))
                .then_some(pace.burst),
            packet_memory_bytes: Bytes(pace.packet_memory),
            packet_memory_measured: pace.memory_measured,
            arrival_packets_per_s: pace.arrival.map(PacketsPerSec),
            capacity_packets_per_s: pace.capacity.map(PacketsPerSec),
            idle_percent: pace.idle_percent,
            starved_percent: pace.starved_percent,
            longest_loss_run_packets: paces().map(|p| p.longest_run).max()?,
            needed_buffer_bytes: Bytes(paces().map(|p| p.needed).max()?),
            rmem_default_bytes: view.sysctl(host, "net.core.rmem_default").map(Bytes),
            rmem_max_bytes: view.sysctl(host, "net.core.rmem_max").map(Bytes),
        },
    })
}

impl Cause for ReceiveBufferTooSmall {
    const CODE: &'static str = "receive-buffer-too-small";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[Topic::Sysctl.with("net.core.rmem_")];

    fn words(&self, at: &Place) -> Words {
        let held = self.buffer_bytes.0 / self.packet_memory_bytes.0.max(1);
        let came = match (self.burst_packets, self.buffer_lasts_ns) {
            (Some(burst), _) if self.burst_arriving_packets.is_some_and(|all| all > held) => {
                format!(
                    "{} that were sent back to back came as {}, since the network doubles them",
                    counted(burst, "packet"),
                    self.burst_arriving_packets.unwrap_or(burst)
                )
            }
            (Some(burst), _) if burst <= held => format!(
                "{} were sent back to back: several bursts came together, or the reader was late",
                counted(burst, "packet")
            ),
            (Some(burst), _) => format!("{} came back to back", counted(burst, "packet")),
            (None, Some(lasts)) => {
                format!("that is {lasts} of traffic, less than a reader may be late")
            }
            (None, None) => "they came as fast as the sender could".to_owned(),
        };
        let needed = self.needed_buffer_bytes;
        let reader = match (self.capacity_packets_per_s, self.arrival_packets_per_s) {
            (Some(capacity), Some(arrival)) if capacity < arrival => format!(
                "The reader takes {capacity} of {arrival} arriving while it reads, which explains less than was lost{}. \
                 A larger buffer cures this part: {needed} would have held it.",
                self.idle_percent.map_or(String::new(), |idle| format!(
                    "; it waited {}",
                    waiting(idle, self.starved_percent)
                )),
            ),
            (Some(capacity), Some(arrival)) => format!(
                "The reader is fast enough ({capacity} against {arrival} arriving{}), so a larger buffer cures it: \
                 {needed} would have held this.",
                self.idle_percent.map_or(String::new(), |idle| format!(
                    ", waiting {}",
                    waiting(idle, self.starved_percent)
                )),
            ),
            _ => format!("How fast the reader is was not measured; {needed} would have held this."),
        };
        // The kernel doubles what a program asks for.
        let ask = needed.0 / 2;
        let limit = match self.rmem_max_bytes {
            Some(limit) if limit.0 < ask => format!(", after {}", knet::raise_rmem_max(ask)),
            _ => ".".to_owned(),
        };
        let default = match self.asked_bytes {
            Some(_) => String::new(),
            None => format!(
                " For programs that ask for nothing: `sysctl -w net.core.rmem_default={}` (the \
                 whole machine: every new socket that asks for nothing gets it). Restart the \
                 program; open sockets keep their buffers.",
                needed.0
            ),
        };
        let first = match self.burst_arriving_packets {
            Some(_) => "Stop what doubles the packets (duplicated-path). Or let",
            None => "Let",
        };
        Words {
            text: format!(
                "{} lost {} from {}{}{}: the receive buffer of {} was full. It holds about {}, and {came}. {reader}",
                host(at),
                self.lost,
                peer(at),
                on_link(at),
                match self.unpaced {
                    true => " at full speed",
                    false => "",
                },
                self.buffer_bytes,
                counted(held, "packet"),
            ),
            fix: format!(
                "{first} the program ask for the buffer: SO_RCVBUF {ask} (the kernel doubles it){limit}{default}"
            ),
        }
    }
}
