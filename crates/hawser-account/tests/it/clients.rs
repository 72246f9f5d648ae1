//! Saved checks of clients with the answers expected of them, as `golden.rs` has it for checks.

use hawser_account::clients::{codes, report};
use hawser_model::case::Case;
use hawser_model::finding::WordedFinding;
use hawser_model::output::clients::ClientsReport;

use crate::support::saved::{self, found, hold_answers, hold_pages, planted};

fn answer(case: &Case) -> ClientsReport {
    report(case).expect("clients")
}

/// Every folder with a check of clients, in order.
fn saved() -> Vec<(String, Case)> {
    saved::runs(|case| case.clients.is_some())
}

#[test]
fn every_saved_check_of_clients_gives_the_answer_beside_it() {
    hold_answers(&saved(), answer);
}

#[test]
fn each_planted_client_is_told_of_and_nothing_else() {
    for (name, case, must) in planted(saved()) {
        assert_eq!(found(&answer(&case).findings), must.codes, "{name}");
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

#[test]
fn what_a_client_does_not_say_is_a_gap_and_no_patience() {
    let mut case: Case = hawser_cases::read("clients-outlast");
    let run = case.clients.as_mut().expect("clients");
    for told in run.clients.values_mut() {
        if let hawser_model::client::ClientTold::Read(facts) = told {
            facts
                .maps
                .iter_mut()
                .for_each(|map| map.without_path = None);
        }
    }
    let answer = answer(&case);
    assert_eq!(answer.findings, []);
    assert!(
        answer.gaps[0].ends_with("is not known: multipathd does not say"),
        "{:?}",
        answer.gaps
    );
}
