//! Building a lab, or finding that it stands already.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::cluster::{arbiter, bmc, make_pools, secrets, shelf};
use crate::down::take_apart;
use crate::error::LabError;
use crate::impair::{Restored, apply_switch, machine};
use crate::init::SWITCHES;
use crate::lab::need_root;
use crate::lock::Lock;
use crate::machines::door::{self, Terminal};
use crate::machines::{self, Kind};
use crate::name::LabName;
use crate::paths::{LabDir, Root};
use crate::power;
use crate::spec::{LabSpec, NodeSpec, Role};
use crate::start::Starting;
use crate::state::{NodeState, Phase, State};
use crate::{plan, tool, wiring};

/// How long a step of setting up certificates may take.
const STEP: Duration = Duration::from_secs(30);

/// A lab to bring up.
pub struct UpRequest<'a> {
    /// Its name.
    pub name: &'a LabName,
    /// What it is to be made of; absent: as it stands, or the default.
    pub spec: Option<&'a LabSpec>,
    /// The `hawser` binary that its nodes run and see.
    pub binary: &'a Path,
    /// Told what takes long.
    pub told: &'a dyn Fn(&str),
    /// Asked between steps: whether the user wants to stop.
    pub interrupted: &'a dyn Fn() -> bool,
}

/// What `up` did.
#[derive(Debug)]
pub struct Up {
    /// About the lab.
    pub outcome: UpOutcome,
    /// Machine-wide settings that a lab which is gone had left changed, and that were put back.
    pub restored: Vec<Restored>,
}

/// What `up` found and did about the lab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpOutcome {
    /// Built from nothing.
    Built,
    /// It stood already, whole.
    AlreadyUp,
    /// It stood, but these nodes had died and were started again.
    Restarted(Vec<String>),
    /// The remains of an earlier one were removed first.
    Rebuilt {
        /// What was wrong with it.
        because: String,
    },
}

/// Brings a lab up. On any error, what had been made is removed again.
///
/// # Errors
/// Not root; the folder is no lab's; the lab is up with another layout; whatever a step says.
pub fn up(request: &UpRequest<'_>) -> Result<Up, LabError> {
    need_root()?;
    let root = Root::from_environment();
    let restored = machine::restore_stale(&root)?;
    let outcome = stand(&root, request)?;
    Ok(Up { outcome, restored })
}

fn stand(root: &Root, request: &UpRequest<'_>) -> Result<UpOutcome, LabError> {
    let dir = root.lab(request.name);
    // Before a lock is made beside somebody else's files.
    dir.check_own()?;
    let lock = Lock::take(root.lock(request.name), &format!("lab {}", request.name))?;
    let (spec, outcome) = match State::load(&dir) {
        Ok(None) => (request.spec.cloned().unwrap_or_default(), UpOutcome::Built),
        Ok(Some(mut state)) => match standing(&dir, &mut state, request)? {
            Some(outcome) => return Ok(outcome),
            None => {
                let because = because(&state);
                let spec = request.spec.cloned().unwrap_or_else(|| state.spec.clone());
                (spec, UpOutcome::Rebuilt { because })
            }
        },
        Err(e) => {
            let spec = request.spec.cloned().unwrap_or_default();
            let because = e.to_string();
            (spec, UpOutcome::Rebuilt { because })
        }
    };
    take_apart(root, request.name)?;
    match build(&dir, &spec, request) {
        Ok(()) => Ok(outcome),
        Err(e) => {
            let removed = take_apart(root, request.name);
            lock.remove();
            root.remove_if_empty();
            removed?;
            Err(e)
        }
    }
}

/// A lab that stands well enough to be left or repaired; `None` when it must be rebuilt.
fn standing(
    dir: &LabDir,
    state: &mut State,
    request: &UpRequest<'_>,
) -> Result<Option<UpOutcome>, LabError> {
    if !state.is_of_this_boot() || state.phase != Phase::Up || state.switches_running().is_none() {
        return Ok(None);
    }
    if request.spec.is_some_and(|spec| *spec != state.spec) {
        return Err(LabError::OtherLayout(state.name.to_string()));
    }
    let dead: Vec<String> = state
        .nodes
        .iter()
        .filter(|(_, node)| node.powered && node.running().is_none())
        .map(|(name, _)| name.to_string())
        .collect();
    bmc::start_missing(dir, state)?;
    if dead.is_empty() {
        return Ok(Some(UpOutcome::AlreadyUp));
    }
    let mut started = Vec::new();
    for node in &dead {
        started.push((node.as_str(), power::start(dir, state, node)?));
    }
    machines::wait_until_up(
        dir,
        &state.spec,
        &started,
        &|| match (request.interrupted)() {
            true => Err(LabError::Boots(format!("{} are", dead.join(", ")))),
            false => Ok(()),
        },
    )?;
    Ok(Some(UpOutcome::Restarted(dead)))
}

fn because(state: &State) -> String {
    if state.is_of_this_boot() {
        state.missing().join(", ")
    } else {
        "the machine was booted since".to_owned()
    }
}

fn build(dir: &LabDir, spec: &LabSpec, request: &UpRequest<'_>) -> Result<(), LabError> {
    let stop = || match (request.interrupted)() {
        true => Err(LabError::Interrupted),
        false => Ok(()),
    };
    let mut state = State::new(request.name, spec)?;
    if spec.kind.is_machine() {
        machines::check_host(spec, dir)?;
        let waiting = machines::image::Waiting {
            told: request.told,
            interrupted: request.interrupted,
        };
        for kind in spec.kinds() {
            let (boots, _) = machines::image::ensure(spec.content(kind), &waiting)?;
            state.boots.insert(kind, boots);
        }
    }
    let folder = |path: &Path| {
        fs::create_dir_all(path).map_err(|e| LabError::io("create the folder", path, e))
    };
    // The state first: a folder without it is known as a lab's only while it is empty.
    folder(dir.path())?;
    state.save(dir)?;
    folder(&dir.bin())?;
    let binary = dir.binary();
    fs::copy(request.binary, &binary).map_err(|e| LabError::io("copy", request.binary, e))?;
    // The verifying client is a program of its own; where it was built, it lies beside this one.
    let inside = dir.client();
    let client = request
        .binary
        .with_file_name(inside.file_name().unwrap_or_default());
    if client.exists() {
        fs::copy(&client, &inside).map_err(|e| LabError::io("copy", &client, e))?;
    }
    stop()?;

    if let Some(cluster) = &spec.cluster {
        secrets::make(dir, cluster)?;
        shelf::make(dir, cluster)?;
    }
    if spec.kind.is_machine() {
        machines::keys(dir)?;
    }
    let mut switches = Starting::spawn(dir, &state.token, SWITCHES)?;
    let mut nodes = Vec::new();
    for node in &spec.nodes {
        nodes.push(Starting::spawn(dir, &state.token, node.name.as_str())?);
    }
    let bridges = switches.ready()?;
    state.switches = Some(bridges);
    let mut network = plan::switches(spec);
    network.extend(bmc::addresses(&state));
    tool::batch(bridges, "ip", &network)?;
    for switch in spec.switches.iter().filter(|switch| switch.querier) {
        apply_switch(&state, bridges, &switch.name)?;
    }
    let mut inits = Vec::new();
    for node in &mut nodes {
        stop()?;
        let init = node.ready()?;
        if let Some(entry) = state.nodes.get_mut(node.node.as_str()) {
            entry.init = Some(init);
        }
        inits.push(init);
    }
    let plugged: Vec<_> = spec
        .nodes
        .iter()
        .zip(inits)
        .collect::<Vec<(&NodeSpec, _)>>();
    wiring::plug(&state, bridges, &plugged)?;
    stop()?;
    if spec.kind.is_machine() {
        nodes.iter_mut().try_for_each(Starting::begin)?;
        let cases = plugged
            .iter()
            .map(|(node, case)| (node.name.as_str(), *case));
        let cases: Vec<_> = cases.collect();
        machines::wait_until_up(dir, spec, &cases, &stop)?;
        let members: Vec<&str> = state.members().map(|node| node.name.as_str()).collect();
        let mut heads = cases;
        heads.retain(|(node, _)| members.contains(node));
        make_pools::make(dir, spec, &heads, &stop)?;
    }
    certify(dir, &state, &stop)?;
    // The nodes live without us from here on. Until the last line they belong to a lab that is
    // still being built, and whoever finds that takes them away, by the token.
    state.save(dir)?;
    switches.go()?;
    bmc::start_missing(dir, &state)?;
    nodes.into_iter().try_for_each(Starting::go)?;
    state.phase = Phase::Up;
    state.save(dir)
}

/// Sets up the certificates of the arbiter and of the heads, where there is an arbiter.
fn certify(
    dir: &LabDir,
    state: &State,
    stop: &dyn Fn() -> Result<(), LabError>,
) -> Result<(), LabError> {
    let mut nodes = state.spec.nodes.iter();
    let Some((arbiter, cluster)) = nodes
        .find(|node| node.role == Role::Arbiter)
        .zip(state.spec.cluster.as_ref())
    else {
        return Ok(());
    };
    let heads: Vec<_> = state.members().map(|node| node.name.clone()).collect();
    arbiter::certify(&arbiter.name, &heads, &mut |node, step, input| {
        stop()?;
        let running = state.nodes.get(node).and_then(NodeState::running);
        let place = running.ok_or_else(|| LabError::NotWhole {
            name: state.name.to_string(),
            what: format!("{node} has died"),
        })?;
        let words = ["sh", "-c", step.script, "sh", &cluster.name];
        let words: Vec<String> = match state.spec.kind {
            Kind::Namespace => words.map(str::to_owned).into(),
            Kind::Uml | Kind::Qemu => {
                door::ssh(dir, Terminal::No, door::connects(&state.spec), words)
            }
        };
        let limit = STEP * state.spec.slowness();
        let done = tool::feed_within(place, &words, input, limit);
        done.map_err(|error| error.of_node(node.as_str(), step.what))
    })
}
