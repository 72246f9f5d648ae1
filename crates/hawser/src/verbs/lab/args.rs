//! The command line of `hawser lab`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use hawser_lab::cluster::services::ServiceAction;
use hawser_lab::{LabError, LabName};

use crate::names;

use super::impair::{ClearArgs, ImpairArgs};

/// Arguments of `hawser lab`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    pub(super) action: Action,
}

/// Which lab.
#[derive(clap::Args)]
pub(super) struct Name {
    /// The lab
    #[arg(
        long = "lab",
        alias = "name",
        value_name = "NAME",
        default_value = "default",
        add = names::labs()
    )]
    text: String,
}

impl Name {
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn lab(&self) -> Result<LabName, LabError> {
        LabName::new(&self.text)
    }
}

/// What the lab is to be made of.
#[derive(clap::Args)]
pub(super) struct Layout {
    /// A lab file (docs/lab.md); without one: two nodes, two links on two switches
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["nodes", "links"])]
    pub file: Option<PathBuf>,
    /// A whole storage cluster: heads with BMCs and shared shelves, and a client; the cluster is
    /// applied as `hawser apply` does it. FILE is then a cluster file [default: two heads,
    /// two pools, two SANs]
    #[arg(long, conflicts_with_all = ["nodes", "links"])]
    pub cluster: bool,
    /// With --cluster: bare heads, on which nothing was applied yet
    #[arg(long, requires = "cluster")]
    pub bare: bool,
    /// With --cluster: no `hawser watch` on the heads
    #[arg(long, requires = "cluster", conflicts_with = "bare")]
    pub no_watch: bool,
    /// Nodes with a kernel of their own: Debian with systemd under user-mode Linux, or in QEMU (docs/machines.md)
    #[arg(long, value_name = "KIND", num_args = 0..=1, default_missing_value = "uml")]
    pub machines: Option<Machines>,
    /// With --machines: the release of Debian that they have [default: bookworm]
    #[arg(long, requires = "machines", value_enum)]
    pub release: Option<Release>,
    /// Without a file: this many nodes, head1, head2, …
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64))]
    pub nodes: Option<u8>,
    /// Without a file: this many links, ring0, ring1, …, each on a switch of its own
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=16))]
    pub links: Option<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Machines {
    /// Linux as a program, by which a machine is up in seconds
    Uml,
    /// A whole computer emulated, with network cards as they are built; slower
    Qemu,
}

/// A release of Debian, by its code name.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Release {
    /// Debian 12
    Bookworm,
    /// Debian 13
    Trixie,
}

impl From<Release> for hawser_lab::Release {
    fn from(release: Release) -> Self {
        match release {
            Release::Bookworm => Self::Bookworm,
            Release::Trixie => Self::Trixie,
        }
    }
}

/// What is done about the images of machines.
#[derive(Subcommand)]
pub(super) enum Images {
    /// All images, and those that new machines have
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Build the image that new machines have, unless it is there
    Build {
        /// The one with ZFS, for a cluster file with pools of kind "zfs"; its modules are built once
        #[arg(long)]
        zfs: bool,
        /// The one that QEMU boots, with the release's own kernel
        #[arg(long, conflicts_with = "zfs")]
        qemu: bool,
        /// The release of Debian
        #[arg(long, value_enum, default_value = "bookworm")]
        release: Release,
    },
    /// Remove an image that no lab's machines have
    Remove {
        /// Its name
        name: String,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Power {
    /// Start the node
    On,
    /// Shut it down in good order
    Off,
    /// Pull its plug: not one packet more
    Cut,
}

#[derive(Subcommand)]
pub(super) enum Action {
    /// Build a lab, unless it is already up
    Up {
        #[command(flatten)]
        name: Name,
        #[command(flatten)]
        layout: Layout,
    },
    /// Take a lab down and remove everything of it
    Down {
        #[command(flatten)]
        name: Name,
    },
    /// All labs
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// One lab in full: nodes, links, faults and what they have done
    Status {
        #[command(flatten)]
        name: Name,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Run a command in a node (or, by a switch's name, among the switches)
    Exec {
        #[command(flatten)]
        name: Name,
        /// The node
        #[arg(add = names::nodes())]
        node: String,
        /// The command and its arguments
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<String>,
    },
    /// A shell in a node
    Shell {
        #[command(flatten)]
        name: Name,
        /// The node
        #[arg(add = names::nodes())]
        node: String,
    },
    /// What a node's first process and, of a machine, its kernel have said
    Console {
        #[command(flatten)]
        name: Name,
        /// The node
        #[arg(add = names::nodes())]
        node: String,
        /// Go on as it says more, until Ctrl-C
        #[arg(short, long)]
        follow: bool,
    },
    /// The images of machines
    Images {
        #[command(subcommand)]
        what: Images,
    },
    /// Pull a cable (NODE/LINK), or the plug of a switch
    Cut {
        #[command(flatten)]
        name: Name,
        /// NODE/LINK or SWITCH
        #[arg(add = names::places())]
        place: String,
    },
    /// Put a cable back, or a switch's plug
    Heal {
        #[command(flatten)]
        name: Name,
        /// NODE/LINK or SWITCH
        #[arg(add = names::places())]
        place: String,
    },
    /// Switch a node on or off, or cut its power
    Power {
        #[command(flatten)]
        name: Name,
        /// What to do
        how: Power,
        /// The node
        #[arg(add = names::nodes())]
        node: String,
    },
    /// Plant a fault: on a port, in a node, in a switch, or in machine-wide settings
    Impair {
        #[command(flatten)]
        name: Name,
        #[command(flatten)]
        order: ImpairArgs,
    },
    /// Take planted faults away
    Clear {
        #[command(flatten)]
        name: Name,
        #[command(flatten)]
        what: ClearArgs,
    },
    /// The first process of a node (started by `up`)
    #[command(name = hawser_lab::init::SUBCOMMAND, hide = true)]
    NodeInit(NodeInit),
    /// What a head runs (started by its first process)
    #[command(name = hawser_lab::cluster::services::SUBCOMMAND, hide = true)]
    NodeService { action: ServiceAction },
    /// A head's management controller (started by `up`)
    #[command(name = hawser_lab::cluster::bmc::SUBCOMMAND, hide = true)]
    Bmc(Bmc),
    /// What a management controller does to its head
    #[command(name = hawser_lab::cluster::bmc::CHASSIS, hide = true)]
    Chassis {
        lab: String,
        node: String,
        #[arg(trailing_var_arg = true)]
        words: Vec<String>,
    },
    /// A command in the control group of a node (started by `exec`, and by programs that work in a node)
    #[command(name = hawser_lab::cgroup::SUBCOMMAND, hide = true)]
    Join {
        init: i32,
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<String>,
    },
    /// Holds packets to be reordered (started by `impair`)
    #[command(name = hawser_lab::impair::reorder_line::SUBCOMMAND, hide = true)]
    HoldLine(HoldLine),
}

#[derive(clap::Args)]
pub(super) struct Bmc {
    pub token: String,
    pub dir: PathBuf,
    pub node: String,
}

#[derive(clap::Args)]
pub(super) struct NodeInit {
    pub token: String,
    pub dir: PathBuf,
    pub node: String,
    #[arg(long)]
    pub inside: bool,
    #[arg(long)]
    pub machine_net: Option<i32>,
}

#[derive(clap::Args)]
pub(super) struct HoldLine {
    pub token: String,
    pub dir: PathBuf,
    pub device: String,
    pub hold_ms: u64,
}
