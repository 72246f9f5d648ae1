//! Verbs on the cluster of a lab.

use serde_json::Value;

use super::{Lab, Ran, run};

/// Runs a verb on the lab's cluster.
pub fn verb(lab: &Lab, name: &str, rest: &[&str]) -> Ran {
    run(&[&[name, "--lab", lab.name()], rest].concat())
}

/// The same, which has to succeed; what it printed.
#[track_caller]
pub fn ok(lab: &Lab, name: &str, rest: &[&str]) -> String {
    let ran = verb(lab, name, rest);
    assert_eq!(
        ran.code,
        Some(0),
        "{name} {rest:?}: {}{}",
        ran.stdout,
        ran.stderr
    );
    ran.stdout
}

/// Where a pool is, by the status; else `nowhere`.
pub fn active_on(status: &Value, pool: &str) -> String {
    let pools = status["pools"].as_array().expect("pools");
    let found = pools
        .iter()
        .find(|it| it["name"] == pool)
        .expect("the pool");
    found["active_on"].as_str().unwrap_or("nowhere").to_owned()
}
