//! Files, and what they come to.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use hawser_cluster::exports::tgt::{self, Found, Ours};
use hawser_cluster::exports::{Access, Resolved, State, Volume};

use super::{resolved, volume};
use crate::golden::{compare, folder};

/// All of it in words: what is offered, what is remembered, what tgtd is told.
fn told(resolved: &Resolved) -> String {
    let mut out = String::new();
    let desired = &resolved.desired;
    for (iqn, target) in &desired.targets {
        let portals: Vec<String> = target.portals.iter().map(ToString::to_string).collect();
        writeln!(out, "{iqn} on {}", portals.join(" ")).unwrap();
        if let Some(chap) = &target.chap {
            writeln!(out, "  chap {} {}", chap.user, chap.secret).unwrap();
            if let Some((user, secret)) = &chap.mutual {
                writeln!(out, "  mutual chap {user} {secret}").unwrap();
            }
        }
        for (lun, exposure) in &target.luns {
            let unit = &desired.units[&exposure.serial];
            let who = match &exposure.access {
                Access::Everyone => "everybody".into(),
                Access::Hosts(hosts) => hosts.iter().cloned().collect::<Vec<_>>().join(" "),
            };
            let (path, size) = (&unit.path, unit.block_size);
            let cache = if unit.write_cache {
                "cache"
            } else {
                "no cache"
            };
            let writes = if unit.read_only {
                "read only"
            } else {
                "read and write"
            };
            let serial = &exposure.serial;
            writeln!(
                out,
                "  LUN {lun} {} {serial} {path} {size} {cache}, {writes}, for {who}",
                unit.name
            )
            .unwrap();
        }
    }
    let found = Found::default();
    let operations = tgt::start(desired, &found, &Ours::default());
    let names = tgt::names(&found, &operations);
    out += "\ntgtd is told\n";
    for operation in &operations {
        writeln!(out, "  {}", operation.words(&names)).unwrap();
    }
    out + "\n" + &resolved.state.to_text()
}

fn volumes() -> Vec<Volume> {
    let names = ["vm/disk2", "vm/disk1", "vms/disk1", "backup", "scratch:07"];
    let numbered = names.iter().enumerate();
    numbered
        .map(|(i, name)| volume(name, &format!("id{i}")))
        .collect()
}

#[track_caller]
fn golden(name: &str, text: &str, state: &State) -> Resolved {
    let made = resolved(text, &volumes(), state).unwrap_or_else(|errors| panic!("{errors:?}"));
    compare(&folder("exports").join(name), &told(&made));
    made
}

#[test]
fn an_empty_file_offers_every_volume_under_a_default_target() {
    golden("empty.txt", "", &State::default());
}

#[test]
fn the_example_of_the_documentation() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/exports.md");
    let docs = fs::read_to_string(docs).unwrap();
    let (_, rest) = docs.split_once("```toml\n").unwrap();
    let (text, _) = rest.split_once("```").unwrap();
    golden("documentation.txt", text, &State::default());
}

#[test]
fn units_of_every_kind_and_several_views_of_one() {
    let text = r#"
        [defaults]
        block_size = 4096
        write_cache = false
        [[unit]]
        volume = "vm/disk1"
        block_size = 512
        serial = "00112233445566778899AABBCCDDEEFF"
        [[unit]]
        volume = "backup"
        lun = 9
        write_cache = true
        [[unit]]
        volume = "scratch:07"
        read_only = true
        [[target]]
        name = "a"
        [[target]]
        name = "b"
        iqn = "iqn.1999-01.old:name"
        [[host_group]]
        name = "one"
        members = ["iqn.1998-01.com.vmware:host1"]
        [[host_group]]
        name = "two"
        members = ["iqn.1998-01.com.vmware:host2", "iqn.1998-01.com.vmware:host1"]
        [[target_group]]
        name = "on a"
        members = ["a"]
        [[target_group]]
        name = "on b"
        members = ["b"]
        [[view]]
        name = "first"
        units = ["vm/disk1"]
        host_group = "one"
        target_group = "on a"
        lun = 40
        [[view]]
        name = "second"
        units = ["vm/disk1"]
        host_group = "two"
        target_group = "on a"
        [[view]]
        name = "third"
        host_group = "two"
        target_group = "on b"
    "#;
    golden("views.txt", text, &State::default());
}

#[test]
fn a_second_start_of_the_same_pool_remembers_the_same() {
    let first = resolved("", &volumes(), &State::default()).unwrap();
    let written = first.state.to_text();
    let read = State::parse(&written, "exports-state.toml").unwrap();
    assert_eq!(read, first.state);
    let second = resolved("", &volumes(), &read).unwrap();
    assert_eq!(second, first);
}
