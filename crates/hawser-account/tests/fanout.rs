//! Saved fan-outs with the answers expected of them, as `golden.rs` has it for checks.
//!
//! `UPDATE_CASES=1 cargo test -p hawser-account --test fanout` writes the synthetic cases and all
//! answers anew; a human reads the diff.

mod support;

use hawser_account::fanout::{codes, report};
use hawser_model::case::Case;
use hawser_model::finding::WordedFinding;
use hawser_model::output::fanout::FanoutReport;

use support::fanout::planted;
use support::saved::{self, cases, hold_answers, hold_pages, hold_planted};

fn answer(case: &Case) -> FanoutReport {
    report(case).expect("a fan-out")
}

/// Every folder with a fan-out, in order.
fn saved() -> Vec<(String, Case)> {
    saved::saved(&cases(""), |case: &Case| case.fanout.is_some())
}

#[test]
fn every_saved_fanout_gives_the_answer_beside_it() {
    for planted in planted() {
        hold_planted(&cases(""), planted.name, &planted.case);
    }
    hold_answers(&cases(""), &saved(), answer);
}

#[test]
fn each_planted_limit_is_found_and_nothing_else() {
    for planted in planted() {
        let answer = answer(&planted.case);
        let found: Vec<&str> = answer
            .findings
            .iter()
            .map(|f| f.finding.code.as_str())
            .collect();
        assert_eq!(found, planted.codes, "{}", planted.name);
        let most: Vec<Option<u32>> = answer.series.iter().map(|r| r.most_receivers).collect();
        assert_eq!(most, planted.most, "{}", planted.name);
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
