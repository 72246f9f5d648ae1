//! A client reaches a pool over fewer networks than the pool is offered on: one cable or switch takes it away, although
//! another one is there.
//!
//! Evidence: the addresses of its sessions that are logged in, against the pool's addresses in the cluster file. A warning.
//! Cases: `client-one-path`, `client-path-down`, `client-not-joined`; near miss: `client-waits-long-enough`. A mount of NFS has one address.

use std::collections::BTreeSet;

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::LinkName;
use serde::Serialize;

use crate::cause::{Cause, ClientCause, Found, Words, as_number, host};
use crate::clients::{ClientsView, Device, Kind, is_up, together};

#[derive(PartialEq, Serialize)]
pub(crate) struct ClientOnePath {
    pool: String,
    links_used: u64,
    links_offered: u64,
    sessions_down: u64,
    #[serde(serialize_with = "as_number")]
    not_joined: bool,
    #[serde(skip)]
    missing: Vec<String>,
}

impl ClientCause for ClientOnePath {
    fn find(view: &ClientsView<'_>) -> Vec<Found<Self>> {
        let each = view.devices.iter().filter_map(|device| {
            let evidence = one_path(view, device)?;
            Some((device.client, device.name, evidence))
        });
        together(Severity::Warning, Confidence::Certain, each)
    }
}

/// The links over which a device is reached now.
fn used<'a>(device: &Device<'a>) -> BTreeSet<&'a LinkName> {
    let sessions = device.sessions().iter().filter(|it| is_up(it));
    let addresses = sessions.filter_map(|it| it.address);
    addresses.filter_map(|it| device.pool.link_of(it)).collect()
}

fn one_path(view: &ClientsView<'_>, device: &Device<'_>) -> Option<ClientOnePath> {
    let sessions = device.sessions();
    let (used_here, offered) = (used(device), &device.pool.addresses);
    let missing: Vec<&LinkName> = offered
        .keys()
        .filter(|it| !used_here.contains(it))
        .collect();
    if sessions.is_empty() || missing.is_empty() || offered.len() < 2 {
        return None;
    }
    let mut others = view.devices.iter().filter(|other| {
        other.client == device.client && other.pool == device.pool && other.name != device.name
    });
    Some(ClientOnePath {
        pool: device.pool.name.clone(),
        links_used: used_here.len() as u64,
        links_offered: offered.len() as u64,
        sessions_down: sessions.iter().filter(|it| !is_up(it)).count() as u64,
        not_joined: matches!(device.kind, Kind::Disk(_))
            && others.any(|other| missing.iter().all(|link| used(other).contains(link))),
        missing: missing.iter().map(|link| link.to_string()).collect(),
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
            not_joined,
            missing,
        } = self;
        let device = at.object.as_deref().unwrap_or("its disk");
        let missing = missing.join(" and ");
        let text = format!(
            "{} reaches {device} of pool {pool} over {links_used} of {links_offered} networks, not over {missing}.",
            host(at)
        );
        match (sessions_down, not_joined) {
            (0, false) => Words {
                text,
                fix: format!(
                    "At the client: `iscsiadm -m discovery -t sendtargets -p ADDRESS` with an address of the pool, \
                     `iscsiadm -m node --login`, and dm-multipath above the sessions. It needs an interface on {missing}."
                ),
            },
            (0, true) => Words {
                text: format!("{text} It is logged in there too, and nothing joins the two disks."),
                fix: "dm-multipath above the sessions: `hawser clients print multipath.conf` prints its file, whose \
                      `find_multipaths` makes a device of each disk that is seen twice."
                    .to_owned(),
            },
            _ => Words {
                text,
                fix: format!(
                    "A session is down: `iscsiadm -m session -P 1` says since when; `hawser check` whether {missing} \
                     carries traffic."
                ),
            },
        }
    }
}
