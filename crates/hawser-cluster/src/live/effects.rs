//! The effects of a plan, each by what it asks of the nodes.

use std::time::Duration;

use hawser_host::{Hosts, clock, on_all};
use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::HostName;

use super::settle::{Waiting, wait_settled};
use super::{LiveError, Secrets, ask, device, live_cib, tell};
use crate::host::questions::{
    CompareRunning, InstallExports, InstallWatch, PatchCib, ReadFile, ReloadCorosync, RemoveFile,
    RunningSetting, SeedCib, SetAsideCib, SetDevice, StartEngine, StopEngine, WithdrawWatch,
    WriteFile,
};
use crate::host::{Content, DeviceAction, OwnedFile, WatchAction};
use crate::numbering::Numbering;
use crate::plan::{AUTHKEY, COROSYNC_CONF, Effect, ObjectChange, merge};
use crate::timing::EngineTiming;
use crate::xml::Element;

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

/// How long each Corosync may take to read its file again when one is told to: all are at it within a rotation of the token.
const TAKES: Duration = Duration::from_secs(10);

/// From one question of a wait to the next.
const ASKS: Duration = Duration::from_millis(150);

/// A CIB changes whenever an operation ends; a busy cluster may need several attempts.
const ATTEMPTS: usize = 30;

/// Makes it true.
pub(super) fn perform(
    file: &ClusterFile,
    heads: &mut Hosts,
    secrets: &Secrets,
    effect: &Effect,
    waiting: &mut Waiting<'_>,
) -> Result<(), LiveError> {
    match effect {
        Effect::WriteFile { node, file } => {
            let content = secrets.fill(file)?;
            write(heads, node, &file.path, content)?;
        }
        Effect::RemoveFile { node, path } => {
            let path = path.clone();
            ask(heads, node, &RemoveFile { path })?;
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
            write(heads, node, COROSYNC_CONF, conf(text))?;
        }
        Effect::SetAsideCib { node, cib } => {
            let cib = cib.clone();
            ask(heads, node, &SetAsideCib { cib })?;
        }
        Effect::InstallExports { nodes } => {
            tell(heads, nodes, &InstallExports)?;
        }
        Effect::ReloadCorosync { node, text } => {
            ask(heads, node, &reload(text))?;
            wait_taken(heads)?;
        }
        Effect::RestartCluster { node, text } => {
            on_all(heads, |_, head| head.ask(&StopEngine))?;
            write(heads, node, COROSYNC_CONF, conf(text))?;
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
        Effect::Device { action, nodes } => {
            tell(heads, nodes, &SetDevice { action: *action })?;
            if *action == DeviceAction::Start {
                wait_for_vote(file, heads)?;
            }
        }
        Effect::Watch { action, nodes } => match action {
            WatchAction::Install => {
                let file = Content(file.text.clone().into_bytes());
                tell(heads, nodes, &InstallWatch { file })?;
            }
            WatchAction::Withdraw => tell(heads, nodes, &WithdrawWatch)?,
        },
        Effect::PatchCib { changes, .. } => patch(file, heads, changes)?,
        Effect::WaitSettled => wait_settled(file, heads, waiting)?.or_late()?,
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

fn patch(file: &ClusterFile, heads: &mut Hosts, changes: &[ObjectChange]) -> Result<(), LiveError> {
    for _ in 0..ATTEMPTS {
        let (name, was) = live_cib(file, heads)?.ok_or(LiveError::NotRunning)?;
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
    let joined = clock(heads).wait_sparing(patience, ASKS, || {
        missing = match live_cib(file, heads)? {
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

/// Waits until each Corosync has what its file says. One that refuses to read it goes on as before, and tells its log alone.
fn wait_taken(heads: &mut Hosts) -> Result<(), LiveError> {
    let mut refused = Vec::new();
    let taken = clock(heads).wait(TAKES, ASKS, || {
        let all = on_all(heads, |_, head| head.ask(&CompareRunning))?;
        let others = all.into_iter().filter(|(_, settings)| !settings.is_empty());
        refused = others
            .map(|(node, settings)| not_taken(&node, &settings))
            .collect();
        Ok::<_, LiveError>(refused.is_empty())
    })?;
    match taken {
        true => Ok(()),
        false => Err(LiveError::Failed(refused.join("\n"))),
    }
}

fn not_taken(node: &HostName, settings: &[RunningSetting]) -> String {
    let each = settings.iter().map(|it| match &it.runs {
        Some(runs) => format!("{} = {runs} (in the file: {})", it.name, it.written),
        None => format!("{} = {}", it.name, it.written),
    });
    let each: Vec<String> = each.collect();
    format!(
        "{node}: Corosync did not take its new {COROSYNC_CONF}, and goes on without {}; /var/log/corosync/corosync.log there says why",
        each.join(", ")
    )
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

pub(super) fn write(
    heads: &mut Hosts,
    node: &HostName,
    path: &str,
    file: OwnedFile,
) -> Result<(), LiveError> {
    let path = path.to_owned();
    ask(heads, node, &WriteFile { path, file })
}

/// A `corosync.conf` of this text.
pub(super) fn conf(text: &str) -> OwnedFile {
    OwnedFile {
        mode: 0o644,
        content: Content(text.as_bytes().to_vec()),
    }
}

/// What has the running Corosync take it.
pub(super) fn reload(text: &str) -> ReloadCorosync {
    let file = conf(text);
    ReloadCorosync { file }
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

/// Waits until the quorum device votes. One that does not is no reason to stop: the nodes that see each other have
/// quorum without it, and what it keeps from running is said at the end.
fn wait_for_vote(file: &ClusterFile, heads: &mut Hosts) -> Result<(), LiveError> {
    let clock = clock(heads);
    let votes = || Ok(device::ask(file, heads)?.values().all(Option::is_none));
    clock.wait(VOTES, ASKS, votes).map(drop)
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
