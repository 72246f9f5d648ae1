//! Saved cases with the answers expected of them.
//!
//! Each folder of `cases/` holds the facts of a run (`case.json`) and what Hawser must say of
//! them (`expected.json`). `UPDATE_CASES=1 cargo test -p hawser-account --test golden` writes
//! the synthetic cases and all answers anew; a human reads the diff.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use hawser_account::{codes, explain};
use hawser_model::case::Case;
use hawser_model::output::CheckReport;

use support::catalogue::{Planted, planted};
use support::json::print;

fn cases() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases"))
}

fn updating() -> bool {
    std::env::var_os("UPDATE_CASES").is_some()
}

fn as_json<T: serde::Serialize>(value: &T) -> String {
    print(&serde_json::to_value(value).expect("a value"))
}

/// The answer, without the path of a case file.
fn answer(case: &Case) -> CheckReport {
    explain(case)
}

/// Every folder with a check's case, in order; `ladder.rs` and `fanout.rs` have the others.
fn saved() -> Vec<(String, Case)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(cases()).expect("the folder of cases") {
        let path = entry.expect("an entry").path();
        let file = path.join("case.json");
        if !file.exists() {
            continue;
        }
        let text = fs::read_to_string(&file).expect("a case file");
        let case: Case =
            serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        if case.ladder.is_some() || case.fanout.is_some() {
            continue;
        }
        let name = path.file_name().expect("a name").to_string_lossy();
        found.push((name.into_owned(), case));
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

#[test]
fn every_saved_case_gives_the_answer_beside_it() {
    if updating() {
        for planted in planted() {
            let folder = cases().join(planted.name);
            fs::create_dir_all(&folder).expect("a folder");
            fs::write(folder.join("case.json"), as_json(&planted.case)).expect("a case file");
        }
    }
    let mut wrong = Vec::new();
    for (name, case) in saved() {
        let file = cases().join(&name).join("expected.json");
        let got = as_json(&answer(&case));
        if updating() {
            fs::write(&file, &got).expect("an answer");
        } else if fs::read_to_string(&file).ok().as_ref() != Some(&got) {
            wrong.push(format!("{name}: {got}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} cases changed their answer:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
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
fn the_synthetic_cases_are_the_ones_saved() {
    for planted in planted() {
        let file = cases().join(planted.name).join("case.json");
        let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let saved: Case = serde_json::from_str(&text).expect("a case");
        assert_eq!(saved, planted.case, "{}", planted.name);
    }
}

#[test]
fn every_cause_has_a_case_and_a_page() {
    let mut found: BTreeSet<String> = BTreeSet::new();
    for (_, case) in saved() {
        found.extend(answer(&case).findings.into_iter().map(|f| f.finding.code));
    }
    for code in codes() {
        assert!(found.contains(code), "no case for {code}");
        let page = cases().join(format!("../docs/causes/{code}.md"));
        let text = fs::read_to_string(&page).unwrap_or_else(|e| panic!("{}: {e}", page.display()));
        assert!(
            text.starts_with(&format!("# {code}\n")),
            "{code}: its page's title"
        );
        for part in [
            "What you see",
            "What it is",
            "How Hawser knows",
            "What to do",
        ] {
            assert!(text.contains(part), "{code}: its page has no «{part}»");
        }
    }
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
        ["reader-stalled", "reader-late-once", "reader-stalled-short"]
    );
}

/// Evidence that every finding about a loss has; `docs/account.md` explains it.
const COMMON: [&str; 3] = ["lost_packets", "sent_packets", "lost_percent"];

#[test]
fn every_number_of_a_finding_is_explained_on_its_page() {
    let mut missing = BTreeSet::new();
    for (_, case) in saved() {
        for finding in answer(&case).findings {
            let code = &finding.finding.code;
            let page = cases().join(format!("../docs/causes/{code}.md"));
            let text = fs::read_to_string(page).expect("a page");
            for key in finding.finding.evidence.keys() {
                let common = COMMON.contains(&key.as_str());
                if !common && !text.contains(&format!("`{key}`")) {
                    missing.insert(format!("{code}: {key}"));
                }
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn an_answer_does_not_depend_on_anything_but_the_case() {
    for (name, case) in saved() {
        assert_eq!(answer(&case), answer(&case), "{name}");
    }
}
