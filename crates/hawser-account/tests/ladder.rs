//! Saved ladders with the answers expected of them, as `golden.rs` has it for checks.
//!
//! `UPDATE_CASES=1 cargo test -p hawser-account --test ladder` writes the synthetic cases and all
//! answers anew; a human reads the diff.

mod support;

use hawser_account::{ladder, ladder_codes};
use hawser_model::case::Case;
use hawser_model::finding::WordedFinding;
use hawser_model::output::LadderReport;

use support::ladder::planted;
use support::saved::{self, cases, hold_answers, hold_pages, hold_planted};

fn answer(case: &Case) -> LadderReport {
    ladder(case).expect("a ladder")
}

/// Every folder with a ladder, in order.
fn saved() -> Vec<(String, Case)> {
    saved::saved(&cases(""), |case: &Case| case.ladder.is_some())
}

#[test]
fn every_saved_ladder_gives_the_answer_beside_it() {
    for planted in planted() {
        hold_planted(&cases(""), planted.name, &planted.case);
    }
    hold_answers(&cases(""), &saved(), answer);
}

#[test]
fn each_planted_bottleneck_is_named_and_nothing_else() {
    let mut wrong = Vec::new();
    for planted in planted() {
        let answer = answer(&planted.case);
        let found: Vec<&str> = answer
            .findings
            .iter()
            .map(|f| f.finding.code.as_str())
            .collect();
        if found != planted.codes || answer.bottleneck != planted.bottleneck {
            wrong.push(format!(
                "{}: {found:?} instead of {:?}, bottleneck {} instead of {}",
                planted.name, planted.codes, answer.bottleneck, planted.bottleneck
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_steps_add_up_to_what_is_lost() {
    for (name, case) in saved() {
        let answer = answer(&case);
        let best = match answer.steps.first() {
            Some(step) => answer.rungs.iter().find(|r| r.name == step.from),
            None => continue,
        };
        let best = best.expect("a step's rung").mb_per_s;
        let sum: f64 = answer.steps.iter().map(|s| s.mb_per_s).sum();
        let gap = best - answer.whole_mb_per_s;
        assert!(
            (sum + answer.unexplained_mb_per_s - gap).abs() < 0.05,
            "{name}: {sum} + {} is not {gap}",
            answer.unexplained_mb_per_s
        );
        if answer.whole_mb_per_s > 0.0 {
            let part = answer.unexplained_mb_per_s.abs() / gap;
            assert!(part < 0.05, "{name}: {part} of the gap is unexplained");
        }
        for pair in answer.steps.windows(2) {
            assert_eq!(pair[0].to, pair[1].from, "{name}: a step is missing");
        }
    }
}

#[test]
fn every_cause_has_a_ladder_and_a_page_that_explains_its_numbers() {
    let findings: Vec<WordedFinding> = saved()
        .iter()
        .flat_map(|(_, case)| answer(case).findings)
        .collect();
    hold_pages(ladder_codes(), &findings, &[]);
}
