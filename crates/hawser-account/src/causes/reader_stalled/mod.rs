//! The receiving program stood still for a while: it is fast enough, the burst fits into the
//! buffer, but for longer than the buffer lasts it was not run. A busy host without real-time
//! priority, another real-time task on its processor, a hypervisor that takes the CPU away, memory being swapped, a firmware interrupt.
//! Corosync says of the same "main process was not scheduled for … ms".
//!
//! Evidence: the socket's own drops, and a gap between two reads longer than 10 ms and longer
//! than the buffer lasts at the arrival rate. Certain by these numbers; a warning, since it is
//! the host's doing and not the path's. Cases: `reader-stalled`,
//! `reader-stalled-short`, `reader-stalled-real-time`.

use hawser_model::account::Layer;
use hawser_model::case::Phase;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::units::{Bytes, Nanos, Packets};
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, as_number, host, on_link, peer};
use crate::causes::socket_drain::Pace;
use crate::causes::support::{Lost, by_host, place_on};
use crate::compare::topic::{About, COMPUTING};
use crate::losses::Losses;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct ReaderStalled {
    #[serde(flatten)]
    lost: Lost,
    stall_ns: Nanos,
    buffer_lasts_ns: Nanos,
    buffer_bytes: Bytes,
    needed_buffer_bytes: Bytes,
    #[serde(serialize_with = "as_number")]
    real_time: bool,
    /// What the hypervisor took of one processor while the flow with the longest stall ran, at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    steal_ns: Option<Nanos>,
}

impl CheckCause for ReaderStalled {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let claimed = losses.claim(Self::CODE, |l| {
            l.layer == Some(Layer::SocketBuffer)
                && Pace::of(view.phases[l.phase].facts.phase).stalled()
        });
        let found = by_host(claimed).into_iter().filter_map(|(host, group)| {
            let phases = || group.iter().map(|l| view.phases[l.phase].facts.phase);
            let paces = || phases().map(Pace::of);
            let longest = phases().max_by_key(|phase| Pace::of(phase).stall)?;
            let processors = longest.receiver_window.processors.values();
            Some(Found {
                severity: Severity::Warning,
                confidence: Confidence::Certain,
                place: place_on(view, &host, &group),
                evidence: Self {
                    lost: Lost::of(view, &group),
                    stall_ns: Nanos(paces().filter_map(|p| p.stall).max()?),
                    buffer_lasts_ns: Nanos(paces().filter_map(|p| p.buffer_lasts).min()?),
                    buffer_bytes: phases().map(|p| p.receiver.buffer_granted).min()?,
                    needed_buffer_bytes: Bytes(paces().map(|p| p.needed).max()?),
                    real_time: phases().all(has_real_time),
                    steal_ns: processors.map(|time| time.steal).max(),
                },
            })
        });
        found.collect()
    }

    fn cost(&self) -> Packets {
        self.lost.lost_packets
    }
}

impl Cause for ReaderStalled {
    const CODE: &'static str = "reader-stalled";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &COMPUTING;

    fn words(&self, at: &Place) -> Words {
        let own_processor = "another real-time task on the same processor (`ps -eLo psr,rtprio,comm`; give the \
                             reader another processor), firmware, a driver that keeps interrupts off";
        let priority = match (self.real_time, self.steal_ns) {
            (false, _) => {
                "and has no real-time priority: give the program one (`chrt -r`), as cluster \
                           engines do, or a CPU of its own"
                    .to_owned()
            }
            (true, Some(steal)) if steal.0 >= self.stall_ns.0 / 2 => format!(
                "although it has real-time priority, and the hypervisor took {steal} of one processor meanwhile: look \
                 there for steal time (`vmstat 1`, column st)"
            ),
            (true, Some(steal)) => {
                let took = match steal.is_zero() {
                    true => "nothing".to_owned(),
                    false => format!("no more than {steal} of one processor"),
                };
                format!(
                    "although it has real-time priority, and the hypervisor took {took} meanwhile. So look for \
                     {own_processor}"
                )
            }
            (true, None) => format!(
                "although it has real-time priority, so look for steal time of a virtual machine (`vmstat 1`, column \
                 st), {own_processor}"
            ),
        };
        Words {
            text: format!(
                "{} lost {} from {}{} because the reading program was not run for {}; its buffer of \
                 {} lasts {} at this rate. The program is fast enough and the path is not at fault.",
                host(at),
                self.lost,
                peer(at),
                on_link(at),
                self.stall_ns,
                self.buffer_bytes,
                self.buffer_lasts_ns,
            ),
            fix: format!(
                "The reader stood still {priority}. A buffer of {} would have bridged it.",
                self.needed_buffer_bytes,
            ),
        }
    }
}

/// The reader asked for real-time priority and got it.
fn has_real_time(phase: &Phase) -> bool {
    phase.spec.realtime && !phase.receiver.not_granted.contains_key("SCHED_RR")
}
