//! Which cluster a verb works on, and how its nodes are reached: `-f`, `--host` or `--lab`.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use hawser_cluster::exports::Context;
use hawser_cluster::live::{FenceAsk, Secrets, fence_asks};
use hawser_coordinator::discover::discover;
use hawser_coordinator::fit::Misfit;
use hawser_host::transport::{Command, Executable, Ssh, Transport};
use hawser_host::{Agent, Host, HostError, Hosts};
use hawser_lab::Lab;
use hawser_model::cluster_file::{self, ClusterFile, ExportKind, Pool};
use hawser_model::host::HostFacts;
use hawser_model::iscsi::{ISCSI_PORT, IscsiUnit};
use hawser_model::names::HostName;
use hawser_model::topology::{Reach, Topology};
use hawser_model::traffic::RunKey;
use miette::{IntoDiagnostic, Report, WrapErr, bail};

use crate::bad_file::{self, Wrong};
use crate::waiting::aloud;

/// The file that is used when no cluster is named.
const DEFAULT_FILE: &str = "hawser.toml";

/// How a cluster is named on the command line.
#[derive(clap::Args)]
pub struct Which {
    /// The cluster file [default: ./hawser.toml]
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["hosts", "lab"])]
    file: Option<PathBuf>,
    /// A host to reach by ssh; name two or more, without a cluster file
    #[arg(long = "host", value_name = "DESTINATION", conflicts_with = "lab")]
    hosts: Vec<String>,
    /// A lab that `hawser lab up --name` made
    #[arg(long, value_name = "NAME")]
    lab: Option<String>,
    /// An ssh configuration file instead of your own (`ssh -F`)
    #[arg(long, value_name = "FILE")]
    ssh_config: Option<PathBuf>,
}

/// A cluster as named.
pub struct Cluster {
    /// What is known of its topology; nothing with `--host`.
    pub topology: Option<Topology>,
    /// Its nodes and how each is reached.
    pub nodes: Vec<(HostName, Reach)>,
    file: Option<(String, String, ClusterFile)>,
    secrets: Secrets,
    ssh_config: Option<PathBuf>,
    connect_timeout: Option<Duration>,
    login_timeout: Option<Duration>,
}

impl Which {
    /// By a file or a lab, or, when neither is named, by no hosts at all.
    pub fn named(file: Option<PathBuf>, lab: Option<String>, ssh_config: Option<PathBuf>) -> Self {
        Self {
            file,
            hosts: Vec::new(),
            lab,
            ssh_config,
        }
    }

    /// The words of a command line that name it again.
    pub fn words(&self) -> String {
        let mut words: Vec<String> = Vec::new();
        if let Some(lab) = &self.lab {
            words.push(format!("--lab {lab}"));
        }
        if let Some(file) = &self.file {
            words.push(format!("-f {}", file.display()));
        }
        words.extend(self.hosts.iter().map(|host| format!("--host {host}")));
        words.join(" ")
    }

    /// Finds out which cluster is meant.
    pub fn cluster(&self) -> miette::Result<Cluster> {
        let named = |topology: Topology, file, secrets| Cluster {
            nodes: topology
                .nodes
                .iter()
                .map(|n| (n.name.clone(), n.reach.clone()))
                .collect(),
            topology: Some(topology),
            file,
            secrets,
            ssh_config: self.ssh_config.clone(),
            connect_timeout: None,
            login_timeout: None,
        };
        if let Some(name) = &self.lab {
            let lab = Lab::open(name).map_err(|e| miette::miette!("{e}"))?;
            // One that was made with a cluster is administered from a folder of its own.
            return Ok(match lab.admin_root() {
                Some(root) => {
                    let file = Some(read(&root.join(DEFAULT_FILE))?);
                    named(lab.topology(), file, Secrets::below(&root))
                }
                None => named(lab.topology(), None, Secrets::here()),
            });
        }
        if !self.hosts.is_empty() {
            return self.hosts_alone();
        }
        let path = match &self.file {
            Some(path) => path.clone(),
            None if Path::new(DEFAULT_FILE).exists() => DEFAULT_FILE.into(),
            None => bail!(
                help = "name a cluster file (-f FILE), two or more hosts (--host A --host B) or a lab (--lab NAME)",
                "no cluster named, and no {DEFAULT_FILE} here"
            ),
        };
        let (shown, text, file) = read(&path)?;
        let topology = file.topology();
        Ok(named(topology, Some((shown, text, file)), Secrets::here()))
    }

    fn hosts_alone(&self) -> miette::Result<Cluster> {
        let mut nodes: Vec<(HostName, Reach)> = Vec::new();
        for destination in &self.hosts {
            let node = by_ssh(destination)?;
            if nodes.iter().any(|(name, _)| *name == node.0) {
                bail!("--host {destination}: named twice");
            }
            nodes.push(node);
        }
        if nodes.len() < 2 {
            bail!("--host {}: a check needs two or more hosts", self.hosts[0]);
        }
        Ok(Cluster {
            topology: None,
            nodes,
            file: None,
            secrets: Secrets::here(),
            ssh_config: self.ssh_config.clone(),
            connect_timeout: None,
            login_timeout: None,
        })
    }
}

/// The host that an ssh destination names: `root@head1` is the host head1 in what is printed.
fn by_ssh(destination: &str) -> miette::Result<(HostName, Reach)> {
    let name = destination.rsplit('@').next().unwrap_or(destination);
    if name.is_empty() || destination.starts_with('-') {
        bail!("--host {destination}: not an ssh destination such as head1 or root@head1");
    }
    Ok((name.into(), Reach::Ssh(destination.to_owned())))
}

/// The one host that a verb asks, as it is named on the command line.
#[derive(clap::Args)]
pub struct OneHost {
    /// Ask this host by ssh, such as root@head1, or this node of --lab [default: this machine]
    #[arg(long, value_name = "DESTINATION")]
    host: Option<String>,
    /// The host is a node of this lab
    #[arg(long, value_name = "NAME", requires = "host")]
    lab: Option<String>,
    /// An ssh configuration file instead of your own (`ssh -F`)
    #[arg(long, value_name = "FILE", requires = "host", conflicts_with = "lab")]
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
            None => by_ssh(host)?,
        };
        let cluster = Cluster::of_nodes(vec![node], self.ssh_config.clone());
        let hosts = aloud(&format!("{host} is being reached"), || cluster.connect())?;
        let host = hosts.into_values().next();
        Ok(Some(host.expect("whoever is not reached is an error")))
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

/// A cluster file: how it is shown, its text and what it says.
fn read(path: &Path) -> miette::Result<(String, String, ClusterFile)> {
    let shown = path.display().to_string();
    let text = fs::read_to_string(path)
        .into_diagnostic()
        .wrap_err_with(|| format!("read the cluster file {shown}"))?;
    let file = cluster_file::parse(&text, &shown).map_err(|e| bad_file::cluster_file(&e))?;
    Ok((shown, text, file))
}

impl Cluster {
    /// Its topology, as far as these hosts are in it: as the file or the lab has it, else as the hosts' networks show it.
    pub fn topology_of(&self, hosts: &BTreeMap<HostName, HostFacts>) -> Topology {
        if let Some(whole) = &self.topology {
            let mut topology = whole.clone();
            topology.nodes.retain(|node| hosts.contains_key(&node.name));
            return topology;
        }
        let known: Vec<_> = self
            .nodes
            .iter()
            .filter_map(|(name, reach)| Some((name.clone(), reach.clone(), hosts.get(name)?)))
            .collect();
        discover(&known)
    }

    /// The cluster of these nodes.
    pub fn of_nodes(nodes: Vec<(HostName, Reach)>, ssh_config: Option<PathBuf>) -> Self {
        Self {
            topology: None,
            nodes,
            file: None,
            secrets: Secrets::here(),
            ssh_config,
            connect_timeout: None,
            login_timeout: None,
        }
    }

    /// One of its nodes, to which a connection may take so long.
    pub fn one(&self, name: &HostName, connect_timeout: Duration) -> Self {
        let node = self.nodes.iter().filter(|(node, _)| node == name);
        Self {
            connect_timeout: Some(connect_timeout),
            ..Self::of_nodes(node.cloned().collect(), self.ssh_config.clone())
        }
    }

    /// Its nodes, to each of which a connection may take so long, and the login behind it so long again.
    pub fn within(&self, connect_timeout: Duration, login_timeout: Duration) -> Self {
        Self {
            connect_timeout: Some(connect_timeout),
            login_timeout: Some(login_timeout),
            ..Self::of_nodes(self.nodes.clone(), self.ssh_config.clone())
        }
    }

    /// The first unit of its file's first pool that is offered by iSCSI, at its address on this link, or at
    /// its first one; none without a file.
    pub fn unit(&self, link: Option<&str>) -> Option<IscsiUnit> {
        let file = self.cluster_file()?;
        let authority = file.exports.iqn.as_ref()?.get().clone();
        let offered = |pool: &&Pool| *pool.exports == ExportKind::Iscsi;
        let pool = file.pools.iter().find(offered)?;
        let on_link = pool
            .addresses
            .iter()
            .find(|(name, _)| Some(name.as_str()) == link);
        let (_, addresses) = on_link.or(pool.addresses.iter().next())?;
        let address = addresses.as_slice().first()?;
        let context = Context {
            pool: pool.name.get().clone(),
            authority,
            portals: Vec::new(),
            backend: file.exports.backend,
        };
        Some(IscsiUnit {
            portal: SocketAddr::new(*address, ISCSI_PORT),
            target: context.iqn(&pool.name),
            lun: 1,
        })
    }

    /// Its file, when it has one.
    pub fn cluster_file(&self) -> Option<&ClusterFile> {
        self.file.as_ref().map(|(_, _, file)| file)
    }

    /// How the fence devices of its file are asked from these nodes; none without a file.
    pub fn fence_asks(&self, nodes: &[HostName]) -> Vec<FenceAsk> {
        self.cluster_file()
            .map_or_else(Vec::new, |file| fence_asks(file, &self.secrets, nodes))
    }

    /// Starts an agent on every node, all at the same time.
    ///
    /// # Errors
    /// Every node that could not be reached, each with its reason.
    pub fn connect(&self) -> miette::Result<Hosts> {
        self.connect_and(Vec::new())
    }

    /// The same, and hosts that are reached in other ways.
    ///
    /// # Errors
    /// As [`Self::connect`].
    pub fn connect_and(&self, others: Vec<Box<dyn Transport>>) -> miette::Result<Hosts> {
        let (hosts, failed) = self.try_connect_and(others)?;
        if failed.is_empty() {
            return Ok(hosts);
        }
        let failed: Vec<String> = failed.iter().map(ToString::to_string).collect();
        bail!("{}", failed.join("\n"))
    }

    /// Starts an agent on every node that can be reached, and says of the others why not.
    ///
    /// # Errors
    /// What keeps this machine from reaching any.
    pub fn try_connect(&self) -> miette::Result<(Hosts, Vec<HostError>)> {
        self.try_connect_and(Vec::new())
    }

    fn try_connect_and(
        &self,
        others: Vec<Box<dyn Transport>>,
    ) -> miette::Result<(Hosts, Vec<HostError>)> {
        let run_key = RunKey(u64::from_ne_bytes(random()?));
        let mut transports = self.transports()?;
        transports.extend(others);
        let started: Vec<Result<Agent, HostError>> = thread::scope(|scope| {
            let starting: Vec<_> = transports
                .iter()
                .map(|t| scope.spawn(move || Agent::connect(t.as_ref(), run_key)))
                .collect();
            starting
                .into_iter()
                .map(|s| {
                    s.join()
                        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                })
                .collect()
        });
        let mut hosts = Hosts::new();
        let mut failed = Vec::new();
        for result in started {
            match result {
                Ok(agent) => {
                    hosts.insert(agent.name().clone(), Box::new(agent));
                }
                Err(e) => failed.push(e),
            }
        }
        Ok((hosts, failed))
    }

    /// The labs whose nodes these are.
    pub fn labs(&self) -> miette::Result<Vec<Lab>> {
        let mut names: Vec<&str> = Vec::new();
        for (_, reach) in &self.nodes {
            if let Reach::Lab(lab) = reach {
                if !names.contains(&lab.as_str()) {
                    names.push(lab);
                }
            }
        }
        names
            .into_iter()
            .map(|name| Lab::open(name).map_err(|e| miette::miette!("{e}")))
            .collect()
    }

    fn transports(&self) -> miette::Result<Vec<Box<dyn Transport>>> {
        let own = || {
            Executable::own()
                .map(Arc::new)
                .into_diagnostic()
                .wrap_err("read hawser's own executable, to copy it to the nodes")
        };
        let mut executable = None;
        let mut transports: Vec<Box<dyn Transport>> = Vec::new();
        for (name, reach) in &self.nodes {
            transports.push(match reach {
                Reach::Lab(lab) => {
                    let (lab, node) = (lab.clone(), name.clone());
                    Box::new(Command::new(name.clone(), move || {
                        let lab = Lab::open(&lab)?;
                        let agent = lab.agent_binary().display().to_string();
                        let net = lab.machine_net().display().to_string();
                        let agent = [agent.as_str(), "agent", "--machine-net", net.as_str()];
                        lab.command(node.as_str(), agent)
                    }))
                }
                Reach::Ssh(destination) => {
                    if executable.is_none() {
                        executable = Some(own()?);
                    }
                    let executable = executable.clone().expect("just read");
                    let mut ssh = Ssh::new(name.clone(), destination.clone(), executable);
                    if let Some(config) = &self.ssh_config {
                        ssh = ssh.config(config.clone());
                    }
                    if let Some(timeout) = self.connect_timeout {
                        ssh = ssh.connect_timeout(timeout);
                    }
                    if let Some(timeout) = self.login_timeout {
                        ssh = ssh.login_timeout(timeout);
                    }
                    Box::new(ssh)
                }
            });
        }
        Ok(transports)
    }

    /// Addresses that their nodes do not have, shown where the cluster file gives them.
    pub fn misfit(&self, misfits: &[Misfit]) -> Report {
        let Some((path, text, file)) = &self.file else {
            let all: Vec<String> = misfits.iter().map(ToString::to_string).collect();
            return miette::miette!("{}", all.join("\n"));
        };
        let wrong: Vec<Wrong> = misfits
            .iter()
            .map(|misfit| {
                let span = file
                    .node(misfit.node.as_str())
                    .and_then(|n| n.addresses.iter().find(|(l, _)| *l.get() == misfit.link))
                    .map_or(0..0, |(_, address)| address.span());
                let before = &text[..span.start];
                let line = before.matches('\n').count() + 1;
                let column = before.len() - before.rfind('\n').map_or(0, |i| i + 1) + 1;
                Wrong {
                    message: misfit.to_string(),
                    help: None,
                    span,
                    line_column: (line, column),
                }
            })
            .collect();
        bad_file::report(path, text, &wrong)
    }
}

/// An agent on this very machine, for the end of a copy that is here.
pub fn here(name: HostName) -> miette::Result<Box<dyn Transport>> {
    let own = std::env::current_exe()
        .into_diagnostic()
        .wrap_err("find hawser's own executable")?;
    Ok(Box::new(Command::new(name, move || {
        let mut command = std::process::Command::new(&own);
        command.arg("agent");
        Ok::<_, std::io::Error>(command)
    })))
}

/// An agent beside the switches of a lab.
pub fn beside_switches(lab: &Lab) -> miette::Result<Box<dyn Host>> {
    let name = lab.name().to_string();
    let transport = Command::new(hawser_lab::init::SWITCHES.into(), move || {
        Lab::open(&name).and_then(|lab| lab.switch_agent())
    });
    let run_key = RunKey(u64::from_ne_bytes(random()?));
    let agent = Agent::connect(&transport, run_key).map_err(|e| miette::miette!("{e}"))?;
    Ok(Box::new(agent))
}

/// Bytes from the kernel's generator.
pub fn random<const N: usize>() -> miette::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .into_diagnostic()
        .wrap_err("take random bytes")?;
    Ok(bytes)
}
