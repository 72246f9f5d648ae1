//! What a drill is about: the cluster, the pool that is written to, and whom it hits.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use hawser_cluster::exports::Context;
use hawser_host::site::{Site, SiteError};
use hawser_host::{Clock, Reconnecting};
use hawser_model::cluster_file::{ClusterFile, ExportKind, Pool};
use hawser_model::drill::Moment;
use hawser_model::names::HostName;
use hawser_model::output::cluster::ClusterStatus;

use crate::client_config::{ClientConfig, Volume};
use crate::error::DrillError;
use crate::own_machine;
use crate::watch::EVERY;

/// iSCSI's port (RFC 7143).
const PORT: u16 = 3260;

/// A head that was healed, or has booted, answers after so long at most.
pub(crate) const REACHED: Duration = Duration::from_secs(300);

/// From one look of a wait to the next; on a site that is slow so many times longer.
const STEP: Duration = Duration::from_millis(25);

/// The administration of the cluster, by the code of `hawser status` and `hawser standby`.
pub trait Cluster {
    /// How it stands.
    ///
    /// # Errors
    /// It cannot be asked.
    fn status(&self) -> Result<ClusterStatus, String>;

    /// Puts a node in standby, or out of it, and waits until its pools are where they belong.
    ///
    /// # Errors
    /// What Pacemaker says.
    fn standby(&self, node: &str, on: bool) -> Result<(), String>;
}

/// A pool, which may be active on one head at a time.
#[derive(Clone, Debug)]
pub struct Watched {
    /// Its name.
    pub pool: String,
    /// Where it is mounted.
    pub directory: PathBuf,
}

impl Watched {
    /// The pools of a file. One of ZFS is mounted under its own name if the file says nothing else.
    pub fn of(file: &ClusterFile) -> Vec<Self> {
        let mounted = file.pools.iter().map(|pool| Self {
            pool: pool.name.to_string(),
            directory: PathBuf::from(pool.root()),
        });
        mounted.collect()
    }
}

/// A cluster as a drill sees it.
pub struct DrillContext<'a> {
    /// The way to the heads.
    pub hosts: &'a Reconnecting<'a>,
    /// By which a drill waits.
    pub clock: Clock,
    /// What surrounds them.
    pub site: &'a dyn Site,
    /// The cluster file.
    pub file: &'a ClusterFile,
    /// Its administration.
    pub cluster: &'a dyn Cluster,
    /// How often somebody wanted the drill to end.
    pub interrupted: &'a dyn Fn() -> u32,
    /// How many of those are borne: while something is taken back, all are.
    borne: Cell<u32>,
    /// The heads, in the file's order.
    pub heads: Vec<HostName>,
    /// The machine that the client runs on.
    pub client: HostName,
    /// Its place there, and what it writes to.
    pub client_config: ClientConfig,
    /// The pool that is written to.
    pub pool: String,
    /// The head that has it when the drill begins: whom a fault hits.
    pub active: HostName,
    /// What random choices come from.
    pub seed: u64,
    /// Whether a disk may be broken of which the pool has no copy.
    pub no_copy: bool,
    /// The packages that are brought to another version, as apt-get takes them.
    pub packages: Vec<String>,
    /// What is watched.
    pub watched: Vec<Watched>,
    /// From one look at a head to the next.
    pub looks_every: Duration,
}

impl<'a> DrillContext<'a> {
    /// The context for a drill on `pool`, or on the first pool that is offered by iSCSI (of a path that is written to:
    /// the first pool). Who has it is not known yet.
    ///
    /// # Errors
    /// No such pool, or one that cannot be written to by iSCSI; a client on a head.
    pub fn set(
        hosts: &'a Reconnecting<'a>,
        site: &'a dyn Site,
        file: &'a ClusterFile,
        cluster: &'a dyn Cluster,
        interrupted: &'a dyn Fn() -> u32,
        pool: Option<&str>,
        client_config: ClientConfig,
    ) -> Result<Self, DrillError> {
        let pool = find_pool(file, pool, &client_config)?.name.to_string();
        let client = client_config.host.clone();
        let address: Vec<IpAddr> = client.as_str().parse().into_iter().collect();
        let is_head = own_machine::node_of(file, client.as_str(), &address).is_some();
        if client_config.remote && is_head {
            return refused(format!(
                "{client} is a node of the cluster: a client there falls with what it watches; --client-host names \
                 another host"
            ));
        }
        Ok(Self {
            clock: hosts.clock(),
            hosts,
            site,
            cluster,
            interrupted,
            borne: Cell::new(0),
            active: HostName(String::new()),
            seed: 0,
            no_copy: false,
            packages: Vec::new(),
            heads: file.nodes.iter().map(|n| n.name.get().clone()).collect(),
            client,
            client_config,
            pool,
            watched: Watched::of(file),
            looks_every: EVERY * site.slowness(),
            file,
        })
    }

    /// Takes the head that has the pool now as the one to hit.
    ///
    /// # Errors
    /// Nobody has it, or the cluster is not whole: a drill on such a cluster is an outage. This machine is one of the
    /// heads, and they are real ones.
    pub fn aim(&mut self, now: &ClusterStatus) -> Result<(), DrillError> {
        if !self.site.is_expendable() {
            if let Some(node) = own_machine::node(self.file)? {
                return refused(format!(
                    "nothing was done: this machine is {}, a node of the cluster: a drill would fall with it, and \
                     nobody would heal what it broke; start it on another machine",
                    node.name.get()
                ));
            }
        }
        if !now.redundant || !now.degraded.is_empty() {
            let mut why = now.degraded.clone();
            if why.is_empty() {
                why.push("not every node could be lost now".to_owned());
            }
            return refused(format!(
                "nothing was done: the cluster is not whole, so a fault would be an outage ({}); `hawser \
                 status` says more",
                why.join("; ")
            ));
        }
        let active = now.pools.iter().find(|it| it.name == self.pool);
        match active.and_then(|it| it.active_on.clone()) {
            Some(active) => self.active = active,
            None => return refused(format!("pool {} is active nowhere", self.pool)),
        }
        Ok(())
    }

    /// The folder for what must outlive a drill that is killed.
    ///
    /// # Errors
    /// There is none, and none can be made.
    pub fn folder(&self) -> Result<PathBuf, DrillError> {
        Ok(self.site.notes()?)
    }

    /// Where the client reaches the pool.
    pub fn portals(&self) -> Vec<SocketAddr> {
        let pool = self.file.pools.iter().find(|it| *it.name == self.pool);
        let all = pool.map(addresses).unwrap_or_default();
        all.into_iter()
            .map(|ip| SocketAddr::new(ip, PORT))
            .collect()
    }

    /// The name of the target that is logged in to: the pool's, unless another one is named.
    pub fn target(&self) -> String {
        if let Volume::Unit {
            target: Some(name), ..
        } = &self.client_config.volume
        {
            return name.clone();
        }
        let exports = &self.file.exports;
        let context = Context {
            pool: self.pool.clone(),
            authority: exports
                .iqn
                .as_ref()
                .map(|iqn| iqn.get().clone())
                .unwrap_or_default(),
            portals: Vec::new(),
            backend: exports.backend,
        };
        context.iqn(&self.pool)
    }

    /// Where the pool is mounted.
    pub fn root(&self) -> String {
        let watched = self.watched.iter().find(|it| it.pool == self.pool);
        watched
            .map(|it| it.directory.display().to_string())
            .unwrap_or_default()
    }

    /// The heads that do not have the pool.
    pub fn others(&self) -> impl Iterator<Item = &HostName> {
        self.heads.iter().filter(|head| **head != self.active)
    }

    /// This moment, by the clock of whoever drills: that of every node of a lab.
    pub fn now(&self) -> Moment {
        self.clock.time_of_day()
    }

    /// So many interruptions end nothing; answers how many it were before. While something is taken back, none does.
    pub(crate) fn bear(&self, times: u32) -> u32 {
        self.borne.replace(times)
    }

    /// Whether a head's clock is this machine's: whoever is looked at from outside runs on its kernel.
    pub(crate) fn shares_clock(&self, head: &HostName) -> bool {
        self.site.watcher(head).is_some()
    }

    /// As long as that, on hosts that are slow too.
    pub fn patience(&self, patience: Duration) -> Duration {
        patience.saturating_mul(self.site.slowness())
    }

    /// Asks until the answer is yes; false when it was not within `patience`.
    ///
    /// # Errors
    /// Ctrl-C, or the question's own.
    pub fn wait(
        &self,
        patience: Duration,
        yes: impl FnMut() -> Result<bool, DrillError>,
    ) -> Result<bool, DrillError> {
        let yes = self.unless_interrupted(yes);
        self.clock.wait(patience, self.patience(STEP), yes)
    }

    /// The same every `step`, sparing whoever is asked ([`Clock::wait_sparing`]).
    ///
    /// # Errors
    /// Ctrl-C, or the question's own.
    pub(crate) fn wait_sparing(
        &self,
        patience: Duration,
        step: Duration,
        yes: impl FnMut() -> Result<bool, DrillError>,
    ) -> Result<bool, DrillError> {
        let yes = self.unless_interrupted(yes);
        self.clock.wait_sparing(patience, step, yes)
    }

    fn unless_interrupted(
        &self,
        mut yes: impl FnMut() -> Result<bool, DrillError>,
    ) -> impl FnMut() -> Result<bool, DrillError> {
        move || match (self.interrupted)() > self.borne.get() {
            true => Err(DrillError::Interrupted),
            false => yes(),
        }
    }

    /// Does something again until it succeeds, or will not, within `patience`.
    ///
    /// # Errors
    /// Ctrl-C; why it did not succeed.
    pub(crate) fn until_done(
        &self,
        patience: Duration,
        mut work: impl FnMut() -> Result<(), SiteError>,
    ) -> Result<(), DrillError> {
        let mut last = Ok(());
        let done = self.wait(patience, || {
            last = work();
            Ok(!last.as_ref().is_err_and(|e| e.later))
        });
        last?;
        done.map(drop)
    }
}

fn addresses(pool: &Pool) -> Vec<IpAddr> {
    let links = pool.addresses.values();
    links.flat_map(|it| it.ips()).collect()
}

fn find_pool<'f>(
    file: &'f ClusterFile,
    wanted: Option<&str>,
    client_config: &ClientConfig,
) -> Result<&'f Pool, DrillError> {
    // What lies behind a path nobody here knows: of a pool by NFS, of a kernel's own initiator.
    let by_path = client_config.path().is_some();
    let offered = |pool: &&Pool| {
        by_path || (*pool.exports == ExportKind::Iscsi && !pool.addresses.is_empty())
    };
    let mut all = file.pools.iter().filter(offered);
    let found = match wanted {
        Some(name) => all.find(|pool| *pool.name == name),
        None => all.next(),
    };
    let known: BTreeMap<_, ()> = file
        .pools
        .iter()
        .filter(offered)
        .map(|pool| (pool.name.as_str(), ()))
        .collect();
    found.ok_or_else(|| {
        let known: Vec<&str> = known.into_keys().collect();
        DrillError::CouldNot(format!(
            "there is no pool \"{}\"{}; pools: {}",
            wanted.unwrap_or_default(),
            if by_path {
                ""
            } else {
                " that is offered by iSCSI"
            },
            known.join(", ")
        ))
    })
}

fn refused<T>(what: String) -> Result<T, DrillError> {
    Err(DrillError::CouldNot(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_whose_directory_the_file_does_not_name_is_watched_too() {
        let text = include_str!("../../../examples/lab/machines-zfs.toml");
        let file = hawser_model::cluster_file::parse_complete(text, "machines-zfs.toml").unwrap();
        let watched = Watched::of(&file);
        let places: Vec<_> = watched
            .iter()
            .map(|it| it.directory.display().to_string())
            .collect();
        assert_eq!(places, ["/vmpool01", "/vmpool02"]);
    }
}
