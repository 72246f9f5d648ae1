//! When one SAN dies, a client's session there holds what is read and written for longer than a whole takeover takes, although
//! multipath has another path.
//!
//! Evidence: the session's own times. A warning, certain. Case: `client-path-held`; near miss: `client-waits-long-enough`.

use hawser_model::client::Wait;
use hawser_model::finding::{Confidence, Place, Severity};
use serde::Serialize;

use crate::cause::{Cause, ClientCause, Found, Tenths, Words, host};
use crate::clients::{ClientsView, Kind, outage, together};

#[derive(PartialEq, Serialize)]
pub(crate) struct ClientPathHeld {
    pool: String,
    /// Absent: it never gives up.
    #[serde(skip_serializing_if = "Option::is_none")]
    held_s: Option<Tenths>,
    outage_s: Tenths,
}

impl ClientCause for ClientPathHeld {
    fn find(view: &ClientsView<'_>) -> Vec<Found<Self>> {
        let longest = outage(view.run).seconds;
        let held = view.devices.iter().filter_map(|device| {
            let Kind::Multipath(_, sessions) = &device.kind else {
                return None;
            };
            if sessions.len() < 2 {
                return None;
            }
            // From the last answer of a network that is silent: it is noticed first, and then waited for.
            let held = sessions.iter().filter_map(|session| {
                let noticed = Wait::Seconds(f64::from(session.notices_s?));
                Some(noticed.then(session.recovery?))
            });
            let held = held.reduce(Wait::longer)?;
            let evidence = (Wait::Seconds(longest) < held).then(|| Self {
                pool: device.pool.name.clone(),
                held_s: match held {
                    Wait::Seconds(seconds) => Some(Tenths::of(seconds)),
                    Wait::Forever => None,
                },
                outage_s: Tenths::of(longest),
            })?;
            Some((device.client, device.name, evidence))
        });
        together(Severity::Warning, Confidence::Certain, held)
    }
}

impl Cause for ClientPathHeld {
    const CODE: &'static str = "client-path-held";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let device = at.object.as_deref().unwrap_or("a device");
        let held = match self.held_s {
            Some(held) => format!("for up to {} s", held.0),
            None => "for ever".to_owned(),
        };
        Words {
            text: format!(
                "When one SAN falls silent, {} holds what is written to {device} of pool {} {held}, although it has another \
                 path: longer than a takeover ({} s).",
                host(at),
                self.pool,
                self.outage_s.0
            ),
            fix: "`fast_io_fail_tmo 5` in multipath.conf, or `node.session.timeo.replacement_timeout = 5` in iscsid.conf \
                  before the login: multipath then goes on over the other path, and holds what has none. `hawser clients \
                  print` prints both."
                .to_owned(),
        }
    }
}
