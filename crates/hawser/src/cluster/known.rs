//! The cluster that `plan`, `apply` and `status` work on: a cluster file, and its nodes by ssh or in
//! a lab.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use hawser_cluster::live::Secrets;
use hawser_host::{Host, HostError, Hosts};
use hawser_lab::Lab;
use hawser_model::cluster_file::{At, ClusterFile, SecretRef};
use hawser_model::names::HostName;
use hawser_model::saved_plan::SavedPlan;
use hawser_model::topology::Reach;
use miette::bail;

use super::Cluster;
use super::which::{DEFAULT_FILE, file_or_default, open_lab};
use crate::bad_file::{Source, Wrong};
use crate::names;

/// A node that is on answers a connection within so long.
const SOON: Duration = Duration::from_secs(3);

/// A cluster named by its file or its lab, whose nodes need not run it yet.
#[derive(clap::Args)]
pub struct FileOrLab {
    /// The cluster file [default: ./hawser.toml, or the lab's own with --lab]
    #[arg(help_heading = "Which cluster", short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// The nodes are those of this lab, made by `hawser lab up --cluster`
    #[arg(help_heading = "Which cluster", long, value_name = "NAME", add = names::labs())]
    pub lab: Option<String>,
    /// An ssh configuration file instead of your own (`ssh -F`)
    #[arg(help_heading = "Which cluster", long, value_name = "FILE")]
    pub ssh_config: Option<PathBuf>,
}

/// A cluster file and the way to its nodes.
pub struct KnownCluster {
    /// The file.
    pub file: ClusterFile,
    /// Where its secrets are.
    pub secrets: Secrets,
    source: Source,
    cluster: Cluster,
    slowness: u32,
}

/// The nodes that were reached, and why the others were not.
pub struct Reached {
    /// The nodes.
    pub heads: Hosts,
    /// Those that are not among them.
    pub failed: Vec<HostError>,
}

/// Why these nodes were not reached.
pub fn why_not(failed: &[HostError]) -> BTreeMap<HostName, String> {
    let failed = failed.iter();
    failed
        .map(|e| (e.host.clone(), e.failure.to_string()))
        .collect()
}

/// Of a cluster of which no node answers, nothing is known: not even that it is down.
pub fn none_reached(why: &BTreeMap<HostName, String>) -> String {
    let lines: String = why
        .iter()
        .map(|(node, why)| format!("\n{node}: {why}"))
        .collect();
    format!("none of the nodes was reached, so nothing is known of the cluster:{lines}")
}

impl FileOrLab {
    /// Reads the file and finds the nodes, without reaching them.
    ///
    /// # Errors
    /// What is wrong with the file, in its place; no such lab.
    pub fn known(&self) -> miette::Result<KnownCluster> {
        self.read(Source::complete)
    }

    /// The same for a verb that only looks: the file need not say enough to build a cluster from it.
    ///
    /// # Errors
    /// As [`Self::known`].
    pub fn known_to_look(&self) -> miette::Result<KnownCluster> {
        self.read(Source::parsed)
    }

    fn read(
        &self,
        parse: fn(&Source) -> miette::Result<ClusterFile>,
    ) -> miette::Result<KnownCluster> {
        let lab = self.lab.as_deref().map(open_lab).transpose()?;
        let admin = lab.as_ref().and_then(Lab::admin_root);
        let path = match (&self.file, &lab, &admin) {
            (Some(path), ..) => path.clone(),
            (None, Some(_), Some(root)) => root.join(DEFAULT_FILE),
            (None, Some(lab), None) => bail!(
                "lab {0} has no cluster; `hawser lab up --cluster` makes one that has, and -f FILE \
                 names a cluster file for the nodes of this one",
                lab.name()
            ),
            (None, None, _) => {
                file_or_default(None, "a cluster file (-f FILE) or a lab (--lab NAME)")?
            }
        };
        let source = Source::read(&path)?;
        let file = parse(&source)?;
        Ok(KnownCluster::of(
            source,
            file,
            lab.as_ref(),
            self.ssh_config.clone(),
        ))
    }
}

impl KnownCluster {
    /// The cluster of a plan that was saved: as its file was then, wherever that is now.
    ///
    /// # Errors
    /// What is wrong with the file; no such lab.
    pub fn of_saved(plan: &SavedPlan, ssh_config: Option<PathBuf>) -> miette::Result<Self> {
        let lab = plan.lab.as_deref().map(open_lab).transpose()?;
        let source = Source {
            path: plan.path.clone(),
            text: plan.file.clone(),
        };
        let file = source.complete()?;
        Ok(Self::of(source, file, lab.as_ref(), ssh_config))
    }

    fn of(
        source: Source,
        file: ClusterFile,
        lab: Option<&Lab>,
        ssh_config: Option<PathBuf>,
    ) -> Self {
        let nodes = file.topology().nodes.into_iter().map(|node| {
            let reach = match lab {
                Some(lab) => Reach::Lab(lab.name().to_string()),
                None => node.reach,
            };
            (node.name, reach)
        });
        let admin = lab.and_then(Lab::admin_root);
        Self {
            cluster: Cluster::of_nodes(nodes.collect(), ssh_config),
            secrets: admin.map_or_else(Secrets::here, |root| Secrets::below(&root)),
            slowness: lab.map_or(1, Lab::slowness),
            source,
            file,
        }
    }

    /// Where its file was read.
    pub fn path(&self) -> &str {
        &self.source.path
    }

    /// Whether any of its nodes is not a lab's.
    pub fn is_real(&self) -> bool {
        self.cluster.is_real()
    }

    /// How many times longer than elsewhere its nodes may take for anything.
    pub fn slowness(&self) -> u32 {
        self.slowness
    }

    /// Reads every secret once, so that one that cannot be had is shown where the file names it.
    ///
    /// # Errors
    /// All of those.
    pub fn check_secrets(&self) -> miette::Result<()> {
        let bmcs = self.file.nodes.iter().filter_map(|node| node.bmc.as_ref());
        let devices = self
            .file
            .fencing
            .iter()
            .flat_map(|fencing| &fencing.devices);
        let all = bmcs
            .map(|bmc| &bmc.password)
            .chain(devices.flat_map(|device| device.secrets.values()));
        let wrong: Vec<Wrong> = all.filter_map(|secret| self.wrong(secret)).collect();
        match wrong.is_empty() {
            true => Ok(()),
            false => Err(self.source.report(&wrong)),
        }
    }

    fn wrong(&self, secret: &At<SecretRef>) -> Option<Wrong> {
        let error = self.secrets.read(secret.get()).err()?;
        Some(self.source.wrong(secret.span(), error.to_string()))
    }

    /// What is waited for while its nodes are reached.
    pub fn reaching(&self) -> String {
        let names: Vec<&str> = self.file.nodes.iter().map(|n| n.name.as_str()).collect();
        format!("{} are being reached", names.join(", "))
    }

    /// Starts an agent on every node that can be reached.
    ///
    /// # Errors
    /// None could.
    pub fn reach(&self) -> miette::Result<Reached> {
        let reached = self.reach_some()?;
        if reached.heads.is_empty() {
            bail!(none_reached(&why_not(&reached.failed)));
        }
        Ok(reached)
    }

    /// Starts an agent on every node that answers soon, also when that is none of them.
    ///
    /// # Errors
    /// What keeps this machine from reaching any.
    pub fn reach_promptly(&self) -> miette::Result<Reached> {
        let (heads, failed) = self.cluster.promptly(self.slowness).try_connect()?;
        Ok(Reached { heads, failed })
    }

    /// The same of every node that can be reached.
    ///
    /// # Errors
    /// What keeps this machine from reaching any.
    pub fn reach_some(&self) -> miette::Result<Reached> {
        let (heads, failed) = self.cluster.try_connect()?;
        Ok(Reached { heads, failed })
    }
}

impl hawser_host::Reach for KnownCluster {
    /// Starts an agent on one node, without waiting long for one that may have no power.
    fn connect(&self, name: &HostName) -> Result<Box<dyn Host>, HostError> {
        let one = Cluster {
            connect_timeout: Some(SOON * self.slowness),
            ..self.cluster.one(name)
        };
        one.connect_only(name)
    }
}
