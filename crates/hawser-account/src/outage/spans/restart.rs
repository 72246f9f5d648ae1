//! Pacemaker has stopped on all heads, or starts where no other runs: nobody decides anything then.

use std::collections::BTreeSet;

use hawser_model::drill::Moment;
use hawser_model::names::HostName;

use super::{Facts, Span};
use crate::outage::marks::Mark;
use crate::outage::phase::Phase;
use crate::outage::timeline::At;

/// From the end of the last Pacemaker to the beginning of the first, and from there until a controller begins to execute what
/// the scheduler decided. A head whose logs do not say that its Pacemaker has ended may run it.
pub(crate) fn spans(facts: &Facts<'_>) -> Vec<Span> {
    let heads: BTreeSet<&HostName> = facts.case.logs.keys().collect();
    let silent = silent_at_starts(facts.marks);
    let mut silent = silent.iter();
    let mut spans = Vec::new();
    // Heads without a Pacemaker: it has ended there, or the head was fenced.
    let mut without: BTreeSet<&HostName> = BTreeSet::new();
    let mut nobody: Option<(Moment, &HostName)> = None;
    let mut starts: Option<(Moment, &HostName)> = None;
    for At { at, host, mark } in facts.marks {
        let mut span = |phase, (from, host): (Moment, &HostName)| {
            spans.push(Span {
                phase,
                host: host.clone(),
                from,
                to: *at,
            });
        };
        match mark {
            Mark::EngineStopped => {
                without.insert(host);
                if heads.iter().all(|head| without.contains(head)) {
                    nobody = Some((*at, host));
                }
            }
            Mark::FenceEnded { target, ok: true } | Mark::ConfirmedByHand(target) => {
                without.insert(target);
            }
            Mark::EngineStarts => {
                let silent = silent.next();
                let others = heads.iter().filter(|head| **head != host);
                let is_silent = |head: &HostName| silent.is_some_and(|all| all.contains(head));
                let alone = others
                    .into_iter()
                    .all(|head| without.contains(head) || is_silent(head));
                without.remove(host);
                if let Some(since) = nobody.take() {
                    span(Phase::NoPacemaker, since);
                }
                if alone {
                    starts.get_or_insert((*at, host));
                }
            }
            Mark::TransitionBegun(_) => {
                if let Some(since) = starts.take() {
                    span(Phase::PacemakerStart, since);
                }
            }
            _ => {}
        }
    }
    spans
}

/// For each start of a Pacemaker the heads of which the next thing that their own Pacemaker says is that it starts: they died
/// before, or their last words are not in the logs.
fn silent_at_starts(marks: &[At]) -> Vec<BTreeSet<&HostName>> {
    let mut starting: BTreeSet<&HostName> = BTreeSet::new();
    let mut all = Vec::new();
    for At { host, mark, .. } in marks.iter().rev() {
        match mark {
            Mark::EngineStarts => {
                all.push(starting.clone());
                starting.insert(host);
            }
            mark if mark.is_corosyncs() => {}
            _ => {
                starting.remove(host);
            }
        }
    }
    all.reverse();
    all
}
