//! Part of the outage is marked by nothing: no log line, no operation, no event of the client.
//!
//! Evidence: what the phases leave of it. Certain, since it is a remainder; a note from 50 ms on.
//! Case: `drill/logs-missing`.

use hawser_model::finding::{Confidence, Place, Severity};
use serde::Serialize;

use crate::cause::{Cause, Found, OutageCause, Words};
use crate::outage::millis::Millis;
use crate::outage::view::DrillView;

#[derive(Serialize)]
pub(crate) struct UnattributedOutage {
    unattributed_ms: Millis,
    nodes_without_log: usize,
    outage_ms: Millis,
}

const LEAST: Millis = Millis(50);

impl OutageCause for UnattributedOutage {
    const IN_LOGS: bool = true;

    fn find(view: &DrillView<'_>) -> Option<Found<Self>> {
        let rest = Millis(view.account.unattributed_us / 1000);
        let logs = view.case.logs.values();
        (rest >= LEAST).then(|| Found {
            severity: Severity::Note,
            confidence: Confidence::Certain,
            place: Place::default(),
            evidence: Self {
                unattributed_ms: rest,
                nodes_without_log: logs.filter(|logs| logs.pacemaker.is_empty()).count(),
                outage_ms: view.outage_ms(),
            },
        })
    }
}

impl Cause for UnattributedOutage {
    const CODE: &'static str = "unattributed-outage";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, _: &Place) -> Words {
        let logs = match self.nodes_without_log {
            0 => String::new(),
            n => format!(" The log of {n} of the nodes could not be read."),
        };
        let rest = self.unattributed_ms.of(self.outage_ms);
        Words {
            text: format!("Nothing marks {rest}.{logs}"),
            fix: "Look into the logs of that time in the case file. `timestamp: hires` in corosync.conf and \
                  pacemaker.log at its usual level (info) are needed."
                .to_owned(),
        }
    }
}
