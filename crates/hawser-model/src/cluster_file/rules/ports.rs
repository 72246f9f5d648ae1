//! Each heartbeat link has a UDP port of its own.

use super::{Found, Problem};
use crate::cluster_file::{At, ClusterFile, FIRST_PORT, LinkEntry, Role};

/// What can be wrong with the ports of heartbeat links.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrokenPorts {
    /// A port of a link that Corosync does not use.
    #[error("link \"{link}\" does not carry \"heartbeat\" and has no port")]
    NoHeartbeat {
        /// The link.
        link: String,
    },
    /// No program can listen there.
    #[error("link \"{link}\" cannot have the UDP port 0")]
    Zero {
        /// The link.
        link: String,
    },
    /// Two links with one port.
    #[error("links \"{first}\" and \"{second}\" would both have the UDP port {port}")]
    Twice {
        /// The one that the file names first.
        first: String,
        /// The other.
        second: String,
        /// The port.
        port: u16,
    },
}

impl BrokenPorts {
    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            Self::NoHeartbeat { .. } => "remove it, or add \"heartbeat\" to the link's role".into(),
            Self::Zero { .. } => "a number from 1 to 65535".into(),
            Self::Twice { .. } => format!(
                "give each a port of its own; those without one have {FIRST_PORT} and the numbers above, in the file's \
                 order of heartbeat links"
            ),
        }
    }
}

impl From<BrokenPorts> for Problem {
    fn from(broken: BrokenPorts) -> Self {
        Self::Rule(broken.into())
    }
}

pub(super) fn check(file: &ClusterFile, found: &mut Found) {
    let given = |link: &LinkEntry| link.port.clone();
    for link in &file.links {
        let Some(port) = given(link) else { continue };
        let name = link.name.to_string();
        if !link.role.has(Role::Heartbeat) {
            found.push(BrokenPorts::NoHeartbeat { link: name }, port.span());
        } else if *port == 0 {
            found.push(BrokenPorts::Zero { link: name }, port.span());
        }
    }
    let links: Vec<&LinkEntry> = file.links_with(Role::Heartbeat).collect();
    let ports = (FIRST_PORT..).zip(&links);
    let ports: Vec<(u16, &LinkEntry)> = ports
        .map(|(own, link)| (given(link).map_or(own, |port| *port), *link))
        .collect();
    for (i, (port, second)) in ports.iter().enumerate() {
        let Some((_, first)) = ports[..i].iter().find(|(other, _)| other == port) else {
            continue;
        };
        let place = |link: &LinkEntry| given(link).as_ref().map_or(link.name.span(), At::span);
        let broken = BrokenPorts::Twice {
            first: first.name.to_string(),
            second: second.name.to_string(),
            port: *port,
        };
        // At least one of them names it.
        match second.port {
            Some(_) => found.push_with(broken, place(second), place(first)),
            None => found.push_with(broken, place(first), place(second)),
        }
    }
}
