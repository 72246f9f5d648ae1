//! Corosync's token is so short that one delay like those of this check uses up most of it.
//!
//! Evidence: `token` in force, against the longest pause and the longest round trips of heartbeats with real-time
//! priority, or datagrams in fragments that came later ([`Delays`]): [`TIMES`] of them do not fit in. Likely, since Corosync may go over a better link; a warning. Cases:
//! `token-too-short`, `token-late-fragments`, `token-as-it-comes`.

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::units::Nanos;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words};
use crate::causes::token_longer_than_needed::check::{Delays, late_fragments, tokens};
use crate::causes::token_longer_than_needed::safe_ms;
use crate::losses::Losses;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct TokenTooShort {
    token_ms: u64,
    safe_token_ms: u64,
    longest_round_trip_ns: Nanos,
    longest_pause_ns: Nanos,
    /// How much later the slowest datagram in fragments came than the quickest, where that is more than a round trip.
    #[serde(skip_serializing_if = "Option::is_none")]
    latest_fragmented_ns: Option<Nanos>,
    watched_ns: Nanos,
}

/// A delay of half the token in a few seconds: `token_warning` is three quarters of it (corosync.conf(5)).
const TIMES: u64 = 2;

impl CheckCause for TokenTooShort {
    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let shortest = tokens(view.case).min_by_key(|(token, _)| *token);
        let found = shortest.zip(Delays::of(view.case));
        let found = found.filter(|((token_ms, _), delays)| {
            token_ms.saturating_mul(1_000_000) < delays.late().0.saturating_mul(TIMES)
        });
        let found = found.map(|((token_ms, host), delays)| Found {
            severity: Severity::Warning,
            confidence: Confidence::Likely,
            place: Place::on(host),
            evidence: Self {
                token_ms,
                safe_token_ms: safe_ms(delays.late()),
                longest_round_trip_ns: delays.round_trip,
                longest_pause_ns: delays.pause,
                latest_fragmented_ns: delays.by_fragments(),
                watched_ns: delays.watched,
            },
        });
        found.into_iter().collect()
    }
}

impl Cause for TokenTooShort {
    const CODE: &'static str = "token-too-short";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, _: &Place) -> Words {
        Words {
            text: format!(
                "Corosync declares a node dead after {} ms without its token. In {} of heartbeats the longest round trip \
                 was {} and the longest pause {}.{} A little more, and a healthy node is fenced.",
                self.token_ms,
                self.watched_ns,
                self.longest_round_trip_ns,
                self.longest_pause_ns,
                late_fragments(self.latest_fragmented_ns),
            ),
            fix: format!(
                "Find what stood still for so long, or held fragments back (a live migration, a snapshot, a processor without time, a switch, a shaper). Until \
                 then `[timing] token = \"{}ms\"` in the cluster file, or `totem {{ token: {0} }}` in corosync.conf on all nodes \
                 and `corosync-cfgtool -R`.",
                self.safe_token_ms,
            ),
        }
    }
}
