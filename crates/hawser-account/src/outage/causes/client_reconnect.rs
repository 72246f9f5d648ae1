//! The service stood, and the client came late: the back-off of its TCP connection, or the time
//! after which its initiator gives a session up.
//!
//! Evidence: the time from the end of the last start to the client's new session. Where its own
//! history says that it could connect at once, the reason is another. Likely; a warning from half a
//! second on, unless nobody had told it where the address went. Case: `drill/client-back-off`.

use hawser_model::finding::{Confidence, Finding, Severity};

use super::no_gratuitous_arp::{LEAST_MS, silent};
use super::{DrillCause, outage_ms, place};
use crate::causes::support::Draft;
use crate::outage::phase::Phase;
use crate::outage::view::DrillView;

pub(super) const CAUSE: DrillCause = DrillCause {
    code: "client-back-off",
    find,
};

fn find(view: &DrillView<'_>) -> Option<Finding> {
    let waited = view.ms(Phase::ClientReconnect);
    let span = view.of(Phase::ClientReconnect).next()?;
    if waited < LEAST_MS || silent(view).is_some() {
        return None;
    }
    let draft = Draft::new(
        CAUSE.code,
        Severity::Warning,
        Confidence::Likely,
        place(Some(&span.host), None),
    );
    let draft = draft
        .number("reconnect_ms", waited)
        .number("outage_ms", outage_ms(view));
    Some(draft.done())
}
