//! A quorum device: the vote of the lab's third machine, lost and there again, taken out of a running cluster and put back, and
//! there when a head dies.

use serde_json::Value;

use super::support::{Lab, eventually};
use super::{SOON, changed, json, nothing_is_left_to_do, ok, status, verb};

#[track_caller]
fn votes(lab: &Lab) {
    let there = || status(lab)["quorum_device"]["votes"] == true;
    assert!(eventually(SOON, there), "{}", status(lab));
}

#[test]
fn an_arbiter_lends_its_vote_and_its_loss_is_said() {
    // As a user writes it: `tls` is left as it is, which is on.
    let file = changed(
        "[fencing]",
        "[quorum]\ndevice = { host = \"arbiter\" }\n\n[fencing]",
    );
    let path = file.path().display().to_string();
    let lab = Lab::up_with(&["--cluster", "--file", &path]);
    votes(&lab);
    assert_eq!(status(&lab)["redundant"], true, "{}", status(&lab));
    nothing_is_left_to_do(&lab);
    assert!(lab.ok(&["status"]).contains("arbiter      on  arbiter"));
    let connected = lab.sh("arbiter", "corosync-qnetd-tool -lv");
    let encrypted = "Yes (client certificate verified)";
    assert_eq!(connected.matches(encrypted).count(), 2, "{connected}");

    it_is_away_and_comes_back(&lab);
    it_leaves_a_running_cluster_and_is_put_back(&lab);

    // One head is left, and both that count it are the quorum.
    lab.ok(&["power", "cut", "head1"]);
    let taken_over = || super::client_reads(&lab);
    assert!(eventually(SOON, taken_over), "{}", status(&lab));
    assert_eq!(status(&lab)["quorate"], true);
    let said = lab.sh("head2", "corosync-quorumtool -s");
    let has = |key: &str, value: &str| {
        said.lines().any(|line| {
            let mut words = line.split_whitespace();
            line.starts_with(key) && words.next_back() == Some(value)
        })
    };
    assert!(
        has("Expected votes:", "3") && has("Total votes:", "2"),
        "{said}"
    );
}

/// Without it one head of two is no quorum.
#[track_caller]
fn it_is_away_and_comes_back(lab: &Lab) {
    lab.ok(&["power", "cut", "arbiter"]);
    let silent = || status(lab)["quorum_device"]["votes"] == false;
    assert!(eventually(SOON, silent), "{}", status(lab));
    let lost: Value = status(lab);
    assert_eq!(
        (&lost["redundant"], &lost["quorate"]),
        (&false.into(), &true.into()),
        "{lost}"
    );
    let if_lost = lost["if_lost"]["head1"].to_string();
    assert!(if_lost.contains("no quorum"), "{if_lost}");
    lab.ok(&["power", "on", "arbiter"]);
    votes(lab);
}

/// With certificates alone.
#[track_caller]
fn it_leaves_a_running_cluster_and_is_put_back(lab: &Lab) {
    let without = changed("[fencing]", "[fencing]");
    let without = without.path().display().to_string();
    ok(lab, "apply", &["-f", &without]);
    let now = json(&verb(lab, "status", &["-f", &without, "--json"]), "status");
    assert!(now["quorum_device"].is_null(), "{now}");
    let runs = || lab.try_sh("head1", "pidof corosync-qdevice").code == Some(0);
    assert!(!runs());

    let ran = verb(lab, "apply", &[]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stderr
            .contains("corosync-qdevice starts on head1, head2"),
        "{}",
        ran.stderr
    );
    votes(lab);
    assert!(runs());
}
