//! The golden clusters: a cluster file each, and beside it what is made of it.

use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use hawser_cluster::cib;
use hawser_cluster::numbering::Numbering;
use hawser_cluster::plan::{Facts, NodeFacts, PortFacts, watched};
use hawser_cluster::xml::Element;
use hawser_model::cluster_file::{At, ClusterFile, NodeEntry, parse_complete};
use hawser_model::names::{HostName, LinkName};

/// A golden cluster.
pub struct Golden {
    pub name: &'static str,
    pub file: ClusterFile,
}

/// Those whose file is an example, and those with a file of their own.
pub const NAMES: [&str; 7] = [
    "zfs-appliance",
    "lab",
    "three-heads",
    "three-nodes",
    "without-fencing",
    "hooks-and-ports",
    "two-supplies",
];

impl Golden {
    pub fn all() -> Vec<Self> {
        NAMES.map(Self::named).into()
    }

    pub fn named(name: &'static str) -> Self {
        let own = folder(name).join("hawser.toml");
        let example = root().join("../../examples").join(name).join("hawser.toml");
        let path = if own.exists() { own } else { example };
        let text = fs::read_to_string(&path).unwrap();
        let file = parse_complete(&text, &path.display().to_string());
        let file = file.unwrap_or_else(|errors| panic!("{errors}"));
        Self { name, file }
    }

    /// The CIB that such a cluster gets.
    pub fn cib(&self) -> Element {
        let mut facts = Facts::default();
        for (node, ports) in ports(&self.file) {
            let there = NodeFacts {
                ports,
                ..NodeFacts::default()
            };
            facts.nodes.insert(node, there);
        }
        let (ports, _) = watched(
            &self.file,
            |node| facts.ports_of(node),
            &Element::new("cib"),
        );
        cib::generate_watching(&self.file, &self.numbering(), &ports)
    }

    pub fn numbering(&self) -> Numbering {
        Numbering::of(&self.file, None)
    }

    /// Compares with the golden file, or writes it anew with `HAWSER_REGENERATE=1`.
    #[track_caller]
    pub fn check(&self, file: &str, made: &str) {
        compare(&folder(self.name).join(file), made);
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub fn folder(name: &str) -> PathBuf {
    root().join("goldens").join(name)
}

/// Compares `made` with the file at `path`, or writes it there.
#[track_caller]
pub fn compare(path: &Path, made: &str) {
    if std::env::var_os("HAWSER_REGENERATE").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, made).unwrap();
    }
    let golden = fs::read_to_string(path).unwrap_or_default();
    assert!(
        golden == made,
        "{} is not what is made now.\nHAWSER_REGENERATE=1 cargo test -p hawser-cluster writes it anew; \
         a person reads the difference.\n--- made now ---\n{made}",
        path.display()
    );
}

/// The ports of heads on which each interface is named as its link.
pub fn ports(file: &ClusterFile) -> BTreeMap<HostName, BTreeMap<IpAddr, PortFacts>> {
    let port = |(link, address): (&At<LinkName>, &At<IpAddr>)| {
        let facts = PortFacts {
            interface: link.to_string(),
            blind: None,
        };
        (**address, facts)
    };
    let of = |node: &NodeEntry| {
        let ports = node.addresses.iter().map(port).collect();
        (node.name.get().clone(), ports)
    };
    file.nodes.iter().map(of).collect()
}
