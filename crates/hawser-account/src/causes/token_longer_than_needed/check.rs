//! The same from a check: the token of the running Corosync against what its heartbeats measured.
//!
//! A check watches for seconds, so only a token longer than Corosync's own default is worth a word, and it is possible
//! and no more. A note. Cases: `token-longer-than-needed`, `token-as-it-comes`.

use hawser_model::case::{Case, Phase, PhaseKind};
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::HostName;
use hawser_model::traffic::Rate;
use hawser_model::units::Nanos;
use serde::Serialize;

use super::{TokenLongerThanNeeded, WORTH, safe_ms};
use crate::cause::{Cause, CheckCause, Found, Words};
use crate::losses::Losses;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct LongToken {
    token_ms: u64,
    safe_token_ms: u64,
    longest_round_trip_ns: Nanos,
    longest_pause_ns: Nanos,
    #[serde(skip_serializing_if = "Option::is_none")]
    latest_fragmented_ns: Option<Nanos>,
    watched_ns: Nanos,
}

/// `token` and `token_coefficient` for each node above two, in milliseconds (corosync.conf(5)).
const DEFAULT_MS: u64 = 3000;
const COEFFICIENT_MS: u64 = 650;

/// What the heartbeats of a check say of how late a token may be.
pub(crate) struct Delays {
    pub(crate) round_trip: Nanos,
    /// The longest time without a packet, less the time between two.
    pub(crate) pause: Nanos,
    /// How much longer the slowest fragmented datagram was on its way than the quickest; absent when none was measured.
    pub(crate) fragmented: Option<Nanos>,
    pub(crate) watched: Nanos,
    nodes: u64,
}

impl Delays {
    /// Of heartbeats that ran with real-time priority, as Corosync does, and lost nothing; absent without any.
    pub(crate) fn of(case: &Case) -> Option<Self> {
        let mut delays = Self {
            round_trip: Nanos::ZERO,
            pause: Nanos::ZERO,
            fragmented: fragmented(case),
            watched: Nanos::ZERO,
            nodes: case.topology.nodes.len() as u64,
        };
        let measured = case.measurements.iter();
        // A flow that was measured again, since its host stood still, is evidence of just that.
        let phases = measured.flat_map(|m| m.phases.iter().chain(&m.set_aside));
        for phase in phases.filter(|phase| tells(phase)) {
            let round_trip = phase.sender.round_trip.as_ref();
            let longest = round_trip.map_or(Nanos::ZERO, |times| times.max);
            let between = match phase.spec.rate {
                Rate::PerSecond(rate) => {
                    1_000_000_000 * u64::from(phase.spec.burst.max(1)) / rate.0.max(1)
                }
                Rate::Max => 0,
            };
            let gap = phase.receiver.longest_gap.saturating_sub(Nanos(between));
            delays.round_trip = delays.round_trip.max(longest);
            delays.pause = delays.pause.max(gap);
            delays.watched += phase.sender.elapsed;
        }
        (delays.round_trip > Nanos::ZERO).then_some(delays)
    }

    /// How late a token may be: one pause, and a round trip for each node it goes round; or as late as a datagram whose
    /// fragments came late, once on each way.
    pub(crate) fn late(&self) -> Nanos {
        let hop = self.round_trip.max(self.fragmented.unwrap_or_default());
        Nanos(hop.0.saturating_mul(self.nodes)) + self.pause
    }

    /// Fragments made it later than round trips.
    pub(crate) fn by_fragments(&self) -> Option<Nanos> {
        self.fragmented.filter(|late| *late > self.round_trip)
    }
}

/// Of flows with real-time priority. A host that stood still makes datagrams late too, by as long as no packet came at
/// the most; that is its pause, so only what is later than twice that is the fragments'.
fn fragmented(case: &Case) -> Option<Nanos> {
    let phases = case.measurements.iter().flat_map(|m| &m.phases);
    let phases = phases.filter(|phase| phase.kind == PhaseKind::Fragmented && real_time(phase));
    let late = phases.filter_map(|phase| {
        let late = phase.receiver.latest?;
        let stood = phase.receiver.longest_gap.0.saturating_mul(2);
        Some(if late.0 > stood { late } else { Nanos::ZERO })
    });
    late.max()
}

/// Both ends asked for real-time priority and got it.
fn real_time(phase: &Phase) -> bool {
    let refused = [&phase.sender.not_granted, &phase.receiver.not_granted];
    phase.spec.realtime
        && !refused
            .iter()
            .any(|refused| refused.contains_key("SCHED_RR"))
}

fn tells(phase: &Phase) -> bool {
    phase.kind == PhaseKind::Heartbeat
        && real_time(phase)
        && phase.sender.sent == phase.receiver.received
}

/// The tokens of the Corosyncs that run, in milliseconds.
pub(crate) fn tokens(case: &Case) -> impl Iterator<Item = (u64, &HostName)> {
    case.hosts.iter().filter_map(|(host, facts)| {
        let token = facts.corosync.as_ref()?.token?;
        Some((token.0 / 1_000_000, host))
    })
}

/// What the fragments did, as a sentence.
pub(crate) fn late_fragments(late: Option<Nanos>) -> String {
    late.map_or(String::new(), |late| {
        format!(" Datagrams in fragments came up to {late} later than the quickest of them.")
    })
}

impl CheckCause for LongToken {
    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        find(view.case).into_iter().collect()
    }
}

fn find(case: &Case) -> Option<Found<LongToken>> {
    let delays = Delays::of(case)?;
    let (token_ms, host) = tokens(case).max_by_key(|(token, _)| *token)?;
    let default = DEFAULT_MS + COEFFICIENT_MS * delays.nodes.saturating_sub(2);
    let safe = safe_ms(delays.late()).max(default);
    let found = token_ms >= safe.saturating_add(WORTH.0);
    found.then(|| Found {
        severity: Severity::Note,
        confidence: Confidence::Possible,
        place: Place::on(host),
        evidence: LongToken {
            token_ms,
            safe_token_ms: safe,
            longest_round_trip_ns: delays.round_trip,
            longest_pause_ns: delays.pause,
            latest_fragmented_ns: delays.by_fragments(),
            watched_ns: delays.watched,
        },
    })
}

impl Cause for LongToken {
    const CODE: &'static str = TokenLongerThanNeeded::CODE;
    const PAGE: &'static str = TokenLongerThanNeeded::PAGE;

    fn words(&self, _: &Place) -> Words {
        Words {
            text: format!(
                "Corosync waits {} ms for its token before it declares a node dead. In {} of heartbeats the longest \
                 round trip was {} and the longest pause {}.{}",
                self.token_ms,
                self.watched_ns,
                self.longest_round_trip_ns,
                self.longest_pause_ns,
                late_fragments(self.latest_fragmented_ns),
            ),
            fix: format!(
                "`[timing] token = \"{}ms\"` shortens every outage, if nothing else asks for the longer one. Price: a \
                 pause or a switch that is silent for longer than that gets a healthy head fenced; a check watches for seconds, \
                 so `hawser drill` and a busy day come first.",
                self.safe_token_ms,
            ),
        }
    }
}
