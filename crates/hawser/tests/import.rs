//! `hawser import` and `hawser init`: what is written where, what is not written, and that `plan` takes it.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use support::{Ran, hawser, ssh};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/heartbeat");

fn run(args: &[&str]) -> Ran {
    let output = Command::new(hawser())
        .args(args)
        .stdin(Stdio::null())
        .output();
    Ran::from(output.expect("hawser runs"))
}

/// The import of the example into a folder.
fn example(to: &Path, more: &[&str]) -> Ran {
    let of = |name: &str| format!("{EXAMPLE}/{name}");
    let crm = format!("crm:{}", of("crm.txt"));
    let zfs = format!("zfs-get:{}", of("zfs-get.txt"));
    let (head1, head2) = (of("head1.addresses"), of("head2.addresses"));
    let (head1, head2) = (format!("head1={head1}"), format!("head2={head2}"));
    let (ha, keys) = (of("ha.cf"), of("authkeys"));
    let (pool1, pool2) = (of("vmpool01/stmf-ha.conf"), of("vmpool02/stmf-ha.conf"));
    let to = to.display().to_string();
    let mut args = vec!["import", &ha, &keys, &crm, &zfs, &pool1, &pool2];
    args.extend(["--interfaces", &head1, "--interfaces", &head2, "--to", &to]);
    args.extend(more);
    run(&args)
}

#[test]
fn the_heartbeat_example_becomes_a_file_that_plan_accepts() {
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().join("appliance");
    let ran = example(&to, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let mistake = "location \"head2-stonith-pref\" is about \"head1-stonith\"";
    assert!(ran.stdout.contains(mistake), "{}", ran.stdout);

    let file = to.join("hawser.toml").display().to_string();
    let planned = run(&["plan", "-f", &file, "--print", "corosync.conf"]);
    assert_eq!(planned.code, Some(0), "{}", planned.stderr);
    // Ten seconds of Heartbeat's deadtime.
    assert!(
        planned.stdout.contains("token: 4545\n"),
        "{}",
        planned.stdout
    );
    assert!(planned.stdout.contains("consensus: 5455\n"));

    let mode = |name: &str| {
        fs::metadata(to.join(name))
            .expect("a file")
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(mode("secrets"), 0o700);
    for (name, secret) in [
        ("secrets/head1-bmc", "example-1"),
        ("secrets/head2-bmc", "example-2"),
    ] {
        assert_eq!(mode(name), 0o600);
        assert_eq!(
            fs::read_to_string(to.join(name)).expect("a secret"),
            format!("{secret}\n")
        );
        for shown in [
            "hawser.toml",
            "import.txt",
            "vmpool01/exports.toml",
            "vmpool02/exports.toml",
        ] {
            assert!(
                !fs::read_to_string(to.join(shown))
                    .expect(shown)
                    .contains(secret),
                "{shown}"
            );
        }
        assert!(!ran.stdout.contains(secret));
    }

    // What is there is written over only when that is asked for.
    fs::write(&file, "mine\n").expect("a file");
    let again = example(&to, &[]);
    assert_eq!(again.code, Some(2));
    assert!(
        again.stderr.contains("is there already"),
        "{}",
        again.stderr
    );
    assert_eq!(fs::read_to_string(&file).expect("a file"), "mine\n");
    assert_eq!(example(&to, &["--force"]).code, Some(0));
    assert_ne!(fs::read_to_string(&file).expect("a file"), "mine\n");
}

#[test]
fn a_malformed_source_is_one_error_and_nothing_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("ha.cf");
    let to = folder.path().join("to");
    let (source, to) = (source.display().to_string(), to.display().to_string());
    for (bytes, said) in [
        (&b"node a b\ndeadtmie 10\n"[..], "ha.cf:2: \"deadtmie\""),
        (
            &b"node a b\nkeepalive \xff\n"[..],
            "ha.cf:2: this is no text",
        ),
    ] {
        fs::write(&source, bytes).expect("a source");
        let ran = run(&["import", &source, "--to", &to]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
        assert!(
            ran.stderr.replace("\n  │ ", "").contains(said),
            "{}",
            ran.stderr
        );
        assert!(!Path::new(&to).exists());
    }
}

#[test]
fn what_the_file_still_needs_is_a_finding() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("ha.cf");
    fs::write(&source, "node a b\nbcast eth1\n").expect("a source");
    let (source, to) = (
        source.display().to_string(),
        folder.path().display().to_string(),
    );
    let ran = run(&["import", &source, "--to", &to]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stdout.contains("Still needed"), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("has no address on heartbeat link"),
        "{}",
        ran.stdout
    );
}

/// Heads on which nothing was applied yet, and a file for them that `plan` takes: what the heads do not show is said by
/// options, and without them the file says that it lacks it.
#[test]
fn init_drafts_a_file_of_bare_heads_that_plan_accepts() {
    let lab = support::Lab::up_with(&["--cluster", "--bare"]);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("x.toml").display().to_string();
    let args = ["init", "--lab", lab.name(), "-o", &file, "--yes"];
    let lacks = run(&args);
    assert_eq!(lacks.code, Some(1), "{}{}", lacks.stdout, lacks.stderr);
    for said in [
        "Still needed",
        "has no fencing",
        "is a link only if there is no other",
    ] {
        assert!(lacks.stdout.contains(said), "{}", lacks.stdout);
    }
    let planned = run(&["plan", "-f", &file, "--print", "cib"]);
    assert_eq!(planned.code, Some(2), "{}", planned.stdout);

    let again = run(&args);
    assert_eq!(again.code, Some(2), "{}", again.stdout);
    assert!(
        again.stderr.contains("is there already"),
        "{}",
        again.stderr
    );

    let more = ["--force", "--name", "first", "--bmc", "head1=10.72.9.101"];
    let more = [
        &more[..],
        &["--bmc", "head2=10.72.9.102", "--bmc-user", "admin"],
    ]
    .concat();
    let whole = run(&[&args[..], &more].concat());
    assert_eq!(whole.code, Some(0), "{}{}", whole.stdout, whole.stderr);
    let next = format!("hawser plan -f {file} --lab {}", lab.name());
    let told = whole
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(told.contains(&next), "{told}");
    let planned = run(&["plan", "-f", &file, "--print", "corosync.conf"]);
    assert_eq!(planned.code, Some(0), "{}", planned.stderr);
    for said in [
        "cluster_name: first",
        "ring0_addr: 10.72.0.1",
        "ring3_addr: 10.72.3.2",
    ] {
        assert!(planned.stdout.contains(said), "{}", planned.stdout);
    }
    let live = run(&["plan", "-f", &file, "--lab", lab.name()]);
    assert_eq!(live.code, Some(0), "{}{}", live.stdout, live.stderr);
}

#[test]
fn init_refuses_what_no_cluster_can_be_drafted_from() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("hawser.toml").display().to_string();
    for (args, said) in [
        (&[][..], "no heads named"),
        (&["--host", "head1"], "two or more hosts"),
        (
            &["--host", "a", "--host", "b", "--bmc", "192.0.2.1"],
            "no node is named",
        ),
    ] {
        let ran = run(&[&["init", "-o", &file], args].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
        assert!(!Path::new(&file).exists());
    }
}

#[test]
fn init_over_ssh_drafts_no_link_of_the_network_by_which_ssh_came() {
    let lab = ssh::lab_with_sshd(ssh::TWO_LINKS, "10.72.1.");
    let hosts = "--host head1 --host root@head2 --yes -o /tmp/draft.toml";
    let ran = ssh::from_ops(&lab, "init", hosts);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let left_out = "10.72.1.0/24: the network of ssh";
    assert!(ran.stdout.contains(left_out), "{ran:?}");
    let drafted = lab.sh(ssh::OPS, "cat /tmp/draft.toml");
    assert_eq!(drafted.matches("\n[[link]]").count(), 1, "{drafted}");
    for line in [
        "network = \"fd48:6177:7365::/64\"",
        "ring0 = \"fd48:6177:7365::2\"",
        "ssh = \"root@head2\"",
    ] {
        assert!(drafted.contains(line), "{drafted}");
    }
}
