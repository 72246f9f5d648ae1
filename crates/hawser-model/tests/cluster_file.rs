//! Each file in `tests/cluster_file/` has exactly one thing wrong; beside it stands what is said.
//!
//! `HAWSER_REGENERATE=1 cargo test -p hawser-model --test cluster_file` writes the answers again, for
//! a person to read the difference.

use std::fs;
use std::path::{Path, PathBuf};

use hawser_model::cluster_file::{ClusterFileErrors, parse, parse_complete};
use hawser_model::names::{HostName, LinkName};
use hawser_model::topology::Reach;
use hawser_model::units::{BitsPerSec, Mtu};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster_file")
}

/// The words, the line they point at, and the characters marked in it.
fn shown(errors: &ClusterFileErrors) -> String {
    let mut out = format!("{errors}\n");
    for error in &errors.errors {
        let line = errors.text.lines().nth(error.line - 1).unwrap_or("");
        let marked = errors.text[error.span.clone()].lines().next().unwrap_or("");
        let indent = " ".repeat(error.column - 1);
        out += &format!(
            "  {line}\n  {indent}{}\n",
            "^".repeat(marked.chars().count().max(1))
        );
    }
    out
}

#[test]
fn every_bad_file_gets_its_one_clear_error() {
    let regenerate = std::env::var_os("HAWSER_REGENERATE").is_some();
    let mut files: Vec<_> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "toml"))
        .collect();
    files.sort();
    assert!(files.len() > 10, "the bad files are gone");
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let errors = parse_complete(&text, name).expect_err(name);
        assert_eq!(
            errors.errors.len(),
            1,
            "{name}: one fault, one error:\n{errors}"
        );
        let expected = path.with_extension("expected");
        if regenerate {
            fs::write(&expected, shown(&errors)).unwrap();
        }
        let wanted = fs::read_to_string(&expected).unwrap_or_default();
        assert_eq!(shown(&errors), wanted, "{name}");
    }
}

#[test]
fn several_faults_are_told_at_once_in_the_files_order() {
    let text = r#"
        [cluster]
        nane = "x"
        [[node]]
        name = "head1"
        adresses = {}
        [[link]]
        name = "ring0"
        mtu = true
    "#;
    let errors = parse(text, "hawser.toml").unwrap_err();
    let lines: Vec<usize> = errors.errors.iter().map(|e| e.line).collect();
    // The slip in `name` is told, and not that `name` is missing.
    assert_eq!(lines, [3, 6, 9], "{errors}");
    assert_eq!(errors.errors[0].problem.suggestion(), Some("name"));
    assert_eq!(errors.errors[1].problem.suggestion(), Some("addresses"));
}

#[test]
fn nodes_and_links_alone_are_enough_for_a_check() {
    let text = r#"
        [cluster]
        name = "vmstorage"
        [[link]]
        name = "ring0"
        mtu = 9000
        speed = "10Gbit/s"
        switch = "sw-a"
        [[node]]
        name = "head1"
        ssh = "root@10.0.9.1"
        addresses = { ring0 = "fd00::1" }
        [[node]]
        name = "head2"
        addresses = { ring0 = "fd00::2" }
    "#;
    let topology = parse(text, "hawser.toml").unwrap().topology();
    assert_eq!(topology.cluster, "vmstorage");
    let head1 = topology.node(&HostName::from("head1")).unwrap();
    assert_eq!(head1.reach, Reach::Ssh("root@10.0.9.1".into()));
    assert_eq!(
        head1.addresses[&LinkName::from("ring0")].to_string(),
        "fd00::1"
    );
    let head2 = topology.node(&HostName::from("head2")).unwrap();
    assert_eq!(head2.reach, Reach::Ssh("head2".into()));
    let ring0 = topology.link(&LinkName::from("ring0")).unwrap();
    assert_eq!(ring0.mtu, Some(Mtu(9000)));
    assert_eq!(ring0.speed, Some(BitsPerSec(10_000_000_000)));
    assert_eq!(ring0.switch.as_deref(), Some("sw-a"));
}

#[test]
fn the_examples_are_good_files() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for name in ["zfs-appliance", "lab", "three-heads"] {
        let path = examples.join(name).join("hawser.toml");
        let text = fs::read_to_string(&path).unwrap();
        if let Err(errors) = parse_complete(&text, &path.display().to_string()) {
            panic!("{errors}");
        }
    }
}

#[test]
fn a_pool_names_the_devices_that_it_is_looked_for_on() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/lab");
    let named = |example: &str, from: &str, to: &str| -> Vec<String> {
        let text = fs::read_to_string(examples.join(example))
            .unwrap()
            .replace(from, to);
        let file = parse_complete(&text, example).unwrap();
        file.pools[0]
            .devices()
            .into_iter()
            .map(str::to_owned)
            .collect()
    };
    let shelves = "machines-shelves.toml";
    let both = ["/dev/mapper/shelf1-1-part1", "/dev/mapper/shelf2-1-part1"];
    assert_eq!(named(shelves, "", ""), both);
    let one = named(shelves, "-d /dev/mapper/shelf1-1-part1 -d", "-N -d");
    assert_eq!(one, both[1..]);
    assert_eq!(named("hawser.toml", "", ""), ["/srv/shelf/vmpool01.img"]);
    assert!(named("machines-lvm.toml", "", "").is_empty());
}

#[test]
fn a_pool_may_run_on_the_nodes_that_it_names_or_on_all() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/three-heads/hawser.toml");
    let text = fs::read_to_string(path).unwrap();
    let allowed = |text: &str| -> Vec<String> {
        let file = parse_complete(text, "three-heads").unwrap();
        let nodes = file.nodes.iter().map(|node| &node.name);
        let allowed = nodes.filter(|node| file.pools[0].may_run_on(node));
        allowed.map(ToString::to_string).collect()
    };
    assert_eq!(allowed(&text), ["head1", "head2", "head3"]);
    let pool = "name = \"vmpool01\"\n";
    assert!(text.contains(pool));
    let two = text.replace(pool, &format!("{pool}nodes = [\"head1\", \"head3\"]\n"));
    assert_eq!(allowed(&two), ["head1", "head3"]);
}
