//! The unit of the watch on each head, where the file wants it. It comes last: a head without a watch serves its pools.

use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::HostName;

use super::effects::Effect;
use super::facts::{Facts, NodeFacts, WatchFacts, WatchUnitFile};
use super::stages::{Done, Stages};
use super::{Action, Change, Note, Problem};
use crate::host::WatchAction;
use crate::units::{WATCH_FILE, WATCH_UNIT};

/// Where it is not as the file wants it. Where systemd does not run there is no such unit.
pub(super) fn changes(stages: &Stages<'_>, (changes, effects): &mut Done) {
    let wanted = stages.file.watch.unit;
    let mut nodes: Vec<HostName> = Vec::new();
    for node in stages.nodes() {
        let there = stages.facts.nodes.get(node).and_then(|node| node.watch);
        let Some((action, text)) = there.and_then(|there| differs(there, wanted)) else {
            continue;
        };
        changes.push(Change {
            object: format!("watch on {node}"),
            action,
            disruptive: false,
            text,
        });
        nodes.push(node.clone());
    }
    // Of a cluster that is not there yet a watch would have nothing to say but alarms.
    let live = stages.facts.cib.is_some();
    if !nodes.is_empty() && (live || !wanted) {
        let action = match wanted {
            true => WatchAction::Install,
            false => WatchAction::Withdraw,
        };
        effects.push(Effect::Watch { action, nodes });
    }
}

/// Why there can be none on a node.
pub(super) fn problem(file: &ClusterFile, node: &HostName, there: &NodeFacts) -> Option<Problem> {
    let there = there.watch.filter(|_| file.watch.unit)?;
    match there {
        WatchFacts { program: false, .. } => Some(Problem::NoWatchProgram(node.clone())),
        WatchFacts {
            unit: WatchUnitFile::Masked,
            ..
        } => Some(Problem::WatchMasked(node.clone())),
        _ => None,
    }
}

/// Where the site has a unit of its own.
pub(super) fn notes(file: &ClusterFile, facts: &Facts) -> Vec<Note> {
    let theirs = |there: &NodeFacts| {
        let unit = there.watch.map(|watch| watch.unit);
        unit == Some(WatchUnitFile::Theirs)
    };
    let nodes = facts.nodes.iter().filter(|(_, there)| theirs(there));
    let nodes = nodes.filter(|_| file.watch.unit);
    nodes
        .map(|(node, _)| Note::OwnWatchUnit(node.to_string()))
        .collect()
}

fn differs(there: WatchFacts, wanted: bool) -> Option<(Action, String)> {
    let ours = matches!(there.unit, WatchUnitFile::Ours | WatchUnitFile::Outdated);
    if !wanted {
        // What the site enabled itself stays.
        return ours.then(|| {
            let text =
                "the file no longer asks for it: hawser-watch.service is stopped and removed";
            (Action::Remove, text.into())
        });
    }
    let mut what = Vec::new();
    match there.unit {
        WatchUnitFile::None => what.push(format!("systemd runs it: {WATCH_UNIT}")),
        WatchUnitFile::Outdated => {
            what.push(format!("{WATCH_UNIT} is not the one of this hawser"));
        }
        WatchUnitFile::Ours | WatchUnitFile::Theirs | WatchUnitFile::Masked => {}
    }
    match there.file {
        Some(true) => {}
        Some(false) => what.push(format!(
            "{WATCH_FILE} there is not this cluster file, and is replaced by it; the old one stays as {WATCH_FILE}.old"
        )),
        None => what.push(format!("this cluster file as {WATCH_FILE}")),
    }
    if there.unit != WatchUnitFile::None {
        let states = [
            (!there.enabled, "it does not start at boot"),
            (!there.running, "it does not run"),
            (there.replaced, "it runs a hawser that was replaced since"),
        ];
        let states = states.into_iter().filter(|(is, _)| *is);
        what.extend(states.map(|(_, text)| text.to_owned()));
    }
    let action = match there.unit {
        WatchUnitFile::None => Action::Create,
        _ => Action::Change,
    };
    (!what.is_empty()).then(|| (action, what.join("; ")))
}
