//! What a plan must know, read from the nodes.

use std::collections::{BTreeMap, BTreeSet};

use hawser_host::{Host, HostError, Hosts, on_all};
use hawser_model::cluster_file::{ClusterFile, Pool, PoolKind};
use hawser_model::names::HostName;

use super::fence_questions::{answers, questions};
use super::{LiveError, Secrets, live_cib};
use crate::cib::fencing::node_files;
use crate::host::questions::{
    AskFence, CheckPrograms, ListInterfaces, LookAtPools, ReadFile, TakeInventory,
};
use crate::host::view::{Limits, PoolQuestion};
use crate::host::{Inventory, OwnedFile};
use crate::plan::other_cluster::runs_another;
use crate::plan::{AUTHKEY, COROSYNC_CONF, Facts, NodeFacts, hooks, nics};
use crate::units::{self, OURS, WATCH_FILE};

/// Whether what takes seconds is asked as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slow {
    /// Each fence device is asked for its status once, from a node that it does not fence; from each node if it acts by
    /// reservations. Each head looks, for as long as this, for the disks of the pools that it may run.
    Asked(Limits),
    /// Nothing of that.
    LeftAlone,
}

/// How long a fence agent may take when a plan is made: BMCs take several seconds when they are
/// busy, and ipmitool tries four times.
const PATIENT: u32 = 40;

/// Reads everything, from all nodes at the same time.
///
/// # Errors
/// A node that cannot be asked; a secret that cannot be had.
pub fn gather(
    file: &ClusterFile,
    heads: &mut Hosts,
    secrets: &Secrets,
    slow: Slow,
) -> Result<Facts, LiveError> {
    let mut wanted: BTreeMap<String, OwnedFile> = BTreeMap::new();
    for node_file in node_files(file)
        .into_iter()
        .chain(units::drop_in(file))
        .chain(units::alert(file))
    {
        wanted.insert(node_file.path.clone(), secrets.fill(&node_file)?);
    }
    let nodes: Vec<HostName> = heads.keys().cloned().collect();
    let (questions, looks) = match slow {
        Slow::Asked(limits) => (questions(file, &nodes), Some(limits)),
        Slow::LeftAlone => (BTreeMap::new(), None),
    };
    let read = on_all(heads, |name, head| -> Result<_, HostError> {
        let (mut facts, inventory) = node(head, &wanted)?;
        watch_file(head, file, &mut facts)?;
        left_files(head, file, &mut facts)?;
        if nics::named(file) {
            facts.interfaces = Some(head.ask(&ListInterfaces)?);
        }
        let programs = hooks::programs(file, name);
        if !programs.is_empty() {
            facts.unfit_programs = head.ask(&CheckPrograms { programs })?;
        }
        if let Some(limits) = looks {
            let pools = pool_questions(file, name, &inventory.programs);
            facts.pools = head.ask(&LookAtPools { pools, limits })?;
        }
        let mut said = BTreeMap::new();
        for question in questions.get(name).into_iter().flatten() {
            // Without the agent there is nobody to ask, which the plan says anyway.
            if inventory
                .agents
                .contains(&format!("stonith:{}", question.agent))
            {
                let words = head.ask(&AskFence {
                    device: question.clone(),
                    files: wanted.clone(),
                    seconds: PATIENT,
                })?;
                said.insert(question.name.clone(), words);
            }
        }
        Ok((facts, said))
    })?;
    let mut facts = Facts {
        fence_status: answers(file, read.iter().map(|(name, (_, said))| (name, said))),
        ..Facts::default()
    };
    facts
        .nodes
        .extend(read.into_iter().map(|(name, (node, _))| (name, node)));
    facts.cib = cib(file, heads, &facts)?;
    Ok(facts)
}

/// The CIB of the file's cluster. Heads that run another one are not asked for theirs.
fn cib(file: &ClusterFile, heads: &mut Hosts, facts: &Facts) -> Result<Option<String>, LiveError> {
    let running = facts.nodes.iter().filter(|(_, node)| node.running);
    let (others, ours): (Vec<_>, Vec<_>) = running.partition(|(_, node)| runs_another(file, node));
    if ours.is_empty() {
        return Ok(None);
    }
    let apart = others.into_iter();
    let apart: Hosts = apart
        .filter_map(|(name, _)| heads.remove_entry(name))
        .collect();
    let cib = live_cib(file, heads);
    heads.extend(apart);
    Ok(cib?.map(|(_, cib)| cib))
}

/// The pools that this node may run, less those whose disks it has no program to look for: a plan names that program. What a pool
/// offers is asked nowhere: it may not be there yet.
fn pool_questions(
    file: &ClusterFile,
    node: &HostName,
    programs: &BTreeSet<String>,
) -> Vec<PoolQuestion> {
    let can_look = |pool: &&Pool| match *pool.kind {
        PoolKind::Filesystem => true,
        PoolKind::Lvm => programs.contains("lvm"),
        PoolKind::Zfs => programs.contains("zpool"),
    };
    let pools = file.pools_on(node).filter(can_look);
    pools.map(PoolQuestion::of).collect()
}

/// What the cluster file is that a head's watch judges by.
fn watch_file(
    head: &mut dyn Host,
    file: &ClusterFile,
    facts: &mut NodeFacts,
) -> Result<(), HostError> {
    if let (Some(watch), true) = (&mut facts.watch, file.watch.unit) {
        let path = WATCH_FILE.to_owned();
        let there = head.ask(&ReadFile { path })?;
        watch.file = there.map(|there| there.content.0 == file.text.as_bytes());
    }
    Ok(())
}

/// What an apply left that the file does not want any more.
fn left_files(
    head: &mut dyn Host,
    file: &ClusterFile,
    facts: &mut NodeFacts,
) -> Result<(), HostError> {
    for (path, _) in units::not_wanted(file) {
        let there = head.ask(&ReadFile { path: path.into() })?;
        let ours = |there: &OwnedFile| {
            let text = String::from_utf8_lossy(&there.content.0);
            text.lines().any(|line| line.starts_with(OURS))
        };
        if let Some(there) = there.filter(ours) {
            facts.files.insert(path.into(), there.facts(&there));
        }
    }
    Ok(())
}

fn node(
    head: &mut dyn Host,
    wanted: &BTreeMap<String, OwnedFile>,
) -> Result<(NodeFacts, Inventory), HostError> {
    let inventory = head.ask(&TakeInventory)?;
    let mut read = |path: &str| {
        let path = path.to_owned();
        head.ask(&ReadFile { path })
    };
    let corosync_conf = read(COROSYNC_CONF)?;
    let authkey = read(AUTHKEY)?;
    let mut files = BTreeMap::new();
    for (path, wanted) in wanted {
        if let Some(there) = read(path)? {
            files.insert(path.clone(), there.facts(wanted));
        }
    }
    let facts = NodeFacts {
        corosync_conf: corosync_conf
            .map(|file| String::from_utf8_lossy(&file.content.0).into_owned()),
        authkey: authkey.map(|file| file.key_facts()),
        files,
        agents: inventory.agents.clone(),
        programs: inventory.programs.clone(),
        features: inventory.features.clone(),
        running: inventory.running,
        exports_outdated: inventory.exports_outdated,
        unfit_programs: BTreeMap::new(),
        interfaces: None,
        no_lio: inventory.no_lio.clone(),
        systemd: inventory.systemd,
        starts_at_boot: inventory.starts_at_boot,
        device: inventory.device,
        boot: Some(inventory.boot.clone()),
        ports: inventory.ports.clone(),
        watch: inventory.watch,
        stored_cib: inventory.stored_cib.clone(),
        pools: BTreeMap::new(),
    };
    Ok((facts, inventory))
}
