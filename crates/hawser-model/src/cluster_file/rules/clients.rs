//! Clients have names of their own, and are asked or not.

use super::Found;
use super::network;
use crate::cluster_file::ClusterFile;
use crate::toml_file::Problem as Shape;

/// What can be wrong with clients.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrokenClients {
    /// A node that is called a client.
    #[error("client \"{0}\" is a node of the cluster")]
    IsNode(String),
    /// Both ways to know how long it waits.
    #[error("client \"{0}\" has ssh and gives_up")]
    AskedAndStated(String),
}

impl BrokenClients {
    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            Self::IsNode(_) => "a head is not its own client: remove the [[client]]".into(),
            Self::AskedAndStated(_) => {
                "one with ssh is asked how long it waits; gives_up says it of one that cannot be asked: remove one of both"
                    .into()
            }
        }
    }
}

impl From<BrokenClients> for super::Problem {
    fn from(broken: BrokenClients) -> Self {
        Shape::Rule(broken.into())
    }
}

pub(super) fn check(file: &ClusterFile, found: &mut Found) {
    let clients = file.clients.iter();
    let names = clients.map(|it| (it.name.as_str(), it.name.span()));
    network::names("client", names, found);
    for client in &file.clients {
        let name = client.name.to_string();
        if file.node(&name).is_some() {
            found.push(BrokenClients::IsNode(name.clone()), client.name.span());
        }
        if let Some(ssh) = client.ssh.as_ref().filter(|_| client.gives_up.is_some()) {
            found.push(BrokenClients::AskedAndStated(name), ssh.span());
        }
    }
}
