//! Saved comparisons with the answers expected of them, as `golden.rs` has it for checks.

use std::collections::BTreeSet;

use hawser_account::compare;
use hawser_cases::read;
use hawser_model::case::Case;
use hawser_model::output::compare::{CompareReport, Difference};

use crate::support::saved::{self, hold_answers, planted};

fn answer(case: &Case) -> CompareReport {
    compare(case).expect("two hosts")
}

/// Every folder with a comparison, in order.
fn saved() -> Vec<(String, Case)> {
    saved::runs(|case| case.compared)
}

#[test]
fn every_saved_comparison_gives_the_answer_beside_it() {
    hold_answers(&saved(), answer);
}

#[test]
fn each_planted_difference_is_told_and_nothing_else() {
    for (name, _, must) in planted(saved()) {
        let answer = answer(&read(&name));
        let items: Vec<&str> = answer.differences.iter().map(|d| d.item.as_str()).collect();
        assert_eq!(
            Some(items),
            must.differs
                .as_ref()
                .map(|all| all.iter().map(String::as_str).collect()),
            "{name}"
        );
        let codes = answer.differences.iter().flat_map(|d| &d.findings);
        let codes: BTreeSet<&String> = codes.collect();
        assert_eq!(codes, must.codes.iter().collect(), "{name}");
    }
}

#[test]
fn what_one_host_does_not_tell_is_not_a_difference() {
    for (name, case) in saved() {
        let CompareReport {
            differences,
            not_known,
            ..
        } = answer(&case);
        let known = |item: &Difference| item.values.values().flatten().count();
        assert!(differences.iter().all(|item| known(item) > 1), "{name}");
        let gap = |item: &Difference| item.values.values().any(Option::is_none);
        assert!(not_known.iter().all(gap), "{name}");
    }
}

#[test]
fn hosts_that_tell_nothing_do_not_differ() {
    let mut case: Case = read("compare-unlike");
    case.setups.remove("head2");
    for (name, interface) in &mut case.hosts.get_mut("head2").unwrap().interfaces {
        interface.features_on.clear();
        assert_eq!(name.as_str(), "ring0");
    }
    let answer = answer(&case);
    let items: Vec<&str> = answer.differences.iter().map(|d| d.item.as_str()).collect();
    let told = [
        "MTU",
        "net.ipv4.conf.IF.rp_filter",
        "kernel",
        "net.core.rmem_max",
        "net.ipv4.udp_mem",
    ];
    assert_eq!(items, told);
    let unknown = |item: &str| answer.not_known.iter().any(|d| d.item == item);
    assert!(unknown("receive ring") && unknown("offload rx-gro"));
    assert!(unknown("frequency governor") && unknown("memory"));
    case.hosts.remove("head2");
    assert_eq!(compare(&case), None);
}

#[test]
fn a_check_is_compared_with_what_its_findings_are_about_first() {
    let answer = answer(&read("nic-ring-overflow-unlike"));
    let first = &answer.differences[0];
    assert_eq!(first.item, "receive ring");
    assert_eq!(first.findings, ["nic-ring-overflow"]);
    let last = answer.differences.last().unwrap();
    assert_eq!(
        (last.item.as_str(), last.findings.len()),
        ("vm.swappiness", 0)
    );
}
