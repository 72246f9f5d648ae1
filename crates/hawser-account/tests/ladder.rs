//! Saved ladders with the answers expected of them, as `golden.rs` has it for checks.
//!
//! `UPDATE_CASES=1 cargo test -p hawser-account --test ladder` writes the synthetic cases and all
//! answers anew; a human reads the diff.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use hawser_account::{ladder, ladder_codes};
use hawser_model::case::Case;
use hawser_model::output::LadderReport;

use support::json::print;
use support::ladder::planted;

fn cases() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases"))
}

fn as_json<T: serde::Serialize>(value: &T) -> String {
    print(&serde_json::to_value(value).expect("a value"))
}

fn answer(case: &Case) -> LadderReport {
    ladder(case).expect("a ladder")
}

/// Every folder with a ladder, in order.
fn saved() -> Vec<(String, Case)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(cases()).expect("the folder of cases") {
        let file = entry.expect("an entry").path().join("case.json");
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        let case: Case =
            serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let folder = file.parent().and_then(|f| f.file_name()).expect("a name");
        if case.ladder.is_some() {
            found.push((folder.to_string_lossy().into_owned(), case));
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

#[test]
fn every_saved_ladder_gives_the_answer_beside_it() {
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
fn the_synthetic_ladders_are_the_ones_saved() {
    for planted in planted() {
        let file = cases().join(planted.name).join("case.json");
        let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let saved: Case = serde_json::from_str(&text).expect("a case");
        assert_eq!(saved, planted.case, "{}", planted.name);
    }
}

#[test]
fn every_cause_has_a_ladder_and_a_page_that_explains_its_numbers() {
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
            let parts = [
                "What you see",
                "What it is",
                "How Hawser knows",
                "What to do",
            ];
            for part in parts {
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
    for code in ladder_codes() {
        assert!(found.contains(code), "no case for {code}");
    }
}
