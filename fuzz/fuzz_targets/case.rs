//! A case file from anybody: read, judged and drawn.
//!
//! Whatever comes, nothing panics, and no character without a shape reaches the page.
#![no_main]

use hawser_model::case::Case;
use hawser_model::visible::is_hidden;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(case) = serde_json::from_slice::<Case>(data) else {
        return;
    };
    let report = hawser_account::explain(&case);
    let _ = serde_json::to_string(&report).expect("a report is always JSON");
    let page = hawser_report::page(&case);
    assert!(!page.chars().any(|c| is_hidden(c) && c != '\n' && c != '\t'));
});
