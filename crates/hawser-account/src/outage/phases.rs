//! The account: every instant of the outage belongs to one phase, or to nothing.

use hawser_model::output::drill::OutagePhase;

use super::spans::Span;
use super::stall::Outage;

/// The phases in the order of time, and what none of them covers, in microseconds.
pub(crate) struct Account {
    pub(crate) phases: Vec<Span>,
    pub(crate) unattributed_us: u64,
}

/// Cuts the outage at every boundary, gives each piece to the span that says most closely what
/// was waited for, and joins neighbours of the same phase on the same host.
pub(crate) fn account(outage: &Outage, spans: &[Span]) -> Account {
    let mut cuts = vec![outage.from, outage.to];
    cuts.extend(spans.iter().flat_map(|span| [span.from, span.to]));
    cuts.sort_unstable();
    cuts.dedup();
    let mut phases: Vec<Span> = Vec::new();
    let mut unattributed_us = 0;
    for piece in cuts.windows(2) {
        let (from, to) = (piece[0], piece[1]);
        let covering = spans.iter().filter(|s| s.from <= from && s.to >= to);
        let Some(best) = covering.max_by_key(|span| (span.phase, span.from)) else {
            unattributed_us += to.0 - from.0;
            continue;
        };
        match phases.last_mut() {
            Some(last) if last.to == from && last.phase == best.phase && last.host == best.host => {
                last.to = to;
            }
            _ => phases.push(Span {
                from,
                to,
                ..best.clone()
            }),
        }
    }
    Account {
        phases,
        unattributed_us,
    }
}

/// A phase as it is reported.
pub(crate) fn reported(outage: &Outage, span: &Span) -> OutagePhase {
    OutagePhase {
        name: span.phase.name().to_owned(),
        start_s: span.from.since(outage.from),
        seconds: span.to.since(span.from),
        host: span.host.clone(),
    }
}
