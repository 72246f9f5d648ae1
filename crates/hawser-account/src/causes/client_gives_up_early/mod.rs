//! A client waits for its storage less long than a takeover takes: its programs get errors, file systems turn read-only,
//! virtual machines stop, although the cluster does what it promises.
//!
//! Evidence: how long each part of the client waits by its own words (or by the cluster file), and the longest outage that is
//! in the heads' logs (certain) or that the cluster file's times make (likely). Always an error. The wait is counted from the
//! moment when the client's kernel has noticed, which is at once where the connection is refused. Cases:
//! `client-gives-up-early`, `client-gives-up-stated`; near misses: `client-waits-long-enough`.

use hawser_model::client::{ClientTold, Wait};
use hawser_model::finding::{Confidence, Place, Severity};
use serde::Serialize;

use crate::cause::{Cause, ClientCause, Found, Tenths, Words, host};
use crate::clients::{ClientsView, Kind, outage, together};

#[derive(PartialEq, Serialize)]
pub(crate) struct ClientGivesUpEarly {
    waits_s: Tenths,
    outage_s: Tenths,
    #[serde(skip_serializing_if = "Option::is_none")]
    incident: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pool: Option<String>,
    #[serde(skip)]
    without_start: bool,
    #[serde(skip)]
    by: By,
}

/// Who gives up.
#[derive(PartialEq)]
enum By {
    Multipath,
    Session,
    SoftMount,
    /// Nobody of whom Hawser can ask.
    Stated,
}

impl ClientCause for ClientGivesUpEarly {
    fn find(view: &ClientsView<'_>) -> Vec<Found<Self>> {
        let longest = outage(view.run);
        let confidence = match longest.incident {
            Some(_) => Confidence::Certain,
            None => Confidence::Likely,
        };
        let early = |waits: f64, pool, by| {
            (waits < longest.seconds).then(|| Self {
                waits_s: Tenths::of(waits),
                outage_s: Tenths::of(longest.seconds),
                incident: longest.incident.clone(),
                pool,
                without_start: view.run.outage.without_start,
                by,
            })
        };
        let devices = view.devices.iter().filter_map(|device| {
            let by = match device.kind {
                Kind::Multipath(..) => By::Multipath,
                Kind::Disk(_) => By::Session,
                Kind::Mount(_) => By::SoftMount,
            };
            let Wait::Seconds(waits) = device.wait()? else {
                return None;
            };
            let evidence = early(waits, Some(device.pool.name.clone()), by)?;
            Some((device.client, device.name, evidence))
        });
        let mut found = together(Severity::Error, confidence, devices);
        found.extend(view.run.clients.iter().filter_map(|(client, told)| {
            let ClientTold::Stated(waits) = told else {
                return None;
            };
            Some(Found {
                severity: Severity::Error,
                confidence,
                place: Place::on(client),
                evidence: early(*waits, None, By::Stated)?,
            })
        }));
        found
    }
}

impl Cause for ClientGivesUpEarly {
    const CODE: &'static str = "client-gives-up-early";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let outage = self.outage_s.0;
        let than = match (&self.incident, self.without_start) {
            (Some(incident), _) => {
                format!(
                    "The longest outage seen was {outage} s (`hawser incident show {incident}`)"
                )
            }
            (None, false) => format!("A takeover is expected to take {outage} s"),
            (None, true) => format!(
                "Until a dead head is known to be off up to {outage} s pass, and its pools start after that"
            ),
        };
        let what = match (&at.object, &self.pool) {
            (Some(device), Some(pool)) => format!("{device} of pool {pool}"),
            _ => "its disks".to_owned(),
        };
        Words {
            text: format!(
                "{} gives up {what} {} s after it notices that the head is gone. {than}: programs get errors.",
                host(at),
                self.waits_s.0,
            ),
            fix: match self.by {
                By::Multipath => {
                    "A larger `no_path_retry` in a `device` section of multipath.conf: it is what holds reads and writes when no path \
                     is left. In `defaults` it does not count for LIO, for which multipath's own table has 12."
                }
                By::Session => {
                    "dm-multipath above it, whose `no_path_retry` waits, or a larger \
                     `node.session.timeo.replacement_timeout`."
                }
                By::SoftMount => {
                    "Mount it `hard`. A soft mount also loses what a program believes to be written."
                }
                By::Stated => {
                    "At the client: a longer time limit of its disks (Windows: `TimeOutValue`, ESXi: the all-paths-down \
                     time). In the cluster file `gives_up` then says the new one."
                }
            }
            .to_owned()
                + match self.by {
                    By::Stated => "",
                    _ => " `hawser clients print` prints settings that outlast a takeover.",
                },
        }
    }
}
