//! Two nodes for the agent's tests: namespaces on this machine, joined by one veth pair.
//!
//! They are this test's own, carry its process id in their names, and go with the value that
//! holds them, also when a test panics; what a killed run left behind, the next one removes.
#![allow(dead_code, reason = "each test binary uses its part")]

#[path = "../support/measured.rs"]
pub mod measured;
#[path = "../support/wait.rs"]
pub mod wait;

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hawser_agent::questions::{Care, RunSender};
use hawser_host::{Agent, Ask, Host, HostError, transport};
use hawser_model::traffic::{FlowId, FlowSpec, Rate, RunKey, Transport};
use hawser_model::units::{Nanos, PacketsPerSec};
use hawser_tool::Launch;
use nix::sched::{CloneFlags, setns};
use tempfile::TempDir;

/// The binary under test: `$HAWSER_BIN`, or the one that was built with the tests.
pub fn hawser() -> String {
    std::env::var("HAWSER_BIN").unwrap_or_else(|_| env!("CARGO_BIN_EXE_hawser").to_owned())
}
/// The run key of all tests.
pub const KEY: RunKey = RunKey(0x6861_7773_6572_0001);
/// Addresses of the two nodes.
pub const A: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 78, 0, 1));
/// See [`A`].
pub const B: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 78, 0, 2));

const PREFIX: &str = "hwagent";

/// A node: its own network, mounts, processes, hostname; an empty `/run` and `/var/lib`.
pub struct Node {
    netns: String,
    holder: Child,
    /// Its first process, as this machine numbers it.
    pub init: u32,
}

/// Two nodes and a directory for the test's files.
pub struct Nodes {
    pub a: Node,
    pub b: Node,
    pub scratch: TempDir,
}

impl Nodes {
    pub fn start() -> Self {
        Self::start_with("")
    }

    /// `mounts` is shell that runs in each node after its own mounts are made.
    pub fn start_with(mounts: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        remove_leftovers();
        let base = format!(
            "{PREFIX}{}x{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let nodes = Self {
            a: Node::start(format!("{base}a"), mounts),
            b: Node::start(format!("{base}b"), mounts),
            scratch: tempfile::tempdir().unwrap(),
        };
        ip(&format!(
            "link add ring0 netns {} type veth peer name ring0 netns {}",
            nodes.a.netns, nodes.b.netns
        ));
        for (node, address) in [(&nodes.a, A), (&nodes.b, B)] {
            ip(&format!("-n {} link set lo up", node.netns));
            ip(&format!(
                "-n {} addr add {address}/24 dev ring0",
                node.netns
            ));
            ip(&format!("-n {} link set ring0 up", node.netns));
        }
        nodes
    }
}

impl Node {
    fn start(netns: String, mounts: &str) -> Self {
        ip(&format!("netns add {netns}"));
        let script = format!(
            "mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /var/lib && mkdir /run/sshd \
             && mkdir /run/lock && mount -t tmpfs tmpfs /dev/shm && hostname {netns} \
             && {{ {mounts} true; }} && echo ready && exec sleep infinity"
        );
        let mut holder = Command::new("ip")
            .args(["netns", "exec", &netns])
            .args("unshare --mount --uts --ipc --pid --fork --kill-child --mount-proc".split(' '))
            .args(["--propagation", "private", "sh", "-c", &script])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut output = std::io::BufReader::new(holder.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut output, &mut line).unwrap();
        let children = format!("/proc/{0}/task/{0}/children", holder.id());
        let init = fs::read_to_string(children).unwrap().trim().parse();
        let node = Self {
            netns,
            holder,
            init: init.unwrap_or(0),
        };
        assert_eq!(line, "ready\n", "node {} did not start", node.netns);
        node
    }

    /// A command that runs in the node.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command
            .args(["-t", &self.init.to_string()])
            .args("--mount --uts --ipc --net --pid --".split(' '))
            .arg(program);
        command
    }

    /// Runs shell in the node; its output.
    pub fn sh(&self, script: &str) -> String {
        let output = self.command("sh").args(["-c", script]).output().unwrap();
        assert!(
            output.status.success(),
            "in {}: {script}: {}",
            self.netns,
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// A transport that starts the binary under test here, behind some shell.
    pub fn transport(&self, name: &str, shell: &str) -> transport::Command {
        let init = self.init;
        let script = format!("{shell} exec {} agent", hawser());
        transport::Command::new(name.into(), move || {
            let enters = Launch::new("nsenter")
                .args(["-t", &init.to_string()])
                .args("--mount --uts --ipc --net --pid -- sh -c".split(' '));
            Ok::<_, std::io::Error>(enters.arg(&script))
        })
    }

    /// An agent here.
    pub fn agent(&self, name: &str) -> Agent {
        Agent::connect(&self.transport(name, ""), KEY).unwrap()
    }

    /// Runs `work` on a thread in this node's network, so that what it starts is there too.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let network = fs::File::open(format!("/proc/{}/ns/net", self.init)).unwrap();
        thread::scope(|scope| {
            let inside = scope.spawn(|| {
                setns(network.as_fd(), CloneFlags::CLONE_NEWNET).unwrap();
                work()
            });
            inside
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Whether a process, by its number in the node, is there and no zombie.
    pub fn runs(&self, pid: u32) -> bool {
        let stat = self.sh(&format!("cat /proc/{pid}/stat 2>/dev/null || echo gone"));
        !(stat == "gone" || stat.contains(") Z "))
    }

    /// Whether a UDP socket is bound to the port.
    pub fn udp_port_open(&self, port: u16) -> bool {
        !self.sh(&format!("ss -Huan sport = :{port}")).is_empty()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // `--kill-child` takes the node's first process along, and that one all others.
        let _ = self.holder.kill();
        let _ = self.holder.wait();
        let _ = Command::new("ip")
            .args(["netns", "del", &self.netns])
            .status();
    }
}

/// Namespaces of runs that were killed.
fn remove_leftovers() {
    for entry in fs::read_dir("/run/netns").into_iter().flatten().flatten() {
        let name = entry.file_name().into_string().unwrap_or_default();
        let owner = name
            .strip_prefix(PREFIX)
            .and_then(|rest| rest.split('x').next());
        if owner.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = Command::new("ip").args(["netns", "del", &name]).status();
        }
    }
}

fn ip(arguments: &str) {
    let output = Command::new("ip")
        .args(arguments.split(' '))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "ip {arguments}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A paced UDP flow from node `a` to node `b`.
pub fn flow(number: u32, duration: Duration) -> FlowSpec {
    FlowSpec::plain(
        FlowId(number),
        Transport::Udp,
        (A, B),
        200,
        Rate::PerSecond(PacketsPerSec(2_000)),
        Nanos(duration.as_nanos() as u64),
    )
}

/// Sends a flow to a port.
pub fn run(spec: &FlowSpec, peer_port: u16, care: Care) -> RunSender {
    RunSender {
        flow: spec.flow,
        peer_port,
        care,
        lasts: spec.duration,
    }
}

/// Asks an agent.
pub fn ask<A: Ask>(agent: &mut Agent, question: &A) -> Result<A::Answer, HostError> {
    (agent as &mut dyn Host).ask(question)
}

/// Waits until `done`, at most so long.
pub fn eventually(what: &str, at_most: Duration, done: impl FnMut() -> bool) -> Duration {
    let start = Instant::now();
    assert!(
        wait::eventually(at_most, done),
        "{what}: not within {at_most:?}"
    );
    start.elapsed()
}

/// A file in a scratch directory.
pub fn write(directory: &Path, name: &str, text: &str) -> PathBuf {
    let path = directory.join(name);
    fs::write(&path, text).unwrap();
    path
}
