//! `hawser compare` in a lab: two nodes that are alike, then one that is not.

mod support;

use std::process::Command;

use hawser_model::output::compare::CompareReport;
use support::{Lab, Ran, hawser, run};

fn compare(lab: &Lab, more: &[&str]) -> Ran {
    let arguments = ["compare", "--lab", lab.name(), "--case"];
    let mut command = Command::new(hawser());
    command.args(arguments).args(more);
    command.output().expect("hawser runs").into()
}

#[test]
fn alike_nodes_do_not_differ_and_a_setting_of_one_does() {
    let lab = Lab::up_with(&["--links", "1"]);
    let folder = tempfile::tempdir().unwrap();
    let case = folder.path().join("case.json");
    let case = case.to_str().unwrap();
    let alike = compare(&lab, &[case]);
    assert_eq!(alike.code, Some(0), "{}{}", alike.stdout, alike.stderr);
    assert!(alike.stdout.contains("No differences"), "{}", alike.stdout);

    lab.sh("head2", "ip link set ring0 mtu 1400 txqueuelen 77");
    lab.sh(
        "head2",
        "ethtool -K ring0 gro on; sysctl -qw net.ipv4.igmp_max_memberships=7",
    );
    let unlike = compare(&lab, &[case, "--json"]);
    assert_eq!(unlike.code, Some(1), "{}", unlike.stderr);
    let report: CompareReport = serde_json::from_str(&unlike.stdout).expect("its schema");
    let told: Vec<(&str, Vec<&str>)> = report
        .differences
        .iter()
        .map(|item| {
            let values = item.values.values().flatten().map(String::as_str);
            (item.item.as_str(), values.collect())
        })
        .collect();
    let default = lab.sh("head1", "sysctl -n net.ipv4.igmp_max_memberships");
    let queue = lab.sh("head1", "cat /sys/class/net/ring0/tx_queue_len");
    let expected = [
        ("MTU", vec!["1500", "1400"]),
        ("offload rx-gro", vec!["off", "on"]),
        ("tx_queue_len", vec![queue.trim(), "77"]),
        ("net.ipv4.igmp_max_memberships", vec![default.trim(), "7"]),
    ];
    assert_eq!(told, expected);
    assert_eq!(report.differences[0].findings, ["mtu-mismatch"]);

    let again = run(&["explain", case, "--json"]);
    assert_eq!((again.code, &again.stdout), (Some(1), &unlike.stdout));
    let recorded = run(&["compare", case, "--json"]);
    assert_eq!((recorded.code, &recorded.stdout), (Some(1), &unlike.stdout));
    assert_eq!(run(&["report", case]).code, Some(2));
}
