//! What the logs of heads tell of which one had a log device of a ZFS pool that the other did not have, when the pool was moved to the
//! other (`cases/refused`). What is expected lies in `cases/incident/`; `UPDATE_CASES=1 cargo test -p hawser-account --test it
//! incident_refused::` writes that again.

use crate::support::logs::{lab, logs};
use crate::support::saved::hold_incident;
use hawser_account::incident::incidents;
use serde_json::json;

/// When they were recorded.
const RECORDED: u64 = 1_796_003_280;

#[test]
fn an_import_that_is_refused_is_told_in_zfs_s_words_and_no_other_head_is_called_slow() {
    let report = incidents(&logs("refused/log-device"), &[], &lab(), RECORDED);
    hold_incident("refused-log-device", &report);
    let [incident] = report.incidents.as_slice() else {
        panic!("{report:#?}");
    };
    let [service] = incident.services.as_slice() else {
        panic!("{incident:#?}");
    };
    let codes: Vec<&str> = service
        .findings
        .iter()
        .map(|it| it.finding.code.as_str())
        .collect();
    assert_eq!(codes, ["start-failed", "engine-throttled"]);
    let refused = &service.findings[0].finding;
    assert_eq!(refused.place.host, Some("head1".into()));
    assert_eq!(
        refused.evidence["said"],
        json!(
            "cannot open 'vmpool02': no such pool; cannot import 'vmpool02': one or more devices is currently unavailable"
        )
    );
}
