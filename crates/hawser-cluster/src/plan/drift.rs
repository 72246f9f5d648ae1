//! In what a running cluster differs from its file, for somebody who asks how it stands.

use std::collections::BTreeMap;

use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::HostName;

use super::diff::{ObjectChange, diff};
use super::objects::Key;
use super::ports::HeadPorts;
use super::{ports, words};
use crate::cib::fencing::targets;
use crate::cib::{OWN_CONSTRAINT, generate_watching};
use crate::numbering::Numbering;
use crate::xml::Element;

/// A difference between the file and the live CIB: one of those that `plan` lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drift {
    /// Which object.
    pub key: Key,
    /// What differs, in words.
    pub text: String,
    /// Whether what keeps pools from running twice, or from being lost, hangs on it: cluster-wide properties, fencing,
    /// and the order and place of a pool's parts.
    pub guards: bool,
}

/// The differences. Which interface is the port to a SAN, the heads say; of one that says nothing, the live CIB.
pub fn drift(
    file: &ClusterFile,
    heads: &BTreeMap<HostName, HeadPorts>,
    live: &Element,
) -> Vec<Drift> {
    let said_nothing = HeadPorts::new();
    let ports_of = |head: &HostName| Some(heads.get(head).unwrap_or(&said_nothing));
    let (ports, _unwatched) = ports::watched(file, ports_of, live);
    let desired = generate_watching(file, &Numbering::of(file, None), &ports);
    let devices = targets(file);
    let guards = |change: &ObjectChange| match &change.key {
        Key::Property(_) | Key::Level(..) => true,
        Key::Resource(id) => devices.contains_key(id),
        Key::Constraint(id) if id.starts_with(OWN_CONSTRAINT) => true,
        Key::Constraint(_) => change.live.iter().any(|object| {
            let named = object.element.walk();
            let mut named = named.into_iter().flat_map(|e| &e.attributes);
            named.any(|(_, value)| devices.contains_key(value))
        }),
        Key::ResourceDefault(_) | Key::OperationDefault(_) | Key::Alert(_) => false,
    };
    let changes = diff(&desired, live).changes;
    let one = |change: ObjectChange| Drift {
        text: words::object(&change),
        guards: guards(&change),
        key: change.key,
    };
    changes.into_iter().map(one).collect()
}
