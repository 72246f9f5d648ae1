//! Whether a machine is one of the heads. A drill that runs on one falls with it, and nobody heals.

use std::net::IpAddr;

use hawser_cluster::addresses;
use hawser_model::cluster_file::{ClusterFile, NodeEntry};
use nix::unistd::gethostname;

use crate::error::DrillError;

/// The node that this machine is.
pub(crate) fn node(file: &ClusterFile) -> Result<Option<&NodeEntry>, DrillError> {
    let name =
        gethostname().map_err(|e| DrillError::io("gethostname", "this machine", e.into()))?;
    let own = addresses::own().into_iter();
    let addresses: Vec<IpAddr> = own.map(|(address, _)| address).collect();
    Ok(node_of(file, &name.to_string_lossy(), &addresses))
}

/// The node that has this name, with or without a domain, or one of these addresses.
pub(crate) fn node_of<'f>(
    file: &'f ClusterFile,
    name: &str,
    addresses: &[IpAddr],
) -> Option<&'f NodeEntry> {
    let short = name.split('.').next().unwrap_or_default();
    let mut nodes = file.nodes.iter();
    nodes.find(|node| {
        let own = node.name.as_str();
        let mut theirs = node.addresses.values();
        own == name || own == short || theirs.any(|address| addresses.contains(&**address))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_known_by_its_name_and_by_each_of_its_addresses() {
        let text = include_str!("../../../examples/lab/hawser.toml");
        let file = hawser_model::cluster_file::parse_complete(text, "hawser.toml").unwrap();
        let found = |name: &str, address: &str| {
            let address: IpAddr = address.parse().unwrap();
            let node = node_of(&file, name, &["127.0.0.1".parse().unwrap(), address]);
            node.map(|node| node.name.to_string())
        };
        assert_eq!(found("admin", "10.72.0.9"), None);
        assert_eq!(found("head2", "10.72.0.9").as_deref(), Some("head2"));
        let whole = found("head2.example.org", "10.72.0.9");
        assert_eq!(whole.as_deref(), Some("head2"));
        assert_eq!(found("renamed", "10.72.3.1").as_deref(), Some("head1"));
    }
}
