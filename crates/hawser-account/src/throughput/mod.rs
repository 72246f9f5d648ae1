//! The throughput account of one path: rungs, the steps between them, the bottleneck, and the
//! causes that take the rate away. `docs/ladder.md` has the rules.

pub(crate) mod mb;
pub(crate) mod rates;
pub(crate) mod resources;
mod steps;
pub(crate) mod view;

use std::cmp::Reverse;

use hawser_model::case::Case;
use hawser_model::finding::WordedFinding;
use hawser_model::ladder::{Rung, RungKind};
use hawser_model::output::{LadderReport, RungReport, SentAgain};
use hawser_model::statistics::rounded;
use hawser_model::traffic::StreamState;
use hawser_model::units::Packets;

use crate::cause::Before;
use crate::causes::LADDER;
use crate::compare;
use view::LadderView;
pub(crate) use view::{CORE_SATURATED, OTHERS_SPARE, share, softirq_share, stolen_share};

/// The code of every cause of a ladder, in the order in which they are asked.
pub fn codes() -> impl Iterator<Item = &'static str> {
    LADDER.iter().map(|cause| cause.code)
}

/// Everything Hawser says of a ladder's case; `None` for a case that is none.
///
/// `case` of the report is empty: where the file lies, its reader knows.
pub fn ladder(case: &Case) -> Option<LadderReport> {
    let view = LadderView::new(case)?;
    let mut found = findings(&view);
    compare::tell(case, &mut found);
    let way = steps::steps(&view, &found);
    let mut rungs: Vec<RungReport> = view
        .run
        .rungs
        .iter()
        .filter(|rung| rung.kind != RungKind::Whole)
        .filter_map(|rung| {
            let rate = rates::rate(&rung.samples)?;
            Some(RungReport {
                name: view.name(rung),
                mb_per_s: rounded(rate.mb_per_s, 1),
                spread: rounded(rate.spread, 3),
                sent_again: sent_again(rung),
            })
        })
        .collect();
    rungs.sort_by(|a, b| b.mb_per_s.total_cmp(&a.mb_per_s).then(a.name.cmp(&b.name)));
    Some(LadderReport {
        rungs,
        whole_mb_per_s: rounded(view.whole(), 1),
        steps: way.steps,
        unexplained_mb_per_s: way.unexplained,
        bottleneck: resources::bottleneck(&view).map_or_else(String::new, |r| r.name),
        findings: found,
        case: String::new(),
    })
}

/// What is wrong, worst first; equal ones in the order of the catalogue.
fn findings(view: &LadderView<'_>) -> Vec<WordedFinding> {
    let mut found: Vec<WordedFinding> = Vec::new();
    for cause in LADDER {
        let more = (cause.find)(view, &Before(&found));
        found.extend(more);
    }
    found.sort_by_key(|f| (Reverse(f.finding.severity), Reverse(f.finding.confidence)));
    found
}

/// What the streams of a rung over the link sent again.
fn sent_again(rung: &Rung) -> Option<SentAgain> {
    let over_the_link = [
        RungKind::WireTcp,
        RungKind::WireTcpOther,
        RungKind::WireTcpMany,
    ];
    if rung.streams.is_empty() || !over_the_link.contains(&rung.kind) {
        return None;
    }
    let sum = |of: fn(&StreamState) -> Packets| rung.streams.iter().map(of).sum::<Packets>().0;
    Some(SentAgain {
        segments: sum(|stream| stream.segments),
        retransmits: sum(|stream| stream.retransmits),
        needless: sum(|stream| stream.needless),
    })
}
