//! Given a lab on this machine: it works at once, does what its commands say, and is gone without
//! a trace afterwards, whatever dies in the middle.

mod support;

#[path = "lab/clean.rs"]
mod clean;

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use hawser_lab::{Health, LabStatus, Power};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use support::{Lab, eventually, is_running, json, remains, run};

#[test]
fn a_lab_works_the_moment_it_is_up_and_leaves_nothing_when_it_is_down() {
    let lab = Lab::up();
    // No host has dropped anything while it came up.
    for (node, link) in [("head1", "ring0"), ("head1", "ring1"), ("head2", "ring0")] {
        assert_eq!(lab.interface_drops(node, link), 0, "{node}/{link}");
    }
    // The very first packet on each link, in each family.
    for address in [
        "10.72.0.2",
        "10.72.1.2",
        "fd48:6177:7365::2",
        "fd48:6177:7365:1::2",
    ] {
        assert!(lab.reaches("head1", address), "{address}");
    }
    assert!(lab.reaches("head2", "head1-ring1"));
    assert_eq!(
        lab.sh("head2", "hostname; cat /etc/hostname"),
        "head2\nhead2\n"
    );
    // /sys is the node's own, and so are its processes.
    assert_eq!(lab.sh("head1", "ls /sys/class/net"), "lo\nring0\nring1\n");
    assert_eq!(lab.sh("head1", "cat /proc/1/comm"), "hawser\n");
    // The binary is seen by nodes wherever it lives on the host.
    assert!(
        lab.sh("head1", "/run/hawser/lab/hawser --version")
            .starts_with("hawser ")
    );
    a_command_in_a_node_has_its_own_streams_and_exit_code(&lab);
    a_command_ends_with_the_exec_that_started_it(&lab);
    names_that_do_not_exist_are_answered_with_those_that_do(&lab);
    a_cut_cable_and_a_cut_switch_take_exactly_their_links_away(&lab);
    list_and_status_are_as_their_schemas_say(&lab);

    let name = lab.name().to_owned();
    assert!(
        !remains(&name).is_empty(),
        "the check for remains sees nothing of a lab that is up"
    );
    lab.ok(&["down"]);
    assert_eq!(remains(&name), Vec::<String>::new());
    let again = lab.run(&["down"]);
    assert_eq!(again.code, Some(0));
    assert!(
        again.stderr.contains("nothing to take down"),
        "{}",
        again.stderr
    );
}

#[track_caller]
fn a_command_in_a_node_has_its_own_streams_and_exit_code(lab: &Lab) {
    assert_eq!(lab.try_sh("head1", "exit 7").code, Some(7));
    assert_eq!(
        lab.run(&["exec", "head1", "--", "no-such-command"]).code,
        Some(127)
    );
    let mut child = lab
        .command(&["exec", "head2", "--", "cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"to the node and back")
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.stdout, b"to the node and back");
    let killed = lab
        .command(&["exec", "head1", "--", "sh", "-c", "kill -9 $$"])
        .status()
        .unwrap();
    assert_eq!(killed.signal(), Some(9));
    // Among the switches, by a switch's name.
    let ports = lab.ok(&[
        "exec",
        "sw1",
        "--",
        "bridge",
        "link",
        "show",
        "dev",
        "head2.ring1",
    ]);
    assert!(ports.contains("master sw1 state forwarding"), "{ports}");
}

#[track_caller]
fn a_command_ends_with_the_exec_that_started_it(lab: &Lab) {
    let mut exec = lab
        .command(&["exec", "head1", "--", "sleep", "4711"])
        .spawn()
        .unwrap();
    let sleeps = || lab.try_sh("head1", "pgrep -x sleep").code == Some(0);
    assert!(eventually(Duration::from_secs(5), sleeps));
    exec.kill().unwrap();
    exec.wait().unwrap();
    assert!(eventually(Duration::from_secs(5), || !sleeps()));
}

#[track_caller]
fn names_that_do_not_exist_are_answered_with_those_that_do(lab: &Lab) {
    let node = lab.run(&["exec", "head3", "--", "true"]);
    assert_eq!(node.code, Some(2));
    assert!(node.stderr.contains("\"head3\"") && node.stderr.contains("head1, head2"));
    let port = lab.run(&["cut", "head1/ring7"]);
    assert_eq!(port.code, Some(2));
    assert!(port.stderr.contains("head1/ring7") && port.stderr.contains("head2/ring1"));
    let switch = lab.run(&["heal", "sw9"]);
    assert!(switch.code == Some(2) && switch.stderr.contains("sw0, sw1"));
    let other = run(&[
        "lab",
        "exec",
        "--name",
        "no-such-lab",
        "head1",
        "--",
        "true",
    ]);
    assert_eq!(other.code, Some(2));
    assert!(other.stderr.contains(lab.name()), "{}", other.stderr);
    let bad = run(&["lab", "up", "--name", "../etc"]);
    assert_eq!(bad.code, Some(2));
}

#[track_caller]
fn list_and_status_are_as_their_schemas_say(lab: &Lab) {
    lab.ok(&["impair", "head1/ring0", "--loss", "1%", "--rate", "1Gbit"]);
    lab.ok(&["impair", "head2", "--nft-drop", "1%"]);
    lab.ok(&["cut", "head2/ring1"]);
    let list = json(&run(&["lab", "list", "--json"]), "lab-list");
    let names = list
        .as_array()
        .unwrap()
        .iter()
        .map(|l| l["name"].as_str().unwrap());
    assert!(names.clone().any(|name| name == lab.name()));
    let status = json(&lab.run(&["status", "--json"]), "lab-status");
    let status: LabStatus = serde_json::from_value(status).unwrap();
    assert_eq!(status.summary.state, Health::Up);
    assert!(status.machines[1].ports[1].cut && !status.machines[0].ports[1].cut);
}

#[track_caller]
fn a_cut_cable_and_a_cut_switch_take_exactly_their_links_away(lab: &Lab) {
    let (ring0, ring1) = ("10.72.0.2", "10.72.1.2");
    lab.ok(&["cut", "head2/ring0"]);
    assert!(!lab.reaches("head1", ring0) && lab.reaches("head1", ring1));
    assert_eq!(
        lab.sh("head2", "cat /sys/class/net/ring0/operstate"),
        "down\n"
    );
    assert_eq!(
        lab.sh("head1", "cat /sys/class/net/ring0/operstate"),
        "up\n"
    );
    lab.ok(&["heal", "head2/ring0"]);
    assert!(lab.soon_reaches("head1", ring0));

    lab.ok(&["cut", "sw1"]);
    assert!(!lab.reaches("head1", ring1) && lab.reaches("head1", ring0));
    for node in ["head1", "head2"] {
        assert_eq!(lab.sh(node, "cat /sys/class/net/ring1/operstate"), "down\n");
    }
    // A cable that was cut by itself stays cut when its switch comes back.
    lab.ok(&["cut", "head1/ring1"]);
    lab.ok(&["heal", "sw1"]);
    assert_eq!(
        lab.sh("head1", "cat /sys/class/net/ring1/operstate"),
        "down\n"
    );
    assert_eq!(
        lab.sh("head2", "cat /sys/class/net/ring1/operstate"),
        "up\n"
    );
    lab.ok(&["heal", "head1/ring1"]);
    assert!(lab.soon_reaches("head1", ring1));
}

#[test]
fn power_is_cut_and_given_as_to_a_machine() {
    let lab = Lab::up();
    for of_power in [
        a_power_cut_sends_not_one_packet_more,
        a_node_keeps_its_disks_over_a_power_cut_and_nothing_else,
        a_shutdown_closes_what_was_open,
        a_node_that_hangs_while_somebody_works_in_it_loses_its_power,
    ] {
        lab.ok(&["power", "on", "head2"]);
        of_power(&lab);
    }
}

/// Opens a TCP connection from head1 to head2; the answer asks for its state as head1 sees it.
fn connect(lab: &Lab) -> impl Fn() -> String + '_ {
    const LISTEN: &str = "use Socket; socket(my $s, PF_INET, SOCK_STREAM, 0); \
        bind($s, sockaddr_in(7000, INADDR_ANY)); listen($s, 1); accept(my $c, $s); sleep 1000";
    const CALL: &str = "use Socket; socket(my $s, PF_INET, SOCK_STREAM, 0); \
        connect($s, sockaddr_in(7000, inet_aton(\"10.72.0.2\"))); sleep 1000";
    // That of an earlier time, of which head1 does not know that its peer is gone.
    lab.try_sh("head1", "pkill -x perl");
    let gone = || lab.sh("head1", "ss -Htn dport = 7000").is_empty();
    assert!(eventually(Duration::from_secs(5), gone));
    // The connection's ends must not go with the exec that made them.
    let start = |node, script| {
        lab.sh(
            node,
            &format!("setsid -f perl -e '{script}' </dev/null >/dev/null 2>&1"),
        );
    };
    start("head2", LISTEN);
    let listens = || !lab.sh("head2", "ss -Hltn sport = 7000").is_empty();
    assert!(eventually(Duration::from_secs(5), listens));
    start("head1", CALL);
    let seen = || {
        let line = lab.sh("head1", "ss -Htn dport = 7000");
        line.split(' ').next().unwrap_or_default().to_owned()
    };
    assert!(
        eventually(Duration::from_secs(5), || seen() == "ESTAB"),
        "{}",
        seen()
    );
    seen
}

#[track_caller]
fn a_power_cut_sends_not_one_packet_more(lab: &Lab) {
    let seen = connect(lab);
    lab.ok(&["power", "cut", "head2"]);
    thread::sleep(Duration::from_millis(500));
    assert_eq!(seen(), "ESTAB", "a dead machine has closed its connection");
    assert_eq!(lab.run(&["exec", "head2", "--", "true"]).code, Some(2));
    assert_eq!(lab.status().machines[1].power, Power::Off);
}

#[track_caller]
fn a_shutdown_closes_what_was_open(lab: &Lab) {
    let seen = connect(lab);
    lab.ok(&["power", "off", "head2"]);
    let closed = || seen() == "CLOSE-WAIT";
    assert!(eventually(Duration::from_secs(3), closed), "{}", seen());
    assert_eq!(lab.status().machines[1].power, Power::Off);
}

#[track_caller]
fn a_node_keeps_its_disks_over_a_power_cut_and_nothing_else(lab: &Lab) {
    lab.sh(
        "head2",
        "echo kept >/etc/of-head2; echo kept >/var/tmp/of-head2; echo gone >/run/x",
    );
    lab.sh("head2", "sysctl -qw net.ipv4.ip_forward=1");
    lab.ok(&["power", "cut", "head2"]);
    lab.ok(&["power", "on", "head2"]);
    assert_eq!(
        lab.sh("head2", "cat /etc/of-head2 /var/tmp/of-head2"),
        "kept\nkept\n"
    );
    assert_ne!(lab.try_sh("head2", "test -e /run/x").code, Some(0));
    assert_eq!(lab.sh("head2", "cat /proc/sys/net/ipv4/ip_forward"), "0\n");
    assert!(lab.soon_reaches("head1", "10.72.0.2"));
    // Neither the host nor the other node has seen any of it.
    assert!(!std::path::Path::new("/etc/of-head2").exists());
    assert_ne!(lab.try_sh("head1", "test -e /etc/of-head2").code, Some(0));
}

#[track_caller]
fn a_node_that_hangs_while_somebody_works_in_it_loses_its_power(lab: &Lab) {
    let mut working = lab
        .command(&["exec", "head2", "sleep", "600"])
        .spawn()
        .unwrap();
    let asleep = || lab.try_sh("head2", "pidof sleep").stdout.trim().to_owned();
    assert!(eventually(Duration::from_secs(5), || !asleep().is_empty()));
    lab.sh("head2", "kill -STOP $(pidof sleep)");
    // nsenter(1), which started it from outside, stops itself then, and waits for nobody.
    let cut = Instant::now();
    lab.ok(&["power", "cut", "head2"]);
    assert!(
        cut.elapsed() < Duration::from_secs(20),
        "{:?}",
        cut.elapsed()
    );
    assert_eq!(lab.status().machines[1].power, Power::Off);
    assert!(!working.wait().unwrap().success());
}

#[test]
fn up_finds_what_is_there_mends_what_died_and_keeps_to_its_own() {
    let lab = Lab::up();
    up_is_idempotent_repairs_a_dead_node_and_refuses_another_layout(&lab);
    a_lab_whose_processes_were_all_killed_is_built_again(&lab);
    two_labs_with_the_same_addresses_do_not_see_each_other(&lab, &Lab::up());
}

#[track_caller]
fn two_labs_with_the_same_addresses_do_not_see_each_other(one: &Lab, two: &Lab) {
    one.ok(&["power", "cut", "head2"]);
    assert!(!one.reaches("head1", "10.72.0.2") && two.reaches("head1", "10.72.0.2"));
    one.ok(&["down"]);
    assert!(two.reaches("head1", "10.72.1.2"));
}

#[track_caller]
fn up_is_idempotent_repairs_a_dead_node_and_refuses_another_layout(lab: &Lab) {
    lab.sh("head1", "echo mine >/etc/mine");
    assert!(lab.ok(&["up"]).contains("is up already"));
    let other = lab.run(&["up", "--nodes", "3"]);
    assert!(
        other.code == Some(2) && other.stderr.contains("another layout"),
        "{}",
        other.stderr
    );

    let pid = lab.status().machines[0].pid.unwrap();
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    assert!(eventually(Duration::from_secs(5), || !is_running(pid)));
    let status = lab.status();
    assert_eq!(status.summary.state, Health::Broken);
    assert_eq!(status.machines[0].power, Power::Dead);
    assert!(lab.ok(&["up"]).contains("head1 had died and runs again"));
    assert!(lab.soon_reaches("head1", "10.72.0.2") && lab.soon_reaches("head2", "10.72.1.1"));
    assert_eq!(lab.sh("head1", "cat /etc/mine"), "mine\n");
}

#[track_caller]
fn a_lab_whose_processes_were_all_killed_is_built_again(lab: &Lab) {
    lab.sh("head1", "echo old >/etc/old");
    for pid in lab.switches_and_nodes() {
        kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
        assert!(eventually(Duration::from_secs(5), || !is_running(pid)));
    }
    assert!(lab.ok(&["up"]).contains("rebuilt, because"));
    assert!(lab.reaches("head1", "10.72.0.2"));
    assert_ne!(lab.try_sh("head1", "test -e /etc/old").code, Some(0));
}

#[test]
fn up_killed_at_any_moment_leaves_nothing_that_down_or_the_next_up_do_not_take_away() {
    let lab = Lab::planned();
    for round in 0..8 {
        let mut up = lab
            .command(&["up", "--nodes", "4"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_millis(round * 24));
        up.kill().unwrap();
        up.wait().unwrap();
        if round % 2 == 0 {
            lab.ok(&["down"]);
            assert_eq!(remains(lab.name()), Vec::<String>::new(), "round {round}");
        } else {
            lab.ok(&["up", "--nodes", "4"]);
            assert!(lab.reaches("head4", "10.72.1.1"), "round {round}");
        }
    }
}

#[test]
fn ctrl_c_in_the_middle_of_up_takes_everything_back() {
    let lab = Lab::planned();
    let mut interrupted = 0;
    for round in 0..3 {
        let up = lab
            .command(&["up", "--nodes", "16"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_millis(30 + round * 25));
        kill(Pid::from_raw(up.id() as i32), Signal::SIGINT).unwrap();
        let output = up.wait_with_output().unwrap();
        if output.status.code() == Some(2) {
            interrupted += 1;
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(said.contains("interrupted"), "{said}");
            assert_eq!(remains(lab.name()), Vec::<String>::new());
        } else {
            lab.ok(&["down"]);
        }
    }
    assert!(interrupted > 0, "no round was interrupted in the middle");
}

#[test]
fn a_lab_file_makes_the_lab_it_describes() {
    let file = format!(
        "{}/../../examples/lab/two-heads.toml",
        env!("CARGO_MANIFEST_DIR")
    );
    let lab = Lab::up_with(&["--file", &file]);
    let status = lab.status();
    let clients: Vec<_> = status.summary.clients.iter().map(|c| c.as_str()).collect();
    assert_eq!(clients, ["client1"]);
    for machine in &status.machines {
        for port in &machine.ports {
            let mtu = lab.sh(
                machine.name.as_str(),
                &format!("cat /sys/class/net/{}/mtu", port.link),
            );
            assert_eq!(mtu.trim(), port.mtu.to_string());
            for address in &port.addresses {
                assert!(lab.reaches("head1", &address.to_string()));
            }
        }
    }
}
