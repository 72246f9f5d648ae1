//! Saved drills with the answers expected of them, in `cases/drill/`.
//!
//! `recorded` drills are real: their logs, history and watch are those of a lab. The others are one
//! of them with something broken, and small. `UPDATE_CASES=1 cargo test -p hawser-account --test
//! golden_drill` writes the broken cases and all answers anew; a human reads the diff.

mod support;

use std::collections::BTreeSet;
use std::path::PathBuf;

use hawser_account::outage::{drill_codes as codes, explain_drill as explain};
use hawser_model::drill::DrillCase;
use hawser_model::finding::WordedFinding;
use hawser_model::output::drill::DrillReport;

use support::drills::{self, planted};
use support::saved::{self, hold_answers, hold_pages, hold_planted};

fn cases() -> PathBuf {
    saved::cases("drill")
}

fn load(name: &str) -> DrillCase {
    saved::load(&cases(), name)
}

/// Every folder, in order.
fn saved() -> Vec<(String, DrillCase)> {
    saved::saved(&cases(), |_| true)
}

#[test]
fn every_saved_drill_gives_the_answer_beside_it() {
    for drill in planted(&load) {
        hold_planted(&cases(), drill.name, &drill.case);
    }
    hold_answers(&cases(), &saved(), explain);
}

#[test]
fn what_was_broken_is_named_and_nothing_else() {
    let mut wrong = Vec::new();
    for drill in planted(&load) {
        let answer = explain(&drill.case);
        let found: BTreeSet<&str> = answer
            .findings
            .iter()
            .map(|f| f.finding.code.as_str())
            .collect();
        let expected: BTreeSet<&str> = drill.codes.iter().copied().collect();
        if answer.broken != drill.broken || found != expected {
            wrong.push(format!(
                "{}: broken {:?} instead of {:?}, found {found:?} instead of {expected:?}",
                drill.name, answer.broken, drill.broken
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_account_balances_and_no_two_phases_overlap() {
    for (name, case) in saved() {
        let answer = explain(&case);
        let sum: f64 = answer.phases.iter().map(|phase| phase.seconds).sum();
        let rest = answer.outage_s - sum - answer.unattributed_s;
        assert!(rest.abs() < 1e-6, "{name}: {rest}");
        let mut end = 0.0;
        for phase in &answer.phases {
            assert!(phase.start_s >= end - 1e-6, "{name}: {phase:?}");
            end = phase.start_s + phase.seconds;
        }
    }
}

#[test]
fn a_real_drill_is_explained_to_within_fifty_milliseconds() {
    for name in [
        "power-cut",
        "switchover",
        "stock-power-cut",
        "target-killed",
        "hang",
        "wrong-password",
        "failed-start",
        "sans-down",
        "boot-awaited",
    ] {
        let answer = explain(&load(name));
        assert!(
            answer.unattributed_s <= 0.05,
            "{name}: {}",
            answer.unattributed_s
        );
        assert!(answer.passed, "{name}: {:?}", answer.broken);
    }
}

#[test]
fn the_phases_of_a_power_cut_come_in_their_order() {
    let answer = explain(&load("power-cut"));
    let at = |name: &str| {
        let mut phases = answer.phases.iter();
        phases
            .position(|phase| phase.name == name)
            .unwrap_or_else(|| panic!("no {name}"))
    };
    let order = [
        "token loss",
        "consensus",
        "decision",
        "fence delay",
        "fence agent",
        "pool",
        "exports",
        "addresses",
    ];
    let places: Vec<usize> = order.iter().map(|name| at(name)).collect();
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn clocks_that_differ_are_put_on_one() {
    let as_it_was = explain(&load("power-cut"));
    let mut case = load("power-cut");
    // The surviving head's clock is three minutes slow, and the client's a second fast.
    let late = |line: &String| drills::moved(line, -180);
    for logs in case.logs.values_mut() {
        logs.clock.offset_us = 180_000_000;
        logs.clock.error_us = 400;
        logs.corosync = logs.corosync.iter().map(late).collect();
        logs.pacemaker = logs.pacemaker.iter().map(late).collect();
    }
    drills::client_ahead(&mut case.client, 1_000_000);
    case.client.clock.error_us = 150;
    let answer: DrillReport = explain(&case);
    assert_eq!(answer.phases, as_it_was.phases);
    assert_eq!(answer.clock_error_s, 0.00055);
}

#[test]
fn every_cause_has_a_case_and_a_page_that_explains_its_numbers_and_a_price() {
    let findings: Vec<WordedFinding> = saved()
        .iter()
        .flat_map(|(_, case)| explain(case).findings)
        .collect();
    hold_pages(codes(), &findings, &[]);
    for worded in &findings {
        let code = &worded.finding.code;
        let priced = worded.fix.contains("rice:") || code == "unattributed-outage";
        assert!(priced, "{code}: no price");
    }
}
