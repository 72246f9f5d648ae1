//! From what heads show to a first `hawser.toml`, for a cluster that is not there yet.
//!
//! What several heads show together is a fact; what follows from a custom (a port's name) is a guess and said to be one; what
//! no machine knows is left to the administrator, as a comment of the file. Nothing here reads a file or reaches a host.

mod bmc;
mod disks;
mod head;
mod links;
mod nodes;
mod pool_text;
mod pools;
mod remarks;
mod switches;
mod text;

pub use head::{Head, Port, Wishes};
pub use remarks::{Remark, Remarks, Said};

use hawser_model::cluster_file;

use links::Link;
use nodes::Node;
use pools::Found;

/// What came out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    /// `hawser.toml`.
    pub text: String,
    /// Where each thing was seen, and what is open.
    pub remarks: Remarks,
    /// The passwords that it expects in files on the machine that runs Hawser: whose BMC's, and the file.
    pub passwords: Vec<(String, String)>,
    /// What a person who is there could be asked.
    pub open: Vec<Open>,
    /// Whether the heads are in a cluster already.
    pub in_cluster: bool,
}

/// What no machine showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Open {
    /// The cluster's name.
    Name,
    /// The links by which clients come, of these.
    Sans(Vec<String>),
    /// The address of this node's management controller.
    BmcAddress(String),
    /// The controllers' user.
    BmcUser,
}

/// Why there is no draft.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{found}")]
pub struct Refused {
    /// What was found.
    pub found: String,
    /// What to do about it.
    pub help: String,
}

/// What the file is written from.
struct Sketch {
    name: String,
    links: Vec<Link>,
    nodes: Vec<Node>,
    pools: Vec<Found>,
}

/// Drafts the file of these heads.
///
/// # Errors
/// They are not two heads or more that a cluster could be built of, or a wish names what is not there.
pub fn draft(heads: &[Head], wishes: &Wishes) -> Result<Draft, Refused> {
    let mut remarks = Remarks::default();
    nodes::distinct(heads)?;
    nodes::said(heads, &mut remarks);
    let mut open = Vec::new();
    let name = match &wishes.name {
        Some(name) => name.clone(),
        None => {
            open.push(Open::Name);
            let why = "name = \"cluster\"; --name NAME gives it another";
            remarks.add(Said::Guessed, "-", "what the cluster is called", why);
            "cluster".to_owned()
        }
    };
    let bmcs = bmc::bmcs(heads, wishes, &mut remarks)?;
    let links = links::links(heads, wishes, &bmcs, &mut remarks)?;
    if !links.is_empty() && !links.iter().any(|link| link.san) {
        let names = links.iter().map(|link| link.name.clone());
        open.push(Open::Sans(names.collect()));
    }
    for (head, bmc) in heads.iter().zip(&bmcs) {
        if bmc.address.is_none() {
            open.push(Open::BmcAddress(head.hostname.clone()));
        }
    }
    if bmcs.iter().any(|bmc| bmc.user.is_none()) {
        open.push(Open::BmcUser);
    }
    let passwords = bmcs.iter().filter(|bmc| bmc.is_whole());
    let passwords = passwords.map(|bmc| (bmc.node.clone(), bmc.password.clone()));
    let passwords = passwords.collect();
    let nodes = nodes::nodes(heads, &links, bmcs);
    let disks = disks::shared(heads, &mut remarks);
    let pools = pools::pools(heads, &disks, &mut remarks);
    let sketch = Sketch {
        name,
        links,
        nodes,
        pools,
    };
    let text = text::text(&sketch);
    missing(&text, &mut remarks);
    Ok(Draft {
        text,
        remarks,
        passwords,
        open,
        in_cluster: heads.iter().any(Head::in_cluster),
    })
}

/// What the file still lacks before a cluster can be built from it, by the rules of the file itself.
fn missing(text: &str, remarks: &mut Remarks) {
    let Err(errors) = cluster_file::parse_complete(text, "hawser.toml") else {
        return;
    };
    for error in errors.errors {
        let help = error.problem.help().unwrap_or_default();
        let place = format!("line {}", error.line);
        remarks.add(Said::Missing, place, error.problem.to_string(), help);
    }
}
