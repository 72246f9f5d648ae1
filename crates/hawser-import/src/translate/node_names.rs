//! Which node a name in a source means, once all sources have said which nodes there are.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::toml_file::nearest;

use super::ipmi;
use crate::SourceLine;
use crate::crm::Crm;
use crate::page::Page;
use crate::picture::{Mention, Picture, Pool};
use crate::place::quoted;

/// How many nodes a message names.
const SHOWN: usize = 8;

/// The nodes, by name.
pub(super) struct NodeNames {
    pub all: Vec<String>,
    /// A source lists them: a name that is not among them is no node.
    listed: bool,
    /// Those that Pacemaker reaches without Corosync.
    remote: BTreeSet<String>,
}

impl NodeNames {
    pub fn of(crm: &Crm, picture: &Picture) -> Self {
        let nodes = crm.nodes.iter().filter(|node| node.remote);
        let mut remote: BTreeSet<String> = nodes.map(|node| node.name.clone()).collect();
        for primitive in &crm.primitives {
            if primitive.agent == "ocf:pacemaker:remote" {
                remote.insert(primitive.id.clone());
            }
            remote.extend(primitive.meta.get("remote-node").cloned());
        }
        Self {
            all: picture.nodes.iter().map(|n| n.name.value.clone()).collect(),
            // One that is known by its address alone may have any name.
            listed: picture.listed && !picture.nodes.iter().any(|node| node.unnamed),
            remote,
        }
    }

    /// The node that is meant. Pacemaker and Heartbeat read names in any case, and a name in a domain is that of the node
    /// which has its first label.
    pub fn meant(&self, name: &str) -> Option<String> {
        if !self.listed || self.all.iter().any(|node| node == name) {
            return Some(name.to_owned());
        }
        let is = |name: &str| self.all.iter().find(|node| node.eq_ignore_ascii_case(name));
        let label = || name.split_once('.').map(|(label, _)| label);
        is(name).or_else(|| is(label()?)).cloned()
    }

    /// The same, and the page says what is no node, or is one by another name.
    pub fn told(&self, name: &str, at: &SourceLine, what: &str, page: &mut Page) -> Option<String> {
        match self.meant(name) {
            Some(node) if node == name => Some(node),
            Some(node) => {
                let why = format!("{} is node {node}", quoted(name));
                page.changed(at, what, why);
                Some(node)
            }
            None if self.remote.contains(name) => {
                let why = "that node runs no Corosync: Hawser's file has the nodes that do";
                page.unsaid(at, what, why);
                None
            }
            None => {
                page.mistake(at, what, self.nobody(name));
                None
            }
        }
    }

    /// Why a name is no node.
    pub fn nobody(&self, name: &str) -> String {
        let shown: Vec<&str> = self.all.iter().take(SHOWN).map(String::as_str).collect();
        let more = if self.all.len() > SHOWN { ", …" } else { "" };
        let nodes = format!("{}{more}", shown.join(", "));
        let longer = |node: &&String| node.split_once('.').is_some_and(|(first, _)| first == name);
        let near = self.all.iter().find(longer).map(String::as_str);
        match near.or_else(|| nearest(name, &self.all)) {
            Some(near) => format!(
                "there is no node {}, only {nodes}: did you mean \"{near}\"?",
                quoted(name)
            ),
            None => format!("there is no node {}, only {nodes}", quoted(name)),
        }
    }
}

/// What `ha.cf` and `haresources` say of nodes by their names.
pub(super) fn mentioned(crm: &Crm, picture: &mut Picture, page: &mut Page) {
    let names = NodeNames::of(crm, picture);
    let mut lines: BTreeMap<SourceLine, Vec<usize>> = BTreeMap::new();
    for (i, pool) in picture.pools.iter().enumerate() {
        lines.entry(pool.at.clone()).or_default().push(i);
    }
    for mention in std::mem::take(&mut picture.mentions) {
        let Mention {
            name,
            what,
            controller,
        } = mention;
        let node = names.told(&name.value, &name.at, &what, page);
        if let Some(node) = &node {
            picture.add_node(node, &name.at);
        }
        match (controller, node) {
            (Some((bmc, secret)), Some(node)) => {
                if ipmi::address_fits(&bmc.address, &bmc.at, &what, page) {
                    page.understood(
                        &bmc.at,
                        what,
                        "[node.bmc]; its password is in a file of its own",
                    );
                    ipmi::give(&node, bmc, secret, picture);
                }
            }
            (Some(_), None) => {}
            (None, node) => {
                for i in lines.get(&name.at).into_iter().flatten() {
                    prefer(&mut picture.pools[*i], node.as_deref(), page);
                }
            }
        }
    }
}

/// A pool of a line of `haresources` prefers the line's node.
fn prefer(pool: &mut Pool, node: Option<&str>, page: &mut Page) {
    let Some(said) = &mut pool.prefer else {
        return;
    };
    let name = &pool.name;
    let why = match node {
        Some(node) => format!("[[pool]] {name}, which prefers {node}"),
        None => format!("[[pool]] {name}, which prefers no node"),
    };
    page.understood(&pool.at, format!("{} {name} …", said.value.0), why);
    match node {
        Some(node) => node.clone_into(&mut said.value.0),
        None => pool.prefer = None,
    }
}
