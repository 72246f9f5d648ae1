//! What lab tests share: a lab that goes with the value, commands in its nodes, counted traffic.
#![allow(dead_code, reason = "each test binary uses its part")]

pub mod everything;
mod json;
mod measured;
pub mod ssh;
mod traffic;
pub mod verbs;
mod wait;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use hawser_lab::impair::{Counts, Direction};
use hawser_lab::{LabGuard, LabStatus, PortImpairment};
use hawser_tool::processes::{self, Process};

#[allow(unused_imports, reason = "each test binary uses its part")]
pub use json::json;
#[allow(unused_imports, reason = "each test binary uses its part")]
pub use measured::not_measured;
#[allow(unused_imports, reason = "each test binary uses its part")]
pub use traffic::Traffic;
pub use wait::eventually;

/// The binary under test: `$HAWSER_BIN`, or the one that was built with the tests.
pub fn hawser() -> PathBuf {
    std::env::var_os("HAWSER_BIN").map_or_else(
        || PathBuf::from(env!("CARGO_BIN_EXE_hawser")),
        PathBuf::from,
    )
}

/// What a command left behind.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            // Long messages are wrapped for the eye; tests look for whole words.
            stderr: String::from_utf8_lossy(&output.stderr)
                .replace("/\n  │ ", "/")
                .replace("\n  │ ", " "),
        }
    }
}

/// Runs `hawser` with these arguments.
pub fn run(arguments: &[&str]) -> Ran {
    let mut command = Command::new(hawser());
    command.args(arguments).stdin(Stdio::null());
    command.output().expect("hawser runs").into()
}

/// A lab that is taken down when the value is dropped, also by a panic.
pub struct Lab {
    guard: LabGuard,
}

/// A test that fails says how the lab stood and what its nodes said last, which goes with it.
impl Drop for Lab {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        let status = self.run(&["status", "--json"]);
        let status: serde_json::Value = serde_json::from_str(&status.stdout).unwrap_or_default();
        eprintln!("the lab was {}: {}", status["state"], status["problems"]);
        for node in status["machines"].as_array().into_iter().flatten() {
            let name = node["name"].as_str().unwrap_or_default();
            eprintln!("{name}: {}", node["power"]);
            let said = self.run(&["console", name]);
            let lines: Vec<&str> = said.stdout.lines().collect();
            let last = lines.len().saturating_sub(200);
            for line in &lines[last..] {
                eprintln!("  {line}");
            }
            if node["power"] == "on" {
                let waits = "timeout 20 ps -eo stat,etimes,wchan:32,args | grep '^D'";
                let waits = self.run(&["exec", name, "--", "sh", "-c", waits]);
                eprintln!("{name}: what waits without an end:\n{}", waits.stdout);
            }
        }
    }
}

impl Lab {
    /// The default lab: head1 and head2 on ring0 and ring1.
    pub fn up() -> Self {
        Self::up_with(&[])
    }

    /// A lab with these arguments of `hawser lab up`. No watch runs on its heads: what happens there is the test's own.
    #[track_caller]
    pub fn up_with(arguments: &[&str]) -> Self {
        let is_applied = arguments.contains(&"--cluster") && !arguments.contains(&"--bare");
        let unwatched = is_applied.then_some("--no-watch");
        let all: Vec<&str> = arguments.iter().copied().chain(unwatched).collect();
        Self::up_watched(&all)
    }

    /// The same with a watch on each head of a cluster, as users have it.
    #[track_caller]
    pub fn up_watched(arguments: &[&str]) -> Self {
        let lab = Self::planned();
        let mut all = vec!["up"];
        all.extend(arguments);
        lab.ok(&all);
        lab
    }

    /// A name for a lab, and its end, before it is brought up.
    pub fn planned() -> Self {
        assert!(
            nix::unistd::geteuid().is_root(),
            "lab tests need root: they build namespaces"
        );
        Self {
            guard: LabGuard::named("test").expect("a lab's name"),
        }
    }

    pub fn name(&self) -> &str {
        self.guard.name().as_str()
    }

    /// `hawser lab VERB --name … REST…` as a command, for a test that wants its process.
    pub fn command(&self, verb_and_rest: &[&str]) -> Command {
        let (verb, rest) = verb_and_rest.split_first().expect("a verb");
        let mut command = Command::new(hawser());
        command
            .args(["lab", verb, "--name", self.name()])
            .args(rest)
            .stdin(Stdio::null());
        command
    }

    /// Runs `hawser lab VERB --name … REST…`.
    pub fn run(&self, verb_and_rest: &[&str]) -> Ran {
        let mut command = self.command(verb_and_rest);
        command.output().expect("hawser runs").into()
    }

    /// Runs it and wants it to succeed.
    #[track_caller]
    pub fn ok(&self, verb_and_rest: &[&str]) -> String {
        let ran = self.run(verb_and_rest);
        assert_eq!(
            ran.code,
            Some(0),
            "hawser lab {verb_and_rest:?}: {}",
            ran.stderr
        );
        ran.stdout
    }

    /// Runs a line of shell in a node and wants it to succeed.
    #[track_caller]
    pub fn sh(&self, node: &str, line: &str) -> String {
        let ran = self.try_sh(node, line);
        assert_eq!(
            ran.code,
            Some(0),
            "in {node}: {line}: {}{}",
            ran.stdout,
            ran.stderr
        );
        ran.stdout
    }

    /// Runs a line of shell in a node.
    pub fn try_sh(&self, node: &str, line: &str) -> Ran {
        self.run(&["exec", node, "--", "sh", "-c", line])
    }

    /// Whether `node` gets an answer from `address` within a second.
    pub fn reaches(&self, node: &str, address: &str) -> bool {
        let line = format!("ping -c1 -W1 -q {address}");
        self.try_sh(node, &line).code == Some(0)
    }

    /// As [`Self::reaches`], asked again while a node's ARP gets over a cut (it retries once a
    /// second, three times).
    pub fn soon_reaches(&self, node: &str, address: &str) -> bool {
        eventually(Duration::from_secs(8), || self.reaches(node, address))
    }

    pub fn status(&self) -> LabStatus {
        serde_json::from_str(&self.ok(&["status", "--json"])).expect("the status as JSON")
    }

    /// What is planted on one direction of a port.
    #[track_caller]
    pub fn impairment(&self, node: &str, link: &str, direction: Direction) -> PortImpairment {
        let mut all = self.status().impairments.into_iter();
        all.find(|it| {
            it.node.as_str() == node && it.link.as_str() == link && it.direction == direction
        })
        .expect("an impairment there")
    }

    /// What the program on one direction of a port has counted.
    #[track_caller]
    pub fn counts(&self, node: &str, link: &str, direction: Direction) -> Counts {
        self.impairment(node, link, direction)
            .counts
            .expect("counts")
    }

    /// The lab's own first processes, as this machine numbers them.
    pub fn switches_and_nodes(&self) -> Vec<i32> {
        processes(|words| {
            words.get(1..3) == Some(&["lab", "node-init"])
                && words
                    .get(4)
                    .is_some_and(|folder| Path::new(folder).ends_with(self.name()))
        })
    }

    /// A counter of a protocol in a node's `/proc/net/snmp`: `("Udp", "InCsumErrors")`.
    #[track_caller]
    pub fn snmp(&self, node: &str, protocol: &str, counter: &str) -> u64 {
        let text = self.sh(node, "cat /proc/net/snmp");
        let prefix = format!("{protocol}:");
        let mut lines = text.lines().filter(|line| line.starts_with(&prefix));
        let (names, values) = (lines.next().expect("names"), lines.next().expect("values"));
        let column = names.split_whitespace().position(|name| name == counter);
        let value = values.split_whitespace().nth(column.expect("the counter"));
        value.and_then(|v| v.parse().ok()).expect("a number")
    }

    /// All drop and error counters of a node's interface, summed.
    #[track_caller]
    pub fn interface_drops(&self, node: &str, interface: &str) -> u64 {
        let line = format!("cat /sys/class/net/{interface}/statistics/*_{{dropped,errors}}");
        let line = format!("bash -c '{line}'");
        self.sh(node, &line)
            .lines()
            .filter_map(|n| n.parse::<u64>().ok())
            .sum()
    }
}

/// Everything of a lab that can be seen from outside: its processes and its files.
pub fn remains(lab: &str) -> Vec<String> {
    let root = hawser_lab::labs_folder();
    let mut found: Vec<String> = [lab.to_owned(), format!("{lab}.lock")]
        .iter()
        .map(|name| root.join(name))
        .filter(|path| path.exists())
        .map(|path| path.display().to_string())
        .collect();
    let folder = root.join(lab).display().to_string();
    let inside = format!("{folder}/");
    let theirs = processes(|words| words.iter().any(|w| *w == folder || w.starts_with(&inside)));
    found.extend(theirs.iter().map(|pid| format!("process {pid}")));
    let mounts = fs::read_to_string("/proc/self/mounts").expect("mounts");
    found.extend(
        mounts
            .lines()
            .filter(|m| m.contains(&folder))
            .map(str::to_owned),
    );
    found.extend(control_groups(lab));
    found
}

/// The control groups of a lab, wherever below the machine's they are.
pub fn control_groups(lab: &str) -> Vec<String> {
    let (mut found, mut left) = (Vec::new(), vec![PathBuf::from("/sys/fs/cgroup")]);
    let start = format!("hawser-lab-{lab}-");
    while let Some(folder) = left.pop() {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            match entry.file_name().to_string_lossy().starts_with(&start) {
                true => found.push(entry.path().display().to_string()),
                false => left.push(entry.path()),
            }
        }
    }
    found
}

/// Processes by their command lines. A zombie has none.
fn processes(fits: impl Fn(&[&str]) -> bool) -> Vec<i32> {
    let mut all = processes::all().expect("/proc");
    all.retain(|process| {
        let line = process.command_line();
        let line = String::from_utf8_lossy(&line);
        fits(&line.trim_end_matches('\0').split('\0').collect::<Vec<_>>())
    });
    all.iter().map(|process| process.pid).collect()
}

/// How many processes the kernels of a lab's machines are, or that of one node.
pub fn processes_of_machines(lab: &str, node: &str) -> usize {
    let (lab, node) = (
        format!("hawser.lab={lab}"),
        format!("systemd.hostname={node}"),
    );
    let theirs = processes(|words| {
        // QEMU has what it tells the kernel in one argument.
        let said = || words.iter().flat_map(|word| word.split(' '));
        said().any(|it| it == lab) && said().any(|it| it.starts_with(&node))
    });
    theirs.len()
}

/// Whether a process runs: it exists and is no zombie.
pub fn is_running(pid: i32) -> bool {
    Process::of(pid).is_some_and(|process| !process.is_dead())
}
