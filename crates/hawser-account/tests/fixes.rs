//! What is to be tried against a finding, and the traffic on which it is.

use std::fs;

use hawser_account::fixes::{Plan, plans};
use hawser_account::{findings, packets_account};
use hawser_model::case::Case;
use hawser_model::units::Bytes;

/// The plan for this finding of a golden case.
fn plan(case: &str, cause: &str) -> Plan {
    let path = format!(
        "{}/../../cases/{case}/case.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = fs::read_to_string(&path).expect(&path);
    let case: Case = serde_json::from_str(&text).expect(&path);
    let found = findings(&case, &packets_account(&case));
    let mut plans = plans(&case, &found).into_iter();
    plans.find(|p| p.cause == cause).expect("a plan")
}

#[test]
fn a_buffer_that_was_not_granted_is_judged_by_itself_until_it_costs_packets() {
    let due = |case| {
        let plan = plan(case, "buffer-not-granted");
        plan.traffic.expect("the traffic whose receiver asked").due
    };
    assert_eq!(due("buffer-not-granted"), Some(Bytes(8 << 20)));
    assert_eq!(due("buffer-not-granted-lossy"), None);
}
