//! What one head sees of the cluster, and whether it could take over now: all questions at once, each with a limit
//! of its own, so that whatever hangs there is an answer too.

pub(crate) mod bounded;
mod engine;
mod machine;
mod pools;
mod told;
mod zpool;

use std::collections::BTreeMap;

use hawser_model::cluster_file::Pool;
use hawser_model::names::HostName;
use serde::{Deserialize, Serialize};

use super::FenceQuestion;
use crate::exports::host::Parameters;
use crate::plan::WatchFacts;
use crate::plan::boot::BootFacts;

pub use engine::{Fencer, Quorum};
pub use machine::{Clock, Folder, Port, Room};
pub(super) use pools::look_at;
pub use pools::{PoolView, Storage};
pub use told::{Told, WhyNot};

/// How long the questions may take, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Anything on the head itself: a daemon that answers at all answers at once.
    pub head: u32,
    /// A fence device: BMCs take several seconds when they are busy.
    pub device: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self::PATIENT
    }
}

impl Limits {
    /// For somebody who waits in front of a terminal.
    pub const PROMPT: Self = Self { head: 5, device: 6 };

    /// For a program that decides by the answer, on a machine that may be busy: what fence agents themselves allow for
    /// a change of power (`power_timeout` of fence-agents).
    pub const PATIENT: Self = Self {
        head: 15,
        device: 20,
    };

    /// So many times longer, on hosts that are slow.
    pub fn times(self, slowness: u32) -> Self {
        Self {
            head: self.head.saturating_mul(slowness),
            device: self.device.saturating_mul(slowness),
        }
    }

    /// The same when so many seconds are left for the whole view.
    pub fn within(self, seconds: u32) -> Self {
        let each = seconds.saturating_sub(2).max(1);
        Self {
            head: self.head.min(each),
            device: self.device.min(each),
        }
    }

    /// How long a head may look for a pool's disks: a shelf with many takes longer than a daemon, so it has all the
    /// time but for what it takes to tell.
    pub fn disks(self) -> u32 {
        self.view() - 1
    }

    /// How long the whole view of a head may take: its slowest question, and a moment to end what hangs.
    pub fn view(self) -> u32 {
        self.head.max(self.device) + 2
    }
}

/// What a head is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ViewQuestion {
    /// The name of the head in the cluster.
    pub node: HostName,
    /// How long it may take.
    pub limits: Limits,
    /// What is asked beside its view of the membership.
    pub more: Option<Box<MoreQuestions>>,
}

/// What is asked for a whole status.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MoreQuestions {
    /// The nodes of the cluster: for each, the fencer is asked which devices can switch it off.
    pub nodes: Vec<HostName>,
    /// Fence devices whose agents are asked for a status.
    pub devices: Vec<FenceQuestion>,
    /// Whether the quorum device's vote is asked for.
    pub quorum_device: bool,
    /// The pools that this head may run.
    pub pools: Vec<PoolQuestion>,
    /// The addresses of this head on its SANs, each with the name of the link.
    pub ports: BTreeMap<String, String>,
    /// For how many milliseconds the heartbeat links are watched; 0: they are read once.
    pub watch_links_ms: u64,
}

/// A pool that a head is asked about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolQuestion {
    /// Its name.
    pub pool: String,
    /// What its exports are told; none for a pool that offers nothing by the exports agent.
    pub exports: Option<Parameters>,
    /// Whether it offers volumes by iSCSI.
    pub iscsi: bool,
    /// Where it is mounted.
    pub root: String,
    /// What it is made of.
    pub storage: Storage,
}

impl PoolQuestion {
    /// About a pool of which nothing is asked that it offers.
    pub fn of(pool: &Pool) -> Self {
        Self {
            pool: pool.name.to_string(),
            exports: None,
            iscsi: false,
            root: pool.root(),
            storage: Storage::of(pool),
        }
    }
}

/// What a head answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HeadView {
    /// How many seconds ago the first process of the head started.
    pub up_s: Option<u64>,
    /// Whether Corosync runs.
    pub corosync: bool,
    /// Whether Pacemaker runs.
    pub pacemaker: bool,
    /// What its Corosync says of membership and quorum; not asked where none runs.
    pub quorum: Option<Told<Quorum>>,
    /// The state of its controller (`S_IDLE`, `S_PENDING`, …); not asked where Pacemaker does not run.
    pub controller: Option<Told<String>>,
    /// Its CIB; not asked where Pacemaker does not run.
    pub cib: Option<Told<String>>,
    /// What its fencer knows.
    pub fencer: Option<Told<Fencer>>,
    /// The statistics of its heartbeat links (`stats.knet…`), and again when they were watched.
    pub links: Vec<BTreeMap<String, String>>,
    /// What its Corosync says of the nodes (`nodelist.node.…`, `runtime.members.….ip`), by whose numbers the statistics are; not
    /// asked where none runs.
    pub nodes: Option<Told<BTreeMap<String, String>>>,
    /// For each fence device that was asked from here: absent when it answered, else why it would not fence.
    pub fence_status: BTreeMap<String, Option<String>>,
    /// Why the quorum device has no vote here; absent where it votes.
    pub quorum_device: Option<Told<Option<String>>>,
    /// For each service that pools need here: absent when it is ready, else why not.
    pub services: BTreeMap<String, Told<Option<String>>>,
    /// Its pools.
    pub pools: BTreeMap<String, PoolView>,
    /// Files with keys of what is encrypted in pools, and why this head could not use them, in words that follow the path.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub lacks_keys: BTreeMap<String, String>,
    /// The folders that the cluster writes to.
    pub folders: Vec<Folder>,
    /// Its ports, by link.
    pub ports: BTreeMap<String, Port>,
    /// What it would do by itself at its next boot.
    pub boot: Option<Told<BootFacts>>,
    /// The unit of its watch; nothing is said of one where systemd does not run.
    pub watch: Option<Told<Option<WatchFacts>>>,
    /// Its clock.
    pub clock: Option<Clock>,
}

impl HeadView {
    /// Whether it is worth asking again soon: its engine is [silent](Self::engine_is_silent), or has refused, as one that has just
    /// begun does.
    pub fn engine_does_not_answer(&self) -> bool {
        // A fencer without a device for a node may refuse for good.
        let engine = refused(&self.quorum) || refused(&self.controller) || refused(&self.cib);
        engine || refused(&self.nodes) || self.engine_is_silent()
    }

    /// Whether its Corosync or its Pacemaker runs and does not say what it sees of the cluster.
    pub fn hides_the_cluster(&self) -> bool {
        refused(&self.quorum) || refused(&self.cib)
    }

    /// Whether its Corosync, its Pacemaker or a service that pools need did not answer in time, as on a head that is short of
    /// processors. A pool that hangs is another matter: each question about one may leave a process that hangs too.
    pub fn engine_is_silent(&self) -> bool {
        fn silent<T>(part: &Option<Told<T>>) -> bool {
            part.as_ref().is_some_and(Told::is_silent)
        }
        silent(&self.quorum)
            || silent(&self.controller)
            || silent(&self.cib)
            || silent(&self.fencer)
            || self.services.values().any(Told::is_silent)
            // Its tools have a limit of their own, after which they have failed.
            || self.quorum_device.as_ref().is_some_and(|it| it.said().is_none())
    }
}

/// Whether it was asked, and not answered.
fn refused<T>(part: &Option<Told<T>>) -> bool {
    part.as_ref().is_some_and(|it| it.said().is_none())
}

/// Answers.
pub(super) fn take(question: &ViewQuestion) -> HeadView {
    let asked_us = machine::now_us();
    let engine = engine::Asked::begin(question);
    let machine = question
        .more
        .as_deref()
        .map(|more| machine::Asked::begin(more, question.limits));
    let pools = question
        .more
        .as_deref()
        .map(|more| pools::Asked::begin(more, question.limits));
    let mut view = HeadView {
        up_s: machine::up_s(),
        ..HeadView::default()
    };
    engine.end(&mut view);
    if let Some(pools) = pools {
        pools.end(&mut view);
    }
    if let Some(machine) = machine {
        machine.end(&mut view);
    }
    view.clock = Some(Clock {
        asked_us,
        answered_us: machine::now_us(),
    });
    view
}
