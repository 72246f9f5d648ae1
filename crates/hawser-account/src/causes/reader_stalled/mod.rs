//! The receiving program stood still for a while: it is fast enough, the burst fits into the
//! buffer, but for longer than the buffer lasts it was not run. A busy host without real-time
//! priority, another real-time task on its processor, a hypervisor that takes the CPU away, memory being swapped, a firmware interrupt.
//! Corosync says of the same "main process was not scheduled for … ms".
//!
//! Evidence: the socket's own drops, and a gap between two reads longer than 10 ms and longer
//! than the buffer lasts at the arrival rate. Certain by these numbers. Or no gap is that long, but the reader was ready
//! to run and waited for a processor for a quarter of the time or more (`schedstat`), in which at least as many packets arrived on average
//! as were lost: likely, since when they arrived is not known. An error if the reader
//! had real-time priority, as Corosync has; else a warning: a program with it would not have stalled. Cases: `reader-stalled`,
//! `reader-stalled-short`, `reader-stalled-real-time`, `reader-starved`, `reader-starved-named`, `reader-starved-little`.

use hawser_model::account::Layer;
use hawser_model::case::Phase;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::HostName;
use hawser_model::units::{Bytes, Nanos, Packets};
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, as_number, host, on_link, peer};
use crate::causes::claims::{Busy, Lost, busy, busy_words, by_host, place_on};
use crate::causes::socket_drain::Pace;
use crate::compare::topic::{About, COMPUTING};
use crate::losses::{Loss, Losses};
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct ReaderStalled {
    #[serde(flatten)]
    lost: Lost,
    /// The longest time without a read; none of a reader that only waited for a processor time and again.
    #[serde(skip_serializing_if = "Option::is_none")]
    stall_ns: Option<Nanos>,
    /// For how long the readers of these flows were ready to run and had no processor, all together.
    #[serde(skip_serializing_if = "Option::is_none")]
    waited_for_processor_ns: Option<Nanos>,
    #[serde(skip_serializing_if = "Option::is_none")]
    starved_percent: Option<u64>,
    buffer_lasts_ns: Nanos,
    buffer_bytes: Bytes,
    needed_buffer_bytes: Bytes,
    #[serde(serialize_with = "as_number")]
    real_time: bool,
    /// What the hypervisor took of one processor while the flow with the longest stall ran, at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    steal_ns: Option<Nanos>,
    /// Who had the processors meanwhile, as far as the host shows it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    busy: Vec<Busy>,
}

impl CheckCause for ReaderStalled {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let stalled = losses.claim(Self::CODE, |l| {
            l.layer == Some(Layer::SocketBuffer)
                && Pace::of(view.phases[l.phase].facts.phase).stalled()
        });
        let starved = losses.claim(Self::CODE, |l| {
            let phase = view.phases[l.phase].facts.phase;
            l.layer == Some(Layer::SocketBuffer) && Pace::of(phase).starved(phase, l.packets)
        });
        let of = |claimed, confidence| {
            let groups = by_host(claimed).into_iter();
            groups.filter_map(move |(host, group)| finding(view, &host, &group, confidence))
        };
        let found = of(stalled, Confidence::Certain);
        found.chain(of(starved, Confidence::Likely)).collect()
    }

    fn cost(&self) -> Packets {
        self.lost.lost_packets
    }
}

fn finding(
    view: &View<'_>,
    host: &HostName,
    group: &[Loss],
    confidence: Confidence,
) -> Option<Found<ReaderStalled>> {
    let phases = || group.iter().map(|l| view.phases[l.phase].facts.phase);
    let paces = || phases().map(Pace::of);
    let longest = phases().max_by_key(|phase| {
        let pace = Pace::of(phase);
        (pace.stall, pace.starved_percent)
    })?;
    let processors = longest.receiver_window.processors.values();
    let waited = phases().map(|phase| phase.receiver.drain.runnable);
    Some(Found {
        severity: match phases().all(has_real_time) {
            true => Severity::Error,
            false => Severity::Warning,
        },
        confidence,
        place: place_on(view, host, group),
        evidence: ReaderStalled {
            lost: Lost::of(view, group),
            stall_ns: paces()
                .filter(Pace::stalled)
                .filter_map(|p| p.stall)
                .max()
                .map(Nanos),
            waited_for_processor_ns: waited.sum::<Option<Nanos>>(),
            starved_percent: paces().filter_map(|p| p.starved_percent).max(),
            buffer_lasts_ns: Nanos(paces().filter_map(|p| p.buffer_lasts).min()?),
            buffer_bytes: phases().map(|p| p.receiver.buffer_granted).min()?,
            needed_buffer_bytes: Bytes(paces().map(|p| p.needed).max()?),
            real_time: phases().all(has_real_time),
            steal_ns: processors.map(|time| time.steal).max(),
            busy: busy(
                &longest.receiver_window.busy,
                longest.receiver_window.elapsed,
            ),
        },
    })
}

impl Cause for ReaderStalled {
    const CODE: &'static str = "reader-stalled";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &COMPUTING;

    fn words(&self, at: &Place) -> Words {
        let Some(stall) = self.stall_ns else {
            return self.starved(at);
        };
        let own_processor = "another real-time task on the same processor (`ps -eLo psr,rtprio,comm`; give the \
                             reader another processor), firmware, a driver that keeps interrupts off";
        // It was ready to run for most of that time: no firmware does that, nor a driver.
        let ready = self
            .waited_for_processor_ns
            .filter(|waited| waited.0 >= stall.0 / 2);
        let priority = match (self.real_time, self.steal_ns) {
            (false, _) => {
                "and has no real-time priority: give the program one (`chrt -r`), as cluster \
                           engines do, or a CPU of its own"
                    .to_owned()
            }
            (true, Some(steal)) if steal.0 >= stall.0 / 2 => format!(
                "although it has real-time priority, and the hypervisor took {steal} of one processor meanwhile: look \
                 there for steal time (`vmstat 1`, column st)"
            ),
            (true, _) if ready.is_some() => {
                "although it has real-time priority and was ready to run: another task of real-time priority had its processor \
                 (`ps -eLo psr,rtprio,comm`). Give the reader another processor"
                    .to_owned()
            }
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
        let ready = ready.map_or(String::new(), |waited| {
            format!(" (while these flows ran it was ready and waited for a processor for {waited})")
        });
        Words {
            text: format!(
                "{} lost {} from {}{} because the reading program was not run for {stall}{ready}; its buffer of \
                 {} lasts {} at this rate. The program is fast enough and the path is not at fault.{}",
                host(at),
                self.lost,
                peer(at),
                on_link(at),
                self.buffer_bytes,
                self.buffer_lasts_ns,
                self.others(),
            ),
            fix: format!(
                "The reader stood still {priority}. A buffer of {} would have bridged it.",
                self.needed_buffer_bytes,
            ),
        }
    }
}

impl ReaderStalled {
    /// Who had the processors: no proof that it was them, and the first place to look.
    fn others(&self) -> String {
        let words = busy_words(&self.busy);
        words.map_or(String::new(), |words| format!(" Meanwhile {words}."))
    }

    /// It was run, and never soon.
    fn starved(&self, at: &Place) -> Words {
        let waited = self.waited_for_processor_ns.unwrap_or_default();
        let priority = match self.real_time {
            true => {
                "It has real-time priority, so it was a task that has it too (`ps -eLo psr,rtprio,comm`), or work of the kernel on \
                     the same processor: give the reader another processor"
            }
            false => {
                "Give the program real-time priority (`chrt -r`), as cluster engines do, or a CPU of its own"
            }
        };
        Words {
            text: format!(
                "{} lost {} from {}{}: the reading program was ready to run and waited for a processor for {} % of the time ({waited}), \
                 and its buffer of {} lasts {} at this rate. It is fast enough while it runs, and the path is not at fault.{}",
                host(at),
                self.lost,
                peer(at),
                on_link(at),
                self.starved_percent.unwrap_or(0),
                self.buffer_bytes,
                self.buffer_lasts_ns,
                self.others(),
            ),
            fix: format!(
                "{priority}. A buffer of {} would have bridged the longest loss.",
                self.needed_buffer_bytes,
            ),
        }
    }
}

/// The reader asked for real-time priority and got it.
fn has_real_time(phase: &Phase) -> bool {
    phase.spec.realtime && !phase.receiver.not_granted.contains_key("SCHED_RR")
}
