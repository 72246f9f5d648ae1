//! The lab that a cluster file asks for.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use hawser_model::cluster_file::{ClusterFile, Role as LinkRole, SecretRef};
use hawser_model::names::{HostName, LinkName};
use ipnet::{IpNet, Ipv4Net};
use serde::{Deserialize, Serialize};

use super::arbiter;
use super::disk::UnitSpec;
use super::networks::Networks;
use super::pools::{PoolSpec, storage};
use crate::error::LabError;
use crate::machines::{Kind, Release};
use crate::spec::{LabSpec, LinkSpec, NodeSpec, PortSpec, Role, nth_ipv4};

/// The link that the nodes reach the BMCs over, when there are any.
pub use hawser_host::site::BMC_LINK;

/// The switch it runs over.
const BMC_SWITCH: &str = "mgmtsw";

/// The machine beside the heads, on every SAN.
const CLIENT: &str = "client1";

/// The client's place in the networks: above the heads, below the pools' addresses.
const CLIENT_INDEX: usize = 49;

/// The networks between heads and shelf machines: their names before the number, and those of their switches.
const PATH_LINK: &str = "path";
const PATH_SWITCH: &str = "pathsw";

/// The first shelf machine's place in those networks.
const SHELF_INDEX: usize = 100;

/// What a lab has beside nodes, links and switches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterSpec {
    /// The text of the cluster file.
    pub file: String,
    /// The cluster's name.
    #[serde(default)]
    pub name: String,
    /// The management controllers.
    pub bmcs: Vec<BmcSpec>,
    /// The disks that all heads see.
    pub shelves: Vec<ShelfSpec>,
    /// The pools that a head makes on them.
    #[serde(default)]
    pub pools: Vec<PoolSpec>,
}

impl ClusterSpec {
    /// Whether a pool is of ZFS.
    pub fn has_zfs(&self) -> bool {
        let is_zfs = |pool: &PoolSpec| matches!(pool, PoolSpec::Zfs { .. });
        self.pools.iter().any(is_zfs)
    }

    /// Whether a pool is of LVM.
    pub fn has_lvm(&self) -> bool {
        let is_lvm = |pool: &PoolSpec| matches!(pool, PoolSpec::Lvm { .. });
        self.pools.iter().any(is_lvm)
    }
}

/// A management controller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BmcSpec {
    /// The node whose power it switches.
    pub node: HostName,
    /// Its address on [`BMC_LINK`].
    pub address: Ipv4Addr,
    /// The account.
    pub username: String,
    /// Where the operator keeps its password.
    pub password: PathBuf,
}

/// A disk that all heads see: a file of the lab.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShelfSpec {
    /// The name of the file.
    pub name: String,
    /// The file system that is made on it; none: a head makes a pool on it.
    pub fstype: Option<String>,
    /// The unit of a shelf machine that it is; none: a disk of each head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<UnitSpec>,
}

impl LabSpec {
    /// The lab of such nodes on which the cluster of `file` can be built; `text` is the file itself.
    ///
    /// # Errors
    /// [`LabError::ClusterFile`]: the file asks for what a lab does not have.
    pub fn of_cluster(file: &ClusterFile, text: &str, kind: Kind) -> Result<Self, LabError> {
        if kind == Kind::Qemu {
            let what = "a storage cluster's machines are those of user-mode Linux (--machines uml)";
            return refused(what.to_owned());
        }
        serial(file, kind)?;
        let mut networks = Networks::of(file);
        let bmcs = bmcs(file)?;
        if let Some(first) = bmcs.first() {
            let net = bmc_network(first.address);
            if let Some(other) = bmcs.iter().find(|bmc| !net.contains(&bmc.address)) {
                return refused(format!(
                    "the BMC of {} at {} is not in {net}, where that of {} is",
                    other.node, other.address, first.node
                ));
            }
            networks.add(BMC_LINK, BMC_SWITCH, Some(net), "BMCs")?;
        }
        let storage = storage(file, kind)?;
        let paths = add_paths(&storage.shelves, &mut networks)?;
        let arbiter = arbiter::machine(file, &mut networks)?;
        let Networks { switches, links } = networks;
        let mut nodes = Vec::new();
        for (index, node) in file.nodes.iter().enumerate() {
            let port = |link: &LinkSpec| {
                let given = node.address_on(link.name.as_str()).map(|address| **address);
                let by_number = link.ipv4.and_then(|net| nth_ipv4(net, index));
                let (ipv4, ipv6) = match given {
                    Some(std::net::IpAddr::V4(address)) => (Some(address), None),
                    Some(std::net::IpAddr::V6(address)) => (None, Some(address)),
                    None => (by_number, None),
                };
                let link = link.name.clone();
                PortSpec { link, ipv4, ipv6 }
            };
            nodes.push(NodeSpec {
                name: node.name.get().clone(),
                role: Role::Member,
                ports: links
                    .iter()
                    .filter(|link| !link.serial || node.address_on(link.name.as_str()).is_some())
                    .map(port)
                    .collect(),
                machine: None,
            });
        }
        let sans = file
            .links_with(LinkRole::San)
            .map(|link| link.name.get().clone());
        let sans: Vec<LinkName> = sans.collect();
        if !sans.is_empty() {
            let on_san = links.iter().filter(|link| sans.contains(&link.name));
            let port = |link: &LinkSpec| PortSpec {
                link: link.name.clone(),
                ipv4: link.ipv4.and_then(|net| nth_ipv4(net, CLIENT_INDEX)),
                ipv6: link
                    .ipv6
                    .and_then(|net| crate::spec::nth_ipv6(net, CLIENT_INDEX)),
            };
            nodes.push(NodeSpec {
                name: HostName(CLIENT.to_owned()),
                role: Role::Client,
                ports: on_san.map(port).collect(),
                machine: None,
            });
        }
        let shelves = shelf_machines(&storage.shelves, &paths);
        if let Some(twice) = shelves
            .iter()
            .find(|it| nodes.iter().any(|node| node.name == it.name))
        {
            return refused(format!("{} is a shelf machine and a node", twice.name));
        }
        nodes.extend(shelves);
        if let Some(arbiter) = arbiter {
            arbiter::differs(&arbiter, &nodes, &bmcs)?;
            nodes.push(arbiter);
        }
        let cluster = Some(ClusterSpec {
            file: text.to_owned(),
            name: file.cluster.name.get().clone(),
            bmcs,
            shelves: storage.shelves,
            pools: storage.pools,
        });
        Ok(Self {
            kind,
            release: Release::default(),
            switches,
            links,
            nodes,
            cluster,
        })
    }
}

/// Refuses a null-modem cable between nodes without serial lines, or one whose addresses PPP does not give here.
fn serial(file: &ClusterFile, kind: Kind) -> Result<(), LabError> {
    for link in file.links.iter().filter(|link| link.is_serial()) {
        let name = &link.name;
        if kind != Kind::Uml {
            return refused(format!(
                "link {name} is a null-modem cable, which machines of user-mode Linux alone have (--machines)"
            ));
        }
        if !matches!(
            link.network.as_ref().map(|network| network.0),
            Some(IpNet::V4(_))
        ) {
            return refused(format!(
                "link {name} is a null-modem cable, and a lab's has a network of IPv4"
            ));
        }
    }
    Ok(())
}

/// Adds the networks by which heads reach shelf machines.
fn add_paths(shelves: &[ShelfSpec], networks: &mut Networks) -> Result<Vec<LinkSpec>, LabError> {
    let units = shelves.iter().filter_map(|shelf| shelf.unit.as_ref());
    let most = units.map(|unit| unit.paths).max().unwrap_or(0);
    let add = |number| {
        let (name, switch) = (
            format!("{PATH_LINK}{number}"),
            format!("{PATH_SWITCH}{number}"),
        );
        networks.add(&name, &switch, None, "shelf machines")
    };
    (0..most).map(add).collect()
}

/// The machines whose units the shelves are, each on as many paths as its units have.
fn shelf_machines(shelves: &[ShelfSpec], paths: &[LinkSpec]) -> Vec<NodeSpec> {
    let mut machines: Vec<NodeSpec> = Vec::new();
    for unit in shelves.iter().filter_map(|shelf| shelf.unit.as_ref()) {
        let known = machines.iter().position(|it| it.name == unit.machine);
        let at = known.unwrap_or(machines.len());
        let port = |link: &LinkSpec| PortSpec {
            link: link.name.clone(),
            ipv4: link.ipv4.and_then(|net| nth_ipv4(net, SHELF_INDEX + at)),
            ipv6: None,
        };
        let ports: Vec<PortSpec> = paths.iter().take(unit.paths).map(port).collect();
        match machines.get_mut(at) {
            Some(machine) if machine.ports.len() >= ports.len() => {}
            Some(machine) => machine.ports = ports,
            None => machines.push(NodeSpec {
                name: unit.machine.clone(),
                role: Role::Shelf,
                ports,
                machine: None,
            }),
        }
    }
    machines
}

fn bmc_network(address: Ipv4Addr) -> Ipv4Net {
    Ipv4Net::new_assert(address, 24).trunc()
}

fn bmcs(file: &ClusterFile) -> Result<Vec<BmcSpec>, LabError> {
    let mut bmcs = Vec::new();
    for node in &file.nodes {
        let Some(bmc) = &node.bmc else { continue };
        let name = node.name.get();
        let Ok(address) = bmc.address.parse() else {
            return refused(format!(
                "the BMC of {name} is \"{}\", and a lab's BMC needs an IPv4 address",
                *bmc.address
            ));
        };
        if !bmc.is_ipmi() {
            let agent = bmc.agent_name();
            return refused(format!("{agent} of {name}: a lab's BMCs speak IPMI only"));
        }
        let SecretRef::File(password) = bmc.password.get() else {
            return refused(format!(
                "the password of {name}'s BMC is no file:, and a lab makes its passwords itself"
            ));
        };
        bmcs.push(BmcSpec {
            node: name.clone(),
            address,
            username: bmc.username.clone(),
            password: password.clone(),
        });
    }
    Ok(bmcs)
}

pub(super) fn refused<T>(what: String) -> Result<T, LabError> {
    Err(LabError::ClusterFile(what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_model::cluster_file::parse_complete;

    const EXAMPLE: &str = include_str!("../../../../examples/lab/hawser.toml");

    #[test]
    fn the_example_is_two_heads_with_bmcs_shelves_and_a_client_on_both_sans() {
        let file = parse_complete(EXAMPLE, "hawser.toml").unwrap();
        let lab = LabSpec::of_cluster(&file, EXAMPLE, Kind::Namespace).unwrap();
        let cluster = lab.cluster.as_ref().unwrap();
        assert_eq!(cluster.bmcs[1].address.to_string(), "10.72.9.102");
        assert_eq!(cluster.shelves[0].name, "vmpool01.img");
        let head2 = lab.node("head2").unwrap();
        assert_eq!(head2.ports.len(), 5);
        assert_eq!(head2.ports[4].ipv4, Some("10.72.9.2".parse().unwrap()));
        let client = lab.node("client1").unwrap();
        let addresses: Vec<_> = client.ports.iter().filter_map(|port| port.ipv4).collect();
        assert_eq!(addresses.len(), 2);
        assert_eq!(addresses[0].to_string(), "10.72.2.50");
    }

    #[test]
    fn a_null_modem_cable_is_between_machines_and_has_ipv4() {
        let text = include_str!("../../../../examples/lab/machines-zfs.toml");
        let made = |text: &str, kind| {
            let file = parse_complete(text, "hawser.toml").unwrap();
            LabSpec::of_cluster(&file, text, kind)
        };
        let lab = made(text, Kind::Uml).unwrap();
        let on = |node: &str| {
            lab.node(node)
                .unwrap()
                .ports
                .iter()
                .any(|it| it.link.as_str() == "ring2")
        };
        assert!(on("head1") && on("head2") && !on("client1"));
        assert!(lab.link("ring2").unwrap().serial);
        let said = made(text, Kind::Namespace).unwrap_err().to_string();
        assert!(
            said.contains("link ring2 is a null-modem cable") && said.contains("--machines"),
            "{said}"
        );
        let six = text.replace("10.72.8.0/24", "fd00:8::/64");
        let six = six.replace("10.72.8.", "fd00:8::");
        let said = made(&six, Kind::Uml).unwrap_err().to_string();
        assert!(said.contains("a network of IPv4"), "{said}");
    }

    #[test]
    fn what_a_lab_does_not_have_is_refused_by_name() {
        let said = |from: &str, to: &str| {
            let text = EXAMPLE.replace(from, to);
            let file = parse_complete(&text, "hawser.toml").unwrap();
            LabSpec::of_cluster(&file, &text, Kind::Namespace)
                .unwrap_err()
                .to_string()
        };
        assert!(said("10.72.9.101", "bmc1.example").contains("needs an IPv4 address"));
        assert!(said("/srv/shelf/vmpool01.img", "/dev/sdb").contains("pool vmpool01"));
        assert!(said("file:/etc/hawser/secrets/head2-bmc", "env:X").contains("head2's BMC"));
    }
}
