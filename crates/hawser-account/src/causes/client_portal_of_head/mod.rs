//! A client is logged in at an address that does not move with the pool: a head's own. After a takeover nothing is there.
//!
//! Evidence: the target is a pool's, and its address is none of the pool's. An error, certain. Case: `client-portal-of-head`.

use hawser_model::finding::{Confidence, Place, Severity};
use serde::Serialize;

use crate::cause::{Cause, ClientCause, Found, Words, host};
use crate::clients::{ClientsView, together};

#[derive(PartialEq, Serialize)]
pub(crate) struct ClientPortalOfHead {
    pool: String,
    address: String,
    #[serde(skip)]
    others: Vec<String>,
}

impl ClientCause for ClientPortalOfHead {
    fn find(view: &ClientsView<'_>) -> Vec<Found<Self>> {
        let each = view.devices.iter().flat_map(|device| {
            let pool = device.pool;
            let addresses = device.sessions().iter().filter_map(|it| it.address);
            let others = addresses.filter(|it| pool.link_of(*it).is_none());
            others.map(|address| {
                let own = pool.addresses.values().flatten();
                let evidence = Self {
                    pool: pool.name.clone(),
                    address: address.to_string(),
                    others: own.map(ToString::to_string).collect(),
                };
                (device.client, device.name, evidence)
            })
        });
        together(Severity::Error, Confidence::Certain, each)
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
