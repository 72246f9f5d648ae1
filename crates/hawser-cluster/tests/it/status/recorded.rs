//! What heads of a lab answered (`hawser status --facts`) while a fault was planted there, and what is said of it.

use std::fs;

use super::*;

#[test]
fn what_was_recorded_in_a_lab_is_judged_as_it_was_read() {
    let golden = Golden::named("lab");
    let recorded = folder("status").join("recorded");
    let mut cases = 0;
    for entry in fs::read_dir(&recorded).unwrap() {
        let path = entry.unwrap().path();
        let Some(case) = path
            .file_name()
            .and_then(|name| name.to_str()?.strip_suffix(".facts.json"))
        else {
            continue;
        };
        let facts: StatusFacts = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        golden_status(&golden, &format!("recorded/{case}"), &facts);
        cases += 1;
    }
    assert!(cases > 0, "no case in {}", recorded.display());
}
