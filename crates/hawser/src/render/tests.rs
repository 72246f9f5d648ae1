//! Recorded cases in which every text that may be any text is hostile: nothing of it reaches a reader raw.

use std::collections::BTreeSet;

use hawser_model::case::Case;
use hawser_model::copy::CopyCase;
use hawser_model::drill::DrillCase;
use hawser_model::output::copy::CopyReport;
use hawser_model::visible::is_hidden;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::case_file;
use crate::output::paint;
use crate::output::width;
use crate::render;
use crate::verbs;

/// Behind each text: a colour, a turn of direction, C1's control sequence, a line of its own, a line of another's.
const HOSTILE: &str =
    "\u{1b}[31m\u{202e}\u{9b}2J\r\u{7}\u{2066}\u{85}\u{feff}\n0 packets lost: forged";

/// The case with hostile words wherever it is still a case, and how many texts that are.
fn hostile<T: Serialize + DeserializeOwned>(name: &str) -> (T, usize) {
    let mut case: Value = hawser_cases::read(name);
    let mut texts = BTreeSet::new();
    collect(&case, &mut texts);
    let mut planted = 0;
    plant::<T>(
        &mut case,
        &texts.into_iter().collect::<Vec<_>>(),
        &mut planted,
    );
    let case: T = serde_json::from_value(case).expect("a case still");
    (case_file::kept(&case).expect("kept as any"), planted)
}

/// Plants all of these, or those of each half that can be.
fn plant<T: Serialize + DeserializeOwned>(case: &mut Value, texts: &[String], planted: &mut usize) {
    if texts.is_empty() {
        return;
    }
    let mut tried = case.clone();
    replace(&mut tried, &texts.iter().collect());
    // A key that is a field's name would only be forgotten.
    let whole = |value: &Value| {
        let read: T = serde_json::from_value(value.clone()).ok()?;
        Some(serde_json::to_string(&read).ok()?.len())
    };
    let longer = HOSTILE.len() / 2;
    match (whole(&tried), whole(case)) {
        (Some(after), Some(before)) if after >= before + longer * texts.len() => {
            *case = tried;
            *planted += texts.len();
        }
        _ if texts.len() > 1 => {
            let (first, second) = texts.split_at(texts.len() / 2);
            plant::<T>(case, first, planted);
            plant::<T>(case, second, planted);
        }
        _ => {}
    }
}

fn collect(value: &Value, texts: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            texts.insert(text.clone());
        }
        Value::Array(values) => values.iter().for_each(|v| collect(v, texts)),
        Value::Object(fields) => fields.values().for_each(|v| collect(v, texts)),
        _ => {}
    }
}

/// Keys too: a host is a key in one place and a text in another.
fn replace(value: &mut Value, texts: &BTreeSet<&String>) {
    match value {
        Value::String(text) if texts.contains(text) => text.push_str(HOSTILE),
        Value::Array(values) => values.iter_mut().for_each(|v| replace(v, texts)),
        Value::Object(fields) => {
            let old = std::mem::take(fields);
            for (mut key, mut value) in old {
                replace(&mut value, texts);
                if texts.contains(&key) {
                    key.push_str(HOSTILE);
                }
                fields.insert(key, value);
            }
        }
        _ => {}
    }
}

fn is_clean(what: &str, text: &str, stays: &[char]) {
    let raw = text
        .char_indices()
        .find(|(_, c)| is_hidden(*c) && !stays.contains(c));
    if let Some((at, c)) = raw {
        let around: String = text[..at].chars().rev().take(60).collect();
        let around: String = around.chars().rev().collect();
        panic!("{what}: {c:?} behind {around:?}");
    }
    assert!(
        text.lines()
            .all(|line| !line.starts_with("0 packets lost: forged")),
        "{what} has a line of a host's"
    );
    assert!(
        text.contains("\\u001b[31m\\u202e\\u009b2J"),
        "{what} shows none of it:\n{text}"
    );
}

fn gated(text: &str) -> String {
    paint::shown(text, |_| false)
}

#[test]
fn a_check_with_hostile_names_is_shown_with_every_character() {
    for name in [
        "buffer-not-granted",
        "duplicate-address",
        "foreign-socket-dropping",
        "ladder-clean",
    ] {
        let (case, planted) = hostile::<Case>(name);
        assert!(planted > 5, "{name}: {planted} texts planted");
        let report = verbs::explain::judge(&case, "case.json");
        is_clean(
            name,
            &gated(&render::check::report(&case, &report)),
            &['\n'],
        );
        is_clean(name, &hawser_report::page(&case, "case.json"), &['\n']);
        let json = serde_json::to_string_pretty(&report).expect("JSON");
        let shown: Value = serde_json::from_str(&gated(&json)).expect("JSON still");
        assert_eq!(shown, serde_json::to_value(&report).expect("JSON"));
    }
}

#[test]
fn a_copy_and_a_drill_with_hostile_names_too() {
    let (case, planted) = hostile::<CopyCase>("copy/policer");
    assert!(planted > 2, "{planted} texts planted");
    let report = hawser_account::copy::explain_copy(&case);
    is_clean("copy", &gated(&render::copy::report(&report)), &['\n']);
    is_clean(
        "copy",
        &hawser_report::copy_page(&case, "case.json"),
        &['\n'],
    );

    let (case, planted) = hostile::<DrillCase>("drill/lost-write");
    assert!(planted > 5, "{planted} texts planted");
    let report = hawser_account::outage::explain_drill(&case);
    is_clean(
        "drill",
        &gated(&render::drill::text(&case, &report)),
        &['\n'],
    );
    is_clean(
        "drill",
        &hawser_report::drill_page(&case, "case.json"),
        &['\n'],
    );
    is_clean("JUnit", &render::junit::junit(&[report]), &['\n']);
}

#[test]
fn a_part_that_is_left_is_removed_by_a_command_that_a_shell_takes() {
    let case: CopyCase = hawser_cases::read("copy/disk-full");
    let mut report = hawser_account::copy::explain_copy(&case);
    let command = |report: &CopyReport| {
        let text = width::tests::at(60, || render::copy::left(report));
        text.lines().last().map(str::to_owned)
    };
    assert_eq!(
        command(&report).as_deref(),
        Some("  rm /srv/.b.hawser-part /srv/.b.hawser-state")
    );
    report.part = Some("/srv/x.hawser-part of; mine/.b.hawser-part".to_owned());
    assert_eq!(
        command(&report).as_deref(),
        Some(
            "  rm '/srv/x.hawser-part of; mine/.b.hawser-part' '/srv/x.hawser-part of; mine/.b.hawser-state'"
        )
    );
    report.part = None;
    assert_eq!(command(&report), None);
}

/// A name as long as a cluster file allows.
fn widened<T: Serialize + DeserializeOwned>(name: &str) -> T {
    let case: Value = hawser_cases::read(name);
    let text = case.to_string();
    let wide = "w".repeat(59);
    let text = text.replace("head1", &format!("head1{wide}"));
    serde_json::from_str(&text).expect("a case still")
}

fn fits(what: &str, columns: usize, text: &str) {
    let wide = text
        .lines()
        .find(|line| console::measure_text_width(line) > columns);
    assert!(wide.is_none(), "{what} at {columns}: {wide:?}");
}

/// A check, a tune or a ladder as `hawser explain` shows it.
fn explained(case: &Case, columns: usize) -> String {
    width::tests::at(columns, || {
        width::fitted(&verbs::explain::text(case, "case.json"))
    })
}

#[test]
fn each_saved_case_fits_the_terminal_and_says_the_same_on_each() {
    for name in hawser_cases::names("") {
        let case: Case = hawser_cases::read(&name);
        let words = |text: &str| {
            let plain = console::strip_ansi_codes(text);
            // Bars are drawn as wide as there is room.
            let drawn = |c: char| "█▉▊▋▌▍▎▏".contains(c);
            plain
                .replace(drawn, "")
                .split_whitespace()
                .collect::<String>()
        };
        let wide = explained(&case, 200);
        fits(&name, 200, &wide);
        for columns in [80, 100] {
            let text = explained(&case, columns);
            fits(&name, columns, &text);
            let (mut here, mut there): (Vec<char>, Vec<char>) = (
                words(&text).chars().collect(),
                words(&wide).chars().collect(),
            );
            // Cells of a row that are wrapped take turns.
            here.sort_unstable();
            there.sort_unstable();
            assert_eq!(here, there, "{name} at {columns} says something else");
        }
    }
}

#[test]
fn no_line_of_a_report_is_wider_than_the_terminal() {
    for columns in [80, 100, 200] {
        for name in ["buffer-not-granted", "duplicate-address", "ladder-clean"] {
            fits(name, columns, &explained(&widened::<Case>(name), columns));
        }
        for case in [
            hawser_cases::read("drill/two-heads"),
            widened::<DrillCase>("drill/two-heads"),
        ] {
            let report = hawser_account::outage::explain_drill(&case);
            let text = width::tests::at(columns, || {
                width::fitted(&render::drill::text(&case, &report))
            });
            fits("drill", columns, &text);
        }
    }
}
