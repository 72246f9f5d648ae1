//! Clients of the pools.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::names::HostName;
use crate::toml_file::{At, Period};

/// A machine that uses the pools. It is no part of the cluster: nothing is made of it, and `hawser check --client` looks after it.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Client")]
pub struct ClientEntry {
    /// Its name.
    pub name: At<HostName>,
    /// The destination given to `ssh`. Default: the name.
    pub ssh: Option<At<String>>,
    /// For one that is not asked, such as ESXi or Windows: how long it waits for its disks before it gives them up.
    pub gives_up: Option<Period>,
}

impl ClientEntry {
    /// One that no cluster file names, by its ssh destination: `root@vm1` is the client vm1.
    pub fn by_ssh(destination: &str) -> Self {
        let name = destination.rsplit('@').next().unwrap_or(destination);
        Self {
            name: At::new(HostName::from(name), 0..0),
            ssh: Some(At::new(destination.to_owned(), 0..0)),
            gives_up: None,
        }
    }
}
