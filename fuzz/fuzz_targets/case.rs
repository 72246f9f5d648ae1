//! A case file from anybody: read, judged and drawn.
//!
//! An input is the file itself, or a run without faults in which it changes some values: that reaches the judges,
//! where bytes seldom become a file. Whatever comes, nothing panics, and no character without a shape reaches the
//! page.
#![no_main]

use std::sync::LazyLock;

use hawser_model::case::Case;
use hawser_model::copy::CopyCase;
use hawser_model::drill::DrillCase;
use hawser_model::visible::is_hidden;
use libfuzzer_sys::fuzz_target;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A run, and the pointer of every value in it.
struct Base {
    run: Value,
    pointers: Vec<String>,
}

static BASES: LazyLock<Vec<Base>> = LazyLock::new(|| {
    let files = [
        include_str!("../../cases/bases/pair.json"),
        include_str!("../../cases/bases/stream.json"),
        include_str!("../../cases/bases/ladder.json"),
        include_str!("../../cases/bases/copy.json"),
        include_str!("../../cases/bases/fanout.json"),
        include_str!("../../cases/bases/drill-power-cut.json"),
    ];
    let base = |text: &str| {
        let run: Value = serde_json::from_str(text).expect("a base is JSON");
        let mut pointers = Vec::new();
        places(&run, String::new(), &mut pointers);
        Base { run, pointers }
    };
    files.into_iter().map(base).collect()
});

/// Numbers at which arithmetic ends.
const EDGES: [u64; 8] = [
    0,
    1,
    u32::MAX as u64,
    u32::MAX as u64 + 1,
    i64::MAX as u64,
    i64::MAX as u64 + 1,
    u64::MAX - 1,
    u64::MAX,
];

fuzz_target!(|data: &[u8]| {
    let Some((kind, rest)) = data.split_first() else {
        return;
    };
    let file = match BASES.get(usize::from(*kind)) {
        Some(base) => Some(changed(base, rest)),
        None => serde_json::from_slice(data).ok(),
    };
    let Some(file) = file else {
        return;
    };
    // What a file is, its format says; a wrong one is refused before anything is judged.
    if let Ok(case) = Case::deserialize(&file) {
        told(
            &hawser_account::explain(&case),
            &hawser_report::page(&case, FILE),
        );
        let _none = hawser_account::ladder(&case);
        let _none = hawser_account::fanout::report(&case);
    }
    if let Ok(case) = CopyCase::deserialize(&file) {
        let report = hawser_account::copy::explain_copy(&case);
        told(&report, &hawser_report::copy_page(&case, FILE));
    }
    if let Ok(case) = DrillCase::deserialize(&file) {
        let report = hawser_account::outage::explain_drill(&case);
        told(&report, &hawser_report::drill_page(&case, FILE));
    }
});

/// What the page calls the file.
const FILE: &str = "case.json";

fn told(report: &impl Serialize, page: &str) {
    let _text = serde_json::to_string(report).expect("a report is always JSON");
    assert!(!page.chars().any(|c| is_hidden(c) && c != '\n' && c != '\t'));
}

fn places(value: &Value, at: String, all: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let key = key.replace('~', "~0").replace('/', "~1");
                places(value, format!("{at}/{key}"), all);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                places(value, format!("{at}/{index}"), all);
            }
        }
        _ => {}
    }
    all.push(at);
}

/// Each four bytes change one value: two say where, one says how, one to what.
fn changed(base: &Base, changes: &[u8]) -> Value {
    let mut run = base.run.clone();
    let (changes, _) = changes.as_chunks::<4>();
    for [a, b, how, what] in changes.iter().take(16) {
        let place = usize::from(u16::from_le_bytes([*a, *b])) % base.pointers.len();
        let Some(value) = run.pointer_mut(&base.pointers[place]) else {
            continue;
        };
        let edge = EDGES[usize::from(*what) % EDGES.len()];
        match (how % 6, &mut *value) {
            (0, _) => *value = edge.into(),
            (1, _) => *value = u64::from(*what).into(),
            (2, Value::Number(n)) => {
                let near = n.as_u64().map(|n| n.wrapping_add(u64::from(*what)));
                *value = near.unwrap_or(edge).into();
            }
            (3, Value::Array(items)) => items.truncate(usize::from(*what)),
            (3, Value::String(text)) => text.push(char::from(*what)),
            (4, Value::Array(items)) => items.extend(items.first().cloned()),
            (4, _) => *value = (-i64::from(*what)).into(),
            _ => *value = Value::Null,
        }
    }
    run
}
