//! Corosync waits longer for its token than the measured network needs.
//!
//! A token is late when a node stands still or a packet is: the longest pause of a process of
//! real-time priority plus one longest round trip for each node it goes round. Corosync sends a
//! token again `token_retransmits_before_loss_const` times (4, corosync.conf(5)) within `token`,
//! so a token of [`TIMES`] such delays still survives the loss of most of these; never below
//! [`LEAST_MS`], because what was watched for a minute says little about a year.
//!
//! Evidence: `token` and `consensus` in force, round trips and pauses measured before the fault.
//! Likely, since it was quiet then; a note. Without these measurements nothing is said. Case:
//! `drill/token`.

use hawser_model::finding::{Confidence, Finding, Severity};
use hawser_model::units::Nanos;

use super::{DrillCause, outage_ms, place};
use crate::causes::support::Draft;
use crate::outage::phase::Phase;
use crate::outage::view::DrillView;

pub(super) const CAUSE: DrillCause = DrillCause {
    code: "token-longer-than-needed",
    find,
};

/// So many of the longest delays that were measured.
const TIMES: u64 = 5;
/// The shortest token that is proposed: that of the profile `tuned`, and Corosync's own before 3.1.
const LEAST_MS: u64 = 1000;
/// Less than this is not worth a change.
const WORTH_MS: u64 = 500;

fn find(view: &DrillView<'_>) -> Option<Finding> {
    let cluster = &view.case.cluster;
    let waited = view.ms(Phase::TokenLoss) + view.ms(Phase::Consensus);
    let longest = cluster.links.values().map(|link| link.longest).max()?;
    let (paused, pause) = cluster
        .pauses
        .iter()
        .max_by_key(|(_, pause)| pause.longest)?;
    let nodes = cluster.nodes.len() as u64;
    let late = pause.longest + Nanos(longest.0 * nodes);
    let safe_ms = (late.0 * TIMES).div_ceil(100_000_000) * 100;
    let safe_ms = safe_ms.max(LEAST_MS);
    let totem = cluster.totem;
    // Consensus is 1.2 × token unless it is set.
    let saved = (totem.token_ms + totem.consensus_ms).saturating_sub(safe_ms + safe_ms * 6 / 5);
    if waited == 0 || saved < WORTH_MS {
        return None;
    }
    let draft = Draft::new(
        CAUSE.code,
        Severity::Note,
        Confidence::Likely,
        place(
            view.of(Phase::TokenLoss).next().map(|span| &span.host),
            None,
        ),
    );
    let draft = draft
        .number("token_ms", totem.token_ms)
        .number("consensus_ms", totem.consensus_ms)
        .number("safe_token_ms", safe_ms)
        .number("saved_ms", saved)
        .number("longest_round_trip_ns", longest.0)
        .number("longest_pause_ns", pause.longest.0)
        .name("paused_host", paused.as_str())
        .number("watched_ns", pause.watched.0)
        .decimal("margin", totem.token_ms as f64 * 1e6 / late.0.max(1) as f64)
        .number("waited_ms", waited)
        .number("outage_ms", outage_ms(view));
    Some(draft.done())
}
