//! `hawser copy` in a lab: what arrives is what was sent, a copy that was cut goes on, what cannot
//! be done is said, and a planted rate limit with a burst is named with its numbers.

mod support;

use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use support::{Lab, Ran, eventually, hawser, json, run};

/// A folder that all nodes see, gone with the value.
struct Shared(tempfile::TempDir);

impl Shared {
    fn new() -> Self {
        // Nodes have a /tmp of their own.
        Self(tempfile::tempdir_in("/srv").expect("a folder in /srv"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// `NODE:PATH`.
    fn on(&self, node: &str, name: &str) -> String {
        format!("{node}:{}", self.path(name).display())
    }

    /// A file of bytes that do not repeat.
    fn file(&self, name: &str, length: usize) -> Vec<u8> {
        let mut data = vec![0; length];
        let mut random = fs::File::open("/dev/urandom").expect("/dev/urandom");
        random.read_exact(&mut data).expect("random bytes");
        fs::write(self.path(name), &data).expect("a file");
        data
    }

    fn left(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.0.path())
            .expect("the folder")
            .map(|e| {
                e.expect("an entry")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        names.sort();
        names
    }
}

fn copy(lab: &Lab, arguments: &[&str]) -> Ran {
    let mut all = vec!["copy", "--lab", lab.name(), "--json"];
    all.extend(arguments);
    run(&all)
}

#[track_caller]
fn report(ran: &Ran) -> Value {
    json(ran, "copy")
}

/// A copy that runs, in a process group of its own.
fn start(lab: &Lab, arguments: &[&str]) -> Child {
    Command::new(hawser())
        .args(["copy", "--lab", lab.name(), "--json"])
        .args(arguments)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("hawser runs")
}

#[track_caller]
fn ended(child: Child) -> Ran {
    child.wait_with_output().expect("hawser ends").into()
}

#[test]
fn copies_are_byte_identical_in_every_manner() {
    let (lab, shared) = (Lab::up(), Shared::new());
    let data = shared.file("from", 9_876_543);
    let (from, to) = (shared.on("head1", "from"), shared.on("head2", "to"));
    for manner in [
        &[][..],
        &["--cipher", "aes256-gcm", "--streams", "4"],
        &["--no-checksum"],
        &["--link", "ring1"],
    ] {
        let mut all = vec!["--force", from.as_str(), to.as_str()];
        all.extend(manner);
        let ran = copy(&lab, &all);
        let report = report(&ran);
        // Ten megabytes are gone in milliseconds: what is said of their rate is the machine's.
        assert!(report["error"].is_null(), "{manner:?}: {report:#}");
        let found = !report["findings"].as_array().unwrap().is_empty();
        assert_eq!(ran.code, Some(i32::from(found)), "{manner:?}: {report:#}");
        assert_eq!(report["moved_bytes"], data.len(), "{manner:?}");
        assert_eq!(report["checksum"].is_null(), manner == ["--no-checksum"]);
        let link = if manner.contains(&"ring1") {
            "ring1"
        } else {
            "ring0"
        };
        assert_eq!(report["link"], link);
        assert!(fs::read(shared.path("to")).unwrap() == data, "{manner:?}");
        assert_eq!(shared.left(), ["from", "to"]);
    }
    let there = copy(&lab, &[&from, &to]);
    assert_eq!(there.code, Some(2));
    assert!(
        there.stderr.contains("exists; --force replaces it"),
        "{}",
        there.stderr
    );
    let nobody = copy(&lab, &[&from, "head9:/x"]);
    assert!(
        nobody.stderr.contains("there are head1, head2"),
        "{}",
        nobody.stderr
    );
}

#[test]
fn a_copy_that_was_cut_killed_or_interrupted_goes_on_where_it_was() {
    let (lab, shared) = (Lab::up(), Shared::new());
    let data = shared.file("from", 100 << 20);
    let (from, to) = (shared.on("head1", "from"), shared.on("head2", "to"));
    // 40 MB/s: each part lasts long enough to be disturbed.
    lab.ok(&[
        "impair",
        "head2/ring0",
        "--rate",
        "320mbit",
        "--direction",
        "to-node",
    ]);
    let part = shared.path(".to.hawser-part");
    let blocks = || {
        let state = fs::metadata(shared.path(".to.hawser-state"));
        state.map_or(0, |facts| (facts.len() / 24).saturating_sub(1))
    };
    let disturbed = |least: u64, disturb: &dyn Fn(&Child)| {
        let child = start(&lab, &["--patience", "2s", &from, &to]);
        assert!(
            eventually(Duration::from_secs(20), || blocks() >= least),
            "{}",
            blocks()
        );
        disturb(&child);
        let ran = ended(child);
        assert_eq!(ran.code, Some(2), "{}{}", ran.stdout, ran.stderr);
        assert!(part.exists(), "{}", ran.stderr);
        assert_eq!(
            shared.left(),
            [".to.hawser-part", ".to.hawser-state", "from"]
        );
        ran
    };
    let interrupted = disturbed(3, &|child| {
        kill(Pid::from_raw(-(child.id() as i32)), Signal::SIGINT).expect("kill");
    });
    assert!(
        interrupted.stderr.contains("the same command goes on"),
        "{}",
        interrupted.stderr
    );
    let cut = disturbed(8, &|_| {
        lab.ok(&["cut", "head2/ring0"]);
    });
    // TCP gave up, or the neighbour entry was lost first (EHOSTUNREACH): the kernel's choice.
    let seen = ["timed out", "No route to host"];
    assert!(
        seen.iter().any(|words| cut.stderr.contains(words)),
        "{}",
        cut.stderr
    );
    lab.ok(&["heal", "head2/ring0"]);
    assert!(lab.soon_reaches("head1", "10.72.0.2"));
    let killed = disturbed(13, &|_| {
        lab.sh("head2", "kill -9 $(pgrep -x hawser | grep -v '^1$')");
    });
    assert!(killed.stderr.contains("head2"), "{}", killed.stderr);
    lab.ok(&["clear", "--all"]);
    let ran = copy(&lab, &[&from, &to]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let report = report(&ran);
    let kept = report["kept_bytes"].as_u64().expect("a number");
    assert!(kept >= 13 * (4 << 20), "{kept}");
    assert_eq!(report["moved_bytes"].as_u64(), Some((100 << 20) - kept));
    assert!(fs::read(shared.path("to")).unwrap() == data);
    assert_eq!(shared.left(), ["from", "to"]);
}

#[test]
fn a_full_disk_is_said_and_leaves_what_can_be_resumed() {
    let (lab, shared) = (Lab::up(), Shared::new());
    shared.file("from", 32 << 20);
    lab.sh(
        "head2",
        "mkdir /run/small && mount -t tmpfs -o size=12m small /run/small",
    );
    let ran = copy(&lab, &[&shared.on("head1", "from"), "head2:/run/small/"]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr
            .contains("write /run/small/.from.hawser-part: No space left on device"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("head2"), "{}", ran.stderr);
    assert_eq!(report(&ran)["part"], "/run/small/.from.hawser-part");
    assert_eq!(
        lab.sh("head2", "ls -A /run/small"),
        ".from.hawser-part\n.from.hawser-state\n"
    );
}

#[test]
fn a_block_device_is_written_in_place_and_a_sparse_file_stays_sparse() {
    let (lab, shared) = (Lab::up(), Shared::new());
    let size = 64 << 20;
    let file = fs::File::create(shared.path("sparse")).expect("a file");
    file.set_len(size).expect("a size");
    std::os::unix::fs::FileExt::write_all_at(&file, b"in the middle", 33 << 20).expect("data");
    let ran = copy(
        &lab,
        &[&shared.on("head1", "sparse"), &shared.on("head2", "copy")],
    );
    let report = report(&ran);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(report["hole_bytes"].as_u64() > Some(size - (1 << 20)));
    let used = |name: &str| {
        let facts = fs::metadata(shared.path(name)).expect("a file");
        std::os::unix::fs::MetadataExt::blocks(&facts)
    };
    assert!(used("copy") <= used("sparse") + 8);
    assert!(fs::read(shared.path("sparse")).unwrap() == fs::read(shared.path("copy")).unwrap());

    // A loop device with other bytes on it: the holes must become zeros there.
    shared.file("disk", (size + (1 << 20)) as usize);
    let disk = shared.path("disk").display().to_string();
    let device = lab.sh("head2", &format!("losetup --find --show {disk}"));
    let device = device.trim();
    let ran = copy(
        &lab,
        &[
            "--force",
            &shared.on("head1", "sparse"),
            &format!("head2:{device}"),
        ],
    );
    lab.sh("head2", &format!("losetup --detach {device}"));
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let on_disk = fs::read(shared.path("disk")).expect("the disk");
    assert!(on_disk[..size as usize] == fs::read(shared.path("sparse")).unwrap());
}

#[test]
fn a_rate_limit_with_a_burst_is_named_with_its_depth_and_rate() {
    let (lab, shared) = (Lab::up(), Shared::new());
    shared.file("from", 70_000_000);
    // A bucket of 20 MB at 200 Mbit/s that drops what is over: its queue holds three super-packets.
    lab.ok(&[
        "exec",
        "sw0",
        "--",
        "tc",
        "qdisc",
        "add",
        "dev",
        "head2.ring0",
        "root",
        "tbf",
        "rate",
        "200mbit",
        "burst",
        "20000000",
        "limit",
        "200000",
    ]);
    let ran = copy(
        &lab,
        &[&shared.on("head1", "from"), &shared.on("head2", "to")],
    );
    let report = report(&ran);
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    let codes: Vec<&str> = report["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .filter_map(|f| f["code"].as_str())
        .collect();
    assert_eq!(codes, ["rate-after-burst"]);
    let evidence = &report["findings"][0]["evidence"];
    let number = |key: &str| evidence[key].as_f64().expect("a number");
    let (burst, rate) = (number("burst_bytes"), number("bits_per_s"));
    // The bucket counts headers too: 66 bytes in 1514.
    assert!((0.8 * 20e6..1.15 * 20e6).contains(&burst), "{burst}");
    assert!((0.85 * 200e6..1.02 * 200e6).contains(&rate), "{rate}");
    let at = report["change"]["at_bytes"].as_f64().expect("a number");
    assert!((0.8 * 20e6..1.5 * 20e6).contains(&at), "{at}");

    // The same from the case file, elsewhere and later.
    let case = report["case"].as_str().expect("a path");
    let again = run(&["explain", "--json", case]);
    fs::remove_file(case).expect("the case file");
    assert_eq!(again.code, Some(1), "{}", again.stderr);
    let again: Value = serde_json::from_str(&again.stdout).expect("JSON");
    assert_eq!(again["findings"], report["findings"]);
}

#[test]
fn the_data_port_takes_nobody_else_and_is_closed_at_once() {
    let lab = Lab::up();
    lab.ok(&[
        "impair",
        "head2/ring0",
        "--rate",
        "200mbit",
        "--direction",
        "to-node",
    ]);
    let child = start(&lab, &["head1:memory:40M", "head2:nowhere"]);
    let connected = || {
        let line = "ss -Htn state established | grep -c 10.72.0 || true";
        lab.sh("head2", line).trim() != "0"
    };
    assert!(eventually(Duration::from_secs(10), connected));
    thread::sleep(Duration::from_millis(100));
    assert_eq!(lab.sh("head2", "ss -Htnl").trim(), "");
    let ran = ended(child);
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.stderr);
    assert_eq!(report(&ran)["bytes"], 40 << 20);
}
