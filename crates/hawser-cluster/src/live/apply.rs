//! Applying a plan: to plan and to do what the plan says until the plan is empty.
//!
//! Every effect names what is to be true afterwards, so a run that was killed anywhere is finished
//! by the next one.

use std::time::Duration;

use hawser_host::{HostError, Hosts, clock, on_all};
use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::HostName;

use super::settle::{Settled, Waiting, not_done, wait_settled};
use super::status::not_running;
use super::undo::{take_back, undo_of};
use super::{Fences, LiveError, OnHead, Secrets, ask, device, gather, head, live_cib, tell};
use crate::host::questions::{
    InstallExports, PatchCib, ReadFile, ReloadCorosync, SeedCib, SetDevice, StartEngine,
    StopEngine, WriteFile,
};
use crate::host::{Content, DeviceWish, OwnedFile};
use crate::numbering::Numbering;
use crate::plan::{
    AUTHKEY, COROSYNC_CONF, Change, Effect, Facts, ObjectChange, Plan, PlanError, PlanReport,
    merge, plan,
};
use crate::simulate::CrmSimulate;
use crate::timing::EngineTiming;
use crate::xml::Element;

/// How a plan is applied.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Also when clients notice it.
    pub allow_disruption: bool,
    /// How long Pacemaker is waited for each time; absent: as long as the slowest pool may take.
    pub timeout: Option<Duration>,
}

/// How far it has come.
#[derive(Debug)]
pub enum Progress<'a> {
    /// This is going to be done.
    Planned(&'a PlanReport),
    /// This is being done.
    Doing(&'a str),
}

/// What was done.
#[derive(Debug, Default)]
pub struct Applied {
    /// The changes, as the first plan had them.
    pub changes: Vec<Change>,
    /// What is to run afterwards and does not, and why.
    pub not_running: Vec<String>,
}

/// Why it was not, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// Something on the nodes must be put right first; nothing was changed.
    #[error("nothing was changed, because this must be put right first:\n{}", .0.join("\n"))]
    Problems(Vec<String>),
    /// Clients would notice it, and nobody has allowed that; nothing was changed.
    #[error(
        "nothing was changed, because clients would notice:\n{}\n--allow-disruption does it all \
         the same", .0.join("\n")
    )]
    Disruptive(Vec<String>),
    /// The plan could not be made.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A node could not do its part.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// A step failed, and what was done before it was taken back.
    #[error("{cause}\n{}", undone.join("\n"))]
    TakenBack {
        /// Why it failed.
        cause: Box<ApplyError>,
        /// What was put back, and what could not be.
        undone: Vec<String>,
    },
    /// The plan is still not empty.
    #[error("after {rounds} rounds this still differs:\n{}", left.join("\n"))]
    NeverDone {
        /// How often it was planned anew.
        rounds: usize,
        /// What differs.
        left: Vec<String>,
    },
}

impl From<HostError> for ApplyError {
    fn from(error: HostError) -> Self {
        Self::Live(error.into())
    }
}

/// A first set-up takes two rounds (files and start, then the CIB); the others are for a cluster
/// that somebody else is changing meanwhile.
const ROUNDS: usize = 6;

/// How long nodes may take to start and to find each other, however short they wait for each other.
const STARTS: Duration = Duration::from_secs(60);

/// How long the nodes may take to find each other after a start: as long as the file has each of them
/// wait for the others (`dc-deadtime`), and the time of a start beside it.
fn joins(file: &ClusterFile) -> Duration {
    Duration::from_millis(EngineTiming::of(file).dc_deadtime.as_millis()) + STARTS
}

/// How long a quorum device may take to give its vote: corosync-qdevice tries to connect for 8 s at most
/// (`connect_timeout`), and qnetd waits for all nodes of a partition to agree on who is in it.
const VOTES: Duration = Duration::from_secs(30);

/// From one question of a wait to the next.
const ASKS: Duration = Duration::from_millis(150);

/// A CIB changes whenever an operation ends; a busy cluster may need several attempts.
const ATTEMPTS: usize = 30;

/// Makes the plan for a live cluster.
///
/// # Errors
/// What cannot be read or understood.
pub fn plan_live(file: &ClusterFile, facts: &Facts, heads: &mut Hosts) -> Result<Plan, ApplyError> {
    let running = facts.nodes.iter().find(|(_, node)| node.running);
    let head = running.and_then(|(name, _)| heads.get_mut(name));
    Ok(match head {
        Some(head) => plan(file, facts, &OnHead::new(head.as_mut()))?,
        None => plan(file, facts, &CrmSimulate)?,
    })
}

/// Applies a cluster file.
///
/// # Errors
/// See [`ApplyError`].
pub fn apply(
    file: &ClusterFile,
    heads: &mut Hosts,
    secrets: &Secrets,
    options: Options,
    said: &mut dyn FnMut(Progress<'_>),
) -> Result<Applied, ApplyError> {
    let mut applied = Applied::default();
    let mut fences = None;
    let (mut first, mut waited) = (true, false);
    for round in 0..ROUNDS {
        let ask = if round == 0 {
            Fences::Asked
        } else {
            Fences::LeftAlone
        };
        if round == 0 {
            said(Progress::Doing(
                "the nodes are asked what they have, and each fence device whether it answers",
            ));
        }
        let mut facts = gather(file, heads, secrets, ask)?;
        match &fences {
            None => fences = Some(facts.fence_status.clone()),
            Some(known) => facts.fence_status.clone_from(known),
        }
        let plan = plan_live(file, &facts, heads)?;
        if plan.is_empty() && plan.report.problems.is_empty() {
            applied.not_running = match round > 0 {
                true => [settle(heads, options, said)?, missing(file, heads)?].concat(),
                false => idle(file, heads, options, said)?,
            };
            return Ok(applied);
        }
        if !plan.report.problems.is_empty() {
            return Err(ApplyError::Problems(plan.report.problems));
        }
        if !plan.under_way.is_empty() && !waited {
            // What is predicted for a cluster that is about to be another one would not come true.
            waited = true;
            settle(heads, options, said)?;
            continue;
        }
        if (plan.is_disruptive() || !plan.taken.is_empty()) && !options.allow_disruption {
            return Err(ApplyError::Disruptive(disruptive(&plan)));
        }
        if std::mem::take(&mut first) {
            applied.changes.clone_from(&plan.report.changes);
            said(Progress::Planned(&plan.report));
        }
        for (i, effect) in plan.effects.iter().enumerate() {
            said(Progress::Doing(&words(effect)));
            if let Err(cause) = perform(file, heads, secrets, effect, options, said) {
                return Err(taken_back(cause, &plan.effects[..=i], &facts, heads));
            }
        }
    }
    let facts = gather(file, heads, secrets, Fences::LeftAlone)?;
    let plan = plan_live(file, &facts, heads)?;
    if !plan.is_empty() {
        return Err(ApplyError::NeverDone {
            rounds: ROUNDS,
            left: plan.report.changes.iter().map(line).collect(),
        });
    }
    applied.not_running = idle(file, heads, options, said)?;
    Ok(applied)
}

/// What does not run although it should. Before that is said of a cluster that is still busy, it may
/// finish what it does.
fn idle(
    file: &ClusterFile,
    heads: &mut Hosts,
    options: Options,
    said: &mut dyn FnMut(Progress<'_>),
) -> Result<Vec<String>, LiveError> {
    let missing = missing(file, heads)?;
    if missing.is_empty() {
        return Ok(missing);
    }
    let late = settle(heads, options, said)?;
    Ok([late, self::missing(file, heads)?].concat())
}

fn missing(file: &ClusterFile, heads: &mut Hosts) -> Result<Vec<String>, LiveError> {
    let silent = device::silent(file, &device::ask(file, heads)?);
    let (name, cib) = live_cib(heads)?.ok_or(LiveError::NotRunning)?;
    let simulator = OnHead::new(head(heads, &name)?.as_mut());
    Ok([silent, not_running(file, &cib, &simulator)?].concat())
}

/// Waits until the quorum device votes. One that does not is no reason to stop: the nodes that see each other have
/// quorum without it, and what it keeps from running is said at the end.
fn wait_for_vote(file: &ClusterFile, heads: &mut Hosts) -> Result<(), LiveError> {
    let clock = clock(heads);
    let votes = || Ok(device::ask(file, heads)?.values().all(Option::is_none));
    clock.wait(VOTES, ASKS, votes).map(drop)
}

/// Takes back what was done before a step failed.
fn taken_back(cause: ApplyError, done: &[Effect], facts: &Facts, heads: &mut Hosts) -> ApplyError {
    let undone = take_back(&undo_of(done, facts), heads);
    match undone.is_empty() {
        true => cause,
        false => ApplyError::TakenBack {
            cause: Box::new(cause),
            undone,
        },
    }
}

fn line(change: &Change) -> String {
    format!("    {}: {}", change.object, change.text)
}

fn disruptive(plan: &Plan) -> Vec<String> {
    let changes = plan.report.changes.iter();
    let changes = changes.filter(|change| change.disruptive);
    let then = plan.report.consequence.iter().chain(&plan.taken);
    let then = then.map(|text| format!("    {text}"));
    changes.map(line).chain(then).collect()
}

/// Waits until Pacemaker is done; what is left when time was over is told.
fn settle(
    heads: &mut Hosts,
    options: Options,
    said: &mut dyn FnMut(Progress<'_>),
) -> Result<Vec<String>, LiveError> {
    Ok(match wait(heads, options, said)? {
        Settled::Done => Vec::new(),
        Settled::Late { seconds, left } => vec![format!(
            "after {seconds} s Pacemaker is not done: {}",
            not_done(&left)
        )],
    })
}

fn wait(
    heads: &mut Hosts,
    options: Options,
    said: &mut dyn FnMut(Progress<'_>),
) -> Result<Settled, LiveError> {
    let mut waiting = Waiting {
        timeout: options.timeout,
        said: &mut |text| said(Progress::Doing(text)),
    };
    wait_settled(heads, &mut waiting)
}

/// What an effect is, for whoever watches.
fn words(effect: &Effect) -> String {
    let names = |nodes: &[HostName]| {
        let names: Vec<&str> = nodes.iter().map(HostName::as_str).collect();
        names.join(", ")
    };
    match effect {
        Effect::WriteFile { node, file } => format!("{} on {node}", file.path),
        Effect::NewAuthkey { nodes, .. } => format!("a new key on {}", names(nodes)),
        Effect::CopyAuthkey { from, to } => format!("the key of {from} on {}", names(to)),
        Effect::AuthkeyMode { node } => format!("mode of {AUTHKEY} on {node}"),
        Effect::WriteCorosyncConf { node, .. } => format!("{COROSYNC_CONF} on {node}"),
        Effect::InstallExports { nodes } => {
            format!("the exports agent on {}", names(nodes))
        }
        Effect::ReloadCorosync => "Corosync reads its configuration anew".into(),
        Effect::RestartCluster => "Corosync and Pacemaker start anew on all nodes".into(),
        Effect::Start { nodes } => format!("Corosync and Pacemaker start on {}", names(nodes)),
        Effect::Device { wish, nodes } => {
            let what = match wish {
                DeviceWish::Start => "starts",
                DeviceWish::Stop | DeviceWish::Withdraw => "ends",
            };
            format!("corosync-qdevice {what} on {}", names(nodes))
        }
        Effect::PatchCib { changes, .. } => match changes.len() {
            1 => "1 change to the CIB".into(),
            several => format!("{several} changes to the CIB"),
        },
        Effect::WaitSettled => "waiting until what is to go has stopped".into(),
    }
}

fn perform(
    file: &ClusterFile,
    heads: &mut Hosts,
    secrets: &Secrets,
    effect: &Effect,
    options: Options,
    said: &mut dyn FnMut(Progress<'_>),
) -> Result<(), ApplyError> {
    match effect {
        Effect::WriteFile { node, file } => {
            let content = secrets.fill(file).map_err(LiveError::from)?;
            write(heads, node, &file.path, content)?;
        }
        Effect::NewAuthkey { nodes, bytes } => {
            let key = key_file(random(*bytes)?);
            for node in nodes {
                write(heads, node, AUTHKEY, key.clone())?;
            }
        }
        Effect::CopyAuthkey { from, to } => {
            let key = read_key(heads, from)?;
            for node in to {
                write(heads, node, AUTHKEY, key.clone())?;
            }
        }
        Effect::AuthkeyMode { node } => {
            let key = read_key(heads, node)?;
            write(heads, node, AUTHKEY, key)?;
        }
        Effect::WriteCorosyncConf { node, text } => {
            let content = Content(text.clone().into_bytes());
            let mode = 0o644;
            write(heads, node, COROSYNC_CONF, OwnedFile { mode, content })?;
        }
        Effect::InstallExports { nodes } => {
            tell(heads, nodes, &InstallExports)?;
        }
        Effect::ReloadCorosync => {
            let (name, _) = live_cib(heads)?.ok_or(LiveError::NotRunning)?;
            ask(heads, &name, &ReloadCorosync)?;
        }
        Effect::RestartCluster => {
            on_all(heads, |_, head| head.ask(&StopEngine))?;
            on_all(heads, |_, head| head.ask(&StartEngine))?;
            wait_joined(file, heads)?;
        }
        Effect::Start { nodes } => {
            let seed = seed(file).to_text();
            let seed = SeedCib { cib: seed };
            on_all(heads, |name, head| match nodes.contains(name) {
                true => head.ask(&seed).and_then(|()| head.ask(&StartEngine)),
                false => Ok(()),
            })?;
            wait_joined(file, heads)?;
        }
        Effect::Device { wish, nodes } => {
            tell(heads, nodes, &SetDevice { wish: *wish })?;
            if *wish == DeviceWish::Start {
                wait_for_vote(file, heads)?;
            }
        }
        Effect::PatchCib { changes, .. } => patch(heads, changes)?,
        Effect::WaitSettled => wait(heads, options, said)?.or_late()?,
    }
    Ok(())
}

/// What a node's first CIB has: the properties, so that the first start does not wait longer for
/// the others than the file says, and nothing is ever decided with fencing off.
fn seed(file: &ClusterFile) -> Element {
    let mut cib = crate::cib::generate(file, &Numbering::of(file, None));
    cib.set("epoch", "0");
    for section in &mut cib.first_or_new("configuration").children {
        if section.name != "crm_config" {
            section.children.clear();
        }
    }
    let sections = &mut cib.first_or_new("configuration").children;
    sections.retain(|section| {
        matches!(
            section.name.as_str(),
            "crm_config" | "nodes" | "resources" | "constraints"
        )
    });
    cib
}

fn patch(heads: &mut Hosts, changes: &[ObjectChange]) -> Result<(), LiveError> {
    for _ in 0..ATTEMPTS {
        let (name, was) = live_cib(heads)?.ok_or(LiveError::NotRunning)?;
        let new = next(merge(&Element::parse(&was, "the live CIB")?, changes)).to_text();
        if ask(heads, &name, &PatchCib { was, new })? {
            return Ok(());
        }
        clock(heads).sleep(ASKS);
    }
    Err(LiveError::Failed(format!(
        "the CIB changed under each of {ATTEMPTS} attempts to change it"
    )))
}

/// The CIB as the next version of itself: a patch to the same version is refused as too old.
fn next(mut cib: Element) -> Element {
    let epoch: u64 = cib.get("epoch").and_then(|n| n.parse().ok()).unwrap_or(0);
    cib.set("epoch", (epoch + 1).to_string());
    cib.set("num_updates", "0");
    cib
}

/// Waits until all nodes of the file are members and one of them decides.
fn wait_joined(file: &ClusterFile, heads: &mut Hosts) -> Result<(), LiveError> {
    let patience = joins(file);
    let mut missing = Vec::new();
    let joined = clock(heads).wait(patience, ASKS, || {
        missing = match live_cib(heads)? {
            Some((_, text)) => not_joined(file, &Element::parse(&text, "the live CIB")?),
            None => file.nodes.iter().map(|n| n.name.to_string()).collect(),
        };
        Ok::<_, LiveError>(missing.is_empty())
    })?;
    match joined {
        true => Ok(()),
        false => Err(LiveError::Failed(format!(
            "{} did not join the cluster within {} s; /var/log/corosync/corosync.log and \
             /var/log/pacemaker/pacemaker.log there say why",
            missing.join(", "),
            patience.as_secs()
        ))),
    }
}

/// The nodes that are not members yet; all of them while nobody decides.
fn not_joined(file: &ClusterFile, cib: &Element) -> Vec<String> {
    let states = cib.first("status").into_iter();
    let states: Vec<&Element> = states.flat_map(|status| status.all("node_state")).collect();
    let decides = cib
        .get("dc-uuid")
        .is_some_and(|dc| !dc.is_empty() && dc != "0");
    let joined = |name: &str| {
        decides
            && states.iter().any(|state| {
                // Since Pacemaker 2.1.6 `crmd` is the time it came up, `0` when it is down.
                state.get("uname") == Some(name)
                    && state.get("join") == Some("member")
                    && !matches!(state.get("crmd"), None | Some("offline" | "0" | ""))
            })
    };
    file.nodes
        .iter()
        .map(|node| node.name.to_string())
        .filter(|name| !joined(name))
        .collect()
}

fn write(heads: &mut Hosts, node: &HostName, path: &str, file: OwnedFile) -> Result<(), LiveError> {
    let path = path.to_owned();
    ask(heads, node, &WriteFile { path, file })
}

fn read_key(heads: &mut Hosts, node: &HostName) -> Result<OwnedFile, LiveError> {
    let path = AUTHKEY.to_owned();
    match ask(heads, node, &ReadFile { path })? {
        Some(file) => Ok(key_file(file.content.0)),
        None => Err(LiveError::Failed(format!(
            "{node} has no {AUTHKEY} any more"
        ))),
    }
}

fn key_file(key: Vec<u8>) -> OwnedFile {
    OwnedFile {
        mode: 0o400,
        content: Content(key),
    }
}

/// Bytes from the kernel's generator.
fn random(bytes: usize) -> Result<Vec<u8>, LiveError> {
    let mut key = vec![0; bytes];
    getrandom::fill(&mut key).map_err(|e| LiveError::Failed(format!("take random bytes: {e}")))?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_model::cluster_file::parse_complete;

    fn file() -> ClusterFile {
        let text = include_str!("../../../../examples/lab/hawser.toml");
        parse_complete(text, "hawser.toml").unwrap()
    }

    #[test]
    fn a_first_cib_has_the_properties_and_nothing_that_runs() {
        let seed = seed(&file());
        let has = |name: &str| seed.walk().iter().any(|e| e.get("name") == Some(name));
        assert!(has("dc-deadtime") && has("stonith-enabled"));
        assert!(!seed.walk().iter().any(|e| e.name == "primitive"));
    }

    #[test]
    fn nodes_that_wait_long_for_each_other_are_waited_for_longer() {
        let with = |initial: &str| {
            let text = include_str!("../../../../examples/lab/hawser.toml");
            let text = text.replace("initial = \"2s\"", initial);
            joins(&parse_complete(&text, "hawser.toml").unwrap()).as_secs()
        };
        // Pacemaker's own 20 s, and Heartbeat's old minute: nobody is given up while he waits as told.
        assert_eq!(with(""), 80);
        assert_eq!(with("initial = \"60s\""), 120);
    }

    #[test]
    fn a_node_has_joined_when_somebody_decides_and_it_is_a_member() {
        let cib = |dc: &str, crmd: &str| {
            let text = format!(
                r#"<cib dc-uuid="{dc}"><configuration/><status>
                <node_state uname="head1" crmd="online" join="member"/>
                <node_state uname="head2" crmd="{crmd}" join="member"/></status></cib>"#
            );
            not_joined(&file(), &Element::parse(&text, "test").unwrap())
        };
        assert_eq!(cib("1", "online"), Vec::<String>::new());
        assert_eq!(cib("1", "1700000000"), Vec::<String>::new());
        assert_eq!(cib("1", "offline"), ["head2"]);
        assert_eq!(cib("0", "online"), ["head1", "head2"]);
    }
}
