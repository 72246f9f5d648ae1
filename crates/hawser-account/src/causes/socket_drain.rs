//! Two causes fill a receive buffer, and they have opposite cures. A burst larger than the
//! buffer needs a larger buffer; a reader slower than the rate fills any buffer and needs a
//! faster reader. The drain rate tells: packets read, over the time the reader was not
//! waiting, against the rate at which packets reached the socket. Both can be at work at once: a slow
//! reader loses what arrives above its rate at most, and the rest goes to a buffer that does not hold
//! a burst. A third fills it too: the reader is fast enough, the burst would fit, and for a while the
//! reader was not run at all, or waited for a processor time and again.

use hawser_model::case::Phase;
use hawser_model::traffic::{Drain, Rate};
use hawser_model::units::{Nanos, Packets};

use crate::causes::udp_memory_pressure::NO_MEMORY;
use crate::packets::facts::{MOST_PACKETS, packet_size};
use crate::packets::own_socket::mostly_refused;

/// Packets read take this share of the arrival rate or less: certainly too slow; within this
/// share around it: likely one or the other.
pub(super) const CLEAR_PER_CENT: u64 = 90;

/// A reader that got no packet for this long while they came was not run. Shorter waits are a
/// scheduler's ordinary latency (a tick at 100 Hz), which a buffer has to bridge.
const STALL: u64 = 10_000_000;

/// A reader that shares its processor with one other busy program waits half of the time that both want; below
/// a quarter of all time it is an ordinary latency.
const STARVED_PER_CENT: u64 = 25;

/// Skb overhead of the kernel: `SKB_DATA_ALIGN(sizeof(struct skb_shared_info))` with headroom
/// and headers, and `struct sk_buff` itself (x86-64; measured: 768 for 64, 2304 for 1472).
const DATA_OVERHEAD: u64 = 320 + 64 + 14;
const SKB: u64 = 256;

/// How one phase's reader kept up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// Packets a second that reached the socket, on average while the flow ran.
    pub(super) arrival: Option<u64>,
    /// Packets a second the reader can take, while it runs.
    pub(super) capacity: Option<u64>,
    /// Share of the time the reader waited for packets, in per cent; where the kernel did not count for how long it
    /// waited for a processor, that is in it too.
    pub(super) idle_percent: Option<u64>,
    /// Share of the time the reader was ready to run and waited for a processor, in per cent; absent where the
    /// kernel did not count it.
    pub(super) starved_percent: Option<u64>,
    /// Packets that arrived while it waited for a processor, on average.
    arrived_starved: Option<u64>,
    /// Memory one packet takes.
    pub(super) packet_memory: u64,
    /// That memory was measured, not estimated.
    pub(super) memory_measured: bool,
    /// Longest time the reader got nothing, if that is longer than it should be.
    pub(super) stall: Option<u64>,
    /// How long the buffer lasts at the arrival rate.
    pub(super) buffer_lasts: Option<u64>,
    /// Packets that arrive back to back: a burst, with the copies that the network makes of it.
    pub(super) burst: u64,
    /// The buffer holds them.
    pub(super) burst_fits: bool,
    /// Buffer that would have held what was lost with what was queued.
    pub(super) needed: u64,
    /// The longest run of consecutive losses.
    pub(super) longest_run: u64,
}

impl Pace {
    pub(super) fn of(phase: &Phase) -> Self {
        let report = &phase.receiver;
        let read = [
            report.received.0,
            report.duplicates.0,
            report.corrupted.0,
            report.foreign.0,
        ]
        .iter()
        .fold(0u64, |sum, n| sum.saturating_add(*n));
        let reached = read.saturating_add(report.socket_drops.0);
        let elapsed = phase.sender.elapsed.0;
        let arrival = (elapsed > 0).then(|| {
            let rate = u128::from(reached) * 1_000_000_000 / u128::from(elapsed);
            u64::try_from(rate).unwrap_or(u64::MAX)
        });
        let drain = report.drain;
        let watched = drain.busy.0.saturating_add(drain.idle.0);
        let waited = drain.runnable.unwrap_or_default().0;
        // Mostly the processor is awaited after a packet has come: the loop calls all of that waiting.
        let idle = u128::from(drain.idle.0.saturating_sub(waited)) * 100;
        let percent = |part: u128| (watched > 0).then(|| (part / u128::from(watched)) as u64);
        let gap = report.longest_gap.0;
        let stall = (gap >= STALL).then_some(gap);
        // The time it stood still says nothing of its pace, nor does that without a processor. How much of the latter is in
        // the busy time is not known; no more than what the thread did not use of it.
        let stood = stall.unwrap_or(0);
        let busy = drain.busy.saturating_sub(Nanos(stood));
        let used = busy.min(report.cpu);
        let running = Drain {
            busy: busy
                .saturating_sub(Nanos(waited.saturating_sub(stood)))
                .max(if waited > 0 { used } else { Nanos::ZERO }),
            ..drain
        };
        let running = match running.busy.is_zero() {
            true => drain,
            false => running,
        };
        let (packet_memory, memory_measured) = match report.packet_memory {
            Some(memory) if memory.0 > 0 => (memory.0, true),
            _ => (estimated_memory(phase), false),
        };
        let longest_run = report
            .loss_runs_by_length
            .keys()
            .max()
            .copied()
            .unwrap_or(0)
            .min(phase.sender.sent.0.min(MOST_PACKETS));
        let held = report.buffer_granted.0 / packet_memory;
        let burst = with_copies(phase);
        let packets = burst.max(held.saturating_add(longest_run));
        Self {
            arrival,
            capacity: running.capacity(Packets(read)).map(|c| c.0),
            stall,
            buffer_lasts: arrival.filter(|a| *a > 0).map(|a| {
                let ns = u128::from(held) * 1_000_000_000 / u128::from(a);
                u64::try_from(ns).unwrap_or(u64::MAX)
            }),
            burst,
            burst_fits: burst <= held,
            idle_percent: percent(idle),
            starved_percent: drain
                .runnable
                .and_then(|waited| percent(u128::from(waited.0.min(watched)) * 100)),
            arrived_starved: drain.runnable.zip(arrival).map(|(waited, rate)| {
                let packets = u128::from(waited.0) * u128::from(rate) / 1_000_000_000;
                u64::try_from(packets).unwrap_or(u64::MAX)
            }),
            packet_memory,
            memory_measured,
            needed: round_up(packets.saturating_mul(packet_memory)),
            longest_run,
        }
    }

    /// True when the reader takes fewer packets a second than arrive.
    pub(super) fn too_slow(&self) -> bool {
        match (self.capacity, self.arrival) {
            (Some(capacity), Some(arrival)) => capacity < arrival,
            _ => false,
        }
    }

    /// How many of these losses a reader that is too slow can have caused:
    /// what arrived above its rate, or all if the buffer holds a burst.
    pub(super) fn readers_share(&self, phase: &Phase, lost: u64) -> u64 {
        match (self.capacity, self.arrival) {
            (Some(capacity), Some(arrival)) if capacity < arrival => {
                let above = u128::from(arrival - capacity) * u128::from(phase.sender.elapsed.0);
                match self.burst_fits || unpaced(phase) {
                    true => lost,
                    false => lost.min(u64::try_from(above / 1_000_000_000).unwrap_or(u64::MAX)),
                }
            }
            _ => 0,
        }
    }

    /// True when the reader is fast enough and the burst fits, but the reader stood still for
    /// longer than the buffer lasts.
    pub(super) fn stalled(&self) -> bool {
        let outlasted = match (self.stall, self.buffer_lasts) {
            (Some(stall), Some(lasts)) => stall > lasts,
            _ => false,
        };
        outlasted && self.takes_bursts()
    }

    /// True when the reader is fast enough and the burst fits, but it waited for a processor for a good part of the time, in
    /// which at least as many packets arrived as these.
    pub(super) fn starved(&self, phase: &Phase, lost: u64) -> bool {
        let enough = self.arrived_starved.is_some_and(|arrived| arrived >= lost);
        let bursts = self.burst_fits || unpaced(phase);
        self.often_starved() && enough && bursts && !self.too_slow()
    }

    /// True when the burst fits and the reader is fast enough: nothing should overflow.
    pub(super) fn takes_bursts(&self) -> bool {
        self.burst_fits && !self.too_slow()
    }

    /// True when it waited for a processor for a good part of the time.
    pub(super) fn often_starved(&self) -> bool {
        self.starved_percent
            .is_some_and(|percent| percent >= STARVED_PER_CENT)
    }

    /// True when the two rates are far enough apart to tell the causes for certain.
    pub(super) fn clear(&self) -> bool {
        match (self.capacity, self.arrival) {
            (Some(capacity), Some(arrival)) => {
                let (low, high) = (capacity.min(arrival), capacity.max(arrival));
                u128::from(low) * 100 <= u128::from(high) * u128::from(CLEAR_PER_CENT)
            }
            _ => false,
        }
    }
}

/// For what a reader waited, of its time.
pub(super) fn waiting(idle_percent: u64, starved_percent: Option<u64>) -> String {
    match starved_percent {
        Some(starved) => {
            format!("{idle_percent} % of the time for packets and {starved} % for a processor")
        }
        None => format!("{idle_percent} % of the time for packets or for a processor"),
    }
}

/// A burst as it arrives where packets come more than once.
fn with_copies(phase: &Phase) -> u64 {
    let (burst, report) = (u64::from(phase.spec.burst), &phase.receiver);
    let more = u128::from(burst) * u128::from(report.duplicates.0);
    let more = more.div_ceil(u128::from(report.received.0.max(1)));
    burst.saturating_add(u64::try_from(more).unwrap_or(u64::MAX))
}

/// A buffer that is too small for what comes overflows more often than once in this many bursts …
const RARE: u64 = 50;

/// … or loses more than so many bursts, or not most of it at one time. When several bursts come together once and
/// the reader takes some of the packets meanwhile, that is seen as a long loss and short ones beside it.
const FEW: u64 = 2;

/// Whether a phase's socket dropped packets that it should have taken with ease, so that the
/// measuring host itself is in doubt: worth measuring again before anybody is told.
///
/// That is a reader that stood still; or an overflow once in a while although the bursts fit
/// and the reader is fast: a host that was late by less than a stall, at either end.
pub fn disturbed(phase: &Phase) -> bool {
    if phase.receiver.socket_drops.is_zero() || wanted_memory(phase) || mostly_refused(phase) {
        return false;
    }
    let pace = Pace::of(phase);
    let burst = u64::from(phase.spec.burst.max(1));
    let bursts = phase.sender.sent.0 / burst;
    let runs = &phase.receiver.loss_runs_by_length;
    let overflows = runs.values().fold(0u64, |sum, n| sum.saturating_add(*n));
    let lost = runs.iter().fold(0u64, |sum, (length, n)| {
        sum.saturating_add(length.saturating_mul(*n))
    });
    let once = bursts >= RARE && lost <= FEW * burst && lost <= 2 * pace.longest_run;
    let rare = once || overflows.saturating_mul(RARE) <= bursts;
    pace.stalled() || ((rare || sender_was_late(phase)) && !unpaced(phase) && pace.takes_bursts())
}

/// Whether the receiving host dropped for want of memory for all UDP sockets: then it is not the reader. A window may have the
/// kernel's events of it and not the counter.
fn wanted_memory(phase: &Phase) -> bool {
    let window = &phase.receiver_window;
    let counted = ["udp/MemErrors", "udp6/MemErrors"]
        .iter()
        .any(|name| window.counters.or_zero(name) > 0);
    let mut events = window.drops.iter().flatten();
    counted || events.any(|event| event.reason == NO_MEMORY)
}

/// Whether the sender left out a burst or more of what it was to send: it was not run either, and sends what is due
/// together when it is.
fn sender_was_late(phase: &Phase) -> bool {
    let Rate::PerSecond(rate) = phase.spec.rate else {
        return false;
    };
    let due = u128::from(rate.0) * u128::from(phase.spec.duration.0) / 1_000_000_000;
    let burst = u128::from(phase.spec.burst.max(1));
    u128::from(phase.sender.sent.0) + burst <= due
}

/// True when the flow was sent as fast as the sender could: its reader need not keep up.
pub(super) fn unpaced(phase: &Phase) -> bool {
    phase.spec.rate == Rate::Max && phase.spec.reader_delay.is_zero()
}

/// What a packet of the flow takes of a buffer, when it was not measured.
fn estimated_memory(phase: &Phase) -> u64 {
    memory_of(u64::from(packet_size(&phase.spec).0))
}

/// What an IP packet of this size takes of a buffer.
pub(super) const fn memory_of(packet: u64) -> u64 {
    (packet + DATA_OVERHEAD).next_power_of_two() + SKB
}

/// Up to the next 64 KiB: a buffer size people can read.
fn round_up(bytes: u64) -> u64 {
    const STEP: u64 = 64 * 1024;
    bytes.div_ceil(STEP).max(1).saturating_mul(STEP)
}
