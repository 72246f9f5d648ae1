//! Folders of saved cases: what a run recorded in `case.json`, what must be said of it in
//! `expected.json`. With `UPDATE_CASES=1` both are written anew; a human reads the diff.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};

use hawser_model::finding::WordedFinding;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::json::print;

/// The folder of all cases, or one below it.
pub fn cases(below: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases")).join(below)
}

/// One case of a folder.
pub fn load<C: DeserializeOwned>(folder: &Path, name: &str) -> C {
    let file = folder.join(name).join("case.json");
    let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

/// The cases of a folder that are wanted, in order.
pub fn saved<C: DeserializeOwned>(folder: &Path, wanted: fn(&C) -> bool) -> Vec<(String, C)> {
    let entries = fs::read_dir(folder).expect("the folder of cases");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.join("case.json").exists())
        .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .collect();
    names.sort();
    let all = names.into_iter().map(|name| (load(folder, &name), name));
    let all = all.filter(|(case, _)| wanted(case));
    all.map(|(case, name)| (name, case)).collect()
}

/// Cases made by hand are the ones saved.
pub fn hold_planted<C>(folder: &Path, name: &str, case: &C)
where
    C: Serialize + DeserializeOwned + PartialEq + Debug,
{
    if updating() {
        fs::create_dir_all(folder.join(name)).expect("a folder");
        fs::write(folder.join(name).join("case.json"), as_json(case)).expect("a case");
    }
    assert_eq!(&load::<C>(folder, name), case, "{name}");
}

/// Every saved case gives the answer beside it.
pub fn hold_answers<C, A: Serialize>(
    folder: &Path,
    saved: &[(String, C)],
    answer: impl Fn(&C) -> A,
) {
    assert!(!saved.is_empty(), "no cases in {}", folder.display());
    let mut wrong = Vec::new();
    for (name, case) in saved {
        let file = folder.join(name).join("expected.json");
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
        let page = cases("").join(format!("../docs/causes/{code}.md"));
        let text = fs::read_to_string(&page).unwrap_or_else(|e| panic!("{}: {e}", page.display()));
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

fn updating() -> bool {
    std::env::var_os("UPDATE_CASES").is_some()
}

fn as_json<T: Serialize>(value: &T) -> String {
    print(&serde_json::to_value(value).expect("a value"))
}
