//! What heads of a lab answered (`hawser status --facts`) while a fault was planted there, and what is said of it.

use std::fs;

use super::*;
use hawser_cluster::cib::generate;
use hawser_cluster::plan::{Key, diff, merge};

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
        let mut facts: StatusFacts =
            serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        for view in facts.views.values_mut() {
            if let Some(Told::Said(cib)) = &mut view.cib {
                *cib = with_pools_of_today(&golden, cib);
            }
        }
        golden_status(&golden, &format!("recorded/{case}"), &facts);
        cases += 1;
    }
    assert!(cases > 0, "no case in {}", recorded.display());
}

/// The recorded cluster with its pools as this Hawser makes them: what was planted is in its fencing, its orders and
/// its heads, and a pool that is made in another way since then is no news of that hour.
fn with_pools_of_today(golden: &Golden, cib: &str) -> String {
    let live = Element::parse(cib, "the recorded CIB").unwrap();
    let devices = targets(&golden.file);
    let mut changes = diff(&generate(&golden.file, &golden.numbering()), &live).changes;
    changes.retain(|change| match &change.key {
        Key::Resource(id) => !devices.contains_key(id),
        _ => false,
    });
    merge(&live, &changes).to_text()
}
