//! Given a lab of machines, each with a kernel of its own: the same verbs do the same, nothing is left of one, and what only
//! such a kernel has, its SCSI target and its NFS server, takes what Hawser tells it.
//!
//! Time in such a machine is never asserted: it starts programs slowly.

#[path = "machines/boot.rs"]
mod boot;
#[path = "machines/cluster.rs"]
mod cluster;
#[path = "machines/emulated.rs"]
mod emulated;
#[path = "machines/imported.rs"]
mod imported;
#[path = "machines/kept.rs"]
mod kept;
#[path = "machines/network.rs"]
mod network;
mod support;
#[path = "machines/watch.rs"]
mod watch;

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use hawser_lab::{Kind, Power};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use support::{Lab, Ran, eventually, processes_of_machines, remains, run};

/// A machine is up in 4 s; this is for a host that does much else.
const SLOW: Duration = Duration::from_secs(600);

/// Whether this host can make what machines boot from; says so where it cannot.
fn has_images() -> bool {
    let has = Path::new("/usr/bin/mmdebstrap").exists();
    if !has {
        let line = "\nskipped: mmdebstrap is not installed (packaging/setup machines)";
        writeln!(std::io::stderr(), "{line}").expect("standard error");
    }
    has
}

/// A cluster file of the examples for labs.
fn example(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/lab");
    folder.join(name).display().to_string()
}

/// One machine with one link.
fn one_machine() -> Lab {
    Lab::up_with(&["--machines", "--nodes", "1", "--links", "1"])
}

#[test]
#[ignore = "builds an image of Debian's packages, and boots machines"]
fn a_lab_of_machines_is_entered_cut_healed_powered_and_accounted_for() {
    if !has_images() {
        return;
    }
    let lab = Lab::up_with(&["--machines", "uml"]);
    let host = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("this kernel");
    let theirs = lab.sh("head1", "uname -r");
    assert_ne!(theirs, host, "a machine has a kernel of its own");
    assert_eq!(
        lab.sh("head2", "hostname; cat /etc/hostname"),
        "head2\nhead2\n"
    );
    assert_eq!(lab.sh("head1", "cat /proc/1/comm"), "systemd\n");
    assert_eq!(
        lab.sh("head1", "systemctl --failed --plain --no-legend"),
        ""
    );
    assert_ne!(
        lab.sh("head1", "cat /etc/machine-id"),
        lab.sh("head2", "cat /etc/machine-id")
    );
    let status = lab.status();
    assert!(
        status
            .machines
            .iter()
            .all(|it| it.kind == Kind::Uml && it.power == Power::On)
    );

    // A command has its own words, streams and exit code.
    assert_eq!(lab.try_sh("head1", "exit 7").code, Some(7));
    let odd = "a 'b' $HOME *";
    assert_eq!(lab.ok(&["exec", "head1", "--", "printf", "%s", odd]), odd);
    assert!(lab.ok(&["console", "head1"]).contains("systemd"));

    // Cables and switches.
    assert!(lab.reaches("head1", "head2-ring0") && lab.reaches("head1", "fd48:6177:7365:1::2"));
    lab.ok(&["cut", "head2/ring0"]);
    assert!(!lab.reaches("head1", "10.72.0.2") && lab.reaches("head1", "10.72.1.2"));
    lab.ok(&["heal", "head2/ring0"]);
    assert!(lab.soon_reaches("head1", "10.72.0.2"));
    lab.ok(&["cut", "sw1"]);
    assert!(!lab.reaches("head1", "10.72.1.2"));
    lab.ok(&["heal", "sw1"]);
    assert!(lab.soon_reaches("head1", "10.72.1.2"));

    // The account balances on counters and taps alone, and says so.
    let quiet = check(&lab);
    assert_eq!(unattributed(&quiet), Some(0), "{quiet:#}");
    lab.ok(&["impair", "head2/ring0", "--loss", "10%"]);
    let lossy = check(&lab);
    assert_eq!(unattributed(&lossy), Some(0), "{lossy:#}");
    let codes = lossy["findings"].as_array().expect("findings").iter();
    let codes: Vec<&str> = codes.filter_map(|it| it["code"].as_str()).collect();
    assert!(codes.contains(&"loss-between-hosts"), "{codes:?}");
    let said = run(&["check", "--lab", lab.name()]).stdout;
    assert!(
        said.contains("counters and taps alone place what is lost there"),
        "{said}"
    );
    lab.ok(&["clear", "--all"]);
    let refused = lab.run(&["impair", "head1", "--nft-drop", "20%"]);
    assert!(
        refused.stderr.contains("has no nftables of IP"),
        "{}",
        refused.stderr
    );
    // What is asked of a host's set-up does not end its kernel.
    let compared = run(&["compare", "--lab", lab.name()]);
    assert!(
        compared.stdout.contains("items compared"),
        "{}",
        compared.stderr
    );

    // What a machine keeps from its users, its disk has.
    let disk = hawser_lab::labs_folder()
        .join(lab.name())
        .join("nodes/head1/disk.cow");
    let mode = std::fs::metadata(&disk)
        .expect("its disk")
        .permissions()
        .mode();
    assert_eq!(mode & 0o077, 0, "{mode:o}");

    // Power. What was written and synchronised is there again.
    lab.sh("head2", "echo kept >/root/kept; sync");
    assert!(processes_of_machines(lab.name(), "head2") > 0);
    lab.ok(&["power", "cut", "head2"]);
    assert_eq!(
        processes_of_machines(lab.name(), "head2"),
        0,
        "of a machine without power"
    );
    assert!(!lab.reaches("head1", "10.72.0.2"));
    lab.ok(&["power", "on", "head2"]);
    assert_eq!(lab.sh("head2", "cat /root/kept"), "kept\n");
    lab.ok(&["power", "off", "head2"]);
    assert_eq!(processes_of_machines(lab.name(), "head2"), 0);
    assert!(
        lab.ok(&["console", "head2"]).contains("reboot: Power down"),
        "it was shut down in good order"
    );
    lab.ok(&["power", "on", "head2"]);
    // A reboot from within: the machine comes back, and its cables are in.
    let boot = || {
        lab.try_sh("head2", "cat /proc/sys/kernel/random/boot_id")
            .stdout
    };
    let before = boot();
    lab.try_sh("head2", "systemctl reboot");
    assert!(
        eventually(SLOW, || !boot().is_empty() && boot() != before),
        "it did not come back"
    );
    assert!(lab.soon_reaches("head1", "10.72.0.2"));

    let name = lab.name().to_owned();
    lab.ok(&["down"]);
    assert_eq!(remains(&name), Vec::<String>::new());
    assert_eq!(processes_of_machines(&name, ""), 0);
}

#[test]
#[ignore = "boots machines"]
fn nothing_is_left_of_machines_whose_up_was_killed_or_interrupted() {
    if !has_images() {
        return;
    }
    let mut kinds = vec![("uml", None)];
    if emulated::has_emulator() {
        kinds.push(("qemu", Some("--qemu")));
    }
    // The images are there from here on.
    for (_, option) in &kinds {
        let build = ["lab", "images", "build"].into_iter().chain(*option);
        assert_eq!(run(&build.collect::<Vec<_>>()).code, Some(0));
    }
    let ups = kinds
        .iter()
        .map(|(kind, _)| (*kind, &["--nodes", "2"][..], "head2"));
    let ups = ups.chain([("uml", &["--cluster"][..], "client1")]);
    let signals = [Signal::SIGKILL, Signal::SIGINT];
    for ((kind, of, last), signal) in ups.flat_map(|up| signals.map(|it| (up, it))) {
        let asked = [&["--machines", kind][..], of].concat();
        let boots = |lab: &Lab| processes_of_machines(lab.name(), last) > 0;
        let lab = ended_up(&asked, boots, signal);
        let none = || processes_of_machines(lab.name(), "") == 0;
        assert!(
            eventually(Duration::from_secs(30), none),
            "{asked:?}, {signal}: a kernel runs on"
        );
        nothing_is_left(&lab, &format!("{asked:?}, {signal}"));
    }
    // Machines that are up outlive an `up` that is killed while it builds their cluster. An interrupted `up` takes them down.
    for signal in signals {
        let is_built =
            |lab: &Lab| lab.run(&["exec", "head1", "--", "pidof", "corosync"]).code == Some(0);
        let lab = ended_up(&["--machines", "--cluster"], is_built, signal);
        match signal {
            Signal::SIGKILL => assert_eq!(lab.sh("head1", "echo here"), "here\n"),
            _ => assert_eq!(processes_of_machines(lab.name(), ""), 0, "{signal}"),
        }
        nothing_is_left(&lab, &format!("while the cluster is built, {signal}"));
    }
}

/// A lab whose `up` was ended at a moment.
fn ended_up(asked: &[&str], moment: impl Fn(&Lab) -> bool, signal: Signal) -> Lab {
    let lab = Lab::planned();
    let mut up = lab
        .command(&[&["up"], asked].concat())
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("hawser runs");
    assert!(eventually(SLOW, || moment(&lab)), "{asked:?}");
    kill(Pid::from_raw(up.id() as i32), signal).expect("a process");
    let ended = up.wait().expect("its end");
    assert!(!ended.success(), "{asked:?} was done before");
    lab
}

/// Who was killed leaves files, which the next command removes.
fn nothing_is_left(lab: &Lab, of: &str) {
    lab.run(&["down"]);
    assert_eq!(remains(lab.name()), Vec::<String>::new(), "{of}");
}

#[test]
#[ignore = "boots machines"]
fn a_machine_ends_with_its_case_and_is_told_from_one_that_was_switched_off() {
    if !has_images() {
        return;
    }
    let lab = one_machine();
    let case = lab.status().machines[0].pid.expect("it runs");
    kill(Pid::from_raw(case), Signal::SIGKILL).expect("a process");
    let none = || processes_of_machines(lab.name(), "head1") == 0;
    assert!(
        eventually(Duration::from_secs(30), none),
        "a process outlives the first one"
    );
    let is_dead = || lab.status().machines[0].power == Power::Dead;
    assert!(
        eventually(Duration::from_secs(30), is_dead),
        "its case runs on"
    );
    let said = lab.ok(&["up"]);
    assert!(said.contains("head1 had died and runs again"), "{said}");
    // A kernel that ends by itself.
    lab.try_sh("head1", "echo c >/proc/sysrq-trigger");
    assert!(
        eventually(Duration::from_secs(60), none),
        "a kernel that has panicked runs on"
    );
    assert!(
        eventually(Duration::from_secs(30), is_dead),
        "its case runs on"
    );
    assert!(lab.ok(&["console", "head1"]).contains("Kernel panic"));
}

#[test]
#[ignore = "boots a machine"]
fn the_kernels_target_takes_what_hawser_tells_it() {
    if has_images() {
        held(&one_machine(), "lio.sh", include_str!("machines/lio.sh"));
    }
}

#[test]
#[ignore = "boots a machine"]
fn the_kernels_nfs_server_takes_what_hawser_tells_it() {
    if has_images() {
        held(&one_machine(), "nfs.sh", include_str!("machines/nfs.sh"));
    }
}

/// Makes a node a client of what the kernel's target offers at an address: open-iscsi, dm-multipath over two networks.
fn login(lab: &Lab, node: &str, address: &str) {
    let script = format!(
        "set -e\n\
         modprobe -a iscsi_tcp dm-multipath; systemctl start iscsid multipathd\n\
         iscsiadm -m discovery -t sendtargets -p {address}\n\
         iscsiadm -m node --login; udevadm settle"
    );
    lab.sh(node, &script);
    paths(lab, node, 2);
}

/// Waits until a node has so many paths to its unit.
#[track_caller]
fn paths(lab: &Lab, node: &str, wanted: usize) {
    let shown = || lab.sh(node, "multipathd show paths raw format '%d %T'");
    let active = || shown().lines().filter(|it| it.ends_with(" ready")).count();
    assert!(eventually(SLOW, || active() == wanted), "{}", shown());
}

#[test]
#[ignore = "boots machines"]
fn a_client_with_two_paths_writes_on_when_a_cable_of_one_is_pulled() {
    if !has_images() {
        return;
    }
    let lab = Lab::up_with(&["--machines"]);
    lab.sh(
        "head1",
        "set -e; truncate -s 128M /root/pool; mkfs.ext4 -q /root/pool; mkdir /tank; modprobe loop\n\
         mount -o loop /root/pool /tank; truncate -s 64M /tank/disk.img; : >/tank/exports.toml",
    );
    let portals = "--portal 10.72.0.1 --portal 10.72.1.1";
    let offer = format!(
        "hawser exports start tank --root /tank --iqn iqn.2026-01.lab --backend lio {portals}"
    );
    lab.sh("head1", &offer);
    lab.sh(
        "head2",
        "printf 'defaults {\\n user_friendly_names yes\\n find_multipaths no\\n}\\noverrides {\\n no_path_retry queue\\n}\\n' >/etc/multipath.conf\n\
         echo 'node.session.timeo.replacement_timeout = 5' >>/etc/iscsi/iscsid.conf",
    );
    login(&lab, "head2", "10.72.0.1");
    lab.sh(
        "head2",
        "mkfs.ext4 -q /dev/mapper/mpatha && mount /dev/mapper/mpatha /mnt",
    );
    lab.sh("head2", "echo before >/mnt/one && sync /mnt/one");
    lab.ok(&["cut", "head2/ring0"]);
    lab.sh("head2", "echo while >/mnt/two && sync /mnt/two");
    paths(&lab, "head2", 1);
    lab.ok(&["heal", "head2/ring0"]);
    paths(&lab, "head2", 2);
    assert_eq!(lab.sh("head2", "cat /mnt/one /mnt/two"), "before\nwhile\n");
    lab.sh("head2", "umount /mnt && e2fsck -fn /dev/mapper/mpatha");
    // A reservation is taken, and read back by the path that took it.
    let held = lab.sh(
        "head2",
        "set -e; d=/dev/sda\n\
         sg_persist -n --out --register --param-sark=0xabc $d\n\
         sg_persist -n --out --reserve --param-rk=0xabc --prout-type=5 $d\n\
         sg_persist -n --in --read-reservation $d",
    );
    assert!(held.contains("Key=0xabc"), "{held}");
}

#[test]
#[ignore = "boots a machine"]
fn an_image_and_its_kernel_are_listed_and_not_removed_from_under_a_lab() {
    if !has_images() {
        return;
    }
    let lab = one_machine();
    let images = run(&["lab", "images", "list", "--json"]);
    let images: Value = serde_json::from_str(&images.stdout).expect("JSON");
    let images = images.as_array().expect("a list");
    // Those with ZFS and of another release may be there too, of other tests.
    for (of, release) in [("debian", Value::from("bookworm")), ("kernel", Value::Null)] {
        let current = images.iter().filter(|it| it["current"] == true);
        let current: Vec<&Value> = current
            .filter(|it| it["of"] == of && it["release"] == release)
            .collect();
        assert_eq!(current.len(), 1, "{of}: {images:#?}");
        let labs = current[0]["labs"].as_array().expect("a list");
        assert!(labs.iter().any(|it| *it == lab.name()), "{images:#?}");
        let name = current[0]["name"].as_str().expect("a name");
        let removed = run(&["lab", "images", "remove", name]);
        assert_eq!(removed.code, Some(2), "{name}");
        let said = removed.stderr;
        assert!(said.contains("take them down first"), "{said}");
    }
}

/// Runs a script in head1, each line of which that begins with `NOT OK` is a promise that the kernel does not keep.
#[track_caller]
fn held(lab: &Lab, name: &str, script: &str) {
    let place = format!("/root/{name}");
    let mut copy = lab
        .command(&["exec", "head1", "--", "tee", &place])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("hawser runs");
    let mut input = copy.stdin.take().expect("a pipe");
    for part in [include_str!("machines/held.sh"), script] {
        input.write_all(part.as_bytes()).expect("the script");
    }
    drop(input);
    assert!(copy.wait().expect("its end").success());
    let ran = lab.run(&["exec", "head1", "--", "sh", &place]);
    println!("{}", ran.stdout);
    let broken: Vec<&str> = ran
        .stdout
        .lines()
        .filter(|it| it.starts_with("NOT OK"))
        .collect();
    assert!(
        ran.code == Some(0) && broken.is_empty(),
        "{broken:#?} {}",
        ran.stderr
    );
}

/// A check of the lab as JSON.
fn check(lab: &Lab) -> Value {
    let ran: Ran = run(&["check", "--lab", lab.name(), "--json"]);
    serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {}", ran.stderr))
}

fn unattributed(check: &Value) -> Option<u64> {
    check.pointer("/packets/unattributed")?.as_u64()
}
