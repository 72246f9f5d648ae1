//! A client reaches a pool over fewer networks than the pool is offered on: one cable or switch takes it away, although
//! another one is there.
//!
//! Evidence: the addresses of its sessions that are logged in, against the pool's addresses in the cluster file. A warning.
//! Cases: `client-one-path`, `client-path-down`; near miss: `client-waits-long-enough`. A mount of NFS has one address.

use std::collections::BTreeSet;

use hawser_model::client::IscsiSession;
use hawser_model::finding::{Confidence, Place, Severity};
use serde::Serialize;

use crate::cause::{Cause, ClientCause, Found, Words, host};
use crate::clients::{ClientsView, Device, is_up};

#[derive(Serialize)]
pub(crate) struct ClientOnePath {
    pool: String,
    links_used: u64,
    links_offered: u64,
    sessions_down: u64,
    #[serde(skip)]
    missing: Vec<String>,
}

impl ClientCause for ClientOnePath {
    fn find(view: &ClientsView<'_>) -> Vec<Found<Self>> {
        view.devices.iter().filter_map(found).collect()
    }
}

fn found(device: &Device<'_>) -> Option<Found<ClientOnePath>> {
    let sessions = device.sessions();
    if sessions.is_empty() {
        return None;
    }
    let on = |session: &&IscsiSession| {
        let address = session.address?;
        let mut links = device.pool.addresses.iter();
        links.find_map(|(link, addresses)| addresses.contains(&address).then_some(link))
    };
    let up = sessions.iter().copied().filter(|it| is_up(it));
    let used: BTreeSet<_> = up.filter_map(|session| on(&session)).collect();
    let offered = &device.pool.addresses;
    let missing = offered.keys().filter(|link| !used.contains(link));
    let missing: Vec<String> = missing.map(|link| link.to_string()).collect();
    (!missing.is_empty() && offered.len() > 1).then(|| Found {
        severity: Severity::Warning,
        confidence: Confidence::Certain,
        place: Place {
            object: Some(device.name.to_owned()),
            ..Place::on(device.client)
        },
        evidence: ClientOnePath {
            pool: device.pool.name.clone(),
            links_used: used.len() as u64,
            links_offered: offered.len() as u64,
            sessions_down: sessions.iter().filter(|it| !is_up(it)).count() as u64,
            missing,
        },
    })
}

impl Cause for ClientOnePath {
    const CODE: &'static str = "client-one-path";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let Self {
            pool,
            links_used,
            links_offered,
            sessions_down,
            missing,
        } = self;
        let device = at.object.as_deref().unwrap_or("its disk");
        let missing = missing.join(" and ");
        Words {
            text: format!(
                "{} reaches {device} of pool {pool} over {links_used} of {links_offered} networks, not over {missing}.",
                host(at)
            ),
            fix: match sessions_down {
                0 => format!(
                    "At the client: `iscsiadm -m discovery -t sendtargets -p ADDRESS` with an address of the pool, `iscsiadm -m \
                     node --login`, and dm-multipath above the sessions. Without {missing} there, it needs an interface there."
                ),
                _ => format!(
                    "A session is down: `iscsiadm -m session -P 1` says since when; `hawser check` whether {missing} carries \
                     traffic."
                ),
            },
        }
    }
}
