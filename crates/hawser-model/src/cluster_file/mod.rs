//! The cluster file, `hawser.toml`: what it may say, and what is wrong with it.
//!
//! [`parse`] goes through three gates, and what fails at one is not shown to the next: is it
//! TOML, has it the shape of the schema, does it keep the rules.

mod at;
mod error;
mod network;
mod rules;
mod shape;
mod values;

use schemars::JsonSchema;
use serde::Deserialize;

pub use at::At;
pub use error::{ClusterFileError, ClusterFileErrors, Problem};
pub use network::{LinkEntry, NodeEntry, Role, Roles};
pub use rules::{Broken, BrokenNetwork};
pub use values::{Network, NotA, Period, SecretRef, Speed};

use crate::topology::{Link, Node, Reach, Topology};
use error::Found;

/// A cluster file that keeps every rule.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "hawser.toml")]
pub struct ClusterFile {
    /// The cluster as a whole.
    pub cluster: Cluster,
    /// The nodes, in an order that never changes: it numbers them.
    #[serde(rename = "node")]
    pub nodes: Vec<NodeEntry>,
    /// The links, in an order that never changes: it numbers them.
    #[serde(rename = "link", default)]
    pub links: Vec<LinkEntry>,
}

/// The cluster as a whole.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    /// Its name.
    pub name: At<String>,
}

/// Reads a cluster file. `path` is only for the errors.
pub fn parse(text: &str, path: &str) -> Result<ClusterFile, ClusterFileErrors> {
    let mut found = Found::default();
    let (document, syntax) = toml::de::DeTable::parse_recoverable(text);
    for error in syntax {
        let span = error.span().unwrap_or(0..0);
        found.push(Problem::Syntax(error.message().to_owned()), span);
    }
    found.take_result(text, path)?;

    shape::check(schema().as_value(), &document, &mut found);
    found.take_result(text, path)?;

    match toml::from_str::<ClusterFile>(text) {
        Ok(file) => {
            rules::check(&file, &mut found);
            found.take_result(text, path)?;
            Ok(file)
        }
        Err(error) => {
            // The shape fits, so this is a value that only serde looks into.
            let span = error.span().unwrap_or(0..0);
            found.push(Problem::Syntax(error.message().to_owned()), span);
            Err(found.into_errors(text, path))
        }
    }
}

/// The JSON Schema of the cluster file, for editors and for [`parse`] itself.
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(ClusterFile)
}

impl ClusterFile {
    /// The link of that name.
    pub fn link(&self, name: &str) -> Option<&LinkEntry> {
        self.links.iter().find(|link| link.name.as_str() == name)
    }

    /// The node of that name.
    pub fn node(&self, name: &str) -> Option<&NodeEntry> {
        self.nodes.iter().find(|node| node.name.as_str() == name)
    }

    /// What a check of the interconnect needs of the file.
    pub fn topology(&self) -> Topology {
        let nodes = self.nodes.iter().map(|node| Node {
            name: node.name.get().clone(),
            reach: Reach::Ssh(node.ssh.clone().unwrap_or_else(|| node.name.to_string())),
            addresses: node
                .addresses
                .iter()
                .map(|(link, address)| (link.get().clone(), **address))
                .collect(),
        });
        let links = self.links.iter().map(|link| Link {
            name: link.name.get().clone(),
            mtu: link.mtu,
            speed: link.speed.map(|speed| speed.0),
            switch: link.switch.clone(),
        });
        Topology {
            cluster: self.cluster.name.get().clone(),
            nodes: nodes.collect(),
            links: links.collect(),
        }
    }
}
