//! `crm_simulate`'s report: the cluster before, what is executed in which order, the cluster after.

use std::collections::{BTreeMap, BTreeSet};

use super::SimulateError;
use crate::xml::Element;

/// The report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The cluster as it was given.
    pub before: Picture,
    /// What is executed, in order.
    pub executed: Vec<Executed>,
    /// The cluster afterwards.
    pub after: Picture,
}

/// A cluster at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picture {
    /// Its nodes.
    pub nodes: BTreeMap<String, NodeState>,
    /// Its resources and the nodes each runs on.
    pub resources: BTreeMap<String, BTreeSet<String>>,
    /// Resources that Pacemaker will not touch.
    pub blocked: BTreeSet<String>,
    /// Resources whose last operation failed.
    pub failed: BTreeSet<String>,
    /// Resources that Pacemaker watches and does nothing to.
    pub unmanaged: BTreeSet<String>,
}

/// What a node is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeState {
    /// A member of the cluster.
    pub online: bool,
    /// Nothing may run there.
    pub standby: bool,
    /// Gone, and not known to be off: nothing is taken over from it yet.
    pub unclean: bool,
    /// Nothing is touched there.
    pub maintenance: bool,
    /// It is joining, and nothing may run there yet.
    pub pending: bool,
}

/// Something that is executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Executed {
    /// A node is fenced.
    Fence {
        /// The node.
        node: String,
        /// `off`, `reboot`, `on`.
        operation: String,
        /// Pacemaker's reason.
        reason: Option<String>,
    },
    /// A resource agent is called. Monitors are not listed.
    Resource {
        /// The resource.
        resource: String,
        /// `start`, `stop`, …
        operation: String,
        /// Where.
        node: String,
    },
}

/// What is read.
const WHAT: &str = "crm_simulate's report";

impl Report {
    /// Reads it from an answer's two reports.
    ///
    /// # Errors
    /// One is no XML, or does not say what the cluster is, what is done, or what it is afterwards.
    pub fn parse(before: Option<&str>, text: &str) -> Result<Self, SimulateError> {
        let root = Element::parse(text, WHAT)?;
        let before = before.map(|it| Element::parse(it, WHAT)).transpose()?;
        let before = before.as_ref().unwrap_or(&root);
        let actions = &part(&root, "transition")?.children;
        let planned = root.first("actions").into_iter();
        let reasons: BTreeMap<&str, &str> = planned
            .flat_map(|actions| actions.all("node_action"))
            .filter_map(|action| Some((action.get("node")?, action.get("reason")?)))
            .collect();
        Ok(Self {
            before: Picture::of(part(before, "cluster_status")?),
            executed: actions
                .iter()
                .filter_map(|action| executed(action, &reasons))
                .collect(),
            after: Picture::of(part(&root, "revised_cluster_status")?),
        })
    }
}

/// A part of a report, without which it says less than it seems to.
fn part<'a>(report: &'a Element, name: &'static str) -> Result<&'a Element, SimulateError> {
    let part = report.first(name);
    part.ok_or(SimulateError::Incomplete { part: name })
}

fn executed(action: &Element, reasons: &BTreeMap<&str, &str>) -> Option<Executed> {
    let text = |name| action.get(name).map(str::to_owned);
    match action.name.as_str() {
        "fencing_action" => Some(Executed::Fence {
            node: text("target")?,
            operation: text("op")?,
            reason: reasons
                .get(action.get("target")?)
                .map(|reason| (*reason).to_owned()),
        }),
        // Pseudo actions are not executed: the stop of what ran on a node that was shot.
        "rsc_action" if text("op")? != "monitor" => Some(Executed::Resource {
            resource: text("resource")?,
            operation: text("op")?,
            node: text("node")?,
        }),
        _ => None,
    }
}

impl Picture {
    fn of(status: &Element) -> Self {
        let mut picture = Self::default();
        let yes = |element: &Element, name: &str| element.get(name) == Some("true");
        for node in status
            .first("nodes")
            .into_iter()
            .flat_map(|nodes| nodes.all("node"))
        {
            let state = NodeState {
                online: yes(node, "online"),
                standby: yes(node, "standby"),
                unclean: yes(node, "unclean"),
                maintenance: yes(node, "maintenance"),
                pending: yes(node, "pending"),
            };
            picture
                .nodes
                .insert(node.get("name").unwrap_or_default().into(), state);
        }
        let resources = status
            .first("resources")
            .map(Element::walk)
            .unwrap_or_default();
        for resource in resources
            .into_iter()
            .filter(|element| element.name == "resource")
        {
            let id = resource.get("id").unwrap_or_default().to_owned();
            let nodes = resource.all("node").filter_map(|node| node.get("name"));
            let running = match resource.get("role") {
                Some("Stopped") => BTreeSet::new(),
                _ => nodes.map(str::to_owned).collect(),
            };
            if yes(resource, "blocked") {
                picture.blocked.insert(id.clone());
            }
            if yes(resource, "failed") {
                picture.failed.insert(id.clone());
            }
            if resource.get("managed") == Some("false") {
                picture.unmanaged.insert(id.clone());
            }
            picture.resources.insert(id, running);
        }
        picture
    }

    /// Where a resource runs, when it runs on exactly one node.
    pub fn runs_on(&self, resource: &str) -> Option<&str> {
        let nodes = self.resources.get(resource)?;
        match nodes.len() {
            1 => nodes.first().map(String::as_str),
            _ => None,
        }
    }
}
