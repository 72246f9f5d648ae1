//! `hawser explain` of what somebody pasted, from a file and from standard input.

mod support;

use std::fs::File;
use std::process::{Command, Stdio};

use support::{Ran, hawser, json};

const PASTE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../cases/paste/receive-errors-no-buffer-errors.txt"
);

fn explain(args: &[&str], stdin: Stdio) -> Ran {
    let mut command = Command::new(hawser());
    Ran::from(
        command
            .arg("explain")
            .args(args)
            .stdin(stdin)
            .output()
            .expect("hawser runs"),
    )
}

#[test]
fn a_paste_is_explained_as_far_as_one_side_goes() {
    let paste = || Stdio::from(File::open(PASTE).expect("a paste"));
    let from_file = explain(&[PASTE], Stdio::null());
    let from_stdin = explain(&["-"], paste());
    assert_eq!(from_file.code, Some(1), "{}", from_file.stderr);
    assert_eq!(
        (from_stdin.code, from_stdin.stdout),
        (Some(1), from_file.stdout.clone())
    );
    assert!(
        from_file
            .stdout
            .contains("What does not follow from one side")
    );
    let answer = explain(&[PASTE, "--json"], Stdio::null());
    assert!(
        json(&answer, "paste")["pastes"][0]["loss"]
            .as_bool()
            .expect("a truth")
    );
    let clean = PASTE.replace("receive-errors-no-buffer-errors", "nothing");
    assert_eq!(explain(&[&clean], Stdio::null()).code, Some(0));
}

#[test]
fn a_text_that_is_neither_says_what_is_known() {
    let cargo = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let ran = explain(&[cargo], Stdio::null());
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("netstat -su"), "{}", ran.stderr);
}
