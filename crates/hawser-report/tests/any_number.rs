//! Recorded runs in which all numbers of one name are at an edge: they are judged and drawn.

use std::collections::BTreeSet;

use hawser_account::{copy, explain, fanout, ladder, outage};
use hawser_model::case::Case;
use hawser_model::copy::CopyCase;
use hawser_model::drill::DrillCase;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Tells each case in which all numbers of one name are at an edge.
fn each<T: DeserializeOwned>(base: &str, tell: impl Fn(&T)) {
    let run = read(base);
    let mut names = BTreeSet::new();
    numbers(&run, "", &mut names);
    let edges = [
        json!(u64::MAX),
        json!(1_u64 << 63),
        json!(0),
        json!(-1),
        json!(1e300),
    ];
    let mut told = 0;
    for (name, edge) in names
        .iter()
        .flat_map(|name| edges.iter().map(move |edge| (name, edge)))
    {
        let mut run = run.clone();
        put(&mut run, "", name, edge);
        // A number that its type cannot hold is no case.
        let Ok(case) = serde_json::from_value::<T>(run) else {
            continue;
        };
        println!("{base}: {name} = {edge}");
        tell(&case);
        told += 1;
    }
    assert!(told > 10, "{base}: {told} of {names:?}");
}

fn read(base: &str) -> Value {
    let file = hawser_cases::folder("bases").join(format!("{base}.json"));
    let text = std::fs::read(file).expect("a base");
    serde_json::from_slice(&text).expect("JSON")
}

fn numbers(value: &Value, name: &str, all: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, v)| numbers(v, key, all)),
        Value::Array(items) => items.iter().for_each(|v| numbers(v, name, all)),
        Value::Number(_) => drop(all.insert(name.to_owned())),
        _ => {}
    }
}

fn put(value: &mut Value, at: &str, name: &str, edge: &Value) {
    match value {
        Value::Object(fields) => fields
            .iter_mut()
            .for_each(|(key, v)| put(v, key, name, edge)),
        Value::Array(items) => items.iter_mut().for_each(|v| put(v, at, name, edge)),
        Value::Number(_) if at == name => *value = edge.clone(),
        _ => {}
    }
}

#[test]
fn a_check_a_ladder_and_a_fanout_of_any_numbers_are_judged() {
    for base in [
        "pair",
        "rings",
        "stream",
        "heads",
        "multicast",
        "ladder",
        "fanout",
    ] {
        each::<Case>(base, |case| {
            explain(case);
            let _none = ladder(case).map(drop).or(fanout::report(case).map(drop));
            assert!(hawser_report::page(case, "case.json").ends_with("</html>\n"));
        });
    }
}

#[test]
fn a_copy_of_any_numbers_is_judged() {
    for base in ["copy", "copy-two-rates"] {
        each::<CopyCase>(base, told);
    }
}

fn told(case: &CopyCase) {
    copy::explain_copy(case);
    assert!(hawser_report::copy_page(case, "case.json").ends_with("</html>\n"));
}

/// One count far above those after it: each number at an edge alone does not run backwards.
#[test]
fn a_copy_whose_counts_run_backwards_is_judged() {
    let base = read("copy");
    for count in ["bytes", "disk", "retransmits", "at"] {
        for end in ["sender", "receiver"] {
            let mut run = base.clone();
            run[end]["samples"][1][count] = json!(u64::MAX);
            let Ok(case) = serde_json::from_value::<CopyCase>(run) else {
                continue;
            };
            told(&case);
        }
    }
}

#[test]
fn a_drill_of_any_numbers_is_judged() {
    for base in ["drill-power-cut", "drill-bmc-unreachable"] {
        each::<DrillCase>(base, |case| {
            outage::explain_drill(case);
            assert!(hawser_report::drill_page(case, "case.json").ends_with("</html>\n"));
        });
    }
}
