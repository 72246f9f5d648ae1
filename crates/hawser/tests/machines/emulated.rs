//! Machines that QEMU emulates have what others have not: cards with rings, with large receive offload and with a carrier, two
//! processors, the release's own kernel. What is planted in a card is named by the card's own counters, and a ring is cured.

use std::io::Write;

use hawser_lab::{Kind, Power};
use serde_json::Value;

use crate::network::{Heads, Link, RING0, RING1};
use crate::support::{Lab, eventually, json};
use crate::{SLOW, example, has_images};

const RING2: Link = ("ring2", "10.72.2");

/// Whether this host can emulate a machine; says so where it cannot.
pub(crate) fn has_emulator() -> bool {
    let programs = ["qemu-system-x86_64", "qemu-img"].iter();
    let has = programs.copied().all(hawser_tool::is_installed);
    if !has {
        let line = "\nskipped: QEMU is not installed (packaging/setup qemu)";
        writeln!(std::io::stderr(), "{line}").expect("standard error");
    }
    has
}

#[test]
#[ignore = "builds images of Debian's packages, and boots machines"]
fn a_card_that_is_emulated_loses_and_merges_as_its_own_counters_say() {
    if !has_images() || !has_emulator() {
        return;
    }
    let file = example("machines-qemu.toml");
    let heads = Heads::up(&["--machines", "qemu", "--file", &file]);
    each_is_what_the_file_says(&heads);
    a_cut_cable_takes_the_carrier(&heads);
    a_ring_that_is_too_small_is_named_by_the_frames_it_lost_and_cured(&heads);
    a_card_merges_what_it_receives_and_may_not_on_a_host_that_forwards(&heads);
    cards_are_told_by_their_driver_and_duplex(&heads);
    a_kernel_that_ends_is_told_and_starts_again(&heads);
}

#[test]
#[ignore = "builds an image of Debian's packages, and boots machines"]
fn an_emulated_machine_of_debian_13_has_that_releases_kernel() {
    if !has_images() || !has_emulator() {
        return;
    }
    let lab = Lab::up_with(&[
        "--machines",
        "qemu",
        "--release",
        "trixie",
        "--nodes",
        "1",
        "--links",
        "1",
    ]);
    let said = lab.sh(
        "head1",
        "uname -r; cat /etc/debian_version; ethtool -i ring0",
    );
    assert!(
        said.starts_with("6.12.") && said.contains("-amd64\n13."),
        "{said}"
    );
    assert!(said.contains("driver: vmxnet3"), "{said}");
}

fn each_is_what_the_file_says(heads: &Heads) {
    let lab = &heads.lab;
    for machine in lab.status().machines {
        let wanted = match machine.name.as_str() {
            "client1" => Kind::Uml,
            _ => Kind::Qemu,
        };
        assert_eq!((machine.kind, machine.power), (wanted, Power::On));
    }
    let kernel = lab.sh("head1", "uname -r");
    assert!(kernel.trim().ends_with("-amd64"), "{kernel}");
    assert_eq!(lab.sh("head1", "nproc; systemd-detect-virt"), "2\nqemu\n");
    for (link, driver) in [
        ("ring0", "vmxnet3"),
        ("ring1", "e1000e"),
        ("ring2", "e1000"),
    ] {
        let said = lab.sh("head2", &format!("ethtool -i {link} | head -1"));
        assert_eq!(said, format!("driver: {driver}\n"));
    }
    assert!(lab.soon_reaches("client1", "10.72.0.1"));
    // Each of these networks is whole; the kernel tells where it drops, so nothing is said of what cannot be seen.
    heads.check(&[RING0, RING1], &[]).says(&[]);
}

fn a_cut_cable_takes_the_carrier(heads: &Heads) {
    let carrier = |head: &str| {
        let said = heads.lab.try_sh(head, "cat /sys/class/net/ring0/carrier");
        said.stdout
    };
    assert_eq!(carrier("head1"), "1\n");
    heads.lab.ok(&["cut", "head1/ring0"]);
    assert!(eventually(SLOW, || carrier("head1") == "0\n"));
    assert_eq!(carrier("head2"), "1\n", "only what was cut has none");
    heads.lab.ok(&["heal", "head1/ring0"]);
    assert!(eventually(SLOW, || carrier("head1") == "1\n"));
    assert!(heads.lab.soon_reaches("head1", "10.72.0.2"));
}

/// How often a card has counted something.
fn counted(heads: &Heads, head: &str, what: &str) -> u64 {
    let line = format!("ethtool -S ring0 | sed -n 's/^ *{what}: //p'");
    let said = heads.lab.sh(head, &line);
    said.lines().filter_map(|it| it.parse::<u64>().ok()).sum()
}

fn ring_of_head2(heads: &Heads) -> String {
    let line = "ethtool -g ring0 | sed -n '/^Current/,$s/^RX:\\s*//p'";
    heads.lab.sh("head2", line)
}

fn a_ring_that_is_too_small_is_named_by_the_frames_it_lost_and_cured(heads: &Heads) {
    heads.lab.sh("head2", "ethtool -G ring0 rx 32");
    let before = counted(heads, "head2", "pkts rx OOB");
    let said = heads.measure(&[RING0], &["--burst", "200"]);
    let lost = counted(heads, "head2", "pkts rx OOB") - before;
    said.says(&["nic-ring-overflow"]);
    let all = said.0.pointer("/packets/lost").and_then(Value::as_u64);
    assert!(all > Some(0) && all <= Some(lost), "{all:?} of {lost}");
    let evidence = said.evidence("nic-ring-overflow");
    assert_eq!(evidence["reason"], "driver/ring0/pkts rx OOB");

    let ran = heads.run(&[RING0], &["tune", "--yes", "--json", "--burst", "200"]);
    let tuned = json(&ran, "tune");
    let mut kept = tuned["changes"].as_array().expect("changes").iter();
    let rules = "/etc/udev/rules.d/90-hawser-ring0.rules";
    assert!(kept.any(|it| it["persisted_in"] == rules), "{tuned:#}");
    let before = counted(heads, "head2", "pkts rx OOB");
    heads.measure(&[RING0], &["--burst", "200"]);
    assert_eq!(counted(heads, "head2", "pkts rx OOB"), before);
    assert_eq!(ring_of_head2(heads), "4096\n");
    // It is there after a boot, and the card's own again when it is undone.
    heads.lab.ok(&["power", "off", "head2"]);
    let console = heads.lab.ok(&["console", "head2"]);
    assert!(console.contains("reboot: Power down"), "not in good order");
    heads.lab.ok(&["power", "on", "head2"]);
    assert_eq!(ring_of_head2(heads), "4096\n");
    let undone = heads.run(&[RING0], &["undo", "--all"]);
    assert_eq!(undone.code, Some(0), "{}", undone.stderr);
    heads.lab.sh(
        "head2",
        "ethtool -G ring0 rx 1024; sysctl -qw net.core.rmem_default=8388608",
    );
}

fn a_card_merges_what_it_receives_and_may_not_on_a_host_that_forwards(heads: &Heads) {
    // The mean length of what the card hands on, in bytes.
    let mean = || {
        let now = || ["byte", "pkts"].map(|it| counted(heads, "head2", &format!("LRO {it} rx")));
        let before = now();
        heads.measure(&[RING0], &["--stream", "1s"]);
        let after = now();
        (after[0] - before[0]) / (after[1] - before[1]).max(1)
    };
    let lro = |state: &str| {
        heads
            .lab
            .sh("head2", &format!("ethtool -K ring0 lro {state}"))
    };
    lro("on");
    let merged = mean();
    lro("off");
    let single = mean();
    // A frame of Ethernet has 1514.
    assert!(merged > 1514 && single <= 1514, "{merged}, {single}");

    // The kernel switches it off where a host begins to forward; who switches it on again is told.
    heads.lab.sh(
        "head2",
        "sysctl -qw net.ipv4.ip_forward=1; ethtool -K ring0 lro on",
    );
    heads.check(&[RING0], &[]).says(&["lro-on-forwarder"]);
    heads.lab.sh("head2", "sysctl -qw net.ipv4.ip_forward=0");
}

fn cards_are_told_by_their_driver_and_duplex(heads: &Heads) {
    let said = heads.check(&[RING2], &[]);
    said.says(&["emulated-network-card", "emulated-network-card"]);
    assert_eq!(said.evidence("emulated-network-card")["driver"], "e1000");

    // Frames that the card counts as short are delivered: they are not the ones that were lost.
    heads
        .lab
        .sh("head1", "arping -c 5 -I ring1 10.72.1.2 >/dev/null");
    let line = "ethtool -S ring1 | sed -n 's/^ *rx_short_length_errors: //p'";
    let short: u64 = heads
        .lab
        .sh("head1", line)
        .trim()
        .parse()
        .expect("a number");
    assert!(short >= 5, "{short}");
    heads.lab.ok(&["impair", "head2/ring1", "--loss", "10%"]);
    let lossy = heads.check(&[RING1], &[]);
    lossy.says(&["loss-between-hosts"]);
    heads.lab.ok(&["clear", "--all"]);

    heads.lab.sh(
        "head2",
        "ethtool -s ring1 autoneg off speed 100 duplex half",
    );
    let files = "cd /sys/class/net/ring1; cat carrier speed duplex";
    let is_set = || heads.lab.try_sh("head2", files).stdout == "1\n100\nhalf\n";
    assert!(eventually(SLOW, is_set));
    let said = heads.check(&[RING1], &[]);
    said.says(&["half-duplex", "speed-below-peer"]);
    heads.lab.sh("head2", "ethtool -s ring1 autoneg on");
}

fn a_kernel_that_ends_is_told_and_starts_again(heads: &Heads) {
    let lab = &heads.lab;
    let boot = || {
        lab.try_sh("head1", "cat /proc/sys/kernel/random/boot_id")
            .stdout
    };
    let before = boot();
    lab.try_sh("head1", "systemctl reboot");

    // Meanwhile the other one panics.
    let panic = "(sleep 1; echo c >/proc/sysrq-trigger) >/dev/null 2>&1 &";
    lab.try_sh("head2", panic);
    let is = |power: Power| {
        let mut machines = lab.status().machines.into_iter();
        machines.any(|it| it.name.as_str() == "head2" && it.power == power)
    };
    assert!(
        eventually(SLOW, || is(Power::Dead)),
        "its panic is not seen"
    );
    lab.ok(&["up"]);
    assert!(is(Power::On));
    let again = || !boot().is_empty() && boot() != before;
    assert!(eventually(SLOW, again), "it did not come back");
}
