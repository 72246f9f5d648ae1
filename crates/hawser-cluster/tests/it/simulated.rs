//! Heads that are simulated: their files, their engine, and one CIB. The scheduler is Pacemaker's own
//! (`crm_simulate`), and what it decides is done at once.
//!
//! What a simulated head answers is what the agent of a real one does; the rules that are not the scheduler's are
//! those of the lab: a start with a seeded CIB makes the head a member (`lab up --cluster`, "4 changes to the CIB",
//! then "35"), a CIB that changed meanwhile is not patched, and a CIB outlives its cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::golden::{Golden, ports};
use crate::scheduler::Scheduler;
use hawser_cluster::cib::edit::with_standby;
use hawser_cluster::corosync::Conf;
use hawser_cluster::host::questions::{
    AskDeviceVote, AskFence, CheckPrograms, CompareRunning, ForgetMove, InstallExports,
    InstallWatch, ListInterfaces, LookAtPools, MoveResource, PatchCib, ReadCib, ReadFile,
    ReloadCorosync, RemoveFile, RestartEngine, RunningSetting, SeedCib, SetAsideCib, SetDevice,
    Settle, Simulate, Standby, StartEngine, StopEngine, TakeInventory, WithdrawEngine,
    WithdrawWatch, WriteFile,
};
use hawser_cluster::host::view::{HeadView, PoolView, Quorum, Told, ViewQuestion};
use hawser_cluster::host::{Inventory, OwnedFile, StoredCib};
use hawser_cluster::live::left_orders;
use hawser_cluster::plan::{COROSYNC_CONF, PortFacts, WatchFacts, WatchUnitFile};
use hawser_cluster::simulate::{Event, Simulator};
use hawser_cluster::units::WATCH_FILE;
use hawser_cluster::xml::Element;
use hawser_host::sim::{self, Wire};
use hawser_host::{Ask, Declined, Host, Hosts};
use hawser_model::names::HostName;

/// The cluster behind all heads.
#[derive(Clone)]
pub struct Cluster {
    /// The CIB: live while one head runs.
    pub cib: Element,
    /// What each head has.
    pub machines: BTreeMap<HostName, Machine>,
    /// The names of the questions about the running cluster that changed something.
    pub obeyed: Vec<&'static str>,
    /// Nothing that Pacemaker decides is done any more.
    pub stuck: bool,
    /// The engine of this head starts, and finds nobody.
    pub never_joins: Option<HostName>,
    /// The Corosync of this head does not take another configuration while it runs.
    pub refuses_reload: Option<HostName>,
    /// This head is gone as soon as it has obeyed a move.
    pub dies_of_a_move: Option<HostName>,
}

/// A head's own state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    pub files: BTreeMap<String, OwnedFile>,
    pub ports: BTreeMap<IpAddr, PortFacts>,
    pub running: bool,
    /// Whether systemd starts its engine at a boot; none: it has no systemd.
    pub starts_at_boot: Option<bool>,
    /// What its Corosync read when it started, or was told to read again.
    pub runs_with: Option<OwnedFile>,
    pub has_exports_agent: bool,
    /// Programs that root must not run, and why.
    pub unfit: BTreeMap<String, String>,
    /// Whether the unit of its watch is installed and runs; none: it has no systemd.
    pub watched: Option<bool>,
    /// How it sees pools; as one that could take them over where nothing is said.
    pub pools: BTreeMap<String, PoolView>,
    /// Its CIB before its Pacemaker ever ran.
    pub seed: Option<String>,
    /// The CIB of another cluster that it keeps. All heads would take it.
    pub old_cib: Option<StoredCib>,
    /// The CIB of another cluster that its engine runs.
    pub other_cib: Option<Element>,
}

/// One head, as its answers see it.
pub struct Head {
    name: HostName,
    cluster: Arc<Mutex<Cluster>>,
    wire: Wire,
}

impl Cluster {
    /// Heads with everything installed and nothing set up.
    pub fn bare(golden: &Golden) -> Arc<Mutex<Self>> {
        let machines = ports(&golden.file).into_iter().map(|(name, ports)| {
            let machine = Machine {
                ports,
                ..Machine::default()
            };
            (name, machine)
        });
        Arc::new(Mutex::new(Self {
            cib: Element::new("cib"),
            machines: machines.collect(),
            obeyed: Vec::new(),
            stuck: false,
            never_joins: None,
            refuses_reload: None,
            dies_of_a_move: None,
        }))
    }

    /// Heads that run, with that CIB.
    pub fn running(golden: &Golden, cib: Element) -> Arc<Mutex<Self>> {
        let all = Self::bare(golden);
        {
            let mut cluster = all.lock().unwrap();
            cluster.cib = cib;
            for machine in cluster.machines.values_mut() {
                machine.running = true;
            }
        }
        all
    }

    /// The engine of a head runs another cluster, of that head alone.
    pub fn runs_another(&mut self, head: &str, cib: Element) {
        let machine = self.machines.get_mut(&HostName::from(head)).unwrap();
        machine.other_cib = Some(cib);
    }

    fn is_member(&self, head: &HostName) -> bool {
        let machine = &self.machines[head];
        machine.running && machine.other_cib.is_none() && self.never_joins.as_ref() != Some(head)
    }

    fn change<A: Ask>(&mut self, _: &A, change: impl FnOnce(&Element) -> Element) {
        self.obeyed.push(A::NAME);
        self.cib = change(&self.cib);
        self.act(&[]);
    }

    /// Pacemaker does what it decides.
    fn act(&mut self, events: &[Event]) {
        if self.stuck {
            return;
        }
        let after = Scheduler.simulate(&self.cib.to_text(), events).unwrap();
        self.cib = Element::parse(&after.cib_after, "the CIB").unwrap();
        forget_orphans(&mut self.cib);
    }
}

/// A way to all heads of a cluster.
pub fn heads(cluster: &Arc<Mutex<Cluster>>, wire: &Wire) -> Hosts {
    let names: Vec<HostName> = cluster.lock().unwrap().machines.keys().cloned().collect();
    let host = |name: HostName| -> (HostName, Box<dyn Host>) {
        let head = Head {
            name: name.clone(),
            cluster: cluster.clone(),
            wire: wire.clone(),
        };
        let host = sim::Simulated::new(name.clone(), head, QUESTIONS, wire);
        (name, Box::new(host))
    };
    names.into_iter().map(host).collect()
}

impl Head {
    fn cluster(&self) -> MutexGuard<'_, Cluster> {
        self.cluster.lock().unwrap()
    }

    fn with<T>(&self, work: impl FnOnce(&mut Machine) -> T) -> T {
        work(self.cluster().machines.get_mut(&self.name).unwrap())
    }
}

hawser_host::answers! {
    Head;
    TakeInventory: |_, head| {
        let set = |names: &[&str]| -> BTreeSet<String> {
            names.iter().map(|name| (*name).to_owned()).collect()
        };
        head.with(|machine| {
            let mut agents = set(&[
                "ocf:heartbeat:Filesystem",
                "ocf:heartbeat:IPaddr2",
                "ocf:pacemaker:ifspeed",
                "stonith:fence_ipmilan",
            ]);
            if machine.has_exports_agent {
                agents.insert("ocf:hawser:exports".into());
            }
            Inventory {
                agents,
                programs: set(&["corosync", "pacemakerd", "ipmitool", "tgtd", "fuser"]),
                features: set(&["cibsecrets"]),
                running: machine.running,
                starts_at_boot: machine.starts_at_boot,
                ports: machine.ports.clone(),
                watch: machine.watched.map(watch_facts),
                stored_cib: machine.old_cib.clone().filter(|_| !machine.running),
                ..Inventory::default()
            }
        })
    };
    ListInterfaces: |_, head| head.with(|machine| {
        let ports = machine.ports.values();
        ports.map(|port| port.interface.clone()).collect()
    });
    LookAtPools: |_, head| head.with(|machine| machine.pools.clone());
    CheckPrograms: |ask, head| {
        head.with(|machine| {
            let unfit = machine.unfit.iter().filter(|(path, _)| ask.programs.contains(*path));
            unfit.map(|(path, why)| (path.clone(), why.clone())).collect()
        })
    };
    InstallExports: |_, head| head.with(|machine| machine.has_exports_agent = true);
    InstallWatch: |ask, head| head.with(|machine| {
        let file = OwnedFile { mode: 0o644, content: ask.file };
        machine.files.insert(WATCH_FILE.into(), file);
        machine.watched = Some(true);
    });
    WithdrawWatch: |_, head| head.with(|machine| machine.watched = Some(false));
    ReadFile: |ask, head| head.with(|machine| machine.files.get(&ask.path).cloned());
    WriteFile: |ask, head| {
        head.with(|machine| machine.files.insert(ask.path, ask.file));
    };
    RemoveFile: |ask, head| {
        head.with(|machine| machine.files.remove(&ask.path));
    };
    ViewQuestion: |_, head| {
        let cluster = head.cluster();
        if !cluster.machines[&head.name].running {
            return Ok(HeadView::default());
        }
        let machines = cluster.machines.iter().zip(1..);
        let other = &cluster.machines[&head.name].other_cib;
        let with_it = machines.filter(|((name, machine), _)| match other {
            Some(_) => **name == head.name,
            None => machine.running && machine.other_cib.is_none(),
        });
        let members: BTreeMap<&HostName, u32> = with_it.map(|((name, _), id)| (name, id)).collect();
        HeadView {
            corosync: true,
            pacemaker: true,
            quorum: Some(Told::Said(Quorum {
                quorate: true,
                ring: "1.8".into(),
                local: members[&head.name],
                members: members.into_values().collect(),
            })),
            controller: Some(Told::Said("S_IDLE".into())),
            cib: Some(Told::Said(other.as_ref().unwrap_or(&cluster.cib).to_text())),
            ..HeadView::default()
        }
    };
    ReadCib: |_, head| {
        let cluster = head.cluster();
        let machine = &cluster.machines[&head.name];
        let cib = machine.other_cib.as_ref().unwrap_or(&cluster.cib);
        machine.running.then(|| cib.to_text())
    };
    PatchCib: |ask, head| {
        let mut cluster = head.cluster();
        if cluster.cib.to_text() != ask.was {
            return Ok(false);
        }
        let new = Element::parse(&ask.new, "the new CIB")?;
        cluster.change(&ask, |_| new);
        true
    };
    SeedCib: |ask, head| {
        head.with(|machine| machine.seed.get_or_insert(ask.cib).len());
    };
    SetAsideCib: |ask, head| {
        head.with(|machine| assert_eq!(machine.old_cib.take(), Some(ask.cib)));
    };
    Simulate: |ask, _| Scheduler.simulate(&ask.cib, &ask.events)?;
    Settle: |_, head| !head.cluster().stuck;
    StartEngine: |_, head| start(head)?;
    StopEngine: |_, head| stop(head);
    WithdrawEngine: |_, head| stop(head);
    RestartEngine: |_, head| {
        stop(head);
        start(head)?;
    };
    ReloadCorosync: |ask, head| {
        head.with(|machine| machine.files.insert(COROSYNC_CONF.into(), ask.file));
        let mut cluster = head.cluster();
        let refuses = cluster.refuses_reload.clone();
        for (name, machine) in &mut cluster.machines {
            if refuses.as_ref() != Some(name) {
                machine.runs_with = machine.files.get(COROSYNC_CONF).cloned();
            }
        }
    };
    CompareRunning: |_, head| head.with(|machine| {
        let token = |file: &OwnedFile| {
            let conf = Conf::parse(&String::from_utf8_lossy(&file.content.0)).unwrap();
            let token = conf.sections("totem").find_map(|totem| totem.value("token").map(str::to_owned));
            token.unwrap_or_default()
        };
        let (runs, written) = (machine.runs_with.as_ref().map(token), machine.files.get(COROSYNC_CONF).map(token));
        let setting = RunningSetting {
            name: "totem.token".into(),
            runs: runs.clone(),
            written: written.clone().unwrap_or_default(),
        };
        Vec::from_iter((machine.running && runs != written).then_some(setting))
    });
    SetDevice: |_, _| ();
    AskDeviceVote: |_, _| None;
    AskFence: |_, _| None;
    Standby: |ask, head| {
        let change = |cib: &Element| with_standby(cib, &ask.node, ask.on);
        head.cluster().change(&ask, change);
    };
    MoveResource: |ask, head| {
        assert!(
            ask.seconds >= 900,
            "the order ends by itself, and not before it is carried out"
        );
        let location = Element::new("rsc_location")
            .with("id", format!("cli-prefer-{}", ask.resource))
            .with("rsc", ask.resource.as_str())
            .with("node", ask.node.as_str())
            .with("score", "INFINITY");
        let mut cluster = head.cluster();
        cluster.change(&ask, |cib| with_constraint(cib, location));
        if cluster.dies_of_a_move.as_ref() == Some(&head.name) {
            head.wire.lose(head.name.clone());
        }
    };
    ForgetMove: |ask, head| {
        let mut cluster = head.cluster();
        let left: Vec<String> = left_orders(&cluster.cib)
            .into_iter()
            .filter(|order| order.resource == ask.resource)
            .map(|order| order.id)
            .collect();
        cluster.change(&ask, |cib| without_constraints(cib, &left));
    };
}

fn watch_facts(installed: bool) -> WatchFacts {
    WatchFacts {
        program: true,
        unit: match installed {
            true => WatchUnitFile::Ours,
            false => WatchUnitFile::None,
        },
        enabled: installed,
        running: installed,
        ..WatchFacts::default()
    }
}

fn start(head: &Head) -> Result<(), Declined> {
    let mut cluster = head.cluster();
    let machine = cluster.machines.get_mut(&head.name).unwrap();
    machine.starts_at_boot = machine.starts_at_boot.map(|_| true);
    if std::mem::replace(&mut machine.running, true) {
        return Ok(());
    }
    if machine.old_cib.is_some() {
        return Err("another cluster's CIB is the newest".into());
    }
    machine.runs_with = machine.files.get(COROSYNC_CONF).cloned();
    let seed = machine.seed.clone();
    if cluster.never_joins.as_ref() == Some(&head.name) {
        let states = cluster.cib.first("status").into_iter();
        let mut states = states.flat_map(|status| &status.children);
        if states.any(|state| state.get("uname") == Some(head.name.as_str())) {
            cluster.act(&[Event::NodeDown(head.name.to_string())]);
        }
        return Ok(());
    }
    if cluster.cib.children.is_empty() {
        let seed = seed.ok_or("a first start without a CIB waits for 20 s")?;
        cluster.cib = Element::parse(&seed, "the seed")?;
    }
    cluster.cib.set("dc-uuid", "1");
    let up = Event::NodeUp(head.name.to_string());
    cluster.act(&[Event::Quorum(true), up]);
    Ok(())
}

fn stop(head: &Head) {
    let mut cluster = head.cluster();
    let down = Event::NodeDown(head.name.to_string());
    let was_member = cluster.is_member(&head.name);
    cluster.machines.get_mut(&head.name).unwrap().running = false;
    // After the last one has stopped nobody decides.
    let mut heads = cluster.machines.keys();
    if was_member && heads.any(|name| cluster.is_member(name)) {
        cluster.act(&[down]);
    }
}

/// What was stopped since no resource is called so any more is forgotten with its history: the controller does that
/// (`lrm_delete`), crm_simulate does not.
fn forget_orphans(cib: &mut Element) {
    let configuration = cib.first("configuration").map(Element::walk);
    let elements = configuration.unwrap_or_default().into_iter();
    let primitives = elements.filter(|it| it.name == "primitive");
    let known: BTreeSet<String> = primitives
        .filter_map(|it| it.get("id").map(str::to_owned))
        .collect();
    // A copy of a clone has its number behind a colon.
    let is_known = |it: &Element| {
        let id = it.get("id").and_then(|id| id.split(':').next());
        id.is_some_and(|id| known.contains(id))
    };
    let nodes = cib.first_or_new("status").children.iter_mut();
    for history in nodes.flat_map(|node| &mut node.children) {
        let lists = history.children.iter_mut();
        for list in lists.filter(|it| it.name == "lrm_resources") {
            list.children.retain(is_known);
        }
    }
}

fn constraints(cib: &mut Element) -> &mut Vec<Element> {
    let configuration = cib.first_or_new("configuration");
    &mut configuration.first_or_new("constraints").children
}

pub fn with_constraint(cib: &Element, constraint: Element) -> Element {
    let mut cib = cib.clone();
    constraints(&mut cib).push(constraint);
    cib
}

fn without_constraints(cib: &Element, ids: &[String]) -> Element {
    let mut cib = cib.clone();
    constraints(&mut cib).retain(|it| !ids.iter().any(|id| it.get("id") == Some(id)));
    cib
}
