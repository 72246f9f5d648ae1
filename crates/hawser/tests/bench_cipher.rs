//! `hawser bench cipher`: the contract of its JSON, and that the table can be read in a terminal of
//! 100 columns. How fast a machine is, is not a test; that its numbers hang together is.

mod support;

use std::collections::BTreeSet;

use serde_json::Value;
use support::{Ran, json};

fn run(arguments: &[&str]) -> Ran {
    support::run(&[&["bench", "cipher"], arguments].concat())
}

fn rows() -> Vec<Value> {
    let ran = run(&["--quick", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let rows = json(&ran, "bench-cipher");
    rows.as_array().unwrap().clone()
}

fn number(row: &Value, name: &str) -> f64 {
    row[name]
        .as_f64()
        .unwrap_or_else(|| panic!("no {name} in {row}"))
}

#[test]
fn every_mode_is_measured_in_every_layout_beside_openssl() {
    let rows = rows();
    let names =
        |name: &str| -> BTreeSet<String> { rows.iter().map(|row| row[name].to_string()).collect() };
    assert_eq!(names("mode").len(), 4);
    assert_eq!(names("op").len(), 2);
    assert_eq!(names("layout").len(), 4);
    assert_eq!(
        names("chunk"),
        BTreeSet::from(["8192".into(), "131072".into()])
    );
    let groups = 4 * 2 * 4 * 2;
    assert_eq!(rows.len(), groups * names("threads").len());
    for row in &rows {
        assert!(number(row, "mb_per_s") > 1.0, "{row}");
        assert!(number(row, "spread") >= 0.0, "{row}");
        // The kernel's speed, or which call it refused; over contiguous buffers alone.
        let kernel = usize::from(
            row["kernel_mb_per_s"]
                .as_f64()
                .is_some_and(|speed| speed > 1.0),
        );
        let refused = usize::from(
            row["kernel_refused"]
                .as_str()
                .is_some_and(|why| why.contains("AF_ALG")),
        );
        assert_eq!(
            kernel + refused,
            usize::from(row["layout"] == "contiguous"),
            "{row}"
        );
        if row["layout"] == "contiguous" {
            assert_eq!(number(row, "of_contiguous"), 1.0, "{row}");
        }
        assert!((3.0..=9.0).contains(&number(row, "rounds")), "{row}");
        let peers: Vec<(&str, f64)> = [
            ("openssl", "openssl_mb_per_s"),
            ("aws-lc", "aws_lc_mb_per_s"),
        ]
        .into_iter()
        .filter_map(|(peer, speed)| Some((peer, row[speed].as_f64()?)))
        .collect();
        if row["ratio"].is_null() {
            assert!(peers.is_empty() && row["best"].is_null(), "{row}");
            continue;
        }
        let best = peers.iter().find(|(peer, _)| row["best"] == *peer);
        let (_, speed) = best.unwrap_or_else(|| panic!("best is none of {peers:?} in {row}"));
        // The median of ratios is near the ratio of medians, or one of the two is wrong.
        let of_medians = number(row, "mb_per_s") / speed;
        assert!(
            (0.5..2.0).contains(&(of_medians / number(row, "ratio"))),
            "{row}"
        );
    }
}

#[test]
fn the_table_is_readable_at_100_columns() {
    let ran = run(&["--quick", "--key-bits", "256"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let text = ran.stdout;
    for line in text.lines() {
        assert!(
            line.chars().count() <= 100,
            "{} columns: {line}",
            line.chars().count()
        );
    }
    for part in [
        "AES-256, one thread",
        "GCM decrypt",
        "128 KiB",
        "AWS-LC",
        "share of a link's rate",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    assert!(!text.contains("AES-128"), "only 256 bits were asked for");
}

/// A table that this verb printed (`--quick`) in user-mode Linux, whose kernel has AF_ALG.
const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/report/ciphers.json");

#[test]
fn what_it_printed_is_one_page() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("aes.html");
    let ran = support::run(&["report", RECORDED, "-o", page.to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let text = std::fs::read_to_string(&page).unwrap();
    for there in [
        "AES on this processor",
        "<h2>AES-128</h2>",
        "GCM decrypt",
        "Hawser in place and over pieces of these sizes",
        "<code>hawser report ciphers.json</code>",
    ] {
        assert!(text.contains(there), "{there}");
    }
    let ran = support::run(&["explain", RECORDED]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("hawser report"), "{}", ran.stderr);
    // Other arrays, and tables that no bench makes, are one error.
    let rows: Vec<Value> =
        serde_json::from_str(&std::fs::read_to_string(RECORDED).unwrap()).unwrap();
    let many: Vec<&Value> = rows.iter().cycle().take(4001).collect();
    for (wrong, told) in [
        (
            "[{\"mode\":\"rot13\"}]".to_owned(),
            "not what `hawser bench cipher --json` printed",
        ),
        (serde_json::to_string(&many).unwrap(), "4001 lines"),
    ] {
        let file = folder.path().join("wrong.json");
        std::fs::write(&file, wrong).unwrap();
        let ran = support::run(&["report", file.to_str().unwrap()]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
    }
}

#[test]
fn a_key_size_that_aes_does_not_have_is_refused() {
    let ran = run(&["--key-bits", "512"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("128, 192, 256"), "{}", ran.stderr);
}
