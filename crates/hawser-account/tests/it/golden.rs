//! Saved cases with the answers expected of them.
//!
//! Each folder of `cases/` holds the facts of a run (`case.json`, or `patch.json` if they were made
//! up) and what Hawser must say of them (`expected.json`). `make expected` writes the answers again
//! and shows the diff.

use std::collections::BTreeSet;

use hawser_account::{codes, explain};
use hawser_cases::{Must, read};
use hawser_model::case::Case;
use hawser_model::finding::WordedFinding;
use hawser_model::output::CheckReport;

use crate::support::saved::{self, found, hold_answers, hold_pages};

/// The answer, without the path of a case file.
fn answer(case: &Case) -> CheckReport {
    explain(case)
}

/// Every folder with a check's case, in order; `compare.rs`, `ladder.rs`, `fanout.rs` and `clients.rs` have the others.
fn saved() -> Vec<(String, Case)> {
    saved::runs(|case| {
        case.ladder.is_none() && case.fanout.is_none() && case.clients.is_none() && !case.compared
    })
}

/// Those with a planted fault, and what must be said of it.
fn planted() -> Vec<(String, Case, Must)> {
    saved::planted(saved())
}

#[test]
fn every_saved_case_gives_the_answer_beside_it() {
    hold_answers(&saved(), answer);
}

#[test]
fn each_planted_fault_is_named_and_nothing_else() {
    let mut wrong = Vec::new();
    for (name, case, must) in planted() {
        let answer = answer(&case);
        let found = found(&answer.findings);
        let total = &answer.packets.total;
        let numbers = (Some(total.lost.0), Some(total.unattributed.0));
        let expected = (must.lost, must.unattributed);
        let differs = answer.findings.iter().flat_map(|f| &f.differs);
        let differs: Vec<&str> = differs.map(|d| d.item.as_str()).collect();
        if let Some(must) = must.differs.filter(|must| *must != differs) {
            wrong.push(format!("{name}: {differs:?} differ instead of {must:?}"));
        }
        if found != must.codes || numbers != expected || !total.balances() {
            wrong.push(format!(
                "{name}: {found:?} instead of {:?}, lost and unattributed {numbers:?} \
                 instead of {expected:?}: {:#?}",
                must.codes, total.layers
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_phase_worth_repeating_is_told_from_one_with_a_fault() {
    let planted = planted();
    let disturbed: BTreeSet<&str> = planted
        .iter()
        .filter(|(_, case, _)| {
            let mut phases = case.measurements.iter().flat_map(|m| &m.phases);
            phases.any(hawser_account::disturbed)
        })
        .map(|(name, ..)| name.as_str())
        .collect();
    let expected = [
        "reader-stalled",
        "reader-late-once",
        "bursts-together-once",
        "reader-stalled-short",
        "reader-stalled-real-time",
    ];
    assert_eq!(disturbed, BTreeSet::from(expected));
}

#[test]
fn a_socket_that_the_machine_had_no_memory_for_is_not_a_late_reader() {
    let case: Case = read("reader-stalled");
    let mut phases = case.measurements.iter().flat_map(|m| &m.phases);
    let mut phase = phases
        .find(|phase| hawser_account::disturbed(phase))
        .expect("it is disturbed")
        .clone();
    let counters = &mut phase.receiver_window.counters.0;
    counters.insert("udp/MemErrors".to_owned(), 1);
    assert!(!hawser_account::disturbed(&phase));
    // Only the events tell of it: `udp-memory-pressure-everything`.
    let case: Case = read("udp-memory-pressure-everything");
    let mut phases = case.measurements.iter().flat_map(|m| &m.phases);
    assert!(!phases.any(hawser_account::disturbed));
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

/// `hawser watch` says nothing that a check of the same hosts would not say, in the same words.
#[test]
fn what_stands_on_hosts_is_judged_as_a_check_judges_it() {
    let mut found = 0;
    for (name, case) in saved() {
        let check = answer(&case);
        let case = Case {
            measurements: Vec::new(),
            ..case
        };
        for one in hawser_account::standing(&case) {
            found += 1;
            let (code, place) = (&one.finding.code, &one.finding.place);
            let same = check
                .findings
                .iter()
                .find(|finding| finding.finding.code == *code && finding.finding.place == *place);
            assert!(same.is_some(), "{name}: {code} at {place}");
        }
    }
    assert!(found > 5, "only {found} cases stand without traffic");
}
