//! Saved copies with the answers expected of them, as `golden.rs` has it for checks.

use hawser_account::copy::{copy_codes, explain_copy};
use hawser_cases::read;
use hawser_model::copy::CopyCase;
use hawser_model::finding::WordedFinding;

use crate::support::saved::{self, found, hold_answers, hold_pages, planted};

fn saved() -> Vec<(String, CopyCase)> {
    saved::saved("copy")
}

#[test]
fn every_saved_copy_gives_the_answer_beside_it() {
    hold_answers(&saved(), explain_copy);
}

#[test]
fn each_planted_fault_is_named_and_nothing_else() {
    for (name, case, must) in planted(saved()) {
        assert_eq!(found(&explain_copy(&case).findings), must.codes, "{name}");
    }
}

#[test]
fn the_policers_burst_and_rate_are_told() {
    let answer = explain_copy(&read("copy/policer"));
    let change = answer.change.expect("a change");
    assert_eq!(change.at_s, 1.0);
    let evidence = &answer.findings[0].finding.evidence;
    let burst = evidence["burst_bytes"].as_u64().expect("a number");
    assert!((855_000_000..865_000_000).contains(&burst), "{burst}");
    let rate = evidence["bits_per_s"].as_u64().expect("a number");
    assert!((318_000_000..322_000_000).contains(&rate), "{rate}");
}

#[test]
fn every_cause_has_a_case_and_a_page_that_explains_its_numbers() {
    let findings: Vec<WordedFinding> = saved()
        .iter()
        .flat_map(|(_, case)| explain_copy(case).findings)
        .collect();
    hold_pages(copy_codes(), &findings, &[]);
}

#[test]
fn a_part_is_told_whole_whatever_its_folder_is_called() {
    let mut case: CopyCase = read("copy/disk-full");
    let part = "/srv/x.hawser-part of mine/.b.hawser-part";
    let failure = case.receiver.failure.as_mut().expect("a full disk");
    failure.error = format!("write {part}: No space left on device (os error 28)");
    assert_eq!(explain_copy(&case).part.as_deref(), Some(part));
}
