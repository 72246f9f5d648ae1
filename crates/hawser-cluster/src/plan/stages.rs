//! The order in which things are done: what fencing needs, the key, Corosync's configuration, the
//! engine, fencing in the CIB, and only then everything else.
//!
//! Devices are made before anything stands on them and removed after everything else, so there is
//! no moment in which a cluster that was fenced is not.

use std::collections::BTreeMap;

use hawser_model::cluster_file::{ClusterFile, CryptoHash};
use hawser_model::names::HostName;

use super::conf_diff::{Setting, conf_diff};
use super::device;
use super::diff::{CibDiff, ObjectChange};
use super::effects::{AUTHKEY_BYTES, Effect, Stage};
use super::facts::{Facts, NodeFacts};
use super::problems::own_agents_on;
use super::reaction::Reaction;
use super::{Action, Change, PlanError, alert, other_cluster, watch_unit, words};
use crate::cib::fencing::node_files;
use crate::cib::secrets::NodeFile;
use crate::corosync::Conf;
use crate::units;

/// Everything the stages are made from.
pub(super) struct Stages<'a> {
    pub file: &'a ClusterFile,
    pub facts: &'a Facts,
    pub confs: &'a BTreeMap<HostName, Conf>,
    /// The desired corosync.conf.
    pub conf: &'a str,
    pub diff: &'a CibDiff,
    pub cib_stages: &'a [(Stage, Vec<ObjectChange>)],
    pub reaction: &'a Reaction,
}

/// The corosync.conf of each node that has one.
pub(super) fn live_confs(facts: &Facts) -> Result<BTreeMap<HostName, Conf>, PlanError> {
    let mut confs = BTreeMap::new();
    for (node, there) in &facts.nodes {
        if let Some(text) = &there.corosync_conf {
            let conf = Conf::parse(text).map_err(|source| PlanError::Conf {
                node: node.to_string(),
                source,
            })?;
            confs.insert(node.clone(), conf);
        }
    }
    Ok(confs)
}

pub(super) type Done = (Vec<Change>, Vec<Effect>);

impl Stages<'_> {
    pub fn changes_and_effects(&self) -> Done {
        let mut done = (Vec::new(), Vec::new());
        self.files(&mut done);
        alert::program(self, &mut done);
        self.systemd(&mut done);
        self.own_agents(&mut done);
        self.key(&mut done);
        device::ends(self, &mut done);
        self.old_cibs(&mut done);
        self.corosync_conf(&mut done);
        self.start(&mut done);
        device::starts(self, &mut done);
        self.cib(&mut done);
        self.files_go(&mut done);
        watch_unit::changes(self, &mut done);
        done
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = &HostName> {
        self.file.nodes.iter().map(|node| node.name.get())
    }

    fn files(&self, (changes, effects): &mut Done) {
        let wanted = node_files(self.file);
        for node in self.nodes() {
            let there = self.facts.nodes.get(node).map(|node| &node.files);
            let right = |file: &&NodeFile| {
                let facts = there.and_then(|files| files.get(&file.path));
                facts.is_some_and(|facts| facts.same && facts.mode == file.mode)
            };
            let missing: Vec<_> = wanted.iter().filter(|file| !right(file)).collect();
            if missing.is_empty() {
                continue;
            }
            let paths: Vec<&str> = missing.iter().map(|file| file.path.as_str()).collect();
            changes.push(Change {
                object: format!("files on {node}"),
                action: Action::Change,
                disruptive: false,
                text: format!("what fencing needs: {}", paths.join(", ")),
            });
            effects.extend(missing.into_iter().map(|file| Effect::WriteFile {
                node: node.clone(),
                file: file.clone(),
            }));
        }
    }

    /// Only where systemd runs: a lab's init starts the target itself.
    fn systemd(&self, done: &mut Done) {
        if let Some(file) = units::drop_in(self.file) {
            let text = "the NFS server and tgtd start before Pacemaker and end after it";
            self.one_file(&file, ("systemd", text), |there| there.systemd, done);
        }
    }

    /// What an apply left and the file does not want any more, after the CIB has forgotten it.
    fn files_go(&self, (changes, effects): &mut Done) {
        for (path, object) in units::not_wanted(self.file) {
            for node in self.nodes() {
                let there = self.facts.nodes.get(node);
                if !there.is_some_and(|there| there.files.contains_key(path)) {
                    continue;
                }
                changes.push(Change {
                    object: format!("{object} on {node}"),
                    action: Action::Remove,
                    disruptive: false,
                    text: format!("the file no longer asks for it: {path} is removed"),
                });
                effects.push(Effect::RemoveFile {
                    node: node.clone(),
                    path: path.into(),
                });
            }
        }
    }

    /// A file on each of these nodes on which it is not as it should be: what that is called, and what it does.
    pub(super) fn one_file(
        &self,
        file: &NodeFile,
        (object, text): (&str, &str),
        on: impl Fn(&NodeFacts) -> bool,
        (changes, effects): &mut Done,
    ) {
        for node in self.nodes() {
            let Some(there) = self.facts.nodes.get(node).filter(|there| on(there)) else {
                continue;
            };
            let (action, right) = match there.files.get(&file.path) {
                None => (Action::Create, false),
                Some(facts) => (Action::Change, facts.same && facts.mode == file.mode),
            };
            if right {
                continue;
            }
            changes.push(Change {
                object: format!("{object} on {node}"),
                action,
                disruptive: false,
                text: format!("{text}: {}", file.path),
            });
            effects.push(Effect::WriteFile {
                node: node.clone(),
                file: file.clone(),
            });
        }
    }

    fn own_agents(&self, (changes, effects): &mut Done) {
        let mut nodes = Vec::new();
        for (node, agent, replaced) in own_agents_on(self.file, self.facts) {
            let (action, what) = match replaced {
                true => (Action::Change, "of another hawser, replaced by this one"),
                false => (Action::Create, "this hawser is kept there and run by it"),
            };
            changes.push(Change {
                object: format!(
                    "{} agent on {node}",
                    agent.rsplit(':').next().unwrap_or(agent)
                ),
                action,
                disruptive: false,
                text: format!("{agent}: {what}, {}", crate::exports::ocf::PROGRAM),
            });
            if nodes.last() != Some(&node) {
                nodes.push(node);
            }
        }
        if !nodes.is_empty() {
            effects.push(Effect::InstallExports { nodes });
        }
    }

    fn key(&self, (changes, effects): &mut Done) {
        if self.file.cluster.crypto.hash == CryptoHash::None {
            return;
        }
        let key_of = |node: &HostName| self.facts.nodes.get(node)?.authkey.as_ref();
        let (have, lack): (Vec<_>, Vec<_>) = self
            .nodes()
            .cloned()
            .partition(|node| key_of(node).is_some());
        let change = |node: &HostName, action, text: String| Change {
            object: format!("authkey on {node}"),
            action,
            disruptive: false,
            text,
        };
        match have.first() {
            None => {
                let text = || "a new key, the same on all nodes".to_owned();
                changes.extend(lack.iter().map(|node| change(node, Action::Create, text())));
                effects.push(Effect::NewAuthkey {
                    nodes: lack,
                    bytes: AUTHKEY_BYTES,
                });
            }
            Some(from) if !lack.is_empty() => {
                let text = || format!("the key that {from} has");
                changes.extend(lack.iter().map(|node| change(node, Action::Create, text())));
                effects.push(Effect::CopyAuthkey {
                    from: from.clone(),
                    to: lack,
                });
            }
            Some(_) => {}
        }
        for node in have {
            if let Some(key) = key_of(&node).filter(|key| key.mode & 0o7777 != 0o400) {
                let text = format!("mode {:04o} → 0400", key.mode & 0o7777);
                changes.push(change(&node, Action::Change, text));
                effects.push(Effect::AuthkeyMode { node });
            }
        }
    }

    /// A head would bring a newer one into the cluster, with all resources of the other one.
    fn old_cibs(&self, (changes, effects): &mut Done) {
        for node in self.nodes() {
            let stored = self
                .facts
                .nodes
                .get(node)
                .and_then(|there| there.stored_cib.as_ref());
            let Some(cib) = stored.filter(|cib| other_cluster::has_cib(self.file, cib)) else {
                continue;
            };
            let cluster = cib.cluster.as_deref().unwrap_or("without a name");
            changes.push(Change {
                object: format!("old CIB on {node}"),
                action: Action::Remove,
                disruptive: false,
                text: format!(
                    "of cluster {cluster}: Pacemaker would start with it, and all heads may take it; it goes to \
                     /var/lib/pacemaker/cib.old-NUMBER"
                ),
            });
            effects.push(Effect::SetAsideCib {
                node: node.clone(),
                cib: cib.clone(),
            });
        }
    }

    fn corosync_conf(&self, (changes, effects): &mut Done) {
        // It was generated a moment ago, so it parses.
        let wanted = Conf::parse(self.conf).unwrap_or_default();
        let (mut differ, mut restart) = (Vec::new(), false);
        for node in self.nodes() {
            let object = format!("corosync.conf on {node}");
            let live = self.confs.get(node);
            let change = match (
                live,
                live.and_then(|it| other_cluster::named(self.file, it)),
            ) {
                (None, _) => Change {
                    object,
                    action: Action::Create,
                    disruptive: false,
                    text: "from the file".into(),
                },
                (Some(_), Some(other)) => Change {
                    object,
                    action: Action::Change,
                    disruptive: false,
                    text: format!("from the file, in place of one of cluster {other}"),
                },
                (Some(live), None) => {
                    let settings = conf_diff(&wanted, live);
                    if settings.is_empty() {
                        continue;
                    }
                    let runs = self.facts.nodes.get(node).is_some_and(|it| it.running);
                    let anew = runs && settings.iter().any(Setting::needs_restart);
                    restart |= anew;
                    let moves = settings.iter().any(Setting::moves_a_link);
                    let how = match (runs, anew) {
                        (_, true) if moves => {
                            "; a running Corosync refuses another address on a link that it has: it must be started \
                             anew on all nodes, and every pool stops"
                        }
                        (_, true) => {
                            "; Corosync must be started anew on all nodes: every pool stops"
                        }
                        (true, false) => "; the running Corosync takes it",
                        (false, _) => "",
                    };
                    Change {
                        object,
                        action: Action::Change,
                        disruptive: anew,
                        text: format!("{}{how}", words::settings(&settings)),
                    }
                }
            };
            changes.push(change);
            differ.push(node.clone());
        }
        // As long as the last file is not written, a plan sees that a running Corosync may not have read the others.
        let is_running =
            |node: &&HostName| self.facts.nodes.get(*node).is_some_and(|it| it.running);
        let any = match restart {
            true => differ.last(),
            false => self.nodes().find(is_running),
        };
        let last = differ.iter().rfind(is_running).or(any);
        let last = last.filter(|_| !differ.is_empty()).cloned();
        let text = || self.conf.to_owned();
        let others = differ
            .into_iter()
            .filter(|node| Some(node) != last.as_ref());
        effects.extend(others.map(|node| Effect::WriteCorosyncConf { node, text: text() }));
        effects.extend(last.map(|node| match restart {
            true => Effect::RestartCluster { node, text: text() },
            false => Effect::ReloadCorosync { node, text: text() },
        }));
    }

    fn start(&self, (changes, effects): &mut Done) {
        let mut nodes = Vec::new();
        for node in self.nodes() {
            let there = self.facts.nodes.get(node);
            let runs = there.is_some_and(|there| there.running);
            let forgotten = there.and_then(|there| there.starts_at_boot) == Some(false);
            let (action, text) = match (runs, forgotten) {
                (false, _) => (Action::Create, "corosync and pacemaker are started"),
                (true, true) => (
                    Action::Change,
                    "corosync and pacemaker start at boot: a head that was fenced would not come back",
                ),
                (true, false) => continue,
            };
            changes.push(Change {
                object: format!("engine on {node}"),
                action,
                disruptive: !runs && !self.reaction.fetched.is_empty(),
                text: text.into(),
            });
            nodes.push(node.clone());
        }
        if !nodes.is_empty() {
            effects.push(Effect::Start { nodes });
        }
    }
}
