//! The first process of a node: a hidden mode of the `hawser` binary.
//!
//! It comes in two steps. The outer one leaves the caller's session, enters new namespaces and
//! starts the inner one, which is process 1 of the node: it mounts, waits to be told that the
//! node may live, and from then on only reaps. Until then the end of its standard input is the
//! end of the node, so that a killed `hawser lab up` leaves nothing behind.
//!
//! Speech on standard output, one line each: `pid N` (outer), then `ready` or `error WHAT` (inner).

mod mounts;
mod no_cluster;
mod reap;

pub(crate) use mounts::checksum;
pub(crate) use reap::{SOFT_OFF, STOPS_POOLS};

use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};

use hawser_tool::Launch;
use nix::fcntl::{OFlag, open};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::setsid;

use crate::cgroup;
use crate::cluster::services::{self, ServiceAction};
use crate::error::LabError;
use crate::machines;
use crate::paths::LabDir;
use crate::spec::{NodeSpec, Role};
use crate::state::State;

/// The hidden subcommand of `hawser lab`.
pub const SUBCOMMAND: &str = "node-init";
/// The name under which the switches run; no node can have it.
pub const SWITCHES: &str = "@switches";
/// Where a node sees the lab's own binary.
pub const BIN_INSIDE: &str = "/run/hawser/lab";
/// Where a node finds the network namespace of the machine: settings that the kernel has only once
/// can be written nowhere else.
pub const MACHINE_NET: &str = "/run/hawser/machine-net";
/// What allows a node to live on.
pub(crate) const GO: u8 = b'g';
/// What allows a machine's kernel to start.
pub(crate) const START: u8 = b's';

/// What a node's first process is told on its command line.
#[derive(Debug)]
pub struct InitArgs {
    /// The lab's token, by which the process is known as the lab's own.
    pub token: String,
    /// The lab's folder.
    pub dir: PathBuf,
    /// The node, or [`SWITCHES`].
    pub node: String,
    /// Whether the namespaces have been entered.
    pub inside: bool,
    /// The descriptor of the machine's network namespace, inside.
    pub machine_net: Option<i32>,
}

/// Runs as a node's first process. Returns when the node has ended.
///
/// # Errors
/// What kept the node from starting; the caller of the outer step has been told as well.
pub fn run(args: &InitArgs) -> Result<(), LabError> {
    if args.inside {
        return inner(args);
    }
    outer(args).inspect_err(|e| say(&format!("error {e}")))
}

fn outer(args: &InitArgs) -> Result<(), LabError> {
    // Already the leader of a session when started by hand.
    let _own_session = setsid();
    // Held open over the step into the new namespaces; the inner step finds it as a descriptor.
    let machine = open(
        "/proc/self/ns/net",
        OFlag::O_RDONLY,
        nix::sys::stat::Mode::empty(),
    )
    .map_err(|e| LabError::system("open", "/proc/self/ns/net", e))?;
    cgroup::renew(&args.dir, &args.node)?;
    let flags = CloneFlags::CLONE_NEWNET
        | CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWUTS
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWCGROUP;
    unshare(flags).map_err(|e| LabError::system("unshare", args.node.clone(), e))?;
    let child = Launch::new(LabDir(args.dir.clone()).binary())
        .args(["lab", SUBCOMMAND, &args.token])
        .arg(&args.dir)
        .args([&args.node, "--inside", "--machine-net"])
        .arg(machine.as_raw_fd().to_string())
        .folder("/")
        .attached()?;
    say(&format!("pid {}", child.id()));
    Ok(())
}

fn inner(args: &InitArgs) -> Result<(), LabError> {
    let what = match prepare(args) {
        Ok(what) => what,
        Err(e) => {
            say(&format!("error {e}"));
            return Err(e);
        }
    };
    say("ready");
    let begins = match what {
        What::Switches | What::Node => None,
        What::Head => Some(ServiceAction::Boot),
        What::Arbiter => Some(ServiceAction::StartArbiter),
        What::Machine(state, node) => {
            return machines::run(&LabDir(args.dir.clone()), &state, &node);
        }
    };
    let mut word = [0_u8];
    if !matches!(std::io::stdin().read(&mut word), Ok(1)) || word[0] != GO {
        return Ok(());
    }
    detach()?;
    if let Some(action) = begins {
        service(action)?;
    }
    reap::until_told_to_end(&args.node, begins == Some(ServiceAction::Boot))
}

/// Starts what a head or an arbiter runs, or stops it, beside the first process, which has to reap meanwhile.
pub(crate) fn service(action: ServiceAction) -> Result<(), LabError> {
    Launch::new(Path::new(BIN_INSIDE).join("hawser"))
        .args(["lab", services::SUBCOMMAND, action.word()])
        .daemon()?;
    Ok(())
}

/// What it is the first process of.
enum What {
    Switches,
    Node,
    Head,
    Arbiter,
    Machine(Box<State>, NodeSpec),
}

/// Makes the node.
fn prepare(args: &InitArgs) -> Result<What, LabError> {
    let dir = LabDir(args.dir.clone());
    let state = State::load(&dir)?.ok_or_else(|| {
        LabError::io(
            "read",
            dir.state(),
            std::io::Error::from(std::io::ErrorKind::NotFound),
        )
    })?;
    if args.node == SWITCHES {
        nix::unistd::sethostname("switches")
            .map_err(|e| LabError::system("sethostname", "switches", e))?;
        mounts::switches(&dir)?;
        // A switch answers nobody; IPv6 of its own would only add its neighbour discovery.
        without_ipv6()?;
        // Where the host has br_netfilter, bridged packets would pass through netfilter.
        for family in ["ip", "ip6", "arp"] {
            set(
                &format!("/proc/sys/net/bridge/bridge-nf-call-{family}tables"),
                "0",
            )?;
        }
    } else if let Some(node) = machine(&state, &args.node) {
        nix::unistd::sethostname(&args.node)
            .map_err(|e| LabError::system("sethostname", args.node.clone(), e))?;
        mounts::kernel_filesystems()?;
        machines::prepare(&dir, &state, &node)?;
        without_ipv6()?;
    } else {
        nix::unistd::sethostname(&args.node)
            .map_err(|e| LabError::system("sethostname", args.node.clone(), e))?;
        mounts::node(&dir, &args.node, &state)?;
        if let Some(descriptor) = args.machine_net {
            mounts::machine_net(descriptor)?;
        }
        set("/proc/sys/net/ipv6/conf/all/accept_dad", "0")?;
        set("/proc/sys/net/ipv6/conf/default/accept_dad", "0")?;
    }
    if let Some(descriptor) = args.machine_net {
        nix::unistd::close(descriptor)
            .map_err(|e| LabError::system("close", "the machine's network namespace", e))?;
    }
    if let Some(node) = machine(&state, &args.node) {
        return Ok(What::Machine(Box::new(state), node));
    }
    if args.node == SWITCHES {
        return Ok(What::Switches);
    }
    let role = state.spec.node(&args.node).map(|node| node.role);
    Ok(match role {
        Some(Role::Member) if state.spec.cluster.is_some() => What::Head,
        Some(Role::Arbiter) => What::Arbiter,
        _ => What::Node,
    })
}

/// The node of that name, when it has a kernel of its own.
fn machine(state: &State, name: &str) -> Option<NodeSpec> {
    let node = state.spec.node(name)?;
    state.spec.kind.is_machine().then(|| node.clone())
}

/// What a bridge's or a case's own IPv6 would send is nobody's.
fn without_ipv6() -> Result<(), LabError> {
    for setting in ["all/disable_ipv6", "default/disable_ipv6"] {
        set(&format!("/proc/sys/net/ipv6/conf/{setting}"), "1")?;
    }
    set("/proc/sys/net/ipv6/conf/default/accept_dad", "0")
}

/// Writes a sysctl; one that this kernel does not have needs no setting.
fn set(path: &str, value: &str) -> Result<(), LabError> {
    if !Path::new(path).exists() {
        return Ok(());
    }
    std::fs::write(path, value).map_err(|e| LabError::io("write", path, e))
}

/// Lets go of the caller's pipes; standard error stays the node's console.
pub(crate) fn detach() -> Result<(), LabError> {
    let null = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")
        .map_err(|e| LabError::io("open", "/dev/null", e))?;
    let failed = |e| LabError::system("dup2", "/dev/null", e);
    nix::unistd::dup2_stdin(null.as_fd()).map_err(failed)?;
    nix::unistd::dup2_stdout(null.as_fd()).map_err(failed)
}

/// One line to whoever started the node. Nobody may be listening any more.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _unheard = writeln!(out, "{line}").and_then(|()| out.flush());
}
