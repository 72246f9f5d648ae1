//! The heads as nodes of the file.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::bmc::Bmc;
use super::links::Link;
use super::{Head, Refused, Remarks, Said};
use crate::picture::usable;
use crate::place::quoted;

/// A node.
pub(super) struct Node {
    pub name: String,
    pub ssh: Option<String>,
    /// By the link's name, each with the interface that has it.
    pub addresses: Vec<(String, IpAddr, String)>,
    pub bmc: Bmc,
}

/// Whether a cluster could be built of them: two machines or more, each with a name that it can have as a node.
pub(super) fn distinct(heads: &[Head]) -> Result<(), Refused> {
    if heads.len() < 2 {
        return Err(Refused {
            found: format!(
                "a cluster has two heads or more, and {} is named",
                heads.len()
            ),
            help: "name each: --host head1 --host head2".into(),
        });
    }
    let mut names: BTreeMap<&str, &str> = BTreeMap::new();
    for head in heads {
        let hostname = head.hostname.as_str();
        let said = || format!("{} calls itself {}", quoted(&head.name), quoted(hostname));
        if usable(hostname).as_deref() != Some(hostname) {
            return Err(Refused {
                found: format!("{}, which cannot be the name of a node", said()),
                help: "a node's name is what `uname -n` says there: letters, digits, \"-\", \"_\" and \".\", beginning with \
                       a letter or digit"
                    .into(),
            });
        }
        if let Some(other) = names.insert(hostname, &head.name) {
            return Err(Refused {
                found: format!("{}, and so does {}", said(), quoted(other)),
                help:
                    "name each head once; two machines need two names (hostnamectl hostname NAME)"
                        .into(),
            });
        }
    }
    Ok(())
}

pub(super) fn nodes(heads: &[Head], links: &[Link], bmcs: Vec<Bmc>) -> Vec<Node> {
    let mut nodes = Vec::new();
    for (head, bmc) in heads.iter().zip(bmcs) {
        let name = head.hostname.clone();
        let ssh = head.ssh.clone().filter(|ssh| *ssh != name);
        let on = |link: &Link| {
            let (ip, port) = link.ends.get(&name)?;
            Some((link.name.clone(), *ip, port.clone()))
        };
        nodes.push(Node {
            addresses: links.iter().filter_map(on).collect(),
            name,
            ssh,
            bmc,
        });
    }
    nodes
}

/// What is said of the heads as nodes.
pub(super) fn said(heads: &[Head], remarks: &mut Remarks) {
    for head in heads {
        let name = head.hostname.as_str();
        let (what, ssh) = match (head.name == name, &head.ssh) {
            (true, _) => (format!("node {name}"), None),
            (false, ssh) => (format!("node {name}, as it calls itself"), ssh.as_ref()),
        };
        let why = ssh.map(|ssh| format!("ssh = {}", quoted(ssh)));
        remarks.add(Said::Seen, name, what, why.unwrap_or_default());
        if head.in_cluster() {
            remarks.add(
                Said::Doubtful,
                name,
                "it is in a cluster already, by its corosync.conf",
                "this file is for a new one, and `hawser apply` would put it in the old one's place; `hawser import` reads \
                 what the old one has and keeps it",
            );
        }
    }
    same_kernel(heads, remarks);
}

/// Two nodes on one kernel die together; what they see of disks is one machine's.
fn same_kernel(heads: &[Head], remarks: &mut Remarks) {
    let mut boots: BTreeMap<&str, &str> = BTreeMap::new();
    for head in heads {
        let Some(boot) = head.around.boot.as_deref() else {
            continue;
        };
        if let Some(other) = boots.insert(boot, &head.hostname) {
            remarks.add(
                Said::Doubtful,
                &head.hostname,
                format!("it runs on the same kernel as {other}: both are containers, or a lab's"),
                "its disks are the same machine's, so that nothing is concluded from them",
            );
        }
    }
}
