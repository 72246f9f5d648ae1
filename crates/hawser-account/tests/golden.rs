//! Saved cases with the answers expected of them.
//!
//! Each folder of `cases/` holds the facts of a run (`case.json`) and what Hawser must say of
//! them (`expected.json`). `UPDATE_CASES=1 cargo test -p hawser-account --test golden` writes
//! the synthetic cases and all answers anew; a human reads the diff.

mod support;

use hawser_account::{codes, explain};
use hawser_model::case::Case;
use hawser_model::finding::WordedFinding;
use hawser_model::output::CheckReport;

use support::catalogue::{Planted, planted};
use support::saved::{self, cases, hold_answers, hold_pages, hold_planted};

/// The answer, without the path of a case file.
fn answer(case: &Case) -> CheckReport {
    explain(case)
}

/// Every folder with a check's case, in order; `ladder.rs` and `fanout.rs` have the others.
fn saved() -> Vec<(String, Case)> {
    saved::saved(&cases(""), |case: &Case| {
        case.ladder.is_none() && case.fanout.is_none()
    })
}

#[test]
fn every_saved_case_gives_the_answer_beside_it() {
    for planted in planted() {
        hold_planted(&cases(""), planted.name, &planted.case);
    }
    hold_answers(&cases(""), &saved(), answer);
}

#[test]
fn each_planted_fault_is_named_and_nothing_else() {
    let mut wrong = Vec::new();
    for Planted {
        name,
        case,
        codes,
        lost,
        unattributed,
    } in planted()
    {
        let answer = answer(&case);
        let found: Vec<&str> = answer
            .findings
            .iter()
            .map(|f| f.finding.code.as_str())
            .collect();
        let total = &answer.packets.total;
        let numbers = (total.lost.0, total.unattributed.0);
        if found != codes || numbers != (lost, unattributed) || !total.balances() {
            wrong.push(format!(
                "{name}: {found:?} instead of {codes:?}, lost and unattributed {numbers:?} \
                 instead of {:?}: {:#?}",
                (lost, unattributed),
                total.layers
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_phase_worth_repeating_is_told_from_one_with_a_fault() {
    let disturbed: Vec<&str> = planted()
        .iter()
        .filter(|p| {
            let mut phases = p.case.measurements.iter().flat_map(|m| &m.phases);
            phases.any(hawser_account::disturbed)
        })
        .map(|p| p.name)
        .collect();
    assert_eq!(
        disturbed,
        [
            "reader-stalled",
            "reader-late-once",
            "bursts-together-once",
            "reader-stalled-short"
        ]
    );
}

#[test]
fn a_socket_that_the_machine_had_no_memory_for_is_not_a_late_reader() {
    let all = planted();
    let stalled = all.iter().find(|p| p.name == "reader-stalled");
    let case = &stalled.expect("it is planted").case;
    let mut phases = case.measurements.iter().flat_map(|m| &m.phases);
    let mut phase = phases
        .find(|phase| hawser_account::disturbed(phase))
        .expect("it is disturbed")
        .clone();
    let counters = &mut phase.receiver_window.counters.0;
    counters.insert("udp/MemErrors".to_owned(), 1);
    assert!(!hawser_account::disturbed(&phase));
}

/// Evidence that every finding about a loss has; `docs/account.md` explains it.
const COMMON: [&str; 3] = ["lost_packets", "sent_packets", "lost_percent"];

#[test]
fn every_cause_has_a_case_and_a_page_that_explains_its_numbers() {
    let findings: Vec<WordedFinding> = saved()
        .iter()
        .flat_map(|(_, case)| answer(case).findings)
        .collect();
    hold_pages(codes(), &findings, &COMMON);
}

#[test]
fn an_answer_does_not_depend_on_anything_but_the_case() {
    for (name, case) in saved() {
        assert_eq!(answer(&case), answer(&case), "{name}");
    }
}
