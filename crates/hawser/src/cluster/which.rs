//! Which cluster, or which one host, a command line means.

use std::path::{Path, PathBuf};

use hawser_cluster::live::Secrets;
use hawser_host::Host;
use hawser_lab::Lab;
use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::HostName;
use hawser_model::topology::{Reach, Topology};
use miette::bail;

use super::Cluster;
use crate::bad_file::Source;
use crate::names;
use crate::waiting::aloud;

/// The file that is used when no cluster is named.
pub const DEFAULT_FILE: &str = "hawser.toml";

/// How a cluster is named on the command line.
#[derive(clap::Args)]
pub struct Which {
    /// The cluster file [default: ./hawser.toml]
    #[arg(
        help_heading = "Which cluster",
        short,
        long,
        value_name = "FILE",
        conflicts_with = "hosts"
    )]
    file: Option<PathBuf>,
    #[command(flatten)]
    reached: Running,
}

/// How a cluster without a cluster file is named on the command line.
#[derive(clap::Args)]
pub struct Running {
    /// A host to reach by ssh; name two or more, without a cluster file
    #[arg(
        help_heading = "Which cluster",
        long = "host",
        value_name = "DESTINATION",
        conflicts_with = "lab",
        add = names::nodes()
    )]
    hosts: Vec<String>,
    /// A lab that `hawser lab up` made
    #[arg(help_heading = "Which cluster", long, value_name = "NAME", add = names::labs())]
    lab: Option<String>,
    /// An ssh configuration file instead of your own (`ssh -F`)
    #[arg(help_heading = "Which cluster", long, value_name = "FILE")]
    ssh_config: Option<PathBuf>,
}

impl Which {
    /// By a file or a lab, or, when neither is named, by no hosts at all.
    pub fn named(file: Option<PathBuf>, lab: Option<String>, ssh_config: Option<PathBuf>) -> Self {
        let hosts = Vec::new();
        let reached = Running {
            hosts,
            lab,
            ssh_config,
        };
        Self { file, reached }
    }

    /// Whether the command line names any.
    pub fn is_named(&self) -> bool {
        let Running { hosts, lab, .. } = &self.reached;
        self.file.is_some() || !hosts.is_empty() || lab.is_some()
    }

    /// The words of a command line that name it again.
    pub fn words(&self) -> String {
        let mut words: Vec<String> = Vec::new();
        if let Some(lab) = &self.reached.lab {
            words.push(format!("--lab {lab}"));
        }
        if let Some(file) = &self.file {
            words.push(format!("-f {}", file.display()));
        }
        let hosts = self.reached.hosts.iter();
        words.extend(hosts.map(|host| format!("--host {host}")));
        words.join(" ")
    }

    /// Finds out which cluster is meant.
    pub fn cluster(&self) -> miette::Result<Cluster> {
        if let (Some(path), Some(lab)) = (&self.file, self.reached.lab()) {
            return self.reached.file_in_lab(path, &open_lab(lab)?);
        }
        if let Some(cluster) = self.reached.cluster()? {
            return Ok(cluster);
        }
        let ways =
            "a cluster file (-f FILE), two or more hosts (--host A --host B) or a lab (--lab NAME)";
        let (source, file) = read(&file_or_default(self.file.as_deref(), ways)?)?;
        let (topology, file) = (file.topology(), Some((source, file)));
        Ok(self.reached.named(topology, file, Secrets::here()))
    }
}

impl Running {
    /// The words of a command line that name it again.
    pub fn words(&self) -> String {
        let lab = self.lab.iter().map(|lab| format!("--lab {lab}"));
        let hosts = self.hosts.iter().map(|host| format!("--host {host}"));
        lab.chain(hosts).collect::<Vec<_>>().join(" ")
    }

    /// The lab, if it is one.
    pub fn lab(&self) -> Option<&str> {
        self.lab.as_deref()
    }

    /// Finds out which cluster is meant; nothing if none is named.
    pub fn cluster(&self) -> miette::Result<Option<Cluster>> {
        let Some(name) = &self.lab else {
            return match self.hosts.is_empty() {
                true => Ok(None),
                false => self.hosts_alone().map(Some),
            };
        };
        let lab = open_lab(name)?;
        // One that was made with a cluster is administered from a folder of its own.
        Ok(Some(match lab.admin_root() {
            Some(root) => {
                let file = Some(read(&root.join(DEFAULT_FILE))?);
                self.named(lab.topology(), file, Secrets::below(&root))
            }
            None => self.named(lab.topology(), None, Secrets::here()),
        }))
    }

    /// The nodes of a lab with the links that a file names: a bond or a VLAN that somebody made in them.
    fn file_in_lab(&self, path: &Path, lab: &Lab) -> miette::Result<Cluster> {
        let (source, file) = read(path)?;
        let mut topology = file.topology();
        for node in &mut topology.nodes {
            node.reach = Reach::Lab(lab.name().to_string());
        }
        let admin = lab.admin_root();
        let secrets = admin.map_or_else(Secrets::here, |root| Secrets::below(&root));
        Ok(self.named(topology, Some((source, file)), secrets))
    }

    fn named(
        &self,
        topology: Topology,
        file: Option<(Source, ClusterFile)>,
        secrets: Secrets,
    ) -> Cluster {
        let nodes = topology.nodes.iter();
        let nodes = nodes.map(|n| (n.name.clone(), n.reach.clone()));
        let nodes = Cluster::of_nodes(nodes.collect(), self.ssh_config.clone());
        Cluster {
            topology: Some(topology),
            file,
            secrets,
            ..nodes
        }
    }

    fn hosts_alone(&self) -> miette::Result<Cluster> {
        let mut nodes: Vec<(HostName, Reach)> = Vec::new();
        for destination in &self.hosts {
            let node = by_ssh("--host", destination)?;
            if nodes.iter().any(|(name, _)| *name == node.0) {
                bail!("--host {destination}: named twice");
            }
            nodes.push(node);
        }
        if nodes.len() < 2 {
            bail!("--host {}: it takes two or more hosts", self.hosts[0]);
        }
        Ok(Cluster::of_nodes(nodes, self.ssh_config.clone()))
    }
}

/// The host that an ssh destination names: `root@head1` is the host head1 in what is printed.
pub(super) fn by_ssh(option: &str, destination: &str) -> miette::Result<(HostName, Reach)> {
    let name = destination.rsplit('@').next().unwrap_or(destination);
    if name.is_empty() || destination.starts_with('-') {
        bail!("{option} {destination}: not an ssh destination such as head1 or root@head1");
    }
    Ok((name.into(), Reach::Ssh(destination.to_owned())))
}

/// The one host that a verb asks, as it is named on the command line.
#[derive(clap::Args)]
pub struct OneHost {
    /// Ask this host by ssh, such as root@head1, or this node of --lab [default: this machine]
    #[arg(help_heading = "Which host", long, value_name = "DESTINATION", add = names::nodes())]
    host: Option<String>,
    /// The host is a node of this lab
    #[arg(
        help_heading = "Which host",
        long,
        value_name = "NAME",
        requires = "host",
        add = names::labs()
    )]
    lab: Option<String>,
    /// An ssh configuration file instead of your own (`ssh -F`)
    #[arg(
        help_heading = "Which host",
        long,
        value_name = "FILE",
        requires = "host",
        conflicts_with = "lab"
    )]
    ssh_config: Option<PathBuf>,
}

impl OneHost {
    /// Starts an agent there; none when this machine is meant.
    pub fn connect(&self) -> miette::Result<Option<Box<dyn Host>>> {
        let Some(host) = &self.host else {
            return Ok(None);
        };
        let node = match &self.lab {
            Some(lab) => (host.as_str().into(), Reach::Lab(lab.clone())),
            None => by_ssh("--host", host)?,
        };
        let cluster = Cluster::of_nodes(vec![node], self.ssh_config.clone());
        let hosts = aloud(&format!("{host} is being reached"), || cluster.connect())?;
        let host = hosts.into_values().next();
        Ok(Some(host.expect("a host that is not reached is an error")))
    }

    /// What it is called; nothing when this machine is meant.
    pub fn host(&self) -> Option<&str> {
        let host = self.host.as_deref()?;
        Some(host.rsplit('@').next().unwrap_or(host))
    }

    /// The words of a command line that name it again, each after a space.
    pub fn words(&self) -> String {
        let word = |option, value: &Option<String>| {
            let value = value.as_ref();
            value.map_or_else(String::new, |value| format!(" {option} {value}"))
        };
        word("--lab", &self.lab) + &word("--host", &self.host)
    }
}

/// The file that is named, or the one that lies here; `ways` are those to name a cluster.
pub(super) fn file_or_default(named: Option<&Path>, ways: &str) -> miette::Result<PathBuf> {
    match named {
        Some(path) => Ok(path.to_owned()),
        None if Path::new(DEFAULT_FILE).exists() => Ok(DEFAULT_FILE.into()),
        None => bail!(
            help = format!("name {ways}"),
            "no cluster named, and no {DEFAULT_FILE} here"
        ),
    }
}

pub(super) fn open_lab(name: &str) -> miette::Result<Lab> {
    Lab::open(name).map_err(|e| miette::miette!("{e}"))
}

fn read(path: &Path) -> miette::Result<(Source, ClusterFile)> {
    let source = Source::read(path)?;
    let file = source.parsed()?;
    Ok((source, file))
}
