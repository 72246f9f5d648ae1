//! Resources that a cluster had before Hawser, and that a pool keeps.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::Pool;
use crate::toml_file::At;

/// Parameters that follow from other keys of a pool, by the agents of `ocf:heartbeat` whose resources can be kept.
const SAID: [(&str, &[&str]); 5] = [
    ("ZFS", &["importargs", "pool"]),
    ("Filesystem", &["device", "directory", "fstype", "options"]),
    ("LVM-activate", &["vgname"]),
    ("exportfs", &["clientspec", "directory", "options"]),
    ("IPaddr2", &["ip", "nic"]),
];

/// The parameters of this agent of `ocf:heartbeat` that follow from other keys of a pool; `None` for an agent whose
/// resources are not kept.
pub fn said_by_file(agent: &str) -> Option<&'static [&'static str]> {
    let mut all = SAID.into_iter();
    all.find(|(name, _)| *name == agent).map(|(_, said)| said)
}

/// Whether a parameter of any of these agents follows from other keys of a pool.
pub(super) fn is_said_by_file(parameter: &str) -> bool {
    SAID.iter().any(|(_, said)| said.contains(&parameter))
}

/// Resources of a pool that others made. They keep their names, their parameters and their group, so that nothing stops when
/// Hawser takes them over. `hawser import` writes it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Adopted {
    /// The group that all of them are in. What else is in it is not Hawser's.
    pub group: Option<At<String>>,
    /// The resources, by the names that Hawser would give them.
    #[serde(default)]
    pub resources: BTreeMap<At<String>, Kept>,
}

/// A resource that is kept.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    /// Its name in Pacemaker. Default: the one that Hawser would give it.
    pub id: Option<At<String>>,
    /// Parameters of its agent that this file does not say by other keys. Nothing of Hawser's own is added to them.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
}

impl Pool {
    /// The name that a resource of the pool has, by the one that Hawser would give it.
    pub(super) fn called(&self, own: String) -> String {
        let kept = self.kept(&own).and_then(|kept| kept.id.as_ref());
        kept.map_or(own, ToString::to_string)
    }

    /// What is kept of a resource, by the name that Hawser would give it.
    fn kept(&self, own: &str) -> Option<&Kept> {
        let mut all = self.adopted.iter().flat_map(|it| &it.resources);
        all.find(|(name, _)| name.as_str() == own)
            .map(|(_, kept)| kept)
    }

    /// The parameters that are kept of the resource of this name in Pacemaker; `None` for one that Hawser makes.
    pub fn kept_parameters(&self, id: &str) -> Option<&BTreeMap<String, String>> {
        let mut all = self.adopted.iter().flat_map(|it| &it.resources);
        let called = |own: &str, kept: &Kept| kept.id.as_ref().map_or(own == id, |it| **it == id);
        all.find(|(own, kept)| called(own, kept))
            .map(|(_, kept)| &kept.parameters)
    }

    /// The group that the resource of this name in Pacemaker is in.
    pub fn group_of(&self, id: &str) -> Option<&str> {
        let group = self.adopted.as_ref()?.group.as_ref()?;
        self.kept_parameters(id).map(|_| group.as_str())
    }

    /// What a constraint names that says where the pool runs: its group, or its storage.
    pub fn placed_id(&self) -> String {
        let storage = self.storage_id();
        self.group_of(&storage)
            .map_or(storage.clone(), str::to_owned)
    }
}
