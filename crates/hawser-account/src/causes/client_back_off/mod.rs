//! The service stood, and the client came late: the back-off of its TCP connection, or the time
//! after which its initiator gives a session up.
//!
//! Evidence: the time from the end of the last start to the client's new session. Where its own
//! history says that it could connect at once, the reason is another. Likely; a warning from half a
//! second on, unless the address was taken without a gratuitous ARP. Case: `drill/client-back-off`.

use hawser_model::finding::{Confidence, Place, Severity};
use serde::Serialize;

use super::no_gratuitous_arp::{LEAST, silent};
use crate::cause::{Cause, Found, OutageCause, Words, host};
use crate::outage::millis::Millis;
use crate::outage::phase::Phase;
use crate::outage::view::DrillView;

#[derive(Serialize)]
pub(crate) struct ClientBackOff {
    reconnect_ms: Millis,
    outage_ms: Millis,
}

impl OutageCause for ClientBackOff {
    fn find(view: &DrillView<'_>) -> Option<Found<Self>> {
        let waited = view.ms(Phase::ClientReconnect);
        let span = view.of(Phase::ClientReconnect).next()?;
        (waited >= LEAST && silent(view).is_none()).then(|| Found {
            severity: Severity::Warning,
            confidence: Confidence::Likely,
            place: Place::on(&span.host),
            evidence: Self {
                reconnect_ms: waited,
                outage_ms: view.outage_ms(),
            },
        })
    }
}

impl Cause for ClientBackOff {
    const CODE: &'static str = "client-back-off";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        Words {
            text: format!(
                "{} came back {} after the service stood: {}.",
                host(at),
                self.reconnect_ms,
                self.reconnect_ms.of(self.outage_ms),
            ),
            fix: "At the client: TCP asks a silent address again after 1, 3, 7 s. `sysctl \
                  net.ipv4.tcp_syn_linear_timeouts=4` (Linux 6.5) keeps that at 1 s; for open-iscsi \
                  lower `node.conn[0].timeo.noop_out_interval` and `noop_out_timeout` to 1 to 2 s, \
                  for NFS `timeo`. Price: a client that gives up sooner also gives up on a path that was \
                  only slow, and errors reach the application sooner if \
                  `node.session.timeo.replacement_timeout` is lowered with them."
                .to_owned(),
        }
    }
}
