//! Taking back what a round of an apply did before one of its steps failed, so that nodes on which a
//! first set-up failed are bare again and a cluster whose Corosync refused a change has the old one.
//!
//! A change to the CIB needs none of this: it is made whole or not at all.

use hawser_host::Hosts;
use hawser_model::names::HostName;

use super::effects::{conf, reload, write};
use super::{LiveError, ask, tell};
use crate::host::DeviceAction;
use crate::host::questions::{RemoveFile, RestartEngine, SetDevice, WithdrawEngine};
use crate::plan::{AUTHKEY, COROSYNC_CONF, Effect, Facts};

/// One thing that is put back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Undo {
    /// The engine does not run on these nodes, now or after a boot.
    Withdraw(Vec<HostName>),
    /// A node's `corosync.conf` is what it was; nothing when there was none.
    Conf(HostName, Option<String>),
    /// A file that was not there is gone.
    Remove(HostName, String),
    /// The engine of nodes where it ran before runs with what it had.
    Restart(Vec<HostName>),
    /// corosync-qdevice of these nodes runs as before, or not.
    Device(DeviceAction, Vec<HostName>),
    /// A node's `corosync.conf` is what it was, and the running Corosync reads it.
    Reload(HostName, String),
}

/// What takes these steps back, the last of which failed. Empty when the step that failed changes
/// nothing outside the CIB.
pub(super) fn undo_of(done: &[Effect], facts: &Facts) -> Vec<Undo> {
    let of_the_cib = |effect: &Effect| {
        matches!(
            effect,
            Effect::PatchCib { .. }
                | Effect::WaitSettled
                | Effect::InstallExports { .. }
                | Effect::RemoveFile { .. }
                | Effect::Watch { .. }
        )
    };
    if done.last().is_none_or(of_the_cib) {
        return Vec::new();
    }
    let (mut engine, mut files, mut after) = (Vec::new(), Vec::new(), Vec::new());
    let (mut devices, mut ended) = (Vec::new(), Vec::new());
    for effect in done {
        match effect {
            Effect::Start { nodes } => {
                // Who ran may serve: that it starts at a boot too is no harm. Nor is it that one runs which a boot would have started.
                let of_itself = |node: &HostName| {
                    facts.nodes.get(node).is_some_and(|before| {
                        let boots = before.starts_at_boot == Some(true);
                        before.running || (boots && before.corosync_conf.is_some())
                    })
                };
                let new = nodes.iter().filter(|node| !of_itself(node));
                let new: Vec<HostName> = new.cloned().collect();
                engine.extend((!new.is_empty()).then_some(Undo::Withdraw(new)));
            }
            Effect::WriteCorosyncConf { node, .. } => {
                files.push(Undo::Conf(node.clone(), conf_of(facts, node)));
            }
            Effect::NewAuthkey { nodes, .. } | Effect::CopyAuthkey { to: nodes, .. } => {
                let nodes = nodes.iter().cloned();
                files.extend(nodes.map(|node| Undo::Remove(node, AUTHKEY.into())));
            }
            Effect::WriteFile { node, file } => {
                let before = facts.nodes.get(node).map(|node| &node.files);
                if before.is_none_or(|files| !files.contains_key(&file.path)) {
                    files.push(Undo::Remove(node.clone(), file.path.clone()));
                }
            }
            Effect::Device { action, nodes } => {
                let ran = |node: &&HostName| {
                    let before = facts.nodes.get(*node);
                    before.is_some_and(|before| before.device.running)
                };
                let (ran, new): (Vec<_>, Vec<_>) = nodes.iter().partition(ran);
                let (back, to) = match action {
                    DeviceAction::Start => (
                        Undo::Device(DeviceAction::Withdraw, owned(&new)),
                        &mut devices,
                    ),
                    _ => (Undo::Device(DeviceAction::Start, owned(&ran)), &mut ended),
                };
                if !matches!(&back, Undo::Device(_, nodes) if nodes.is_empty()) {
                    to.push(back);
                }
            }
            Effect::ReloadCorosync { node, .. } => {
                let before = conf_of(facts, node);
                after.extend(before.map(|text| Undo::Reload(node.clone(), text)));
            }
            Effect::RestartCluster { node, .. } => {
                files.push(Undo::Conf(node.clone(), conf_of(facts, node)));
                after.push(Undo::Restart(running(facts)));
            }
            // The mode of a key is better as it is now, and another cluster's CIB where it is now.
            Effect::AuthkeyMode { .. }
            | Effect::SetAsideCib { .. }
            | Effect::InstallExports { .. }
            | Effect::RemoveFile { .. }
            | Effect::Watch { .. }
            | Effect::PatchCib { .. }
            | Effect::WaitSettled => {}
        }
    }
    [devices, engine, files, after, ended].concat()
}

fn conf_of(facts: &Facts, node: &HostName) -> Option<String> {
    facts.nodes.get(node)?.corosync_conf.clone()
}

fn owned(nodes: &[&HostName]) -> Vec<HostName> {
    nodes.iter().copied().cloned().collect()
}

fn running(facts: &Facts) -> Vec<HostName> {
    let nodes = facts.nodes.iter().filter(|(_, node)| node.running);
    nodes.map(|(name, _)| name.clone()).collect()
}

/// Does it, as far as it can be done; answers what was put back and what could not be.
pub(super) fn take_back(undo: &[Undo], heads: &mut Hosts) -> Vec<String> {
    let told = |what: &Undo| match perform(what, heads) {
        Ok(()) => format!("put back: {}", words(what)),
        Err(e) => format!("NOT put back: {}: {e}", words(what)),
    };
    undo.iter().map(told).collect()
}

fn words(undo: &Undo) -> String {
    let names = |nodes: &[HostName]| {
        let names: Vec<&str> = nodes.iter().map(HostName::as_str).collect();
        names.join(", ")
    };
    match undo {
        Undo::Withdraw(nodes) => format!("corosync and pacemaker are stopped on {}", names(nodes)),
        Undo::Conf(node, Some(_)) => format!("the {COROSYNC_CONF} that {node} had"),
        Undo::Conf(node, None) => format!("no {COROSYNC_CONF} on {node}"),
        Undo::Remove(node, path) => format!("no {path} on {node}"),
        Undo::Restart(nodes) => format!(
            "corosync and pacemaker are started anew on {} with what they had",
            names(nodes)
        ),
        Undo::Device(DeviceAction::Start, nodes) => {
            format!("corosync-qdevice runs on {}", names(nodes))
        }
        Undo::Device(_, nodes) => format!("corosync-qdevice is stopped on {}", names(nodes)),
        Undo::Reload(node, _) => {
            format!("the {COROSYNC_CONF} that {node} had, and corosync reads it")
        }
    }
}

fn perform(undo: &Undo, heads: &mut Hosts) -> Result<(), LiveError> {
    match undo {
        Undo::Withdraw(nodes) => tell(heads, nodes, &WithdrawEngine),
        // It may run with what it was to have.
        Undo::Restart(nodes) => tell(heads, nodes, &RestartEngine),
        Undo::Device(action, nodes) => tell(heads, nodes, &SetDevice { action: *action }),
        Undo::Reload(node, text) => ask(heads, node, &reload(text)),
        Undo::Conf(node, Some(text)) => write(heads, node, COROSYNC_CONF, conf(text)),
        Undo::Conf(node, None) => {
            let path = COROSYNC_CONF.to_owned();
            ask(heads, node, &RemoveFile { path })
        }
        Undo::Remove(node, path) => {
            let path = path.clone();
            ask(heads, node, &RemoveFile { path })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::NodeFacts;

    fn facts(conf: Option<&str>, running: bool) -> Facts {
        let node = NodeFacts {
            corosync_conf: conf.map(str::to_owned),
            running,
            ..NodeFacts::default()
        };
        let mut facts = Facts::default();
        facts.nodes.insert("head1".into(), node.clone());
        facts.nodes.insert("head2".into(), node);
        facts
    }

    fn conf(node: &str) -> Effect {
        let text = "new".into();
        let node = node.into();
        Effect::WriteCorosyncConf { node, text }
    }

    #[test]
    fn a_first_set_up_that_failed_leaves_bare_nodes() {
        let both: Vec<HostName> = vec!["head1".into(), "head2".into()];
        let done = [
            Effect::NewAuthkey {
                nodes: both.clone(),
                bytes: 256,
            },
            conf("head1"),
            conf("head2"),
            Effect::Start {
                nodes: both.clone(),
            },
        ];
        let undo = undo_of(&done, &facts(None, false));
        assert_eq!(
            undo,
            [
                Undo::Withdraw(both),
                Undo::Remove("head1".into(), AUTHKEY.into()),
                Undo::Remove("head2".into(), AUTHKEY.into()),
                Undo::Conf("head1".into(), None),
                Undo::Conf("head2".into(), None),
            ]
        );
    }

    #[test]
    fn a_head_that_ran_is_not_stopped_when_another_one_does_not_start() {
        let mut facts = facts(Some("same"), true);
        let head2 = facts.nodes.get_mut(&HostName::from("head2")).unwrap();
        head2.running = false;
        let start = |nodes: &[&str]| {
            let nodes = nodes.iter().copied().map(HostName::from).collect();
            [Effect::Start { nodes }]
        };
        assert_eq!(
            undo_of(&start(&["head1", "head2"]), &facts),
            [Undo::Withdraw(vec!["head2".into()])]
        );
        assert_eq!(undo_of(&start(&["head1"]), &facts), []);
    }

    #[test]
    fn a_running_corosync_that_refuses_a_change_has_the_old_configuration() {
        let (node, text) = ("head2".into(), "new".into());
        let done = [conf("head1"), Effect::ReloadCorosync { node, text }];
        let undo = undo_of(&done, &facts(Some("old"), true));
        assert_eq!(
            undo,
            [
                Undo::Conf("head1".into(), Some("old".into())),
                Undo::Reload("head2".into(), "old".into()),
            ]
        );
    }

    #[test]
    fn a_failed_change_to_the_cib_takes_nothing_else_back() {
        let done = [conf("head1"), Effect::WaitSettled];
        assert_eq!(undo_of(&done, &facts(Some("old"), true)), []);
    }
}
