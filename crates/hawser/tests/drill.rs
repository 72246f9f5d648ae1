//! A cluster that is drilled: a switchover and a power cut under a client that knows what it wrote.

mod support;

use serde_json::Value;
use support::{Lab, Ran, json, run};

/// Runs a drill and wants it to pass.
#[track_caller]
fn passes(lab: &Lab, scenario: &str, case: &str) -> Value {
    // How long clients wait is no matter of this test: it must pass on a busy machine too.
    let ran = drill(
        lab,
        &[scenario, "--json", "--case", case, "--budget", "90s"],
    );
    assert_eq!(
        ran.code,
        Some(0),
        "{scenario}: {}{}",
        ran.stdout,
        ran.stderr
    );
    let report = json(&ran, "drill");
    assert_eq!(report["passed"], true, "{report:#}");
    assert_eq!(report["scenario"], scenario);
    assert_eq!(report["two_active"], false);
    let writes = &report["writes"];
    assert!(
        writes["acknowledged"].as_u64().is_some_and(|n| n > 100),
        "{writes}"
    );
    for wrong in ["lost", "stale", "torn"] {
        assert_eq!(writes[wrong], 0, "{wrong}: {report:#}");
    }
    report
}

fn drill(lab: &Lab, rest: &[&str]) -> Ran {
    run(&[&["drill", "--lab", lab.name()], rest].concat())
}

/// What is left of a drill in a lab: its note, its client.
#[track_caller]
fn nothing_is_left(lab: &Lab) {
    let note = hawser_lab::labs_folder().join(lab.name()).join("drill");
    assert!(!note.exists(), "{}", note.display());
    let client = lab.try_sh(
        "client1",
        "pidof hawser-client || ls /tmp/hawser-drill.history",
    );
    assert_ne!(client.code, Some(0), "{}", client.stdout);
}

#[test]
fn a_switchover_and_a_power_cut_lose_no_acknowledged_write() {
    let lab = Lab::up_with(&["--cluster"]);
    let folder = tempfile::tempdir().expect("a folder");
    let case = |name: &str| folder.path().join(name).display().to_string();

    let report = passes(&lab, "switchover", &case("switchover.json"));
    assert_eq!(report["fenced"], serde_json::json!([]));
    nothing_is_left(&lab);

    // The pool is on head2 now.
    let report = passes(&lab, "power-cut", &case("cut.json"));
    assert_eq!(report["fenced"], serde_json::json!(["head2"]));
    assert_eq!(report["outage_over"], true);
    nothing_is_left(&lab);

    // The same again from the case alone.
    let explained = run(&["explain", &case("cut.json"), "--json"]);
    assert_eq!(json(&explained, "drill"), report);
}
