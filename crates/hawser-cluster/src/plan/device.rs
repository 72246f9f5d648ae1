//! The quorum device's part on the nodes. corosync-qdevice reads its settings once, so it ends before they change
//! and starts when they have: a run that is killed in between leaves one that does not run, which the next plan sees.
//! Meanwhile nodes that see each other keep their quorum: a device has fewer votes than they.

use hawser_model::names::HostName;

use super::conf_diff::conf_diff;
use super::effects::Effect;
use super::stages::{Done, Stages};
use super::{Action, Change, DeviceFacts};
use crate::corosync::Conf;
use crate::host::DeviceAction;

/// Where there is to be none any more, or one with other settings.
pub(super) fn ends(stages: &Stages<'_>, (changes, effects): &mut Done) {
    let nodes = || stages.nodes().map(|node| (node, state(stages, node)));
    if stages.file.quorum.device.is_some() {
        let stale = nodes().filter(|(node, there)| there.running && settings_change(stages, node));
        push(
            DeviceAction::Stop,
            stale.map(|(node, _)| node.clone()).collect(),
            effects,
        );
        return;
    }
    let gone = nodes().filter(|(_, there)| there.running || there.starts_at_boot == Some(true));
    let gone: Vec<HostName> = gone.map(|(node, _)| node.clone()).collect();
    changes.extend(gone.iter().map(|node| {
        let text = "corosync-qdevice ends, and no longer starts at boot";
        change(node, Action::Remove, text)
    }));
    push(DeviceAction::Withdraw, gone, effects);
}

fn push(action: DeviceAction, nodes: Vec<HostName>, effects: &mut Vec<Effect>) {
    if !nodes.is_empty() {
        effects.push(Effect::Device { action, nodes });
    }
}

/// Where it does not run, or has just ended.
pub(super) fn starts(stages: &Stages<'_>, (changes, effects): &mut Done) {
    if stages.file.quorum.device.is_none() {
        return;
    }
    let mut nodes = Vec::new();
    for node in stages.nodes() {
        let there = state(stages, node);
        let (action, text) = match (there.running, there.starts_at_boot) {
            (false, _) => (Action::Create, "corosync-qdevice is started"),
            (true, _) if settings_change(stages, node) => (
                Action::Change,
                "corosync-qdevice starts anew with its new settings",
            ),
            (true, Some(false)) => (
                Action::Change,
                "corosync-qdevice starts at boot: after one, the device would not vote",
            ),
            (true, _) => continue,
        };
        changes.push(change(node, action, text));
        nodes.push(node.clone());
    }
    push(DeviceAction::Start, nodes, effects);
}

fn state(stages: &Stages<'_>, node: &HostName) -> DeviceFacts {
    let there = stages.facts.nodes.get(node);
    there.map(|there| there.device).unwrap_or_default()
}

/// Whether what corosync.conf says of the device changes on a node.
fn settings_change(stages: &Stages<'_>, node: &HostName) -> bool {
    let wanted = Conf::parse(stages.conf).unwrap_or_default();
    let of_device = |name: &str| name.starts_with("device.") || name.starts_with("net.");
    let live = stages.confs.get(node);
    live.is_some_and(|live| {
        let settings = conf_diff(&wanted, live);
        settings.iter().any(|setting| of_device(&setting.name))
    })
}

fn change(node: &HostName, action: Action, text: &str) -> Change {
    Change {
        object: format!("quorum device on {node}"),
        action,
        disruptive: false,
        text: text.to_owned(),
    }
}
