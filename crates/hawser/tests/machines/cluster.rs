//! A storage cluster whose heads have kernels of their own, by verbs that know nothing of kernels.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::support::verbs::{active_on, ok, verb};
use crate::support::{self, Lab, eventually, hawser};
use crate::{SLOW, example, has_images, login};

/// Waits until `status` has nothing to say. It gives up what does not answer at once, which on a busy host may be anything.
#[track_caller]
pub(crate) fn whole(lab: &Lab) -> Value {
    let mut last = None;
    let is_whole = eventually(SLOW, || {
        let status = verb(lab, "status", &["--json"]);
        let whole = status.code == Some(0);
        last = Some(status);
        whole
    });
    let last = last.expect("it was asked");
    assert!(is_whole, "{}{}", last.stdout, last.stderr);
    support::json(&last, "status")
}

/// Waits until what `status` says is degraded is as it should be.
#[track_caller]
fn is_told(lab: &Lab, is: impl Fn(&Value) -> bool) {
    let mut said = Value::Null;
    let is_told = eventually(SLOW, || {
        said = support::json(&verb(lab, "status", &["--json"]), "status");
        is(&said["degraded"])
    });
    assert!(is_told, "{said:#}");
}

/// Whether something is degraded whose text is so.
fn any(degraded: &Value, is: impl Fn(&str) -> bool) -> bool {
    let texts = degraded.as_array().into_iter().flatten();
    texts.filter_map(Value::as_str).any(is)
}

/// Which boot this is of a head: another one after it was fenced.
fn boot(lab: &Lab, head: &str) -> String {
    lab.sh(head, "cat /proc/sys/kernel/random/boot_id")
}

#[test]
#[ignore = "boots machines"]
fn a_cluster_on_machines_is_built_moved_and_shot_at_by_the_same_verbs() {
    if !has_images() {
        return;
    }
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    let text = std::fs::read_to_string(example("machines.toml")).expect("the example");
    let device = "[quorum]\ndevice = { host = \"arbiter\" }\n";
    write!(file, "{text}\n{device}").expect("written");
    let file = file.path().display().to_string();
    let lab = Lab::up_with(&["--machines", "--cluster", "--bare", "--file", &file]);
    first_set_up(&lab);
    appliance(&lab, |head| {
        lab.sh(head, "test -b /dev/disk/by-id/ubd-vmpool01");
    });

    // The head's own clock, and Pacemaker's stamps by it.
    for scenario in ["clock-step", "clock-back"] {
        held(&lab, scenario, json!([]));
    }
    // Its kernel and all: nobody answers until it is shot, and it has what it had.
    held(&lab, "hang", json!(["head2"]));
    assert_eq!(active_on(&whole(&lab), "vmpool01"), "head1");

    // An administrator reboots the head that has both pools now.
    held(&lab, "reboot", json!([]));
    assert_eq!(active_on(&whole(&lab), "vmpool01"), "head2");

    let votes = || {
        let status = verb(&lab, "status", &["--json"]);
        support::json(&status, "status")["quorum_device"]["votes"].clone()
    };
    let connected = lab.sh("arbiter", "corosync-qnetd-tool -lv");
    let encrypted = "Yes (client certificate verified)";
    assert_eq!(connected.matches(encrypted).count(), 2, "{connected}");
    lab.ok(&["power", "cut", "arbiter"]);
    assert!(eventually(SLOW, || votes() == false), "{}", votes());
    lab.ok(&["power", "on", "arbiter"]);
    assert!(eventually(SLOW, || votes() == true), "{}", votes());
    whole(&lab);
}

/// Sets up heads that only have packages, as a user does whose first `apply` is killed in the middle of it.
fn first_set_up(lab: &Lab) {
    const HEADS: [&str; 2] = ["head1", "head2"];
    let engine = |head: &str, asked: &str| {
        let said = lab.try_sh(head, &format!("systemctl {asked} corosync pacemaker"));
        said.stdout
    };
    let plan = ok(lab, "plan", &[]);
    assert!(
        plan.contains("+ engine on head1: corosync and pacemaker are started"),
        "{plan}"
    );
    assert_eq!(
        engine("head1", "is-active"),
        "inactive\ninactive\n",
        "a plan starts nothing"
    );

    let mut apply = Command::new(hawser())
        .args(["apply", "--lab", lab.name()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("hawser runs");
    let starts = || engine("head1", "is-active").starts_with("active\n");
    assert!(eventually(SLOW, starts));
    apply.kill().expect("it is killed");
    let ended = apply.wait().expect("it has ended");
    assert_eq!(ended.signal(), Some(Signal::SIGKILL as i32), "{ended}");
    ok(lab, "apply", &[]);

    let mut keys = Vec::new();
    for head in HEADS {
        assert_eq!(engine(head, "is-active"), "active\nactive\n");
        assert_eq!(engine(head, "is-enabled"), "enabled\nenabled\n");
        // For a file of its own, for what starts at a boot, and once more by the apply that was killed.
        let reads = "journalctl -q -b -o cat _PID=1 | grep -c '^Reloading\\.'";
        let reads = lab.sh(head, reads);
        assert!(
            (1..=3).contains(&reads.trim().parse().unwrap_or(0)),
            "{reads}"
        );
        let key = "/etc/corosync/authkey";
        let mode = lab.sh(head, &format!("stat -c '%a %U:%G %s' {key}"));
        assert_eq!(mode, "400 root:root 256\n");
        keys.push(lab.sh(head, &format!("sha256sum {key}")));
        // Passwords are root's alone, and nowhere else.
        let secrets = "/etc/hawser/secrets/fence-head";
        let modes = lab.sh(head, &format!("stat -c '%a %U:%G' {secrets}1 {secrets}2"));
        assert_eq!(modes, "600 root:root\n600 root:root\n");
        let found = lab.sh(
            head,
            &format!(
                "{{ cat /var/lib/pacemaker/cib/cib.xml; journalctl -q -b --no-pager; ps axww; }} >/tmp/said\n\
                 grep -q fence_ipmilan /tmp/said || echo unseen\n\
                 cat {secrets}1 {secrets}2 | grep . | grep -c -F -f - /tmp/said || :"
            ),
        );
        assert_eq!(
            found, "0\n",
            "a password is in the CIB, the journal or an argument"
        );
    }
    assert_eq!(keys[0], keys[1]);
}

#[test]
#[ignore = "boots machines"]
fn an_appliance_on_zfs_loses_a_head_and_nothing_that_it_acknowledged() {
    if !has_images() {
        return;
    }
    let lab = built("machines-zfs.toml");
    by_the_serial_line(&lab);
    with_a_log_of_its_own(&lab);
    encrypted(&lab);
    lab.sh("head2", "zpool set multihost=on vmpool02");
    let report = appliance(&lab, |head| on_zfs(&lab, head));
    watched(&report);
    let unlocked = lab.sh(
        "head2",
        "zfs get -H -o value keystatus vmpool02/secret && test -b /dev/zvol/vmpool02/secret",
    );
    assert_eq!(unlocked, "available\n");
    half_resilvered(&lab);
}

/// What the import waited for is named by ZFS's own messages: it watches a pool for the other head, for ten seconds at least
/// (`spa_activity_check_duration`), and a drill's account adds up.
fn watched(report: &Value) {
    let findings = report["findings"].as_array().expect("findings");
    let slow = findings.iter().find(|it| it["code"] == "slow-import");
    let slow = slow.unwrap_or_else(|| panic!("{report:#}"));
    let evidence = &slow["evidence"];
    let seconds = |part: &str| {
        evidence[part]
            .as_u64()
            .unwrap_or_else(|| panic!("{slow:#}"))
    };
    assert!(seconds("watched_s") >= 10, "{slow:#}");
    let parts = [
        "before_import_s",
        "watched_s",
        "loading_s",
        "after_import_s",
    ];
    let all: u64 = parts.into_iter().map(seconds).sum();
    let pool_ms = seconds("pool_ms");
    assert!((all * 1000).abs_diff(pool_ms) <= 500, "{slow:#}");
    println!("seen: an import with multihost: {evidence}");
}

/// A head dies while a disk of its pool is made whole again: the other one imports the pool, and goes on with that.
fn half_resilvered(lab: &Lab) {
    let sum = lab.sh(
        "head2",
        "echo 1 >/sys/module/zfs/parameters/zfs_scan_suspend_progress
         zpool offline vmpool01 ubd-shelf1-1
         dd if=/dev/urandom of=/vmpool01/filler bs=1M count=8 conv=fsync 2>/dev/null
         zpool online vmpool01 ubd-shelf1-1
         sha256sum /vmpool01/filler",
    );
    is_told(lab, |degraded| {
        any(degraded, |it| {
            it.contains("vmpool01") && it.contains("resilvers")
        })
    });
    lab.ok(&["power", "cut", "head2"]);
    let resilvered = "zpool wait -t resilver vmpool01 && zpool status vmpool01 | grep -c 'scan: resilvered .* with 0 errors'";
    assert!(eventually(SLOW, || lab.try_sh("head1", resilvered).stdout == "1\n"));
    assert_eq!(
        lab.sh(
            "head1",
            "zpool status -x vmpool01; sha256sum /vmpool01/filler"
        ),
        format!("pool 'vmpool01' is healthy\n{sum}")
    );
    lab.ok(&["power", "on", "head2"]);
    whole(lab);
}

/// Both networks between the heads are cut, and by the null-modem cable they stay one cluster.
fn by_the_serial_line(lab: &Lab) {
    let line = lab.sh("head1", "ip -d link show ring2");
    assert!(line.contains("link/ppp"), "{line}");
    let rings = ["head1/ring0", "head1/ring1"];
    let boots = || ["head1", "head2"].map(|head| boot(lab, head));
    let before = boots();
    rings.iter().for_each(|ring| drop(lab.ok(&["cut", ring])));
    let down = |ring: &str| format!("heartbeat link {ring} between head1 and head2 is down");
    is_told(lab, |degraded| {
        *degraded == json!([down("ring0"), down("ring1")])
    });
    // What one head is told the other one hears.
    lab.sh(
        "head1",
        "crm_attribute -N head2 -n told -v over-serial -l reboot",
    );
    let hears = "crm_attribute -N head2 -n told -G -q -l reboot || :";
    assert!(eventually(SLOW, || lab.sh("head2", hears) == "over-serial\n"));
    rings.iter().for_each(|ring| drop(lab.ok(&["heal", ring])));
    whole(lab);
    assert_eq!(boots(), before, "nobody is fenced");
}

/// A head has a log device that the other one does not have, and `plan` says before the day that the other one refuses the pool.
fn with_a_log_of_its_own(lab: &Lab) {
    lab.sh(
        "head2",
        "truncate -s 128M /root/log && zpool add -f vmpool02 log /root/log",
    );
    let refused = "head1 could not take over vmpool02: its log device /root/log is UNAVAIL there";
    let plan = ok(lab, "plan", &[]);
    assert!(plan.contains(refused), "{plan}");
    is_told(lab, |degraded| any(degraded, |it| it.starts_with(refused)));
    // It comes true: the import fails, the pool comes back, and the heads' own logs tell it in ZFS's words.
    lab.sh(
        "head2",
        "crm_resource --move --resource vmpool02 --node head1",
    );
    let failed = || {
        let failures = "crm_failcount --query --resource vmpool02 --node head1";
        lab.try_sh("head2", failures).stdout.contains("INFINITY")
    };
    assert!(eventually(SLOW, failed));
    lab.sh("head2", "crm_resource --clear --resource vmpool02");
    let is_back = || lab.try_sh("head2", "zpool list vmpool02").code == Some(0);
    assert!(eventually(SLOW, is_back));
    let mut said = String::new();
    let is_explained = eventually(SLOW, || {
        let shown = support::run(&["incident", "show", "last", "--lab", lab.name(), "--json"]);
        said = shown.stdout + &shown.stderr;
        said.contains("start-failed") && said.contains("cannot import 'vmpool02'")
    });
    assert!(is_explained, "{said}");
    lab.sh("head2", "crm_resource --cleanup --resource vmpool02");
    lab.sh("head2", "zpool remove vmpool02 /root/log && rm /root/log");
    whole(lab);
    let plan = ok(lab, "plan", &[]);
    assert!(!plan.contains("take over"), "{plan}");
}

/// Makes an encrypted volume, whose key `status` misses on the other head until it is there.
fn encrypted(lab: &Lab) {
    lab.sh(
        "head2",
        "umask 077
         head -c 32 /dev/urandom >/root/secret.key
         zfs create -V 16M -o encryption=on -o keyformat=raw -o keylocation=file:///root/secret.key vmpool02/secret",
    );
    let locked =
        "vmpool02/secret would stay locked on head1: its key /root/secret.key is not there";
    is_told(lab, |degraded| *degraded == json!([locked]));
    let key = lab.sh("head2", "base64 -w 0 /root/secret.key");
    lab.sh(
        "head1",
        &format!("umask 077; echo {key} | base64 -d >/root/secret.key; sync /root/secret.key"),
    );
    whole(lab);
}

#[test]
#[ignore = "boots machines"]
fn an_appliance_on_debian_13_loses_a_head_and_is_upgraded_under_a_client() {
    if !has_images() {
        return;
    }
    let lab = built_on("trixie", "machines-zfs.toml");
    appliance(&lab, |head| {
        on_zfs(&lab, head);
        let release = lab.sh(head, "cat /etc/debian_version");
        assert!(release.starts_with("13"), "{release}");
        let loaded = lab.sh(head, "cat /sys/module/zfs/version");
        assert!(loaded.starts_with("2.3.9"), "{loaded}");
    });
    goldens_are_right_for_its_pacemaker(&lab);
    // The same packages again as newer ones, with the scripts that Debian's packages run.
    let packages = ["pacemaker", "resource-agents"];
    for head in ["head1", "head2"] {
        for package in packages {
            lab.sh(head, &format!("{AGAIN}\nagain {package}"));
        }
    }
    let files = packages.map(|it| format!("/root/{it}.deb"));
    let words = ["--package", &files[0], "--package", &files[1]];
    let report = held_with(&lab, "upgrade", json!([]), &words);
    for head in ["head1", "head2"] {
        let versions = lab.sh(
            head,
            "dpkg-query -W -f '${Version}\\n' pacemaker resource-agents",
        );
        let newer = versions.lines().filter(|it| it.ends_with("+again"));
        assert_eq!(newer.count(), 2, "{versions}{report:#}");
    }
    // There is nothing newer now, and nothing is done about it.
    let said = verb(&lab, "drill", &["upgrade", "--package", "pacemaker"]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    let wanted = "apt-get has no other version of pacemaker than is installed";
    assert!(said.stderr.contains(wanted), "{}", said.stderr);
}

/// Its `crm_verify` has nothing to say of any golden CIB whose nodes are all up.
fn goldens_are_right_for_its_pacemaker(lab: &Lab) {
    let goldens = concat!(env!("CARGO_MANIFEST_DIR"), "/../hawser-cluster/goldens");
    let goldens = std::fs::read_dir(goldens).expect("the golden clusters");
    let mut seen = 0;
    for golden in goldens {
        let golden = golden.expect("a golden cluster").path();
        let Ok(cib) = std::fs::read_to_string(golden.join("cib.xml")) else {
            continue;
        };
        let said = lab.sh(
            "head1",
            &format!("cat >golden.xml <<'CIB'\n{cib}\nCIB\n{VERIFY}"),
        );
        let expected = match golden.ends_with("without-fencing") {
            // What a cluster without fencing has earned.
            true => "warning: Blind faith: not fencing unseen nodes\n",
            false => "",
        };
        assert_eq!(said, expected, "{}", golden.display());
        seen += 1;
    }
    assert!(seen > 5, "{seen} golden clusters");
}

/// Prints the warnings and errors about `golden.xml` if all its nodes are up; without a status it only says that nobody is there.
const VERIFY: &str = r#"
set -e
up=$(sed -n 's/.*<node .*uname="\([^"]*\)".*/--node-up=\1/p' golden.xml)
crm_simulate --xml-file=golden.xml --simulate --quorum=1 $up --save-output=up.xml >simulated 2>&1 || { cat simulated; exit 1; }
crm_verify --verbose --verbose --xml-file=up.xml 2>&1 | sed -n 's/.*\(warning:\|error:\)/\1/p'"#;

/// Makes an installed package again, called newer, in /root.
const AGAIN: &str = r#"again() {
    set -eu
    root=/root/$1
    mkdir -p $root/DEBIAN
    dpkg -L $1 | while IFS= read -r file; do
        if [ -L "$file" ] || [ -f "$file" ]; then
            mkdir -p "$root$(dirname "$file")" && cp -a "$file" "$root$file"
        fi
    done
    for script in preinst postinst prerm postrm conffiles triggers; do
        from=/var/lib/dpkg/info/$1.$script
        [ ! -e $from ] || cp $from $root/DEBIAN/$script
    done
    dpkg-query -s $1 | awk '/^Conffiles:/ { skip = 1; next } skip && /^ / { next } { skip = 0 }
        /^Status:/ { next } /^Version:/ { $0 = $0 "+again" } { print }' >$root/DEBIAN/control
    dpkg-deb -b $root /root/$1.deb
}"#;

/// Each head has the pools that it serves and no others, and would import none at boot.
fn on_zfs(lab: &Lab, head: &str) {
    let pool = format!("vmpool0{}", &head["head".len()..]);
    assert_eq!(
        lab.sh(head, "zpool list -H -o name,health"),
        format!("{pool}\tONLINE\n")
    );
    assert_eq!(lab.sh(head, "ls /etc/zfs").find("zpool.cache"), None);
    lab.sh(head, &format!("test -b /dev/zvol/{pool}/volume01"));
}

#[test]
#[ignore = "boots machines"]
fn an_appliance_on_lvm_loses_a_head_and_nothing_that_it_acknowledged() {
    if !has_images() {
        return;
    }
    let lab = built("machines-lvm.toml");
    without_room(&lab);
    appliance(&lab, |head| {
        let (own, other) = match head {
            "head1" => ("vg01", "vg02"),
            _ => ("vg02", "vg01"),
        };
        assert_eq!(
            lab.sh(head, &format!("vgs --noheadings -o systemid {own}"))
                .trim(),
            head
        );
        lab.sh(
            head,
            &format!("test -b /dev/{own}/volume01 && test ! -e /dev/{other}"),
        );
    });
    // One way to the client is down, and it has another.
    held(&lab, "san-down", json!([]));
    whole(&lab);
    // A head without memory is slow, and serves.
    held(&lab, "memory-pressure", json!([]));
    whole(&lab);
    // Each head fences the other one; head2 waits first.
    held(&lab, "split-brain", json!(["head2"]));
    whole(&lab);
}

/// A head without room in /run, and with a full journal, is told of, and gives its pool up as any other: a stop that failed
/// there would have it fenced.
fn without_room(lab: &Lab) {
    whole(lab);
    lab.sh(
        "head2",
        "mkdir -p /var/log/journal && mount -t tmpfs -o size=64k journal /var/log/journal
         systemctl restart systemd-journald && journalctl --flush
         dd if=/dev/zero of=/var/log/journal/filler bs=4k 2>/dev/null || :
         dd if=/dev/zero of=/run/filler bs=64k 2>/dev/null || :",
    );
    is_told(lab, |degraded| {
        any(degraded, |it| {
            it.starts_with("on head2 there is no room in /run (")
        })
    });
    let before = boot(lab, "head2");
    ok(lab, "move", &["vmpool02", "head1"]);
    lab.sh(
        "head2",
        "rm /run/filler && umount -l /var/log/journal && systemctl restart systemd-journald && journalctl --flush",
    );
    let status = whole(lab);
    assert_eq!(active_on(&status, "vmpool02"), "head1");
    assert_eq!(boot(lab, "head2"), before, "nobody is fenced");
    ok(lab, "move", &["vmpool02", "head2"]);
}

/// A head that its BMC does not switch off is shut out from the disks; and one that is not registered on a disk is told of.
fn shut_out(lab: &Lab) {
    // A disk of the other head's pool, by each of its paths.
    let lost = lab.sh(
        "head1",
        "key=$(cat /run/cluster.key)
         for path in /sys/block/$(basename $(readlink -f /dev/mapper/shelf1-2))/slaves/*; do
           sg_turs /dev/$(basename $path) >/dev/null || :
           sg_persist -n -o -G -K 0x$key -S 0 -d /dev/$(basename $path) >/dev/null
         done
         sg_turs /dev/mapper/shelf1-2 >/dev/null || :
         sg_persist -n -i -k -d /dev/mapper/shelf1-2 | grep -c 0x$key >/dev/null && exit 1
         echo $key",
    );
    let said = format!(
        "fence device reservations would shut nobody out on head1: /dev/mapper/shelf1-2: key 0x{} is not registered",
        lost.trim()
    );
    is_told(lab, |degraded| {
        degraded[0].as_str().is_some_and(|it| it.starts_with(&said))
    });
    lab.sh("head1", "stonith_admin --unfence head1");
    whole(lab);

    held(lab, "bmc-password", json!(["head1"]));
    assert_eq!(active_on(&whole(lab), "vmpool01"), "head2");
    ok(lab, "move", &["vmpool01", "head1"]);
    whole(lab);
}

#[test]
#[ignore = "boots machines"]
fn a_mirror_over_two_shelves_bears_a_path_a_disk_and_a_shelf_that_are_gone_or_ill() {
    if !has_images() {
        return;
    }
    let lab = built("machines-shelves.toml");
    let status = whole(&lab);
    assert_eq!(active_on(&status, "vmpool01"), "head1");
    assert!(ok(&lab, "plan", &[]).contains("0 changes"));
    let disks = "ls /dev/mapper/shelf?-?; multipathd show paths raw format '%d %T' | grep -c ready";
    let seen = lab.sh("head1", disks);
    assert_eq!(seen, lab.sh("head2", disks), "both heads see the same");
    assert!(seen.ends_with("\n8\n"), "{seen}");

    // A cable to a shelf, under nobody's eyes but the kernel's.
    lab.ok(&["cut", "shelf1/path0"]);
    let ready = |head: &str| lab.sh(head, "multipathd show paths raw format '%d %T'");
    let count = |head: &str| {
        ready(head)
            .lines()
            .filter(|it| it.ends_with(" ready"))
            .count()
    };
    assert!(
        eventually(SLOW, || count("head1") == 6),
        "{}",
        ready("head1")
    );
    lab.ok(&["heal", "shelf1/path0"]);
    assert!(
        eventually(SLOW, || count("head1") == 8),
        "{}",
        ready("head1")
    );
    whole(&lab);

    for scenario in [
        "path-gone",
        "disk-gone",
        "shelf-gone",
        "disk-slow",
        "disk-errors",
    ] {
        held(&lab, scenario, json!([]));
        let pool = "zpool status -x vmpool01";
        assert_eq!(
            lab.sh("head1", pool),
            "pool 'vmpool01' is healthy\n",
            "{scenario}"
        );
        assert_eq!(active_on(&whole(&lab), "vmpool01"), "head1", "{scenario}");
    }
    assert_eq!(count("head1"), 8, "{}", ready("head1"));
    let is_straight = || {
        let tables = lab.sh("shelf2", "dmsetup table");
        assert!(tables.lines().all(|it| it.contains(" linear ")), "{tables}");
    };
    is_straight();

    // A disk that ends without a drill, and what a watch says of it.
    let alarms = || {
        let reading = support::json(&verb(&lab, "watch", &["--once", "--json"]), "watch");
        let alarms = reading["alarms"].as_array().expect("alarms").iter();
        alarms
            .map(|it| format!("{} {}", it["code"], it["text"]))
            .collect::<Vec<_>>()
    };
    let paths = "cd /sys/block/$(basename $(readlink -f /dev/mapper/shelf2-1))/slaves";
    let paths = lab.sh("head1", &format!("{paths}; echo *"));
    let set = |state: &str| {
        for path in paths.split_whitespace() {
            lab.sh(
                "head1",
                &format!("echo {state} >/sys/block/{path}/device/state"),
            );
        }
    };
    set("offline");
    lab.try_sh("head1", "zpool scrub vmpool01");
    let codes = ["multipath-path-lost", "zpool-degraded"];
    let mut told = Vec::new();
    let all = eventually(SLOW, || {
        told = alarms();
        codes
            .iter()
            .all(|code| told.iter().any(|it| it.contains(code)))
    });
    assert!(all, "{told:#?}");
    let pool = told.iter().find(|it| it.contains("zpool-degraded"));
    assert!(pool.is_some_and(|it| it.contains("shelf2-1")), "{told:#?}");
    set("running");
    assert!(
        eventually(SLOW, || count("head1") == 8),
        "{}",
        ready("head1")
    );
    lab.sh(
        "head1",
        "zpool clear vmpool01; zpool wait -t resilver,scrub vmpool01",
    );
    let ended = eventually(SLOW, || {
        told = alarms();
        told.is_empty()
    });
    assert!(ended, "{told:#?}");

    shut_out(&lab);

    // Planted: the other pool on a single disk. A drill on it must fail, and the pool is whole again.
    lab.sh("head2", "zpool detach vmpool02 /dev/mapper/shelf1-2-part1");
    let single = |more: &[&str]| {
        let words = [&["disk-errors", "--pool", "vmpool02"], more].concat();
        verb(&lab, "drill", &words)
    };
    let refused = single(&[]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("no other disk has what is on it"),
        "{}",
        refused.stderr
    );
    let failed = single(&["--no-copy", "--json"]);
    let report = support::json(&failed, "drill");
    assert_eq!(failed.code, Some(1), "{report:#}{}", failed.stderr);
    assert!(
        report["broken"]
            .as_array()
            .expect("promises")
            .contains(&json!("service-survives")),
        "{report:#}"
    );
    is_straight();
    let status = whole(&lab);
    let head = &active_on(&status, "vmpool02");
    assert_eq!(
        lab.sh(head, "zpool status -x vmpool02"),
        "pool 'vmpool02' is healthy\n"
    );
}

/// Waits until Pacemaker has nothing left to do, and has it forget what failed.
fn whole_again(lab: &Lab) {
    lab.sh("head1", "crm_resource --wait; crm_resource --cleanup");
    whole(lab);
}

/// The exports of a pool: its zvols by iSCSI, and a directory by NFS.
fn both(pool: &str) -> String {
    format!(
        r#"[[target]]
name = "{pool}"

[[nfs]]
directory = "home"
clients = ["10.72.0.0/16"]
options = "rw,no_root_squash"
"#
    )
}

#[test]
#[ignore = "boots machines"]
fn directories_by_nfs_are_written_and_locked_on_whichever_pool_comes_or_goes() {
    if !has_images() {
        return;
    }
    let lab = built("machines-zfs.toml");
    whole(&lab);
    for (head, pool) in [("head1", "vmpool01"), ("head2", "vmpool02")] {
        lab.sh(
            head,
            &format!(
                "systemctl enable --now nfs-server
                 zfs create {pool}/home && echo '{}' >/{pool}/exports.toml && hawser exports start {pool}",
                both(pool)
            ),
        );
    }
    // A start of the server, as any import or export of a pool of ZFS, has exportfs read its files again.
    let exported = "exportfs -s | grep -c vmpool01/home";
    lab.sh("head1", "systemctl reload nfs-server");
    assert_eq!(lab.sh("head1", exported), "1\n");
    // It is what a pool that is active offers, and no boot does.
    assert!(ok(&lab, "plan", &[]).contains("0 changes"));

    // A lock that is held and written under, and somebody who wants it. Both say when they have reclaimed, which ends a grace
    // period: a client of 4.0 would have each one last its 90 s.
    lab.sh(
        "client1",
        "mkdir -p /mnt/home /mnt/rival /mnt/other
         mount -t nfs -o vers=4.2 10.72.2.207:/vmpool01/home /mnt/home
         mount -t nfs -o vers=4.1 10.72.2.207:/vmpool01/home /mnt/rival
         truncate -s 8M /mnt/home/drill.img
         systemd-run --unit=holder sh -c 'exec 9<>/mnt/home/lock; flock 9; while echo held >&9 && sync -d /mnt/home/lock; do sleep 1; done'",
    );
    let refused = |file: &str| {
        let ask = format!("flock -n /mnt/rival/{file} true; echo $?");
        lab.sh("client1", &ask) == "1\n"
    };
    assert!(eventually(SLOW, || refused("lock")));
    // A client of NFS 4 refuses to write under a lock that it has lost. The locks that its kernel counts as lost are others, too: of
    // the rival, who was refused while the server went. Of NFS 3 the kernel tells.
    let holds = |after: &str, unit: &str, file: &str| {
        let name = file.rsplit('/').next().expect("a path");
        assert!(
            refused(name),
            "{after}: somebody else has the lock of {unit}"
        );
        let size = || lab.sh("client1", &format!("stat -c %s {file}"));
        let before = size();
        assert!(
            eventually(SLOW, || size() != before),
            "{after}: {unit} writes no more"
        );
        let complaints = "dmesg | grep -i 'failed to reclaim' || :";
        let said = lab.sh(
            "client1",
            &format!("systemctl is-active {unit}; {complaints}"),
        );
        assert_eq!(said, "active\n", "{after}: {unit}");
    };
    let still_held = |after: &str| holds(after, "holder", "/mnt/home/lock");
    // An administrator's restart. A look at the exports meanwhile found no server, and rightly so.
    lab.sh("head1", "systemctl restart nfs-server");
    still_held("restart");
    whole_again(&lab);

    let path = "/mnt/home/drill.img";
    let by_path = [
        "--path",
        path,
        "--yes-break",
        "machines-zfs/vmpool01:/mnt/home/drill.img",
        "--create",
    ];
    let drilled = |scenario: &str, fenced: Value| {
        let report = held_with(&lab, scenario, fenced, &by_path);
        let case = report["case"].as_str().expect("a path");
        let case = std::fs::read_to_string(case).expect("the case");
        let case: Value = serde_json::from_str(&case).expect("JSON");
        assert_eq!(case["client"]["errors"], json!([]), "{scenario}");
        still_held(scenario);
        let active = active_on(&whole(&lab), "vmpool01");
        let graces = case["watch"]["graces"].as_array();
        let mut graces = graces.into_iter().flatten();
        assert!(
            graces.any(|it| it["host"] == active),
            "{scenario}: {}",
            case["watch"]
        );
        report
    };
    // What ZFS exports by itself goes with its pool, and Hawser leaves it alone.
    let shared = |head: &str| lab.sh(head, "exportfs -s | grep -c '^/vmpool02/shared ' || :");
    lab.sh("head2", "zfs create -o sharenfs=on vmpool02/shared");
    assert_eq!(shared("head2"), "1\n");
    // The other pool comes to the head, and goes. By one version a client has both over one connection then.
    ok(&lab, "move", &["vmpool02", "head1"]);
    assert_eq!([shared("head1"), shared("head2")], ["1\n", "0\n"]);
    lab.sh("head1", "hawser exports start vmpool02");
    assert_eq!(shared("head1"), "1\n");
    assert_eq!(lab.sh("head1", exported), "1\n");
    still_held("another pool's arrival");
    let mount = |version: &str| {
        lab.sh(
            "client1",
            &format!("mount -t nfs -o vers={version} 10.72.2.208:/vmpool02/home /mnt/other && echo one >/mnt/other/one"),
        );
        let asked = verb(&lab, "check", &["--client", "client1", "--json"]);
        let said = support::json(&asked, "clients");
        let findings = said["findings"].as_array().expect("findings").clone();
        findings
            .iter()
            .any(|it| it["code"] == "client-pools-share-nfs")
    };
    assert!(mount("4.2"));
    lab.sh("client1", "umount /mnt/other");
    assert!(!mount("4.0"));
    drilled("switchover", json!([]));
    let other = lab.sh("client1", "cat /mnt/other/one && umount /mnt/other");
    assert_eq!(other, "one\n");

    // An administrator reboots the head that serves, and does not stop the cluster before: its NFS server ends after the pool has moved.
    let head = active_on(&whole(&lab), "vmpool01");
    let before = boot(&lab, &head);
    lab.try_sh(&head, "systemctl reboot");
    let now = "cat /proc/sys/kernel/random/boot_id";
    let booted = || {
        let said = lab.try_sh(&head, now);
        said.code == Some(0) && said.stdout != before
    };
    assert!(eventually(SLOW, booted));
    whole(&lab);
    still_held("a reboot");
    let ended = lab.sh(
        &head,
        "journalctl -q -b -1 --no-pager -u pacemaker -u nfs-server | grep -oE 'Stopped (pacemaker|nfs-server)' | tail -n 2",
    );
    assert_eq!(ended, "Stopped pacemaker\nStopped nfs-server\n");

    // A lock of NFS 3, too: its holder is told to reclaim it, and who asks for it waits for the whole grace period.
    let head = active_on(&whole(&lab), "vmpool01");
    lab.sh(
        "client1",
        "mkdir -p /mnt/three && mount -t nfs -o vers=3 10.72.2.207:/vmpool01/home /mnt/three
         systemd-run --unit=holder3 sh -c 'exec 9<>/mnt/three/lock3; flock 9; while echo held >&9; do sleep 1; done'",
    );
    let recorded = "grep -c ^nfs3 /vmpool01/exports-clients.toml || :";
    assert!(eventually(SLOW, || lab.sh(&head, recorded) == "1\n"));
    drilled("power-cut", json!([head]));
    holds("power-cut", "holder3", "/mnt/three/lock3");

    // A client of 4.0 never says that it has reclaimed: who creates a file waits for the whole grace period, which has to last
    // longer than such a host takes to serve the pool again.
    for head in ["head1", "head2"] {
        let grace = "printf '[nfsd]\\ngrace-time=180\\n' >/etc/nfs.conf.d/grace.conf";
        lab.sh(head, grace);
    }
    lab.sh(
        "client1",
        "mkdir -p /mnt/old && mount -t nfs -o vers=4.0 10.72.2.207:/vmpool01/home /mnt/old
         systemd-run --unit=old sh -c 'exec 9<>/mnt/old/old; sleep infinity'",
    );
    let head = active_on(&whole(&lab), "vmpool01");
    let old = "cat /proc/fs/nfsd/clients/*/info | grep -c 'minor version: 0' || :";
    assert!(eventually(SLOW, || lab.sh(&head, old) == "1\n"));
    let report = drilled("kill-nfsd", json!([]));
    holds("kill-nfsd", "holder3", "/mnt/three/lock3");
    let mut findings = report["findings"].as_array().expect("findings").iter();
    let grace = findings.find(|it| it["code"] == "nfs-grace");
    let grace = grace.unwrap_or_else(|| panic!("{report:#}"));
    println!("seen: kill-nfsd beside a client of 4.0: {}", grace["text"]);

    // After a power cut nothing of a pool is left where it is not.
    let active = active_on(&whole(&lab), "vmpool01");
    for head in ["head1", "head2"] {
        let links = lab.sh(head, "ls /etc/exports.d");
        let kept = links.contains("hawser-vmpool01.exports");
        assert_eq!(kept, active == head, "{head}: {links}");
    }
    lab.sh(
        "client1",
        "systemctl stop holder holder3 old; umount /mnt/home /mnt/rival /mnt/three /mnt/old",
    );
}

/// A drill loses nothing, fences nobody but these, and breaks no promise. What keeps this host from looking or from ending in
/// time is no fault of the cluster's.
#[track_caller]
fn held(lab: &Lab, scenario: &str, fenced: Value) {
    held_with(lab, scenario, fenced, &[]);
}

/// The same with more words; what it reports.
#[track_caller]
pub(crate) fn held_with(lab: &Lab, scenario: &str, fenced: Value, more: &[&str]) -> Value {
    // More would keep such kernels from everything else.
    let load = ["--rate", "25"];
    let ran = verb(lab, "drill", &[&[scenario, "--json"], &load, more].concat());
    let report = support::json(&ran, "drill");
    let broken = report["promises"].as_array().expect("promises").iter();
    let broken: Vec<&Value> = broken
        .filter(|it| it["held"] == false)
        .filter(|it| {
            !it["text"]
                .as_str()
                .is_some_and(|it| it.contains("could not be looked at"))
        })
        .collect();
    assert_eq!(broken, Vec::<&Value>::new(), "{report:#}{}", ran.stderr);
    assert_eq!(report["fenced"], fenced);
    assert_eq!(report["two_active"], false);
    let writes = &report["writes"];
    // For the table that `make test-machines` prints.
    println!(
        "seen: drill {scenario}: {} writes acknowledged, {} lost, {} stale, {} torn; the client waited {:.1} s, {:.1} s of it \
         unattributed",
        writes["acknowledged"],
        writes["lost"],
        writes["stale"],
        writes["torn"],
        report["outage_s"].as_f64().unwrap_or_default(),
        report["unattributed_s"].as_f64().unwrap_or_default(),
    );
    report
}

#[test]
#[ignore = "beside machines"]
fn a_power_cut_in_namespaces_to_hold_those_of_machines_against() {
    let lab = Lab::up_with(&["--cluster"]);
    let head = active_on(&whole(&lab), "vmpool01");
    // Machines that run beside it may take the processors away.
    held_with(&lab, "power-cut", json!([head]), &["--budget", "10m"]);
}

/// The cluster of a file.
fn built(file: &str) -> Lab {
    built_on("bookworm", file)
}

/// The same on machines with this release of Debian.
fn built_on(release: &str, file: &str) -> Lab {
    let file = example(file);
    Lab::up_with(&[
        "--machines",
        "--release",
        release,
        "--cluster",
        "--file",
        &file,
    ])
}

/// Looks at each head, moves a pool under a client's file system, and takes a head's power; what that drill reports.
fn appliance(lab: &Lab, look: impl Fn(&str)) -> Value {
    let status = whole(lab);
    assert_eq!(active_on(&status, "vmpool01"), "head1");
    assert_eq!(active_on(&status, "vmpool02"), "head2");

    // What is real: kernels, systemd, the kernel's target, disks that both heads have.
    let host = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("this kernel");
    for head in ["head1", "head2"] {
        assert_ne!(lab.sh(head, "uname -r"), host);
        let units = "systemctl is-active corosync pacemaker";
        assert_eq!(lab.sh(head, units), "active\nactive\n");
        look(head);
        lab.sh(
            head,
            "ls -d /sys/kernel/config/target/iscsi/iqn.2026-01.lab.hawser:*",
        );
    }
    assert!(ok(lab, "plan", &[]).contains("0 changes"));

    let verified = lab.sh(
        "head1",
        "crm_verify --live-check -V 2>&1 || echo ended with $?",
    );
    assert_eq!(verified, "", "its own Pacemaker finds the CIB right");

    // The client's kernel has a file system on a pool that moves under it. The client is set up as Hawser prints it.
    let put = |name: &str, path: &str| {
        let printed = support::run(&["clients", "print", name, "--lab", lab.name()]);
        assert_eq!(printed.code, Some(0), "{}", printed.stderr);
        let write = format!("cat >{path} <<'EOF'\n{}EOF", printed.stdout);
        lab.sh("client1", &write);
        printed.stdout
    };
    put("iscsid.conf", "/etc/iscsi/iscsid.conf");
    let printed = put("multipath.conf", "/etc/multipath.conf");
    let retry = "no_path_retry ";
    let mut looks = printed
        .lines()
        .filter_map(|it| it.trim().strip_prefix(retry));
    let looks: u32 = looks.next().expect("looks").parse().expect("a number");
    login(lab, "client1", "10.72.2.208");
    let said = lab.sh(
        "client1",
        "multipath -t 2>&1 >/dev/null; multipathd show config local",
    );
    let taken = said.contains(&format!("{retry}{looks}"));
    assert!(taken && !said.contains("invalid keyword"), "{said}");
    lab.sh(
        "client1",
        "mkfs.ext4 -q /dev/mapper/mpatha && mount /dev/mapper/mpatha /mnt",
    );
    // Its own kernel and multipathd say that it outlasts any takeover: they took what they were told.
    let asked = verb(lab, "check", &["--client", "client1", "--json"]);
    let said = support::json(&asked, "clients");
    let device = &said["clients"][0]["devices"][0];
    assert_eq!(
        (&device["pool"], &device["over"], &device["paths_up"]),
        (&json!("vmpool02"), &json!(["san01", "san02"]), &json!(2)),
        "{said:#}"
    );
    assert_eq!(asked.code, Some(0), "{said:#}");
    let waits = device["wait"]["seconds"].as_f64().expect("an end");
    assert!(waits >= f64::from(looks) * 5.0, "{said:#}");
    // Only who is registered may write, and that is to outlast a loss of power.
    lab.sh(
        "client1",
        "for path in /dev/disk/by-path/*vmpool02-lun-1; do
           sg_persist -n --out --register --param-aptpl --param-sark=0xabc1 $path
         done
         sg_persist -n --out --reserve --param-rk=0xabc1 --prout-type=5 $path",
    );
    let reserved = |after: &str| {
        let said = lab.sh(
            "client1",
            "path=$(ls /dev/disk/by-path/*vmpool02-lun-1 | tail -1)
             sg_persist -n --in -k $path | grep -c 0xabc1
             sg_persist -n --in -r $path | grep -c 'Write Exclusive, registrants only'",
        );
        assert_eq!(said, "2\n1\n", "{after}");
    };
    // Whichever head has it offers it by one group of ports, and no other head does: no state is there to change.
    let alua = |after: &str| {
        let ask = "for path in /dev/disk/by-path/*vmpool02-lun-1; do sg_rtpg -d $path; done | grep 'access state'";
        let said = lab.sh("client1", ask);
        let states: Vec<&str> = said.lines().collect();
        assert_eq!(states.len(), 2, "{after}: {said}");
        assert!(
            states.iter().all(|it| it.contains("active/optimized")),
            "{after}: {said}"
        );
    };
    alua("before");
    reserved("before");
    lab.sh(
        "client1",
        "echo before >/mnt/one && dd if=/dev/zero of=/mnt/drill.img bs=1M count=8 2>/dev/null && sync",
    );
    ok(lab, "move", &["vmpool02", "head1"]);
    lab.sh("client1", "echo after >/mnt/two && sync /mnt/two");
    assert_eq!(active_on(&whole(lab), "vmpool02"), "head1");
    alua("a switchover");
    reserved("a switchover");

    // A head without power, under what a file system on multipath writes; and what the paths tell meanwhile.
    lab.sh(
        "client1",
        r#"echo 'while sleep 0.5; do for path in /dev/disk/by-path/*vmpool02-lun-1; do timeout 5 sg_rtpg -d $path; done; done' >/root/alua
           systemd-run --unit=alua sh -c 'exec sh /root/alua >/root/states 2>&1'"#,
    );
    let cluster = &status["cluster"];
    let target = format!(
        "{}/vmpool02:/mnt/drill.img",
        cluster.as_str().expect("its name")
    );
    let by_path = [
        "--pool",
        "vmpool02",
        "--path",
        "/mnt/drill.img",
        "--yes-break",
        &target,
    ];
    let report = held_with(lab, "power-cut", json!(["head1"]), &by_path);
    let states = lab.sh(
        "client1",
        "systemctl stop alua; grep 'access state' /root/states | sed 's/.*(//' | sort | uniq -c | sed 's/^ *[1-9][0-9]* //'",
    );
    assert_eq!(states.lines().count(), 1, "{states}");
    assert!(states.contains("active/optimized"), "{states}");
    alua("a power cut");
    reserved("a power cut");
    let status = whole(lab);
    for pool in ["vmpool01", "vmpool02"] {
        assert_eq!(active_on(&status, pool), "head2");
    }
    assert_eq!(
        lab.sh("client1", "cat /mnt/one /mnt/two"),
        "before\nafter\n"
    );
    lab.sh("client1", "umount /mnt && e2fsck -fn /dev/mapper/mpatha");
    report
}
