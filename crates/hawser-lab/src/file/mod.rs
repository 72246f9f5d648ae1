//! The lab file: a small TOML that says which switches, links, nodes and clients a lab has.
//!
//! ```toml
//! [[switch]]
//! name = "sw0"
//! snooping = true             # IGMP and MLD snooping; default false
//! querier = true              # default false
//!
//! [[link]]
//! name = "ring0"
//! switch = "sw0"              # default: a switch of its own, sw0, sw1, …
//! mtu = 9000                  # default 1500
//! ipv4 = "10.72.0.0/24"       # default 10.72.N.0/24; "none" for no IPv4
//! ipv6 = "fd48:6177:7365::/64"  # default fd48:6177:7365:N::/64; "none" for no IPv6
//!
//! [[node]]
//! name = "head1"
//! links = ["ring0"]           # default: all
//! addresses = { ring0 = "10.72.0.11" }  # default: the node's number in the link's networks
//!
//! [[client]]                  # as a node, but no member of the cluster
//! name = "client1"
//! ```

mod broken;
mod links;
mod nodes;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::net::IpAddr;
use std::ops::Range;
use std::path::Path;

use hawser_model::toml_file::{self, At, FileErrors, Found, Problem};
use hawser_model::units::Mtu;
use schemars::JsonSchema;
use serde::Deserialize;

pub use broken::BrokenLab;

use crate::error::LabError;
use crate::machines::{Card, Kind, Release};
use crate::spec::LabSpec;

/// Everything that is wrong with a lab file.
pub type LabFileErrors = FileErrors<BrokenLab>;

/// A lab file as it is written.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LabFile {
    /// The switches; links may have more of their own.
    #[serde(default)]
    switch: Vec<SwitchEntry>,
    /// The links.
    #[serde(default)]
    link: Vec<LinkEntry>,
    /// The members of the cluster.
    #[serde(default)]
    node: Vec<NodeEntry>,
    /// Machines beside the cluster.
    #[serde(default)]
    client: Vec<NodeEntry>,
}

/// A switch.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SwitchEntry {
    name: At<String>,
    #[serde(default)]
    snooping: bool,
    #[serde(default)]
    querier: bool,
}

/// A link.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LinkEntry {
    name: At<String>,
    switch: Option<At<String>>,
    // Less is not an IPv6 link (RFC 8200, 5); no veth pair and no bridge takes more.
    #[schemars(extend("minimum" = 1280, "maximum" = 65_535))]
    mtu: Option<Mtu>,
    ipv4: Option<At<String>>,
    ipv6: Option<At<String>>,
    #[serde(default)]
    card: Card,
    serial: Option<At<bool>>,
}

/// A node or a client.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NodeEntry {
    name: At<String>,
    links: Option<Vec<At<String>>>,
    #[serde(default)]
    addresses: BTreeMap<At<String>, At<Addresses>>,
    machine: Option<Machine>,
}

/// The addresses of a node on a link.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Addresses {
    One(IpAddr),
    Several(Vec<IpAddr>),
}

impl Addresses {
    fn all(&self) -> &[IpAddr] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Several(all) => all,
        }
    }
}

/// What a node is in a lab of machines.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Machine {
    Uml,
    Qemu,
}

impl From<Machine> for Kind {
    fn from(machine: Machine) -> Self {
        match machine {
            Machine::Uml => Self::Uml,
            Machine::Qemu => Self::Qemu,
        }
    }
}

impl LabSpec {
    /// Reads a lab file.
    ///
    /// # Errors
    /// The file cannot be read, or what is wrong in it.
    pub fn from_file(path: &Path) -> Result<Self, LabError> {
        let text = fs::read_to_string(path).map_err(|e| LabError::io("read", path, e))?;
        let read = Self::from_toml(&text, &path.display().to_string());
        read.map_err(|errors| LabError::File(Box::new(errors)))
    }

    /// Reads a lab file's text; `path` is for the messages.
    ///
    /// # Errors
    /// What is wrong in it.
    pub fn from_toml(text: &str, path: &str) -> Result<Self, LabFileErrors> {
        let file: LabFile = toml_file::read(text, path, |_, _| {})?;
        let (mut found, mut names) = (Found::default(), Names::default());
        let (switches, links) = links::read(&file, &mut names, &mut found);
        // What is wrong with a link is wrong with each of its nodes.
        found.take_result(text, path)?;
        let nodes = nodes::read(&file, &links, &mut names, &mut found);
        found.take_result(text, path)?;
        Ok(Self {
            switches,
            links,
            nodes,
            cluster: None,
            kind: Kind::Namespace,
            release: Release::default(),
        })
    }
}

/// The names that are taken, and where each stands: `exec` and `cut` take a node's or a switch's.
#[derive(Default)]
struct Names(BTreeMap<String, Range<usize>>);

impl Names {
    /// Takes the name of a thing. `is_fit` says whether it may be one; `allowed` says it in words.
    fn take(
        &mut self,
        what: &str,
        name: &At<String>,
        (allowed, is_fit): (&str, fn(&str) -> bool),
        found: &mut Found<BrokenLab>,
    ) {
        if !is_fit(name) {
            let problem = Problem::NotA {
                key: "name".into(),
                reason: format!("\"{name}\" cannot name a {what}"),
                written: allowed.to_owned(),
            };
            found.push(problem, name.span());
            return;
        }
        match self.0.entry(name.get().clone()) {
            Entry::Vacant(free) => drop(free.insert(name.span())),
            Entry::Occupied(taken) => {
                let broken = BrokenLab::NameTaken(name.get().clone());
                found.push_with(broken, name.span(), taken.get().clone());
            }
        }
    }
}

/// Refuses what is more than `most`, at the first that is too many.
fn at_most<'a>(
    most: usize,
    what: &'static str,
    mut names: impl Iterator<Item = &'a At<String>>,
    found: &mut Found<BrokenLab>,
) {
    if let Some(name) = names.nth(most) {
        found.push(BrokenLab::TooMany { what, most }, name.span());
    }
}
