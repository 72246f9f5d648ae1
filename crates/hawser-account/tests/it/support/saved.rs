//! Folders of saved cases: what a run recorded or what was planted, and in `expected.json` what
//! must be said of it. With `UPDATE_CASES=1` the answers are written again; a human reads the diff.

use std::collections::BTreeSet;
use std::fs;
use std::sync::LazyLock;

use hawser_cases::{Must, folder, names, read};
use hawser_model::case::Case;
use hawser_model::finding::WordedFinding;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::json::print;

/// The cases of a folder, in order, each with its name below `cases/`.
pub fn saved<C>(below: &str) -> Vec<(String, C)>
where
    C: Serialize + DeserializeOwned,
{
    let all = names(below).into_iter();
    all.map(|name| (name.clone(), read(&name))).collect()
}

/// The runs that are wanted, in order. Checks, ladders and what else is a [`Case`] lie beside each other: all are read once,
/// for all tests.
pub fn runs(wanted: fn(&Case) -> bool) -> Vec<(String, Case)> {
    static ALL: LazyLock<Vec<(String, Case)>> = LazyLock::new(|| saved(""));
    let all = ALL.iter().filter(|(_, case)| wanted(case));
    all.cloned().collect()
}

/// Of these, the made-up ones, each with what must be said of it.
pub fn planted<C>(saved: Vec<(String, C)>) -> Vec<(String, C, Must)> {
    let made = |name: &str| hawser_cases::made(name).map(|planted| planted.must);
    let all = saved.into_iter();
    let all: Vec<_> = all
        .filter_map(|(name, case)| made(&name).map(|must| (name, case, must)))
        .collect();
    assert!(!all.is_empty(), "no case is made up");
    all
}

/// The codes found, worst first.
pub fn found(findings: &[WordedFinding]) -> Vec<&str> {
    findings.iter().map(|f| f.finding.code.as_str()).collect()
}

/// Every saved case gives the answer beside it.
pub fn hold_answers<C, A: Serialize>(saved: &[(String, C)], answer: impl Fn(&C) -> A) {
    assert!(!saved.is_empty(), "no cases");
    let mut wrong = Vec::new();
    for (name, case) in saved {
        let file = folder(name).join("expected.json");
        let got = as_json(&answer(case));
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

/// Every cause was found in some case, and has a page that says what it is and explains every
/// number a finding of it came with, except those that `elsewhere` explains.
pub fn hold_pages(
    codes: impl Iterator<Item = &'static str>,
    findings: &[WordedFinding],
    elsewhere: &[&str],
) {
    let mut wrong = BTreeSet::new();
    let codes: BTreeSet<&str> = codes.collect();
    for WordedFinding { finding, .. } in findings {
        let code = &finding.code;
        let text = hawser_account::page(code).unwrap_or_else(|| panic!("{code} has no page"));
        if !text.starts_with(&format!("# {code}\n")) {
            wrong.insert(format!("{code}: the title of its page"));
        }
        let parts = [
            "What you see",
            "What it is",
            "How Hawser knows",
            "What to do",
        ];
        for part in parts.iter().filter(|part| !text.contains(**part)) {
            wrong.insert(format!("{code}: its page has no «{part}»"));
        }
        for key in finding.evidence.keys() {
            if !elsewhere.contains(&key.as_str()) && !text.contains(&format!("`{key}`")) {
                wrong.insert(format!("{code}: its page does not explain `{key}`"));
            }
        }
    }
    let found: BTreeSet<&str> = findings.iter().map(|f| f.finding.code.as_str()).collect();
    let missing = codes.difference(&found);
    wrong.extend(missing.map(|code| format!("no case for {code}")));
    let unknown = found.difference(&codes);
    wrong.extend(unknown.map(|code| format!("{code} is not in the list of causes")));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

pub fn updating() -> bool {
    std::env::var_os("UPDATE_CASES").is_some()
}

fn as_json<T: Serialize>(value: &T) -> String {
    print(&serde_json::to_value(value).expect("a value"))
}

/// What is told of an incident is what `cases/incident/NAME.json` has.
pub fn hold_incident<A: Serialize>(name: &str, told: &A) {
    let path = folder("incident").join(format!("{name}.json"));
    let told = serde_json::to_string_pretty(told).expect("JSON") + "\n";
    if updating() {
        fs::write(&path, &told).expect("a report");
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(told, expected, "{}", path.display());
}
