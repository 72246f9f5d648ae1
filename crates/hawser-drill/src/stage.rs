//! What a drill is about: the cluster, the pool that is written to, and whom it hits.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hawser_agent::transport::Transport;
use hawser_cluster::exports::Context;
use hawser_cluster::host::drill::HostFault;
use hawser_cluster::host::{DrillAnswer, DrillOrder};
use hawser_lab::{Lab, LabName, Role};
use hawser_model::cluster_file::{ClusterFile, ExportKind, Pool};
use hawser_model::drill::Moment;
use hawser_model::names::{HostName, LinkName};
use hawser_model::output::cluster::ClusterStatus;

use crate::error::DrillError;
use crate::ground::{Ground, RealHeads};
use crate::seat::{Seat, Volume};

/// iSCSI's port (RFC 7143).
const PORT: u16 = 3260;

/// What a real head made on itself it mends after so many seconds, if nobody has.
const MENDS_ITSELF: u32 = 600;

/// A real head that was healed, or has booted, answers after so long at most.
const REACHED: Duration = Duration::from_secs(300);

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

/// A cluster as a drill sees it.
pub struct Stage<'a> {
    /// The lab, or the real heads.
    pub ground: Ground<'a>,
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
    pub seat: Seat,
    /// The pool that is written to.
    pub pool: String,
    /// The head that has it when the drill begins: whom a fault hits.
    pub active: HostName,
    /// What random choices come from.
    pub seed: u64,
    /// What is watched.
    pub watched: Vec<Watched>,
}

impl<'a> Stage<'a> {
    /// The stage for a drill on `pool`, or on the first pool that is offered by iSCSI (of a path that is written to:
    /// the first pool). Who has it is not known yet.
    ///
    /// # Errors
    /// A lab without a client; no such pool, or one that cannot be written to by iSCSI; a client on a head.
    pub fn set(
        ground: Ground<'a>,
        file: &'a ClusterFile,
        cluster: &'a dyn Cluster,
        interrupted: &'a dyn Fn() -> u32,
        pool: Option<&str>,
        seat: Seat,
    ) -> Result<Self, DrillError> {
        let pool = find_pool(file, pool, &seat)?.name.to_string();
        let client = match (&seat.there, &ground) {
            (Some(ssh), _) => ssh.host().clone(),
            (None, Ground::Lab(lab)) => client_of(&Lab::open(lab.as_str())?)?,
            (None, Ground::Heads(_)) => own_name()?,
        };
        if seat.there.is_some() && file.node(client.as_str()).is_some() {
            return refused(format!(
                "{client} is a node of the cluster: a client there falls with what it watches; --client-host names \
                 another host"
            ));
        }
        let watched = file.pools.iter().filter_map(|pool| {
            Some(Watched {
                pool: pool.name.to_string(),
                directory: PathBuf::from(pool.directory.as_ref()?.as_str()),
            })
        });
        Ok(Self {
            ground,
            cluster,
            interrupted,
            borne: Cell::new(0),
            active: HostName(String::new()),
            seed: 0,
            heads: file.nodes.iter().map(|n| n.name.get().clone()).collect(),
            client,
            seat,
            pool,
            watched: watched.collect(),
            file,
        })
    }

    /// Takes the head that has the pool now as the one to hit.
    ///
    /// # Errors
    /// Nobody has it, or the cluster is not whole: a drill on such a cluster is an outage.
    pub fn aim(&mut self, now: &ClusterStatus) -> Result<(), DrillError> {
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

    /// The lab's name.
    ///
    /// # Errors
    /// These are real heads.
    pub fn lab_name(&self) -> Result<&LabName, DrillError> {
        match &self.ground {
            Ground::Lab(name) => Ok(name),
            Ground::Heads(_) => refused("that exists only in a lab".into()),
        }
    }

    /// The lab as it is now: processes change with each power cycle.
    ///
    /// # Errors
    /// It has died, or these are real heads.
    pub fn lab(&self) -> Result<Lab, DrillError> {
        Ok(Lab::open(self.lab_name()?.as_str())?)
    }

    /// The real heads, when they are.
    pub fn real(&self) -> Option<&RealHeads<'a>> {
        match &self.ground {
            Ground::Lab(_) => None,
            Ground::Heads(heads) => Some(heads),
        }
    }

    /// Whether a head has power.
    ///
    /// # Errors
    /// That cannot be known.
    pub fn is_on(&self, head: &HostName) -> Result<bool, DrillError> {
        match self.real() {
            Some(heads) => heads.is_on(head),
            None => Ok(self.lab()?.running().contains(head)),
        }
    }

    /// Switches a head on that is off.
    ///
    /// # Errors
    /// It cannot be switched on.
    pub fn power_on(&self, head: &HostName) -> Result<(), DrillError> {
        match self.real() {
            None => Ok(hawser_lab::power_on(self.lab_name()?, head.as_str()).map(drop)?),
            Some(heads) if heads.is_on(head)? => Ok(()),
            Some(heads) => heads.power(head, Some(true)).map(drop),
        }
    }

    /// Where a drill keeps what must outlive it when it is killed.
    ///
    /// # Errors
    /// There is no such folder, and none can be made.
    pub fn folder(&self) -> Result<PathBuf, DrillError> {
        if self.real().is_none() {
            return Ok(self.lab()?.notes().to_owned());
        }
        let folder = crate::left::notes(self.file.cluster.name.as_str());
        std::fs::create_dir_all(&folder)
            .map_err(|e| DrillError::io("create", folder.display(), e))?;
        Ok(folder)
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
        } = &self.seat.volume
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

    /// The heads that do not have the pool.
    pub fn others(&self) -> impl Iterator<Item = &HostName> {
        self.heads.iter().filter(|head| **head != self.active)
    }

    /// So many interruptions end nothing; answers how many it were before. While something is taken back, none does.
    pub(crate) fn bear(&self, times: u32) -> u32 {
        self.borne.replace(times)
    }

    /// Asks until the answer is yes; false when it was not within `patience`.
    ///
    /// # Errors
    /// Ctrl-C, or the question's own.
    pub fn wait(
        &self,
        patience: Duration,
        mut yes: impl FnMut() -> Result<bool, DrillError>,
    ) -> Result<bool, DrillError> {
        let deadline = Instant::now() + patience;
        loop {
            if (self.interrupted)() > self.borne.get() {
                return Err(DrillError::Interrupted);
            }
            if yes()? {
                return Ok(true);
            }
            if Instant::now() >= deadline {
                return Ok(false);
            }
            std::thread::sleep(Duration::from_millis(25));
        }
    }

    /// A head's address on a link, by which its interface is found.
    ///
    /// # Errors
    /// The cluster file gives it none.
    pub(crate) fn addresses_of(
        &self,
        head: &HostName,
        link: &LinkName,
    ) -> Result<Vec<IpAddr>, DrillError> {
        let node = self.file.node(head.as_str());
        let mut all = node.iter().flat_map(|node| node.addresses.iter());
        match all.find(|(name, _)| *name.get() == *link) {
            Some((_, address)) => Ok(vec![**address]),
            None => refused(format!(
                "{head} has no address on {link} in the cluster file"
            )),
        }
    }

    /// Has a real head make a fault on itself.
    ///
    /// # Errors
    /// It is not reached, or cannot.
    pub(crate) fn make_there(&self, head: &HostName, fault: HostFault) -> Result<(), DrillError> {
        let seconds = MENDS_ITSELF;
        let order = DrillOrder::Make { fault, seconds };
        self.heads()?.ask(head, order).map(drop)
    }

    /// What shows a fault that a real head made on itself.
    ///
    /// # Errors
    /// It is on and cannot be asked.
    pub(crate) fn shown_there(
        &self,
        head: &HostName,
        fault: HostFault,
    ) -> Result<Option<String>, DrillError> {
        let real = self.heads()?;
        match real.ask(head, DrillOrder::Show(fault)) {
            Ok(DrillAnswer::Shown(shown)) => Ok(shown),
            Ok(_) => refused(format!("{head} answered with something else")),
            Err(_) if !real.is_on(head)? => Ok(Some(format!("{head} lost its power by it"))),
            Err(e) => Err(e),
        }
    }

    /// Has a real head mend it. One that has lost its power needs not; one that nobody reaches does so by itself.
    ///
    /// # Errors
    /// It could not be mended, and nobody knows.
    pub(crate) fn mend_there(&self, head: &HostName, fault: HostFault) -> Result<(), DrillError> {
        let real = self.heads()?;
        let mut last = Ok(());
        let done = self.wait(REACHED, || {
            last = match real.ask(head, DrillOrder::Mend(fault.clone())) {
                Ok(_) => Ok(()),
                Err(_) if real.is_on(head).is_ok_and(|on| !on) => Ok(()),
                Err(e) => Err(e),
            };
            Ok(last.is_ok())
        });
        last.and(done.map(drop))
    }

    fn heads(&self) -> Result<&RealHeads<'a>, DrillError> {
        let heads = self.real();
        heads.ok_or_else(|| DrillError::CouldNot("that exists only on real heads".into()))
    }

    /// Runs a line of shell in a node; its output when it succeeds.
    ///
    /// # Errors
    /// No such node, or what the line said when it failed.
    pub fn shell(&self, node: &str, line: &str) -> Result<String, DrillError> {
        let output = self
            .lab()?
            .command(node, ["sh", "-c", line])?
            .stdin(std::process::Stdio::null())
            // Ctrl-C on the terminal is for the drill, which heals; not for what it has under way.
            .process_group(0)
            .output()
            .map_err(|e| DrillError::io("run nsenter for", node, e))?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(DrillError::CouldNot(format!(
                "{node}: {line}: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            ))),
        }
    }
}

/// This moment, by this machine's clock: that of every node of a lab.
pub fn now() -> Moment {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    Moment(now.map_or(0, |t| u64::try_from(t.as_micros()).unwrap_or(u64::MAX)))
}

fn client_of(lab: &Lab) -> Result<HostName, DrillError> {
    let mut machines = lab.spec().nodes.iter();
    let client = machines.find(|node| node.role == Role::Client);
    client.map(|node| node.name.clone()).ok_or_else(|| {
        DrillError::CouldNot(format!(
            "lab {} has no client: a cluster file with links of role \"san\" gives it one",
            lab.name()
        ))
    })
}

fn own_name() -> Result<HostName, DrillError> {
    let path = "/proc/sys/kernel/hostname";
    let name = std::fs::read_to_string(path).map_err(|e| DrillError::io("read", path, e))?;
    Ok(name.trim().into())
}

fn addresses(pool: &Pool) -> Vec<IpAddr> {
    let links = pool.addresses.values();
    links.flat_map(|it| it.as_slice().iter().copied()).collect()
}

fn find_pool<'f>(
    file: &'f ClusterFile,
    wanted: Option<&str>,
    seat: &Seat,
) -> Result<&'f Pool, DrillError> {
    // What lies behind a path nobody here knows: of a pool by NFS, of a kernel's own initiator.
    let by_path = seat.path().is_some();
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
