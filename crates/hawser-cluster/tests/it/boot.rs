//! Hosts that would import or offer a pool by themselves at their next boot: a folder a case, with the files of its
//! heads and beside them what is said.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use hawser_cluster::host::boot::look;
use hawser_cluster::plan::boot::dangers_at_boot;
use hawser_cluster::plan::{Facts, NodeFacts, plan};
use hawser_model::cluster_file::parse_complete;
use hawser_model::names::HostName;

use crate::golden::{Golden, compare, folder};
use crate::scheduler::Scheduler;

/// The cases and how many of the lines of each keep an apply from beginning.
const CASES: [(&str, usize); 9] = [
    ("device-names", 9),
    ("zfs-cache", 2),
    ("zfs-scan", 3),
    ("hostids", 2),
    ("targetcli", 2),
    ("tgt-and-nfs", 4),
    ("fstab", 5),
    ("lvm", 1),
    ("nothing-of-the-cluster", 0),
];

#[test]
fn what_a_boot_would_do_is_said_with_its_file_and_its_cure() {
    for (case, stops) in CASES {
        let case = folder("boot").join(case);
        let file = match fs::read_to_string(case.join("hawser.toml")) {
            Ok(text) => parse_complete(&text, "hawser.toml").unwrap_or_else(|e| panic!("{e}")),
            Err(_) => Golden::named("zfs-appliance").file,
        };
        let heads: BTreeMap<HostName, _> = ["head1", "head2"]
            .map(|head| (head.into(), look(&case.join(head))))
            .into();
        let dangers = dangers_at_boot(&file, &heads);
        let mut said = String::new();
        for danger in &dangers {
            let kind = match danger.stops_an_apply() {
                true => "problem",
                false => "note",
            };
            said += &format!("{kind}: {danger}\n");
        }
        compare(&case.join("expected.txt"), &said);
        let stopping = dangers.iter().filter(|danger| danger.stops_an_apply());
        assert_eq!(stopping.count(), stops, "{}:\n{said}", case.display());
    }
}

#[test]
fn a_plan_has_them_among_its_problems_and_its_notes() {
    let case = folder("boot").join("targetcli");
    let file = Golden::named("zfs-appliance").file;
    let node = |head: &str| NodeFacts {
        boot: Some(look(&case.join(head))),
        ..NodeFacts::default()
    };
    let facts = Facts {
        nodes: ["head1", "head2"]
            .map(|head| (head.into(), node(head)))
            .into(),
        ..Facts::default()
    };
    let report = plan(&file, &facts, &Scheduler).unwrap().report;
    let has = |lines: &[String], part: &str| lines.iter().any(|line| line.contains(part));
    assert!(has(
        &report.problems,
        "head1 will offer /dev/zvol/vmpool01/disk1"
    ));
    assert!(has(
        &report.notes,
        "target.service on head2 clears the target"
    ));
}

#[test]
fn passwords_of_targets_do_not_leave_the_head() {
    let seen = look(&folder("boot").join("tgt-and-nfs/head1"));
    assert!(!seen.stores.is_empty());
    assert!(!serde_json::to_string(&seen).unwrap().contains("verysecret"));
    let seen = look(&folder("boot").join("targetcli/head1"));
    assert!(!serde_json::to_string(&seen).unwrap().contains("verysecret"));
}

#[test]
fn a_head_without_any_of_these_files_is_read_as_empty() {
    assert_eq!(look(Path::new("/proc/nowhere")), Default::default());
}

#[test]
fn what_an_active_pool_exports_is_gone_at_a_boot() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("etc/exports.d");
    fs::create_dir_all(&folder).unwrap();
    fs::write(root.path().join("etc/other"), "/vmpool01/a *(rw)\n").unwrap();
    symlink("../other", folder.join("other.exports")).unwrap();
    symlink(
        "/run/hawser/nfs/vmpool02.exports",
        folder.join("hawser-vmpool02.exports"),
    )
    .unwrap();
    let exported = look(root.path()).exported;
    let files: Vec<&str> = exported.keys().map(String::as_str).collect();
    assert_eq!(files, ["/etc/exports.d/other.exports"]);
}
