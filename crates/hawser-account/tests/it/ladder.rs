//! Saved ladders with the answers expected of them, as `golden.rs` has it for checks.

use hawser_account::{ladder, ladder_codes};
use hawser_model::case::Case;
use hawser_model::finding::WordedFinding;
use hawser_model::output::LadderReport;

use crate::support::saved::{self, found, hold_answers, hold_pages, planted};

fn answer(case: &Case) -> LadderReport {
    ladder(case).expect("a ladder")
}

/// Every folder with a ladder, in order.
fn saved() -> Vec<(String, Case)> {
    saved::runs(|case| case.ladder.is_some())
}

#[test]
fn every_saved_ladder_gives_the_answer_beside_it() {
    hold_answers(&saved(), answer);
}

#[test]
fn each_planted_bottleneck_is_named_and_nothing_else() {
    let mut wrong = Vec::new();
    for (name, case, must) in planted(saved()) {
        let answer = answer(&case);
        let found = found(&answer.findings);
        if found != must.codes || Some(&answer.bottleneck) != must.bottleneck.as_ref() {
            wrong.push(format!(
                "{name}: {found:?} and bottleneck {} instead of {must:?}",
                answer.bottleneck
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
