//! An alarm that gets worse while it stands, on a simulated head.

use crate::simulated::{head, run_head};
use crate::watched::{AllWell, Head};
use hawser_host::sim::Wire;
use hawser_model::finding::Severity;

#[test]
fn the_last_path_to_a_disk_is_told_although_the_first_one_that_failed_was() {
    let wire = Wire::default();
    let head = Head {
        paths: vec![100, 1000],
        ..head(&wire, &[], true)
    };
    let ran = run_head(1200, &wire, head, AllWell::default());
    let told: Vec<_> = ran
        .told
        .iter()
        .map(|(_, sign, code, _)| (*sign, code.as_str()))
        .collect();
    let code = "multipath-path-lost";
    assert_eq!(told, [('+', code), ('!', code)]);
    let alarm = &ran.watch.shown().0.reading.alarms[0];
    assert_eq!(alarm.severity, Severity::Error);
    assert!(alarm.text.contains("nothing reaches its disk"), "{alarm:?}");
}
