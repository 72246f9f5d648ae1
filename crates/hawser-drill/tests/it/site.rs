//! What surrounds the heads of a simulated cluster, and its administration.

use std::collections::BTreeMap;
use std::path::PathBuf;

use hawser_drill::context::Cluster;
use hawser_host::sim::Fate;
use hawser_host::site::{HostLook, Site, SiteError, SiteFault, Watcher, all_of, all_shown};
use hawser_model::drill::PowerEvent;
use hawser_model::names::HostName;
use hawser_model::output::cluster::{
    ClusterStatus, NodeCondition, NodeStatus, PoolStatus, ServiceState,
};

use crate::bench::{CLUSTER, SITE, World};

/// Looks at a head from outside.
struct FromOutside<'a>(&'a World, &'a HostName);

impl Watcher for FromOutside<'_> {
    fn look(&mut self) -> HostLook {
        let Self(world, head) = self;
        match world.is_on(head) {
            false => HostLook::Off,
            true => HostLook::Mounts {
                places: world.mounts(head),
                engine_since: None,
                nfs_grace: None,
            },
        }
    }
}

impl Cluster for World {
    fn status(&self) -> Result<ClusterStatus, String> {
        let asked = self.asked(CLUSTER, "status");
        asked.map_err(|e| e.to_string())?;
        let whole = self.is_whole();
        let heads = self.file.nodes.iter().map(|node| node.name.get());
        let has = |head: &&HostName, directory: &str| {
            let mut mounts = self.mounts(head).into_iter();
            self.is_on(head) && mounts.any(|place| place == directory)
        };
        let pools = self.file.pools.iter().map(|pool| {
            let directory = pool.directory.as_ref().unwrap().as_str();
            PoolStatus {
                name: pool.name.to_string(),
                active_on: heads.clone().find(|head| has(head, directory)).cloned(),
                addresses: Vec::new(),
                exports: Vec::new(),
            }
        });
        let standby = self.broken().standby.clone();
        let nodes = heads.clone().map(|head| NodeStatus {
            name: head.clone(),
            state: match standby.contains(head.as_str()) {
                true => NodeCondition::Standby,
                false => NodeCondition::Online,
            },
        });
        let degraded = match whole {
            true => Vec::new(),
            false => self.story().0.watch.degraded.clone(),
        };
        Ok(ClusterStatus {
            cluster: self.file.cluster.name.to_string(),
            state: ServiceState::Redundant,
            reason: None,
            quorate: true,
            redundant: whole,
            view_of: None,
            degraded,
            notes: Vec::new(),
            quorum_device: None,
            nodes: nodes.collect(),
            pools: pools.collect(),
            if_lost: BTreeMap::new(),
            last_takeover: None,
        })
    }

    fn standby(&self, node: &str, on: bool) -> Result<(), String> {
        let asked = self.asked(CLUSTER, "standby");
        asked.map_err(|e| e.to_string())?;
        let mut broken = self.broken();
        match on {
            true => {
                broken.standby.insert(node.to_owned());
                drop(broken);
                self.breaks(false);
            }
            false if !broken.may_mend() => return Err("planted".into()),
            false => {
                broken.standby.remove(node);
                drop(broken);
                self.mends();
            }
        }
        Ok(())
    }
}

impl Site for World {
    fn is_expendable(&self) -> bool {
        self.expendable
    }

    fn on_this_machine(&self) -> Option<&str> {
        None
    }

    fn prepare(&self) -> Result<(), SiteError> {
        Ok(())
    }

    fn has_power(&self, host: &HostName) -> Result<bool, SiteError> {
        self.asked(SITE, "has power")?;
        Ok(self.is_on(host))
    }

    fn power_off(&self, host: &HostName) -> Result<(), SiteError> {
        self.asked(SITE, "power off")?;
        self.cuts_power(host);
        Ok(())
    }

    fn power_on(&self, host: &HostName) -> Result<(), SiteError> {
        self.asked(SITE, "power on")?;
        match self.broken().may_mend() {
            true => {}
            false => return Err(SiteError::for_good("planted")),
        }
        self.clock.sleep(self.power_takes);
        self.gives_power(host);
        Ok(())
    }

    fn shows_off(&self, host: &HostName) -> Result<Option<String>, SiteError> {
        self.asked(SITE, "shows off")?;
        Ok((!self.is_on(host)).then(|| self.evidence(true)))
    }

    fn power_log(&self, hosts: &[HostName]) -> Vec<PowerEvent> {
        let events = self.story().power();
        let events = events.filter(|it| hosts.contains(&it.host) && it.at <= self.now());
        events.cloned().collect()
    }

    fn watcher<'a>(&'a self, host: &'a HostName) -> Option<Box<dyn Watcher + 'a>> {
        match self.kernels {
            true => None,
            false => Some(Box::new(FromOutside(self, host))),
        }
    }

    fn stands_still(&self, host: &HostName) -> Result<bool, SiteError> {
        self.asked(SITE, "stands still")?;
        Ok(self.is_on(host) && self.hangs(host))
    }

    fn shelves(&self) -> Vec<HostName> {
        vec!["shelf1".into()]
    }

    fn shelf_of(&self, _: &str) -> Option<HostName> {
        Some("shelf1".into())
    }

    fn break_now(&self, faults: &[SiteFault]) -> Result<(), SiteError> {
        faults.iter().try_for_each(|fault| self.break_one(fault))
    }

    fn shows(&self, faults: &[SiteFault]) -> Result<Option<String>, SiteError> {
        all_shown(faults.iter().map(|fault| self.shows_one(fault)))
    }

    fn mend(&self, faults: &[SiteFault]) -> Result<(), SiteError> {
        all_of(faults.iter().map(|fault| self.mend_one(fault)))
    }

    fn notes(&self) -> Result<PathBuf, SiteError> {
        Ok(self.notes.clone())
    }
}

/// One fault.
impl World {
    fn break_one(&self, fault: &SiteFault) -> Result<(), SiteError> {
        self.asked(SITE, "break")?;
        self.broken().around.push(fault.clone());
        if let (SiteFault::Hung { host }, true) = (fault, self.kernels) {
            self.wire.befalls(host.clone(), Fate::Silent, 0);
        }
        self.breaks(false);
        Ok(())
    }

    fn shows_one(&self, fault: &SiteFault) -> Result<Option<String>, SiteError> {
        self.asked(SITE, "show")?;
        let there = self.broken().around.contains(fault);
        Ok(there.then(|| self.evidence(false)))
    }

    fn mend_one(&self, fault: &SiteFault) -> Result<(), SiteError> {
        self.asked(SITE, "mend")?;
        let mut broken = self.broken();
        if !broken.may_mend() {
            return Err(SiteError::for_good("planted"));
        }
        broken.around.retain(|it| it != fault);
        drop(broken);
        if let (SiteFault::Hung { host }, true) = (fault, self.kernels) {
            match self.is_on(host) {
                true => self.wire.find(host),
                false => self.wire.lose(host.clone()),
            }
        }
        self.mends();
        Ok(())
    }
}
