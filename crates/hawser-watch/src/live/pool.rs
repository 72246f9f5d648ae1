//! The pools of the page.

use std::net::IpAddr;

use hawser_model::cluster_file::Pool;
use hawser_model::output::cluster::PoolStatus;
use hawser_model::output::live::{Light, LiveAddress, LivePool, PoolAt};
use hawser_model::output::watch::HeadReading;

use super::{All, devices};

impl All<'_> {
    pub(super) fn pool(&self, pool: &Pool) -> LivePool {
        let name: &str = &pool.name;
        let status = self.status.and_then(|status| {
            let mut pools = status.pools.iter();
            pools.find(|status| status.name == name)
        });
        let reading = |head: &&HeadReading| {
            let mut pools = head.pools.iter();
            pools.any(|pool| pool.name == name && pool.here == Some(true))
        };
        let here = self.readings.iter().find(reading);
        let used = here.and_then(|head| {
            let mut pools = head.pools.iter();
            pools.find(|pool| pool.name == name)?.used_percent
        });
        let export = here.and_then(|head| {
            let mut exports = head.exports.iter();
            exports.find(|export| export.pool == name)
        });
        let on = match (here, status) {
            (Some(head), _) => PoolAt::Head(head.name.clone()),
            (None, Some(status)) => match &status.active_on {
                Some(head) => PoolAt::Head(head.clone()),
                None => PoolAt::Nowhere,
            },
            (None, None) => PoolAt::NotKnown,
        };
        let missing = missing(status, export.map_or(&[], |export| &export.missing));
        let offered = export.and_then(|export| export.offered);
        let base = match &on {
            PoolAt::Nowhere => Light::Bad,
            PoolAt::NotKnown => Light::Unknown,
            PoolAt::Head(_) if offered == Some(false) || !missing.is_empty() => Light::Bad,
            PoolAt::Head(_) => Light::Good,
        };
        let storage = match &on {
            PoolAt::Head(head) => self.shown(head).and_then(|shown| shown.storage.as_ref()),
            PoolAt::Nowhere | PoolAt::NotKnown => None,
        };
        let (devices, about_devices) =
            storage.map_or_else(Default::default, |storage| devices::of_pool(pool, storage));
        LivePool {
            name: name.to_owned(),
            light: self.light(base, |alarm| alarm.place.object.as_deref() == Some(name)),
            used_percent: used,
            offered,
            missing,
            devices,
            about_devices,
            addresses: addresses(pool, status),
            on,
        }
    }
}

/// What of a pool does not run where it is, as Pacemaker has it, and what its head does not offer of it.
fn missing(status: Option<&PoolStatus>, not_offered: &[String]) -> Vec<String> {
    let runs = status.filter(|status| status.active_on.is_some());
    let exports = runs.into_iter().flat_map(|status| &status.exports);
    let down = exports.filter(|export| !export.up);
    let down = down.map(|export| format!("{} does not run", export.resource));
    let addresses = runs.into_iter().flat_map(|status| &status.addresses);
    let gone = addresses.filter(|address| !address.up);
    let gone = gone.map(|address| format!("{} is not up", address.address));
    let not_offered = not_offered
        .iter()
        .map(|what| format!("{what} is not offered"));
    down.chain(gone).chain(not_offered).collect()
}

fn addresses(pool: &Pool, status: Option<&PoolStatus>) -> Vec<LiveAddress> {
    let up = |address: &IpAddr| {
        let mut all = status?.addresses.iter();
        Some(all.find(|one| one.address == *address)?.up)
    };
    let mut all = Vec::new();
    for (link, of_link) in &pool.addresses {
        all.extend(of_link.ips().map(|address| LiveAddress {
            address,
            link: link.get().clone(),
            up: up(&address),
        }));
    }
    all
}
