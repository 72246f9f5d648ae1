//! A client mounts two pools by one version of NFS 4. The client of Linux knows a server by what it answers, not by its address:
//! two addresses of one head are one server (`nfs41_walk_client_list` in fs/nfs/nfs4client.c), and both mounts go over the
//! connection of the first. When the pools part, the second asks a head that no longer has its pool.
//!
//! Evidence: the address that is asked is another pool's than the one that was named (an error, certain); or two pools are mounted by
//! one version, each at its own address yet (a warning). NFS 4.0 names itself otherwise to each address
//! (`nfs4_init_nonuniform_client_string`), and NFS 3 does not know servers. Cases: `client-pools-share-nfs`,
//! `client-pools-may-share-nfs`; near miss: `client-pools-apart-by-version`.

use hawser_model::client::NfsMount;
use hawser_model::finding::{Confidence, Place, Severity};
use serde::Serialize;

use crate::cause::{Cause, ClientCause, Found, Words, host};
use crate::clients::{ClientsView, Device, Kind, pool_at, together};

#[derive(PartialEq, Serialize)]
pub(crate) struct ClientPoolsShareNfs {
    pool: String,
    other: String,
    version: String,
    #[serde(skip)]
    asked: Option<String>,
}

impl ClientCause for ClientPoolsShareNfs {
    fn find(view: &ClientsView<'_>) -> Vec<Found<Self>> {
        let of = |find: fn(&ClientsView<'_>, &Device<'_>, &NfsMount) -> Option<Self>| {
            view.devices.iter().filter_map(move |device| {
                let Kind::Mount(mount) = device.kind else {
                    return None;
                };
                Some((device.client, device.name, find(view, device, mount)?))
            })
        };
        let mut found = together(Severity::Error, Confidence::Certain, of(shared));
        found.extend(together(Severity::Warning, Confidence::Certain, of(alike)));
        found
    }
}

fn shared(
    view: &ClientsView<'_>,
    device: &Device<'_>,
    mount: &NfsMount,
) -> Option<ClientPoolsShareNfs> {
    let other = pool_at(view.run, mount.server)?;
    (other != device.pool).then(|| ClientPoolsShareNfs {
        pool: device.pool.name.clone(),
        other: other.name.clone(),
        version: mount.version.clone().unwrap_or_default(),
        asked: Some(mount.server.to_string()),
    })
}

/// The first of two is left: what is mounted later joins it.
fn alike(
    view: &ClientsView<'_>,
    device: &Device<'_>,
    mount: &NfsMount,
) -> Option<ClientPoolsShareNfs> {
    let version = mount.version.as_ref()?;
    let joins = version.starts_with("4.") && version != "4.0";
    if !joins || shared(view, device, mount).is_some() {
        return None;
    }
    let before = view
        .devices
        .iter()
        .take_while(|it| !std::ptr::eq(*it, device));
    let other = before.filter(|it| it.client == device.client && it.pool != device.pool);
    let same =
        |it: &&Device<'_>| matches!(it.kind, Kind::Mount(other) if other.version == mount.version);
    let other = other.filter(same).find(|it| match it.kind {
        Kind::Mount(other) => shared(view, it, other).is_none(),
        _ => false,
    })?;
    Some(ClientPoolsShareNfs {
        pool: device.pool.name.clone(),
        other: other.pool.name.clone(),
        version: version.clone(),
        asked: None,
    })
}

impl Cause for ClientPoolsShareNfs {
    const CODE: &'static str = "client-pools-share-nfs";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let place = at.object.as_deref().unwrap_or("a directory");
        let (host, pool, other) = (host(at), &self.pool, &self.other);
        let text = match &self.asked {
            Some(asked) => format!(
                "{host} mounts {place} of pool {pool} over its connection to pool {other}, at {asked}. When the pools are on two \
                 heads, every access to it fails: \"Stale file handle\"."
            ),
            None => format!(
                "{host} mounts {place} of pool {pool} by NFS {}, as it does pool {other}. Mounted while both pools are on one head, \
                 both go over one connection, and when the pools part, every access to one of them fails.",
                self.version
            ),
        };
        Words {
            text,
            fix: "Mount each pool by a version of its own: vers=4.2, vers=4.1, vers=4.0. What is mounted has to be unmounted first."
                .into(),
        }
    }
}
