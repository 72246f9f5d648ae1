//! Management controllers, as the plugin `external/ipmi` of Heartbeat's days was told them.

use std::collections::BTreeMap;

use crate::picture::{Bmc, Picture};
use crate::{Place, Secret};

/// The plugin's parameters.
pub(crate) struct Plugin<'a> {
    pub at: &'a Place,
    pub host: &'a str,
    pub address: &'a str,
    pub user: &'a str,
    pub password: &'a str,
    pub interface: Option<&'a str>,
}

/// The name of the file of a node's password.
pub(crate) fn secret_name(node: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "-_.".contains(c) {
            c
        } else {
            '-'
        }
    };
    let node: String = node.chars().map(plain).collect();
    format!("{}-bmc", node.trim_start_matches('.'))
}

/// Gives the node its controller.
pub(crate) fn add(plugin: &Plugin<'_>, picture: &mut Picture) {
    let secret = Secret(plugin.password.to_owned());
    picture.secrets.insert(secret_name(plugin.host), secret);
    let node = picture.add_node(plugin.host, plugin.at);
    node.bmc = Some(Bmc {
        at: plugin.at.clone(),
        address: plugin.address.to_owned(),
        username: plugin.user.to_owned(),
        agent: None,
        // The plugin takes IPMI 1.5 unless it is told otherwise.
        lanplus: match plugin.interface {
            Some("lanplus") => None,
            _ => Some(false),
        },
        cipher: None,
        power_wait: None,
        options: BTreeMap::new(),
    });
}
