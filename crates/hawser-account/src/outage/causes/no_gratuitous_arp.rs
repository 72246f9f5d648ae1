//! An address came up on the other head and nobody was told: clients send to the dead one's MAC
//! address until their neighbour entry fails.
//!
//! Evidence: the agent added the address (its log has that) and its log has no `send_arp`, `arping`
//! or `ndsend` for it; and the client found its path half a second or more after the address was
//! there. Likely; an error. Case: `drill/no-gratuitous-arp`.

use hawser_model::finding::{Confidence, Finding, Severity};

use super::{DrillCause, outage_ms, place};
use crate::causes::support::Draft;
use crate::outage::phase::Phase;
use crate::outage::spans::{Part, part};
use crate::outage::view::DrillView;

pub(super) const CAUSE: DrillCause = DrillCause {
    code: "no-gratuitous-arp",
    find,
};

/// From here on a client that finds its path late is worth a word.
pub(super) const LEAST_MS: u64 = 500;

fn find(view: &DrillView<'_>) -> Option<Finding> {
    let waited = view.ms(Phase::ClientReconnect);
    let silent = silent(view).filter(|_| waited >= LEAST_MS)?;
    let host = view.of(Phase::Addresses).next().map(|span| &span.host);
    let draft = Draft::new(
        CAUSE.code,
        Severity::Error,
        Confidence::Likely,
        place(host, Some(&silent)),
    );
    let draft = draft
        .number("reconnect_ms", waited)
        .number("outage_ms", outage_ms(view));
    Some(draft.done())
}

/// An address of the client's pool that was taken without a word.
pub(super) fn silent(view: &DrillView<'_>) -> Option<String> {
    let host = &view.of(Phase::Addresses).next()?.host;
    let logs = view.case.logs.get(host)?;
    let mut addresses = view
        .own_pool()?
        .resources
        .iter()
        .filter(|r| part(r) == Part::Address);
    let silent = addresses.find(|resource| {
        let own = format!("({})", resource.name);
        let said = || logs.pacemaker.iter().filter(|line| line.contains(&own));
        let added = said().any(|line| line.contains("Adding inet"));
        let told = said().any(|line| {
            ["send_arp", "arping", "ndsend", "send_ua"]
                .iter()
                .any(|name| line.contains(name))
        });
        added && !told
    });
    silent.map(|resource| resource.name.clone())
}
