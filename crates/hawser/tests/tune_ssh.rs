//! `hawser tune` as on real hosts, over ssh: what it turns is an MTU of the very link that ssh goes over, and
//! whoever dies in the middle, the host comes back by itself.

mod support;

use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use support::ssh::{OPS, agent_runs, from_ops, lab_with_sshd, line, write};
use support::{Lab, eventually, everything, json};

/// One link of jumbo frames, and everything goes over it.
const LAYOUT: &str = r#"
[[link]]
name = "ring0"
mtu = 9000
[[node]]
name = "head1"
[[node]]
name = "head2"
[[client]]
name = "ops"
"#;

const CLUSTER: &str = r#"[cluster]
name = "over-ssh"

[[link]]
name = "ring0"
network = "10.72.0.0/24"
mtu = 9000

[[node]]
name = "head1"
addresses = { ring0 = "10.72.0.1" }

[[node]]
name = "head2"
addresses = { ring0 = "10.72.0.2" }
"#;

const BY_FILE: &str = "-f /tmp/hawser.toml";
const BY_NAME: &str = "--host head1 --host head2";

/// The lab, in which somebody has forgotten one host. Its udev knows the interface, as that of a real host does: what
/// is kept can be made to last.
fn lab_with_a_small_mtu() -> Lab {
    let lab = lab_with_sshd(LAYOUT, "10.72.0.");
    write(&lab, "/tmp/hawser.toml", CLUSTER);
    lab.sh(
        "head2",
        "ip link set ring0 mtu 1500; mkdir -p /run/udev/data; \
         echo E:ID_BUS=pci >/run/udev/data/n$(cat /sys/class/net/ring0/ifindex)",
    );
    lab
}

fn mtu(lab: &Lab) -> String {
    let text = lab.sh("head2", "cat /sys/class/net/ring0/mtu");
    text.trim().to_owned()
}

fn journal(lab: &Lab) -> String {
    lab.sh("head2", "ls /var/lib/hawser/changes")
}

#[test]
fn over_ssh_a_fix_is_proven_and_undone_and_comes_back_whatever_ends_the_connection() {
    // A cable that is pulled closes no connection: the host has to notice the silence. The rest is shown meanwhile.
    thread::scope(|scope| {
        let pulled = scope.spawn(|| ended_by("cable", BY_FILE));
        proven_kept_and_undone();
        ended_by("coordinator", BY_NAME);
        ended_by("connections", BY_FILE);
        pulled.join().expect("the host came back");
    });
}

fn proven_kept_and_undone() {
    let lab = lab_with_a_small_mtu();
    let before = everything::nodes(&lab);
    // Nobody sits there to be asked.
    let refused = from_ops(&lab, "tune", BY_FILE);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused
            .stderr
            .contains("confirmed on a terminal, or by --yes"),
        "{}",
        refused.stderr
    );
    let ran = from_ops(&lab, "tune --yes --json --duration 300ms", BY_FILE);
    let report = json(&ran, "tune");
    let kept: Vec<&Value> = report["trials"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|t| t["kept"] == true)
        .collect();
    assert!(
        kept.iter().any(|t| t["knob"] == "mtu of ring0"
            && t["where"] == "head2"
            && t["verdict"] == "better"
            && (&t["from"], &t["to"]) == (&"1500".into(), &"9000".into())),
        "{report:#}"
    );
    let found = |when: &str| report[when]["findings"].to_string();
    assert!(found("before").contains("mtu-mismatch"), "{report:#}");
    assert!(!found("after").contains("mtu-mismatch"), "{report:#}");

    let file = "/etc/udev/rules.d/90-hawser-ring0.rules";
    let mut changes = report["changes"].as_array().unwrap().iter();
    let change = changes.find(|c| c["object"] == "mtu of ring0");
    let change = change.expect("what was kept");
    assert_eq!(change["persisted_in"], file, "{report:#}");
    let rules = lab.sh("head2", &format!("cat {file}"));
    assert!(rules.contains("ring0") && rules.contains("9000"), "{rules}");
    // By whichever of their names the hosts are asked.
    for which in [BY_FILE, BY_NAME] {
        let listed = json(&from_ops(&lab, "changes --json", which), "changes");
        assert_eq!(listed["changes"], report["changes"]);
    }
    assert_eq!(mtu(&lab), "9000");

    let undone = from_ops(&lab, "undo --all", BY_FILE);
    assert_eq!(undone.code, Some(0), "{}", undone.stderr);
    assert!(
        undone.stdout.contains("mtu of ring0 is 1500 again"),
        "{}",
        undone.stdout
    );
    assert_eq!(everything::nodes(&lab), before, "byte for byte");
}

/// A tune on `ops` with its process id in /tmp/tune.pid, once it has raised the MTU.
fn in_mid_trial(lab: &Lab, which: &str) -> Child {
    let line = line("tune --yes --case /dev/null --duration 300ms", which);
    let tune = lab
        .command(&[
            "exec",
            OPS,
            "--",
            "sh",
            "-c",
            &format!("echo $$ >/tmp/tune.pid; exec {line}"),
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("hawser runs");
    let raised = eventually(Duration::from_secs(90), || mtu(lab) == "9000");
    assert!(raised, "no trial began");
    tune
}

/// Kills what sshd has for each connection: the parents of the agents.
const KILL_CONNECTIONS: &str = "\
    for p in $(pgrep -f '[h]awser.* agent'); do
        s=$(ps -o ppid= -p $p); case $(ps -o comm= -p $s) in sshd*) kill -9 $s ;; esac
    done";

/// Ends a tune in mid-trial, and looks that everything is as before.
fn ended_by(what: &str, which: &str) {
    let lab = lab_with_a_small_mtu();
    let before = everything::nodes(&lab);
    let tune = in_mid_trial(&lab, which);
    match what {
        "cable" => drop(lab.ok(&["cut", "head2/ring0"])),
        "coordinator" => drop(lab.sh(OPS, "kill -9 $(cat /tmp/tune.pid)")),
        _ => drop(lab.sh("head2", KILL_CONNECTIONS)),
    }
    let back = || mtu(&lab) == "1500" && journal(&lab).is_empty() && !agent_runs(&lab, "head2");
    assert!(
        eventually(Duration::from_secs(60), back),
        "{what}: {}",
        journal(&lab)
    );
    let ended = tune.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&ended.stderr);
    if what == "cable" {
        lab.ok(&["heal", "head2/ring0"]);
    }
    if what != "coordinator" {
        assert_eq!(ended.status.code(), Some(2), "{what}: {said}");
        assert!(said.contains("head2"), "{what}: {said}");
        let first = !said.contains("earlier error");
        assert!(first, "the error that ended it is told: {what}: {said}");
    }
    assert_eq!(everything::nodes(&lab), before, "{what}");
    // And it can be reached as before.
    let listed = || from_ops(&lab, "changes", BY_NAME).stdout;
    assert!(
        eventually(Duration::from_secs(10), || listed()
            .starts_with("No changes")),
        "{what}"
    );
}
