//! A client is logged in at an address that does not move with the pool: a head's own. After a takeover nothing is there.
//!
//! Evidence: the target is a pool's, and its address is none of the pool's. An error, certain. Case: `client-portal-of-head`.

use hawser_model::finding::{Confidence, Place, Severity};
use serde::Serialize;

use crate::cause::{Cause, ClientCause, Found, Words, host};
use crate::clients::ClientsView;

#[derive(Serialize)]
pub(crate) struct ClientPortalOfHead {
    pool: String,
    address: String,
    #[serde(skip)]
    others: Vec<String>,
}

impl ClientCause for ClientPortalOfHead {
    fn find(view: &ClientsView<'_>) -> Vec<Found<Self>> {
        let mut found = Vec::new();
        for device in &view.devices {
            let own = || device.pool.addresses.values().flatten();
            for session in device.sessions() {
                let Some(address) = session.address.filter(|it| own().all(|own| own != it)) else {
                    continue;
                };
                found.push(Found {
                    severity: Severity::Error,
                    confidence: Confidence::Certain,
                    place: Place {
                        object: Some(device.name.to_owned()),
                        ..Place::on(device.client)
                    },
                    evidence: Self {
                        pool: device.pool.name.clone(),
                        address: address.to_string(),
                        others: own().map(ToString::to_string).collect(),
                    },
                });
            }
        }
        found
    }
}

impl Cause for ClientPortalOfHead {
    const CODE: &'static str = "client-portal-of-head";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let device = at.object.as_deref().unwrap_or("a disk");
        let Self {
            pool,
            address,
            others,
        } = self;
        Words {
            text: format!(
                "{} is logged in for {device} of pool {pool} at {address}, which is none of the pool's addresses: it stays \
                 where it is when the pool moves.",
                host(at)
            ),
            fix: format!(
                "Log in at {} instead, and `iscsiadm -m node -T TARGET -p {address} --logout` and `-o delete`.",
                others.join(" and ")
            ),
        }
    }
}
