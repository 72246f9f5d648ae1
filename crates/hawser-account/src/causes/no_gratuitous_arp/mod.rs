//! An address came up on the other head without a gratuitous ARP: clients send to the dead head's MAC
//! address until their neighbour entry fails.
//!
//! Evidence: the agent added the address (its log has that) and its log has no `send_arp`, `arping`
//! or `ndsend` for it; and the client found its path half a second or more after the address was
//! there. Likely; an error. Case: `drill/no-gratuitous-arp`.

use hawser_model::finding::{Confidence, Place, Severity};
use serde::Serialize;

use crate::cause::{Cause, Found, OutageCause, Words, host};
use crate::outage::millis::Millis;
use crate::outage::phase::Phase;
use crate::outage::spans::{Part, part};
use crate::outage::view::DrillView;

#[derive(Serialize)]
pub(crate) struct NoGratuitousArp {
    reconnect_ms: Millis,
    outage_ms: Millis,
}

/// From here on a client that finds its path late is worth a word.
pub(super) const LEAST: Millis = Millis(500);

impl OutageCause for NoGratuitousArp {
    fn find(view: &DrillView<'_>) -> Option<Found<Self>> {
        let waited = view.ms(Phase::ClientReconnect);
        let silent = silent(view).filter(|_| waited >= LEAST)?;
        let host = view.of(Phase::Addresses).next().map(|span| &span.host);
        Some(Found {
            severity: Severity::Error,
            confidence: Confidence::Likely,
            place: Place::of(&silent, host),
            evidence: Self {
                reconnect_ms: waited,
                outage_ms: view.outage_ms(),
            },
        })
    }
}

impl Cause for NoGratuitousArp {
    const CODE: &'static str = "no-gratuitous-arp";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        Words {
            text: format!(
                "{} came up on {} without a gratuitous ARP: the client found it after {}.",
                at.object.as_deref().unwrap_or("An address"),
                host(at),
                self.reconnect_ms.of(self.outage_ms),
            ),
            fix: "Let IPaddr2 send gratuitous ARP: remove `arp_count=0`, and look into pacemaker.log for \
                  why its `send_arp` could not run. Price: five small packets per takeover."
                .to_owned(),
        }
    }
}

/// An address of the client's pool that was taken without a gratuitous ARP.
pub(super) fn silent(view: &DrillView<'_>) -> Option<String> {
    let host = &view.of(Phase::Addresses).next()?.host;
    let logs = view.case.logs.get(host)?;
    let pool = view.own_pool()?;
    let of_pool = pool.resources.iter();
    let mut addresses = of_pool.filter(|r| part(pool, r) == Part::Address);
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
