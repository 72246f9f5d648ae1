//! `hawser report`: from a case file to a page, or one clear sentence.

mod support;

use std::fs;
use std::process::Command;

use support::{Ran, hawser, run};

/// Writes a case with findings into a folder of its own.
fn case() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("case.json");
    let case = hawser_cases::value("buffer-not-granted").unwrap();
    fs::write(&file, case.to_string()).unwrap();
    (folder, file.to_str().unwrap().to_owned())
}

#[test]
fn a_page_is_written_where_it_is_asked_for() {
    let (folder, case) = case();
    let file = folder.path().join("page.html");
    let file = file.to_str().unwrap();
    let ran = run(&["report", &case, "-o", file]);
    // The case has findings; that a page was written is no finding.
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stdout, format!("Report written: {file}\n"));
    let page = fs::read_to_string(file).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    assert!(page.contains("<h2>Where the packets went</h2>"));
}

#[test]
fn unasked_it_is_written_here_under_the_name_of_the_case() {
    let (_recorded, case) = case();
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(hawser());
    command.args(["report", &case]).current_dir(folder.path());
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.stdout, "Report written: case.html\n", "{ran:?}");
    assert!(folder.path().join("case.html").is_file());
}

#[test]
fn standard_output_holds_the_page_alone() {
    let (_recorded, case) = case();
    let ran = run(&["report", &case, "-o", "/dev/stdout"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.starts_with("<!DOCTYPE html>") && ran.stdout.ends_with("</html>\n"));
}

#[test]
fn what_cannot_be_done_is_said_and_leaves_nothing() {
    let (_recorded, case) = case();
    let folder = tempfile::tempdir().unwrap();
    let within = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let ran = run(&["report", &case, "-o", &within("none/page.html")]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("there is no folder"), "{ran:?}");

    fs::write(within("broken.json"), "{\"format\":").unwrap();
    let ran = run(&["report", &within("broken.json"), "-o", &within("page.html")]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("broken.json"), "{ran:?}");
    assert!(!folder.path().join("page.html").exists());
}
