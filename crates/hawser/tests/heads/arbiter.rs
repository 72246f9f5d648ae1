//! A quorum device: a third machine's vote, added to a running cluster of two, lost, and there again when a head dies.

use super::support::{Lab, eventually};
use super::{SOON, changed, json, ok, status, verb};

/// The lab's client, on the SAN, with the server that Debian has.
const START: &str =
    "mkdir -p /run/corosync-qnetd; setsid corosync-qnetd -f -s req </dev/null >/dev/null 2>&1 &";

/// The cluster file with the device, as a user writes it: `tls` is left as it is, which is on.
fn file() -> tempfile::NamedTempFile {
    let device = "[quorum]\ndevice = { host = \"10.72.2.50\" }\n\n[fencing]";
    changed("[fencing]", device)
}

/// What `corosync-qdevice-net-certutil -Q` does over ssh (corosync-qdevice-net-certutil(8)), which a lab's nodes
/// do not speak.
fn certificates(lab: &Lab) {
    const QNETD: &str = "/etc/corosync/qnetd/nssdb";
    const NODE: &str = "/etc/corosync/qdevice/net/nssdb";
    let copy = |(from, source): (&str, &str), (to, target): (&str, &str)| {
        let bytes = lab.sh(from, &format!("base64 -w0 {source}"));
        lab.sh(to, &format!("echo {bytes} | base64 -d >{target}"));
    };
    // Debian's package makes the authority as it is installed.
    let authority = format!("{QNETD}/qnetd-cacert.crt");
    lab.sh(
        "client1",
        &format!("test -e {authority} || corosync-qnetd-certutil -i"),
    );
    for head in ["head1", "head2"] {
        copy(("client1", &authority), (head, "/tmp/authority"));
        lab.sh(head, "corosync-qdevice-net-certutil -i -c /tmp/authority");
    }
    lab.sh("head1", "corosync-qdevice-net-certutil -r -n lab");
    let request = format!("{NODE}/qdevice-net-node.crq");
    copy(("head1", &request), ("client1", "/tmp/request"));
    lab.sh(
        "client1",
        "corosync-qnetd-certutil -s -c /tmp/request -n lab",
    );
    let signed = format!("{QNETD}/cluster-lab.crt");
    copy(("client1", &signed), ("head1", "/tmp/signed"));
    lab.sh("head1", "corosync-qdevice-net-certutil -M -c /tmp/signed");
    let both = format!("{NODE}/qdevice-net-node.p12");
    copy(("head1", &both), ("head2", "/tmp/both"));
    lab.sh("head2", "corosync-qdevice-net-certutil -m -c /tmp/both");
}

/// Afterwards the cluster has three votes, and its third is the device's.
#[track_caller]
pub fn a_quorum_device_is_set_up_and_its_loss_is_said(lab: &Lab) {
    let file = file();
    let path = file.path().display().to_string();
    let refused = verb(lab, "apply", &["-f", &path]);
    let words = "corosync-qdevice-net-certutil -Q -n lab 10.72.2.50 head1 head2";
    assert!(
        refused.code == Some(2) && refused.stderr.contains(words),
        "{}",
        refused.stderr
    );
    certificates(lab);
    lab.sh("client1", START);
    let listens = || lab.try_sh("client1", "ss -ltn | grep -q :5403").code == Some(0);
    assert!(eventually(SOON, listens), "corosync-qnetd listens");

    let ran = verb(lab, "apply", &["-f", &path]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stderr
            .contains("corosync-qdevice starts on head1, head2"),
        "{}",
        ran.stderr
    );
    assert!(ok(lab, "apply", &["-f", &path]).contains("0 changes"));
    let now = || json(&verb(lab, "status", &["-f", &path, "--json"]), "status");
    assert_eq!(now()["quorum_device"]["votes"], true, "{}", now());
    assert_eq!(now()["redundant"], true, "{}", now());
    let connected = lab.sh("client1", "corosync-qnetd-tool -lv");
    let encrypted = "Yes (client certificate verified)";
    assert_eq!(connected.matches(encrypted).count(), 2, "{connected}");

    // Without it one head of two is no quorum.
    lab.sh("client1", "kill -9 $(pidof corosync-qnetd)");
    let silent = || now()["quorum_device"]["votes"] == false;
    assert!(eventually(SOON, silent), "{}", now());
    let lost = now();
    assert_eq!(
        (&lost["redundant"], &lost["quorate"]),
        (&false.into(), &true.into()),
        "{lost}"
    );
    let if_lost = lost["if_lost"]["head1"].to_string();
    assert!(if_lost.contains("no quorum"), "{if_lost}");
    let ran = verb(lab, "apply", &["-f", &path]);
    let words = "the quorum device on 10.72.2.50 does not vote on head1";
    assert!(
        ran.code == Some(1) && ran.stderr.contains(words),
        "{}",
        ran.stderr
    );

    lab.sh("client1", START);
    assert!(eventually(SOON, || !silent()), "{}", now());
}

/// What the head that is left counts.
#[track_caller]
pub fn one_head_and_the_device_are_the_quorum(lab: &Lab) {
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
    assert_eq!(status(lab)["quorate"], true);
}
