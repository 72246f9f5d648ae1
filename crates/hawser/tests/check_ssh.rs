//! `hawser check` as on real hosts: from a machine beside the cluster, over ssh to a real sshd on
//! each node, with a cluster file or with nothing but host names.

mod report;
mod support;

use std::time::Duration;

use report::Report;
use support::ssh::{self, agent_runs};
use support::{Lab, Ran};

const CLUSTER: &str = r#"[cluster]
name = "over-ssh"

[[link]]
name = "ring0"
network = "fd48:6177:7365::/64"

[[link]]
name = "ring1"
network = "10.72.1.0/24"

[[node]]
name = "head1"
addresses = { ring0 = "fd48:6177:7365::1", ring1 = "10.72.1.1" }

[[node]]
name = "head2"
addresses = { ring0 = "fd48:6177:7365::2", ring1 = "10.72.1.2" }
"#;

fn lab_with_sshd() -> Lab {
    let lab = ssh::lab_with_sshd(ssh::TWO_LINKS, "10.72.1.");
    write(&lab, CLUSTER);
    lab
}

fn write(lab: &Lab, cluster: &str) {
    ssh::write(lab, "/tmp/hawser.toml", cluster);
}

fn check(lab: &Lab, options: &str) -> Ran {
    ssh::from_ops(lab, "check --duration 300ms", options)
}

#[test]
fn over_ssh_with_a_file_and_without_one() {
    let lab = lab_with_sshd();
    let report = Report::of(&check(&lab, "-f /tmp/hawser.toml --json"));
    assert_eq!(report.codes(), Vec::<&str>::new(), "{report}");
    assert_eq!(
        report.flows().len(),
        4,
        "IPv6 on ring0 and IPv4 on ring1: {report}"
    );

    // Without a file the links are found; both families of ring1 are one wire and one link.
    let report = Report::of(&check(&lab, "--host head1 --host head2 --json"));
    assert_eq!(report.codes(), Vec::<&str>::new(), "{report}");
    let mut links: Vec<&str> = report
        .flows()
        .iter()
        .filter_map(|f| f["link"].as_str())
        .collect();
    links.sort_unstable();
    links.dedup();
    assert_eq!(links, ["10.72.1.0/24", "fd48:6177:7365::/64"]);
}

#[test]
#[ignore = "agent_ssh.rs has it in the middle of a send"]
fn the_agents_end_with_their_connections() {
    let lab = lab_with_sshd();
    let both = || ["head1", "head2"].map(|head| agent_runs(&lab, head));
    std::thread::scope(|scope| {
        let check = scope.spawn(|| check(&lab, "-f /tmp/hawser.toml"));
        assert!(
            support::eventually(Duration::from_secs(20), || both() == [true; 2]),
            "no agents are seen while they measure"
        );
        assert_eq!(check.join().expect("it ends").code, Some(0));
    });
    // sshd may notice the end of a connection a moment later.
    assert!(
        support::eventually(Duration::from_secs(5), || both() == [false; 2]),
        "an agent is left: {:?}",
        both()
    );
}

#[test]
fn a_wrong_address_is_shown_in_its_place_in_the_file() {
    let lab = lab_with_sshd();
    write(
        &lab,
        &CLUSTER.replace("ring1 = \"10.72.1.2\"", "ring1 = \"10.72.1.22\""),
    );
    let ran = check(&lab, "-f /tmp/hawser.toml");
    assert_eq!(ran.code, Some(2));
    for part in [
        "/tmp/hawser.toml:18:",
        "head2",
        "10.72.1.22",
        "10.72.1.2 on ring1",
    ] {
        assert!(ran.stderr.contains(part), "no {part} in: {}", ran.stderr);
    }
}

#[test]
fn a_node_that_is_off_is_named_and_the_others_are_measured() {
    let lab = lab_with_sshd();
    // A third one, whose address nobody has.
    let third = "\n[[node]]\nname = \"head3\"\nssh = \"root@10.72.1.9\"\n\
                 addresses = { ring0 = \"fd48:6177:7365::9\", ring1 = \"10.72.1.9\" }\n";
    write(&lab, &(CLUSTER.to_owned() + third));
    let ran = check(&lab, "-f /tmp/hawser.toml --case /tmp/third.json");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stdout.starts_with("Not measured: head3: not reached"),
        "{ran:?}"
    );
    assert!(
        ran.stderr.starts_with("head3 is not measured: not reached"),
        "{ran:?}"
    );
    assert!(
        ran.stdout.contains(": 2 nodes, 2 links, 4 directions"),
        "{ran:?}"
    );
    assert!(ran.stdout.contains("No findings"), "{ran:?}");

    // With one left there is nothing to measure.
    write(&lab, CLUSTER);
    lab.ok(&["power", "cut", "head2"]);
    let ran = check(&lab, "-f /tmp/hawser.toml --case /tmp/case.json");
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("head2"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("head1:"), "{}", ran.stderr);
    assert_eq!(lab.try_sh("ops", "test -e /tmp/case.json").code, Some(1));
}
