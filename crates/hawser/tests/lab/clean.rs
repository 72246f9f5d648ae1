//! What a lab must not do to the machine: keep its caller's files open, put something into its control groups or its
//! network namespaces, stay when it was interrupted or killed.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use hawser_tool::processes;
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::{major, minor};
use nix::unistd::Pid;

use crate::support::{Lab, control_groups, eventually, hawser, is_running, remains};

/// Processes that have the file open.
fn holders(file: &Path) -> Vec<String> {
    let file = fs::metadata(file).unwrap();
    let same = |link: &Path| {
        let there = fs::metadata(link);
        there.is_ok_and(|there| (there.dev(), there.ino()) == (file.dev(), file.ino()))
    };
    let mut found = Vec::new();
    for process in processes::all().unwrap() {
        let open = fs::read_dir(process.folder().join("fd"));
        if open
            .into_iter()
            .flatten()
            .flatten()
            .any(|fd| same(&fd.path()))
        {
            found.push(String::from_utf8_lossy(&process.command_line()).replace('\0', " "));
        }
    }
    found
}

#[test]
fn nothing_of_a_lab_keeps_open_what_its_caller_had_or_leaves_its_own_groups_and_namespaces() {
    let lab = Lab::planned();
    let file = tempfile::NamedTempFile::new().unwrap();
    // flock(1) leaves its descriptor to the command, as a shell does with `exec 9>FILE`.
    let locked = |arguments: &[&str]| {
        let done = Command::new("flock")
            .arg(file.path())
            .arg(hawser())
            .args(["lab", arguments[0], "--name", lab.name()])
            .args(&arguments[1..])
            .stdout(Stdio::null())
            .status();
        assert!(done.unwrap().success(), "{arguments:?}");
    };
    locked(&["up", "--cluster", "--bare"]);
    locked(&["impair", "head1/ring0", "--reorder", "10%"]);
    locked(&["power", "cut", "head2"]);
    locked(&["power", "on", "head2"]);
    let serves = || lab.try_sh("head2", "pgrep -x tgtd").code == Some(0);
    assert!(eventually(Duration::from_secs(10), serves));
    // The one that looks, this test, has it open; the check sees that.
    assert_eq!(holders(file.path()).len(), 1, "{:?}", holders(file.path()));

    // A node is the root of the control groups that it sees, and so are commands that are run in it.
    assert_eq!(control_groups(lab.name()).len(), 1);
    for node in ["head1", "head2", "sw0"] {
        let groups = lab.sh(node, "cat /proc/self/cgroup");
        assert!(
            groups.lines().any(|line| line == "0::/"),
            "{node}: {groups}"
        );
    }
    lab.sh(
        "head1",
        "mkdir /sys/fs/cgroup/mine; echo $$ >/sys/fs/cgroup/mine/cgroup.procs",
    );
    assert_ne!(
        lab.try_sh("head2", "test -e /sys/fs/cgroup/mine").code,
        Some(0)
    );
    let seen = |pid: &str| fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    let init = lab.status().machines[0].pid.unwrap().to_string();
    let groups = seen(&init);
    let own = groups.lines().find(|line| line.starts_with("0::")).unwrap();
    assert!(
        own.ends_with("/head1") && !seen("self").contains(own),
        "{own}"
    );

    // A power cut takes them with it, like everything that is not on a disk.
    lab.ok(&["power", "cut", "head1"]);
    lab.ok(&["power", "on", "head1"]);
    assert_ne!(
        lab.try_sh("head1", "test -e /sys/fs/cgroup/mine").code,
        Some(0)
    );

    let name = format!("of-{}", lab.name());
    lab.sh(
        "sw0",
        &format!("ip netns add {name} && ip netns list | grep {name}"),
    );
    assert!(!Path::new("/run/netns").join(&name).exists());
    lab.ok(&["down"]);
    assert_eq!(remains(lab.name()), Vec::<String>::new());
}

/// The host's mounts are shared, as systemd has them: in a namespace of this test's own, so that no other test sees them.
#[test]
fn a_lab_holds_no_mount_that_its_host_gives_up_and_shows_it_none_of_its_own() {
    let lab = Lab::planned();
    let place = tempfile::tempdir().unwrap();
    let script = r#"
        set -e
        cd "$1"
        mkdir pool
        mount --make-rshared /
        mount -t tmpfs given-up pool
        cat /proc/self/mountinfo >before
        "$2" lab up --name "$3"
        cat /proc/self/mountinfo >after
        umount pool
    "#;
    let ran = Command::new("unshare")
        .args([
            "--mount",
            "--propagation",
            "private",
            "sh",
            "-c",
            script,
            "sh",
        ])
        .arg(place.path())
        .arg(hawser())
        .arg(lab.name())
        .output();
    let ran = ran.unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let seen = |when: &str| fs::read_to_string(place.path().join(when)).unwrap();
    assert_eq!(seen("before"), seen("after"));
    let theirs = lab.switches_and_nodes();
    assert!(theirs.len() >= 3, "{theirs:?}");
    for pid in theirs {
        let held = fs::read_to_string(format!("/proc/{pid}/mountinfo")).unwrap();
        let held = held.lines().find(|line| line.contains("given-up"));
        assert_eq!(held, None, "process {pid}");
    }
    assert!(lab.reaches("head1", "10.72.0.2"));
}

/// The numbers of the files that stand for a lab's disks.
fn shelves(lab: &str) -> BTreeSet<String> {
    let folder = hawser_lab::labs_folder().join(lab).join("shelves");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter_map(|entry| entry.metadata().ok());
    let number = |file: fs::Metadata| {
        let (major, minor) = (major(file.dev()), minor(file.dev()));
        format!("{} {major}:{minor}", file.ino())
    };
    files.map(number).collect()
}

/// The files that loop devices of this machine are over, by their numbers.
fn in_loops() -> BTreeSet<String> {
    let columns = "BACK-INO,BACK-MAJ:MIN";
    let columns = ["--list", "--raw", "--noheadings", "--output", columns];
    let listed = Command::new("losetup").args(columns).output().unwrap();
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    // Columns are filled with blanks, which this format escapes.
    let words = |line: &str| {
        line.replace("\\x20", " ")
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    text.lines().map(words).collect()
}

#[test]
fn ctrl_c_in_the_middle_of_the_apply_takes_the_lab_back() {
    let lab = Lab::planned();
    let mut up = lab
        .command(&["up", "--cluster"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The apply says its plan before it does it.
    let mut lines = BufReader::new(up.stdout.take().unwrap()).lines();
    let planned = lines.any(|line| line.unwrap().contains("corosync.conf on head1"));
    assert!(planned, "the apply never came");
    kill(Pid::from_raw(up.id() as i32), Signal::SIGINT).unwrap();
    let mut said = String::new();
    up.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(up.wait().unwrap().code(), Some(2), "{said}");
    assert!(
        said.contains("interrupted; what had been made was removed"),
        "{said}"
    );
    assert_eq!(remains(lab.name()), Vec::<String>::new());
}

/// Numbers that look random and are the same in each run (Knuth's MMIX).
struct Moments(u64);

impl Moments {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// `HAWSER_ROUNDS=20` for more of them (bench/lab-killed).
#[test]
fn down_leaves_nothing_of_a_cluster_that_was_killed_at_any_moment() {
    let number = |name: &str, default: u64| -> u64 {
        let set = std::env::var(name).ok();
        set.map_or(default, |text| text.parse().expect("a number"))
    };
    let rounds = number("HAWSER_ROUNDS", 3);
    let mut moments = Moments(number("HAWSER_SEED", 7));
    let lab = Lab::planned();
    for round in 0..rounds {
        let milliseconds = moments.below(6000);
        let mut up = lab
            .command(&["up", "--cluster"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_millis(milliseconds));
        up.kill().unwrap();
        up.wait().unwrap();
        // And something of the lab itself: a node, the switches.
        let theirs = lab.switches_and_nodes();
        let victim = theirs.get(moments.below(8) as usize).copied();
        if let Some(pid) = victim {
            let _gone_already = kill(Pid::from_raw(pid), Signal::SIGKILL);
            assert!(eventually(Duration::from_secs(5), || !is_running(pid)));
        }
        let disks = shelves(lab.name());
        let when = format!(
            "round {round}: up killed after {milliseconds} ms, {victim:?} of {theirs:?} too"
        );
        lab.ok(&["down"]);
        assert_eq!(remains(lab.name()), Vec::<String>::new(), "{when}");
        let held: Vec<String> = in_loops().intersection(&disks).cloned().collect();
        assert_eq!(held, Vec::<String>::new(), "loop devices, {when}");
        println!("{when}: nothing is left");
    }
}
