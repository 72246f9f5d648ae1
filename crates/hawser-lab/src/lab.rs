//! A lab that is up, as everybody who works in one uses it.

use std::ffi::OsStr;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hawser_model::names::{HostName, InterfaceName, LinkName};
use hawser_model::topology::{Link, Node, Reach, Topology};
use hawser_tool::{Launch, TIED};

use crate::cgroup;
use crate::cluster::bmc::PowerChange;
use crate::error::LabError;
use crate::init::{BIN_INSIDE, SWITCHES};
use crate::machines::door::{self, Terminal};
use crate::machines::{self, Kind};
use crate::name::LabName;
use crate::paths::{LabDir, Root};
use crate::plan;
use crate::process::ProcessId;
use crate::spec::{LabSpec, NodeSpec};
use crate::state::State;
use crate::tool;

/// A lab that is up.
#[derive(Debug)]
pub struct Lab {
    dir: LabDir,
    state: State,
}

impl Lab {
    /// The lab of that name.
    ///
    /// # Errors
    /// Not root, no such lab, or one that is not whole.
    pub fn open(name: &str) -> Result<Self, LabError> {
        need_root()?;
        let name = LabName::new(name)?;
        let root = Root::from_environment();
        let (dir, state) = load(&root, &name)?;
        if !state.is_of_this_boot() || state.switches_running().is_none() {
            return Err(LabError::NotWhole {
                name: name.to_string(),
                what: state.missing().join(", "),
            });
        }
        Ok(Self { dir, state })
    }

    /// A command that will run inside `node` (or, for a switch's name, in the namespace of the
    /// switches), with the standard streams of the caller's choice.
    ///
    /// It sees the node's network, mounts, host name and processes, and the lab's binary on its
    /// `PATH`. As over ssh, it learns of the caller's death by its standard streams; whatever
    /// still runs ends with the node.
    ///
    /// # Errors
    /// No such node, or it is off.
    pub fn command<I, S>(&self, node: &str, argv: I) -> Result<Launch, LabError>
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.run(node, &[], Terminal::No, self.connects(), argv)
    }

    /// As [`Self::command`], but killed as soon as the process that was started for it here
    /// dies: for a person's commands, which a `timeout` or a closed terminal should end.
    ///
    /// # Errors
    /// As [`Self::command`].
    pub fn tied_command<I, S>(&self, node: &str, argv: I) -> Result<Launch, LabError>
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        let terminal = if is_terminal {
            Terminal::Yes
        } else {
            Terminal::No
        };
        self.run(node, &TIED, terminal, self.connects(), argv)
    }

    /// An agent in `node`; of a machine, if it lets itself be connected within so long.
    ///
    /// # Errors
    /// As [`Self::command`].
    pub fn agent(&self, node: &str, connects: Option<Duration>) -> Result<Launch, LabError> {
        match self.state.spec.kind {
            Kind::Namespace => {
                let machine_net = ["--machine-net", crate::init::MACHINE_NET];
                let words = [&[AGENT_BINARY, "agent"], &machine_net[..]].concat();
                self.command(node, words)
            }
            // Its kernel is its own.
            Kind::Uml | Kind::Qemu => {
                let connects = connects.unwrap_or_else(|| self.connects());
                self.run(node, &[], Terminal::No, connects, [AGENT_BINARY, "agent"])
            }
        }
    }

    fn connects(&self) -> Duration {
        door::connects(&self.state.spec)
    }

    fn run<I, S>(
        &self,
        node: &str,
        tied: &[&str],
        terminal: Terminal,
        connects: Duration,
        argv: I,
    ) -> Result<Launch, LabError>
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let inside = self.enter(node)?.args(tied);
        if !self.state.spec.kind.is_machine() || self.state.spec.node(node).is_none() {
            return Ok(inside.args(argv));
        }
        let words = argv
            .into_iter()
            .map(|word| word.as_ref().to_string_lossy().into_owned());
        Ok(inside.args(door::ssh(&self.dir, terminal, connects, words)))
    }

    fn enter(&self, node: &str) -> Result<Launch, LabError> {
        let place = self.place(node)?;
        // The kernel lets a process into a control group only from outside of the group's namespace.
        Ok(Launch::new(self.dir.binary())
            .args(["lab", cgroup::SUBCOMMAND, &place.pid.to_string()])
            .args(["--", "nsenter"])
            .arg(format!("--target={}", place.pid))
            .args([
                "--net", "--mount", "--uts", "--ipc", "--pid", "--cgroup", "--",
            ])
            .envs([("PATH", path_inside())]))
    }

    /// The ports of a link's switch to the members of the cluster, by their interfaces' names.
    pub fn ports(&self, link: &LinkName) -> Vec<InterfaceName> {
        let spec = &self.state.spec;
        let members = self
            .state
            .members()
            .filter(|node| node.ports.iter().any(|port| port.link == *link));
        let port = |node: &NodeSpec| plan::port_name(spec, &node.name, link).as_str().into();
        members.map(port).collect()
    }

    /// An agent beside the switches (all have one namespace), whose files are the machine's: it keeps a
    /// journal of its own and persists nothing.
    ///
    /// # Errors
    /// The switches have died.
    pub fn switch_agent(&self) -> Result<Launch, LabError> {
        Ok(self
            .enter(SWITCHES)?
            .arg(self.dir.binary())
            .args(["agent", "--journal"])
            .arg(self.switch_journal()))
    }

    /// Where the switches' journal of changes lies; the folder goes with its last change.
    pub fn switch_journal(&self) -> PathBuf {
        self.dir.node(SWITCHES).join("changes/journal")
    }

    /// The members of the cluster and their links. Clients are not part of it.
    pub fn topology(&self) -> Topology {
        topology(&self.state)
    }

    /// The lab's `hawser` binary as every node sees it.
    pub fn agent_binary(&self) -> &Path {
        Path::new(AGENT_BINARY)
    }

    /// What the lab is made of.
    pub fn spec(&self) -> &LabSpec {
        &self.state.spec
    }

    /// The lab's name.
    pub fn name(&self) -> &LabName {
        &self.state.name
    }

    /// Whether each node has a kernel of its own, so that what is set there is no other node's.
    pub fn nodes_have_kernels(&self) -> bool {
        self.state.spec.kind.is_machine()
    }

    /// How many times longer than elsewhere its nodes may take for anything.
    pub fn slowness(&self) -> u32 {
        self.state.spec.slowness()
    }

    /// Whether a machine has said that it is up since it has its power.
    pub(crate) fn has_booted(&self, node: &str) -> bool {
        machines::has_booted(&self.dir, node)
    }

    /// The names of nodes and clients that have power and run.
    pub fn running(&self) -> Vec<HostName> {
        let nodes = self.state.nodes.iter();
        nodes
            .filter(|(_, node)| node.running().is_some())
            .map(|(name, _)| name.clone())
            .collect()
    }

    /// What stands for the root of the machine that the lab's cluster is administered from:
    /// `hawser.toml` lies there, and the secrets that it names. `None`: no cluster lab.
    pub fn admin_root(&self) -> Option<std::path::PathBuf> {
        self.state.spec.cluster.as_ref().map(|_| self.dir.admin())
    }

    /// A running node's first process, as this machine numbers it: what the kernel says of the node
    /// from outside is below `/proc/PID` (`mounts`, `root`, `ns/pid`).
    ///
    /// # Errors
    /// No such node, or it is off.
    pub fn process(&self, node: &str) -> Result<i32, LabError> {
        Ok(self.place(node)?.pid)
    }

    /// Runs a command in a machine to its end, and gives what it printed.
    ///
    /// # Errors
    /// No such machine, or it is off; what the command said when it failed.
    pub(crate) fn output_of(&self, machine: &str, argv: &[&str]) -> Result<String, LabError> {
        let words = door::ssh(&self.dir, Terminal::No, self.connects(), argv);
        let ran = tool::run(self.place(machine)?, &words);
        ran.map_err(|error| error.of_node(machine, &argv.join(" ")))
    }

    /// What the BMC of a node has done to its power since the lab was built, oldest first.
    pub fn power_log(&self, node: &str) -> Vec<PowerChange> {
        crate::cluster::bmc::power_log(&self.dir, node)
    }

    /// A folder of the lab for what must be known after whoever wrote it was killed.
    pub fn notes(&self) -> &Path {
        self.dir.path()
    }

    /// The file with what a node's first process said, for a node that there is.
    ///
    /// # Errors
    /// No such node.
    pub fn console_of(&self, node: &str) -> Result<PathBuf, LabError> {
        match self.state.spec.node(node) {
            Some(_) => Ok(self.console(node)),
            None => Err(no_such_node(&self.state, node)),
        }
    }

    /// The file with what a node's first process said.
    pub fn console(&self, node: &str) -> std::path::PathBuf {
        self.dir.console(node)
    }

    fn place(&self, name: &str) -> Result<ProcessId, LabError> {
        let lab = self.state.name.to_string();
        if name == SWITCHES || self.state.spec.switch(name).is_some() {
            return self.state.switches_running().ok_or(LabError::NotWhole {
                name: lab,
                what: "its switches have died".to_owned(),
            });
        }
        match self.state.nodes.get(name) {
            Some(node) => match node.running() {
                Some(init) => Ok(init),
                None if node.powered => Err(LabError::NotWhole {
                    name: lab,
                    what: format!("{name} has died"),
                }),
                None => Err(LabError::NodeOff {
                    lab,
                    node: name.to_owned(),
                }),
            },
            None => Err(no_such_node(&self.state, name)),
        }
    }
}

const AGENT_BINARY: &str = "/run/hawser/lab/hawser";

/// The caller's `PATH` with what administration needs and the lab's binary behind it.
fn path_inside() -> String {
    let own = std::env::var("PATH").unwrap_or_default();
    let mut folders: Vec<&str> = own.split(':').filter(|f| !f.is_empty()).collect();
    for folder in ["/usr/sbin", "/usr/bin", "/sbin", "/bin", BIN_INSIDE] {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders.join(":")
}

/// The members and links of a lab, as the cluster sees them.
pub(crate) fn topology(state: &State) -> Topology {
    let spec = &state.spec;
    Topology {
        cluster: state.name.to_string(),
        nodes: state
            .members()
            .map(|node| Node {
                name: node.name.clone(),
                reach: Reach::Lab(state.name.to_string()),
                addresses: node
                    .ports
                    .iter()
                    .filter_map(|port| Some((port.link.clone(), port.address()?)))
                    .collect(),
            })
            .collect(),
        links: spec
            .links
            .iter()
            .map(|link| Link {
                name: link.name.clone(),
                mtu: Some(link.mtu),
                speed: None,
                switch: (!link.serial).then(|| link.switch.clone()),
                serial: link.serial,
            })
            .collect(),
    }
}

/// The error for a name that is no node's, with the nearest real one.
pub(crate) fn no_such_node(state: &State, name: &str) -> LabError {
    LabError::NoSuch {
        lab: state.name.to_string(),
        kind: "node",
        found: name.to_owned(),
        known: state.node_names(),
    }
}

/// The state of an existing lab.
pub(crate) fn load(root: &Root, name: &LabName) -> Result<(LabDir, State), LabError> {
    let dir = root.lab(name);
    match State::load(&dir)? {
        Some(state) => Ok((dir, state)),
        None => Err(LabError::NoSuchLab {
            name: name.to_string(),
            known: root.labs()?.iter().map(LabName::to_string).collect(),
        }),
    }
}

pub(crate) fn need_root() -> Result<(), LabError> {
    if nix::unistd::geteuid().is_root() {
        Ok(())
    } else {
        Err(LabError::NotRoot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binary_is_where_nodes_have_it_mounted() {
        assert_eq!(
            Path::new(AGENT_BINARY),
            Path::new(BIN_INSIDE).join("hawser")
        );
    }

    #[test]
    fn the_topology_names_members_by_their_first_family_and_leaves_clients_out() {
        let mut spec = LabSpec::grid(3, 2);
        spec.nodes[2].role = crate::spec::Role::Client;
        spec.nodes[1].ports[1].ipv4 = None;
        let state = State::new(&LabName::new("t").unwrap(), &spec).unwrap();
        let seen = topology(&state);
        assert_eq!(seen.nodes.len(), 2);
        let head2 = seen.node(&"head2".into()).unwrap();
        assert_eq!(head2.addresses["ring0"].to_string(), "10.72.0.2");
        assert_eq!(head2.addresses["ring1"].to_string(), "fd48:6177:7365:1::2");
        assert_eq!(seen.links[1].switch.as_deref(), Some("sw1"));
    }
}
