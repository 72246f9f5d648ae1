//! Processes of a lab, told from all others by process id *and* start time, or by the lab's
//! token on their command line. Nothing else is ever signalled.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hawser_tool::processes::{self, Process};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::paths::LabDir;

/// A process that is not mistaken for a later one with the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProcessId {
    pub pid: i32,
    /// Field 22 of `/proc/PID/stat`: clock ticks after boot.
    pub start: u64,
}

impl ProcessId {
    /// The running process of that id; `None` when there is none.
    pub fn of(pid: i32) -> Option<Self> {
        Process::of(pid).and_then(|process| Self::alive(&process))
    }

    /// Whether it still runs. A zombie does not: its namespaces are gone.
    pub fn is_alive(self) -> bool {
        Self::of(self.pid) == Some(self)
    }

    fn alive(process: &Process) -> Option<Self> {
        (!process.is_dead()).then_some(Self {
            pid: process.pid,
            start: process.began,
        })
    }

    /// Asks the process to end and waits; `false` when it did not within `patience`.
    pub fn terminate(self, patience: Duration) -> Result<bool, LabError> {
        self.signal_and_wait(Signal::TERM, patience)
    }

    /// Kills the process and waits until it is gone, for a node's init: with everything in
    /// the node.
    pub fn kill(self) -> Result<(), LabError> {
        if self.signal_and_wait(Signal::KILL, Duration::from_millis(200))? {
            return Ok(());
        }
        // The kernel keeps a node's init until every process of the node was waited for. nsenter(1) stops itself when
        // the process that it started in the node is stopped, and then waits for nobody.
        for parent in self.parents_outside() {
            parent.signal_and_wait(Signal::CONT, Duration::ZERO)?;
        }
        // The kernel gives up only on a process stuck in the kernel, which nothing here can do.
        if self.signal_and_wait(Signal::KILL, Duration::from_secs(30))? {
            Ok(())
        } else {
            Err(LabError::system(
                "kill",
                format!("process {}", self.pid),
                Errno::ETIMEDOUT,
            ))
        }
    }

    /// The parents, outside of the PID namespace that this process is the first of, of processes inside.
    fn parents_outside(self) -> Vec<Self> {
        let inside = Process::of(self.pid).and_then(|init| init.namespace("pid"));
        let is_inside = |process: &Process| inside.is_some() && process.namespace("pid") == inside;
        let mut entered = processes::all().unwrap_or_default();
        entered.retain(|process| process.pid != self.pid && is_inside(process));
        let parents = entered.iter().filter_map(|it| Process::of(it.parent));
        parents
            .filter(|parent| !is_inside(parent))
            .filter_map(|parent| Self::alive(&parent))
            .collect()
    }

    fn signal_and_wait(self, signal: Signal, patience: Duration) -> Result<bool, LabError> {
        let object = || format!("process {}", self.pid);
        let Some(pid) = Pid::from_raw(self.pid) else {
            return Ok(true);
        };
        let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) else {
            return Ok(true);
        };
        // Checked after the descriptor is held: from here on it cannot become another process.
        if !self.is_alive() {
            return Ok(true);
        }
        match pidfd_send_signal(&pidfd, signal) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(e) => {
                let errno = Errno::from_raw(e.raw_os_error());
                return Err(LabError::system("pidfd_send_signal", object(), errno));
            }
        }
        let deadline = Instant::now() + patience;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
            let mut fds = [PollFd::new(pidfd.as_fd(), PollFlags::POLLIN)];
            match poll(&mut fds, timeout) {
                Ok(0) => return Ok(false),
                Ok(_) => return Ok(true),
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(LabError::system("poll", object(), errno)),
            }
        }
    }
}

/// A lab as its processes name it on their command lines.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Known<'a> {
    /// By the token of its state file.
    Token(&'a str),
    /// By its folder, when the state file cannot be read.
    Folder(&'a Path),
}

/// All processes of a lab that are known by their command lines, recorded or not.
///
/// A command that was killed may have started one without having written down its id.
pub(crate) fn of_lab(lab: Known<'_>) -> Vec<ProcessId> {
    let fits = |line: &[u8]| {
        let [init, hold] = [
            crate::init::SUBCOMMAND,
            crate::impair::reorder_line::SUBCOMMAND,
        ];
        let bmc = crate::cluster::bmc::SUBCOMMAND;
        [init, hold, bmc]
            .iter()
            .any(|one| is_of(line, one, lab, None))
    };
    // Each lab has its own copy of the program, which tells it from one that has the same path in other mounts.
    let is_its_program = |process: &Process| match lab {
        Known::Token(_) => true,
        Known::Folder(folder) => {
            let binary = LabDir(folder.to_owned()).binary();
            is_same(&process.folder().join("exe"), &binary)
        }
    };
    matching_process(|process| fits(&process.command_line()) && is_its_program(process))
}

/// The first processes of one node of a lab: one, but for what an interrupted command left.
pub(crate) fn first_of(lab: Known<'_>, node: &str) -> Vec<ProcessId> {
    matching(|line| is_of(line, crate::init::SUBCOMMAND, lab, Some(node)))
}

/// The BMC simulators of the lab in that folder. They end with the process that runs them, a moment
/// later.
pub(crate) fn simulators(folder: &Path) -> Vec<ProcessId> {
    let configurations = folder.join("bmc");
    let fits = |line: &[u8]| {
        let words: Vec<&[u8]> = line.split(|b| *b == 0).take(4).collect();
        let [program, _, "-c", file] = words
            .iter()
            .map(|word| std::str::from_utf8(word).unwrap_or_default())
            .collect::<Vec<_>>()[..]
        else {
            return false;
        };
        program == "ipmi_sim" && Path::new(file).starts_with(&configurations)
    };
    // In the mounts of a container, another lab may have that path.
    matching_process(|process| {
        fits(&process.command_line()) && is_same(&seen_by(process, folder), folder)
    })
}

/// Where this process finds what it calls so.
fn seen_by(process: &Process, path: &Path) -> PathBuf {
    let root = process.folder().join("root");
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// Whether both paths lead to the same.
fn is_same(one: &Path, other: &Path) -> bool {
    let number = |path: &Path| fs::metadata(path).map(|about| (about.dev(), about.ino()));
    matches!((number(one), number(other)), (Ok(one), Ok(other)) if one == other)
}

/// The processes that run a node's BMC.
pub(crate) fn bmcs_of(lab: Known<'_>, node: &str) -> Vec<ProcessId> {
    matching(|line| is_of(line, crate::cluster::bmc::SUBCOMMAND, lab, Some(node)))
}

/// The processes that hold packets of a lab on `device`.
pub(crate) fn hold_lines(lab: Known<'_>, device: &str) -> Vec<ProcessId> {
    matching(|line| {
        is_of(
            line,
            crate::impair::reorder_line::SUBCOMMAND,
            lab,
            Some(device),
        )
    })
}

fn matching(fits: impl Fn(&[u8]) -> bool) -> Vec<ProcessId> {
    matching_process(|process| fits(&process.command_line()))
}

fn matching_process(fits: impl Fn(&Process) -> bool) -> Vec<ProcessId> {
    let all = processes::all().unwrap_or_default().into_iter();
    all.filter(|process| fits(process))
        .filter_map(|process| ProcessId::alive(&process))
        .collect()
}

/// Whether this is the command line `hawser lab SUBCOMMAND TOKEN FOLDER OBJECT…` of a lab, and
/// of that object if one is named.
fn is_of(cmdline: &[u8], subcommand: &str, lab: Known<'_>, object: Option<&str>) -> bool {
    let words: Vec<&[u8]> = cmdline.split(|b| *b == 0).take(6).collect();
    let [_, verb, sub, token, folder, on] = words[..] else {
        return false;
    };
    let known = match lab {
        Known::Token(wanted) => token == wanted.as_bytes(),
        Known::Folder(wanted) => folder == wanted.as_os_str().as_bytes(),
    };
    known
        && verb == b"lab"
        && sub == subcommand.as_bytes()
        && object.is_none_or(|wanted| on == wanted.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command, Stdio};

    use hawser_tool::{Deadline, Launch};
    use nix::mount::{MsFlags, mount};

    use super::*;
    use crate::own_mounts::in_own_mounts;

    #[test]
    fn a_killed_process_is_gone_and_another_start_time_is_another_process() {
        let mut child = Launch::new("sleep").arg("100").daemon().unwrap();
        let it = ProcessId::of(child.id() as i32).unwrap();
        let later = ProcessId {
            start: it.start + 1,
            ..it
        };
        assert!(it.is_alive() && !later.is_alive());
        later.kill().unwrap();
        assert!(it.is_alive(), "a process that is not ours was killed");
        it.kill().unwrap();
        // Not yet reaped, and dead all the same.
        assert!(!it.is_alive());
        child.wait().unwrap();
    }

    /// A simulator of a lab, and one of another that has the same path in other mounts.
    #[test]
    fn a_simulator_of_a_lab_in_other_mounts_is_not_ours() {
        in_own_mounts(|| {
            let labs = tempfile::tempdir().unwrap();
            let lab = labs.path().join("demo");
            let configuration = lab.join("bmc/head1/lan.conf");
            std::fs::create_dir(&lab).unwrap();
            // A shell that is called so: it does not find its first command, and waits in the second.
            let command = format!("{}; read nothing", configuration.display());
            let start = || {
                let mut simulator = Command::new("/bin/sh");
                simulator.arg0("ipmi_sim").args(["-u", "-c", &command]);
                simulator.stdin(Stdio::piped()).stderr(Stdio::null());
                simulator.spawn().unwrap()
            };
            let finds_only = |child: &Child| {
                let only = [child.id() as i32];
                let found = || simulators(&lab).iter().map(|it| it.pid).collect::<Vec<_>>();
                // It has no command line while the kernel gives it its program, and the shell's own child has the same until it
                // has not found what it was to run.
                Deadline::after(Duration::from_secs(5))
                    .holds(Duration::from_millis(10), || found() == only);
                assert_eq!(found(), only);
            };
            let mut ours = start();
            finds_only(&ours);
            let tmpfs = Some("tmpfs");
            let mut theirs = None;
            in_own_mounts(|| {
                mount(tmpfs, &lab, tmpfs, MsFlags::empty(), None::<&str>).unwrap();
                finds_only(theirs.insert(start()));
            });
            finds_only(&ours);
            for child in [Some(&mut ours), theirs.as_mut()].into_iter().flatten() {
                child.kill().unwrap();
                child.wait().unwrap();
            }
        });
    }

    #[test]
    fn only_a_process_with_the_token_in_its_place_is_ours() {
        let line = |words: &[&str]| words.join("\0").into_bytes();
        let ours = line(&["/x/hawser", "lab", "node-init", "tok", "/labs/a", "head1"]);
        let known = |line: &[u8], lab| is_of(line, "node-init", lab, None);
        assert!(known(&ours, Known::Token("tok")));
        assert!(known(&ours, Known::Folder(Path::new("/labs/a"))));
        assert!(!known(&ours, Known::Token("head1")));
        assert!(!known(&ours, Known::Folder(Path::new("/labs"))));
        let other = line(&["grep", "-r", "lab", "node-init", "tok", "/labs/a"]);
        assert!(!known(&other, Known::Token("tok")));
        let held = line(&[
            "/x/hawser",
            "lab",
            "hold-line",
            "tok",
            "/labs/a",
            "hold-1_0tx",
            "10",
        ]);
        let on = |device| is_of(&held, "hold-line", Known::Token("tok"), Some(device));
        assert!(on("hold-1_0tx") && !on("hold-1_0fx"));
    }
}
