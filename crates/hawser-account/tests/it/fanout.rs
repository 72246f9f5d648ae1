//! Saved fan-outs with the answers expected of them, as `golden.rs` has it for checks.

use hawser_account::fanout::{codes, report};
use hawser_model::case::Case;
use hawser_model::finding::WordedFinding;
use hawser_model::output::fanout::FanoutReport;

use crate::support::saved::{self, found, hold_answers, hold_pages, planted};

fn answer(case: &Case) -> FanoutReport {
    report(case).expect("a fan-out")
}

/// Every folder with a fan-out, in order.
fn saved() -> Vec<(String, Case)> {
    saved::runs(|case| case.fanout.is_some())
}

#[test]
fn every_saved_fanout_gives_the_answer_beside_it() {
    hold_answers(&saved(), answer);
}

#[test]
fn each_planted_limit_is_found_and_nothing_else() {
    for (name, case, must) in planted(saved()) {
        let answer = answer(&case);
        assert_eq!(found(&answer.findings), must.codes, "{name}");
        let most: Vec<Option<u32>> = answer.series.iter().map(|r| r.most_receivers).collect();
        assert_eq!(Some(most), must.most, "{name}");
    }
}

#[test]
fn what_is_lost_is_lost_somewhere() {
    for (name, case) in saved() {
        for result in answer(&case).series {
            let Some(limit) = result.limit else { continue };
            let lost = limit.backlog_drops.0 + limit.socket_drops.0 + limit.other_drops.0;
            assert!(lost > 0 || limit.sender_slowed, "{name}: {limit:?}");
        }
    }
}

#[test]
fn every_cause_has_a_case_and_a_page_that_explains_its_numbers() {
    let findings: Vec<WordedFinding> = saved()
        .iter()
        .flat_map(|(_, case)| answer(case).findings)
        .collect();
    hold_pages(codes(), &findings, &[]);
}
