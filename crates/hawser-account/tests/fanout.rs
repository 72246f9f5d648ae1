//! Saved fan-outs with the answers expected of them, as `golden.rs` has it for checks.
//!
//! `UPDATE_CASES=1 cargo test -p hawser-account --test fanout` writes the synthetic cases and all
//! answers anew; a human reads the diff.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use hawser_account::fanout::{codes, report};
use hawser_model::case::Case;
use hawser_model::output::fanout::FanoutReport;

use support::fanout::planted;
use support::json::print;

fn cases() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases"))
}

fn as_json<T: serde::Serialize>(value: &T) -> String {
    print(&serde_json::to_value(value).expect("a value"))
}

fn answer(case: &Case) -> FanoutReport {
    report(case).expect("a fan-out")
}

/// Every folder with a fan-out, in order.
fn saved() -> Vec<(String, Case)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(cases()).expect("the folder of cases") {
        let folder = entry.expect("an entry").path();
        let name = folder.file_name().expect("a name").to_string_lossy();
        if !name.starts_with("fanout-") {
            continue;
        }
        let file = folder.join("case.json");
        let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let case: Case =
            serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        assert!(case.fanout.is_some(), "{name} is no fan-out");
        found.push((name.into_owned(), case));
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

#[test]
fn every_saved_fanout_gives_the_answer_beside_it() {
    let updating = std::env::var_os("UPDATE_CASES").is_some();
    if updating {
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
        if updating {
            fs::write(&file, &got).expect("an answer");
        } else if fs::read_to_string(&file).ok().as_ref() != Some(&got) {
            wrong.push(format!("{name}: {got}"));
        }
    }
    assert!(wrong.is_empty(), "changed:\n{}", wrong.join("\n"));
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
fn the_synthetic_fanouts_are_the_ones_saved() {
    for planted in planted() {
        let file = cases().join(planted.name).join("case.json");
        let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let saved: Case = serde_json::from_str(&text).expect("a case");
        assert_eq!(saved, planted.case, "{}", planted.name);
    }
}

#[test]
fn every_cause_has_a_case_and_a_page_that_explains_its_numbers() {
    let mut found = BTreeSet::new();
    for (name, case) in saved() {
        for finding in answer(&case).findings {
            let code = finding.finding.code;
            let page = cases().join(format!("../docs/causes/{code}.md"));
            let text =
                fs::read_to_string(&page).unwrap_or_else(|e| panic!("{}: {e}", page.display()));
            assert!(
                text.starts_with(&format!("# {code}\n")),
                "{code}: its title"
            );
            for part in [
                "What you see",
                "What it is",
                "How Hawser knows",
                "What to do",
            ] {
                assert!(text.contains(part), "{code}: its page has no «{part}»");
            }
            for key in finding.finding.evidence.keys() {
                assert!(
                    text.contains(&format!("`{key}`")),
                    "{name}: `{key}` is not on the page of {code}"
                );
            }
            found.insert(code);
        }
    }
    for code in codes() {
        assert!(found.contains(code), "no case for {code}");
    }
}
