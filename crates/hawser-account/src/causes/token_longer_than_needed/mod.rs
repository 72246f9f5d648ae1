//! Corosync waits longer for its token than the measured network needs.
//!
//! A token is late when a node pauses or a packet is late: the longest pause of a process of
//! real-time priority plus one longest round trip for each node it goes round. Corosync sends a
//! token again `token_retransmits_before_loss_const` times (4, corosync.conf(5)) within `token`,
//! so a token of [`TIMES`] such delays still survives the loss of most of these; never below
//! [`LEAST_MS`], because what was watched for a minute says little about a year.
//!
//! Evidence: `token` and `consensus` in force, round trips and pauses measured before the fault.
//! Likely, since it was quiet then; a note. Without these measurements nothing is said. Case:
//! `drill/token`.

pub(crate) mod check;

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::HostName;
use hawser_model::units::Nanos;
use serde::Serialize;

use crate::cause::{Cause, Found, OutageCause, Words};
use crate::outage::millis::Millis;
use crate::outage::phase::Phase;
use crate::outage::view::DrillView;

#[derive(Serialize)]
pub(crate) struct TokenLongerThanNeeded {
    token_ms: u64,
    consensus_ms: u64,
    safe_token_ms: u64,
    saved_ms: Millis,
    longest_round_trip_ns: Nanos,
    longest_pause_ns: Nanos,
    paused_host: HostName,
    watched_ns: Nanos,
    /// How many times the longest delay the token is, with one decimal.
    margin: f64,
    waited_ms: Millis,
    outage_ms: Millis,
}

/// So many of the longest delays that were measured.
const TIMES: u64 = 5;
/// The shortest token that is proposed: that of the profile `tuned`, and Corosync's own before 3.1.
const LEAST_MS: u64 = 1000;
/// Less than this is not worth a change.
const WORTH: Millis = Millis(500);

/// The token that survives delays of this length, in milliseconds, rounded up to a tenth of a second.
pub(crate) fn safe_ms(late: Nanos) -> u64 {
    let ms = late.0.saturating_mul(TIMES).div_ceil(100_000_000) * 100;
    ms.max(LEAST_MS)
}

impl OutageCause for TokenLongerThanNeeded {
    fn find(view: &DrillView<'_>) -> Option<Found<Self>> {
        let cluster = &view.case.cluster;
        let waited = view
            .ms(Phase::TokenLoss)
            .0
            .saturating_add(view.ms(Phase::Consensus).0);
        let longest = cluster.links.values().map(|link| link.longest).max()?;
        let (paused, pause) = cluster
            .pauses
            .iter()
            .max_by_key(|(_, pause)| pause.longest)?;
        let nodes = cluster.nodes.len() as u64;
        let late = pause.longest + Nanos(longest.0.saturating_mul(nodes));
        let safe_ms = safe_ms(late);
        let totem = cluster.totem;
        // Consensus is 1.2 × token unless it is set.
        let waits = totem.token_ms.saturating_add(totem.consensus_ms);
        let saved = waits.saturating_sub(safe_ms.saturating_mul(11) / 5);
        let margin = totem.token_ms as f64 * 1e6 / late.0.max(1) as f64;
        let lost_by = view.of(Phase::TokenLoss).next().map(|span| &span.host);
        (waited > 0 && Millis(saved) >= WORTH).then(|| Found {
            severity: Severity::Note,
            confidence: Confidence::Likely,
            place: lost_by.map_or_else(Place::default, Place::on),
            evidence: Self {
                token_ms: totem.token_ms,
                consensus_ms: totem.consensus_ms,
                safe_token_ms: safe_ms,
                saved_ms: Millis(saved),
                longest_round_trip_ns: longest,
                longest_pause_ns: pause.longest,
                paused_host: paused.clone(),
                watched_ns: pause.watched,
                margin: (margin * 10.0).round() / 10.0,
                waited_ms: Millis(waited),
                outage_ms: view.outage_ms(),
            },
        })
    }
}

impl Cause for TokenLongerThanNeeded {
    const CODE: &'static str = "token-longer-than-needed";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, _: &Place) -> Words {
        let (token, safe, margin) = (self.token_ms, self.safe_token_ms, self.margin);
        // A node pauses, and the token goes round: what one token has to survive.
        let left = margin * safe as f64 / token.max(1) as f64;
        Words {
            text: format!(
                "Corosync waits {token} ms for its token and {} ms for consensus: {}. In {} the longest round \
                 trip was {} and the longest pause {} (on {}); the token is {margin:.0} times that. {safe} ms \
                 would still be {left:.0} times.",
                self.consensus_ms,
                self.waited_ms.of(self.outage_ms),
                self.watched_ns,
                self.longest_round_trip_ns,
                self.longest_pause_ns,
                self.paused_host,
            ),
            fix: format!(
                "`[timing] token = \"{safe}ms\"` saves {}. Price: a pause or a switch that is silent for longer \
                 than that gets a healthy head fenced. What was measured is one quiet stretch: measure during \
                 backups and live migrations, and let `token_warning` in corosync.log tell how near it comes.",
                self.saved_ms,
            ),
        }
    }
}
