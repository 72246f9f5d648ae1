//! Directories offered by NFS: from the file to calls of `exportfs`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use hawser_cluster::exports::nfs::{Directory, Found, Operation, Pair, also_disks, plan, resolve};
use hawser_cluster::exports::{DesiredDirectory, ExportsError, State, parse};
use proptest::prelude::*;

use super::volume;
use crate::golden::{compare, folder};

const FILE: &str = r#"
    [[nfs]]
    directory = "home"
    clients = ["192.0.2.0/24", "fd00::/64"]

    [[nfs]]
    directory = "home"
    clients = ["192.0.2.9"]
    options = "rw,no_root_squash,sec=sys:krb5p"

    [[nfs]]
    directory = "iso"
    clients = ["*"]
    options = "ro,all_squash"
"#;

fn directory(name: &str, identity: &str) -> Directory {
    Directory {
        name: name.into(),
        identity: identity.into(),
        path: format!("/tank/{name}"),
        not_mounted: None,
    }
}

fn wanted(
    text: &str,
    directories: &[Directory],
    state: &mut State,
) -> BTreeMap<String, DesiredDirectory> {
    let file = parse(text, "exports.toml").unwrap_or_else(|errors| panic!("{errors}"));
    resolve(&file, directories, state, "tank").unwrap()
}

/// What the table has once these were done, as `exportfs` does them.
fn done(mut found: Found, operations: &[Operation]) -> Found {
    let pair = |directory: &String, client: &String| (directory.clone(), client.clone());
    for operation in operations {
        match operation {
            Operation::Export {
                directory,
                clients,
                options,
                ..
            } => {
                for client in clients {
                    found.insert(pair(directory, client), options.clone());
                }
            }
            Operation::Unexport(pairs) => {
                for pair in pairs {
                    let was = found.remove(pair);
                    assert!(was.is_some(), "exportfs fails where nothing is");
                }
            }
        }
    }
    found
}

fn ours(wanted: &BTreeMap<String, DesiredDirectory>) -> BTreeSet<Pair> {
    let all = wanted.iter();
    all.flat_map(|(path, it)| {
        it.clients
            .keys()
            .map(|client| (path.clone(), client.clone()))
    })
    .collect()
}

#[test]
fn directories_for_several_clients_in_calls_of_exportfs() {
    let mut state = State::default();
    let directories = [
        directory("home", "inode:7:1"),
        directory("iso", "inode:8:1"),
    ];
    let all = wanted(FILE, &directories, &mut state);
    let mut told = String::new();
    let first = plan(&all, &Found::new(), &BTreeSet::new());
    for operation in &first {
        writeln!(told, "{}", operation.words().join("\n")).unwrap();
        if let Operation::Export { options, .. } = operation {
            writeln!(told, "  -o {options}").unwrap();
        }
    }
    let found = done(Found::new(), &first);
    let less = FILE
        .replace("\"192.0.2.0/24\", ", "")
        .replace("no_root_squash", "root_squash");
    writeln!(told, "\none client less, and other options for another").unwrap();
    for operation in &plan(
        &wanted(&less, &directories, &mut state),
        &found,
        &ours(&all),
    ) {
        writeln!(told, "{}", operation.words().join("\n")).unwrap();
    }
    writeln!(told, "\n{}", state.to_text()).unwrap();
    compare(&folder("exports").join("nfs.txt"), &told);
    assert_eq!(State::parse(&state.to_text(), "state").unwrap(), state);
}

#[test]
fn clients_know_a_directory_by_the_same_number_after_a_rename_and_a_restore() {
    let text = |name: &str| format!("[[nfs]]\ndirectory = \"{name}\"\nclients = [\"*\"]\n");
    let mut state = State::default();
    let fsid = |state: &mut State, name: &str, identity: &str| {
        let all = wanted(&text(name), &[directory(name, identity)], state);
        all[&format!("/tank/{name}")].fsid.clone()
    };
    let first = fsid(&mut state, "a", "inode:7:1");
    assert_eq!(first.len(), 36);
    assert_eq!(fsid(&mut state, "b", "inode:7:1"), first, "renamed");
    let second = fsid(&mut state, "a", "inode:9:1");
    assert_ne!(second, first, "a new one of the old name");
    assert_eq!(fsid(&mut state, "b", "inode:10:2"), first, "restored");
    // Another pool's directory of the same name is another one, also on one head.
    let file = parse(&text("a"), "exports.toml").unwrap();
    let other = resolve(
        &file,
        &[directory("a", "inode:7:1")],
        &mut State::default(),
        "pond",
    )
    .unwrap();
    assert_ne!(other["/tank/a"].fsid, second);
}

#[test]
fn a_folder_below_a_file_system_that_others_mount_does_not_take_its_number() {
    let file = parse(
        "[[nfs]]\ndirectory = \"mail\"\nclients = [\"*\"]\n",
        "exports.toml",
    )
    .unwrap();
    let hides = |identity: &str| Directory {
        not_mounted: Some("tank/mail".into()),
        ..directory("mail", identity)
    };
    let mut state = State::default();
    // Nothing is known of it, or it is the same folder as before.
    for _ in 0..2 {
        resolve(&file, &[hides("inode:300:5")], &mut state, "tank").unwrap();
    }
    let mut state = State::default();
    resolve(
        &file,
        &[directory("mail", "inode:34:7")],
        &mut state,
        "tank",
    )
    .unwrap();
    let before = state.clone();
    let refused = resolve(&file, &[hides("inode:300:5")], &mut state, "tank").unwrap_err();
    let named = "directory \"mail\" is not the one that was exported before, and the ZFS file system tank/mail";
    assert!(refused.to_string().starts_with(named), "{refused}");
    assert_eq!(state, before);
}

#[test]
fn what_is_offered_as_files_is_not_offered_as_disks() {
    let units = "[[unit]]\nvolume = \"home/vm/x\"\n[[unit]]\nvolume = \"homes/y\"\n";
    let errors = |directory: &str| {
        let nfs =
            format!("[[nfs]]\ndirectory = \"{directory}\"\nclients = [\"*\"]\noptions = \"ro\"\n");
        also_disks(&parse(&(nfs + units), "exports.toml").unwrap())
    };
    let error = |unit: &str| ExportsError::AlsoNfs { unit: unit.into() };
    assert_eq!(errors("home"), [error("home/vm/x")]);
    assert_eq!(errors("."), [error("home/vm/x"), error("homes/y")]);
    assert_eq!(errors("iso"), []);
}

#[test]
fn the_whole_pool_is_offered_for_reading_only() {
    let text = |options: &str| format!("[[nfs]]\ndirectory = \".\"\nclients = [\"*\"]\n{options}");
    assert!(parse(&text("options = \"ro\"\n"), "exports.toml").is_ok());
    for (options, place) in [
        ("", "exports.toml:2:13"),
        ("options = \"no_root_squash\"\n", "exports.toml:4:11"),
    ] {
        let errors = parse(&text(options), "exports.toml")
            .unwrap_err()
            .to_string();
        assert!(errors.contains(place), "{errors}");
        assert!(
            errors.contains("the whole pool is offered for writing"),
            "{errors}"
        );
        assert!(errors.contains("options = \"ro\""), "{errors}");
    }
}

#[test]
fn a_file_of_nfs_alone_offers_nothing_by_iscsi() {
    let nfs = "[[nfs]]\ndirectory = \"home\"\nclients = [\"*\"]\n";
    let volumes = [volume("a", "1")];
    let alone = super::resolved(nfs, &volumes, &State::default()).unwrap();
    assert!(alone.desired.targets.is_empty() && alone.desired.units.is_empty());
    let both = format!("{nfs}[[target]]\nname = \"tank\"\n");
    let both = super::resolved(&both, &volumes, &State::default()).unwrap();
    assert_eq!(
        (both.desired.targets.len(), both.desired.units.len()),
        (1, 1)
    );
}

/// Any file: some of three directories for some of three clients, each `rw` or `ro`.
fn any_file() -> impl Strategy<Value = BTreeMap<(usize, usize), bool>> {
    prop::collection::btree_map((0..3_usize, 0..3_usize), any::<bool>(), 0..9)
}

fn text_of(file: &BTreeMap<(usize, usize), bool>) -> String {
    let clients = ["*", "192.0.2.0/24", "fd00::1"];
    let one = |((directory, client), write): (&(usize, usize), &bool)| {
        let how = if *write { "rw" } else { "ro,insecure" };
        format!(
            "[[nfs]]\ndirectory = \"d{directory}\"\nclients = [\"{}\"]\noptions = \"{how}\"\n",
            clients[*client]
        )
    };
    file.iter().map(one).collect()
}

proptest! {
    /// From any file to any other, beside somebody else's export: what is wanted is there, nothing of
    /// what was ours is left, what is not ours stays, and a second run does nothing.
    #[test]
    fn any_change_ends_in_what_is_wanted(before in any_file(), after in any_file(), cut in 0..6_usize) {
        let used = |file: &BTreeMap<(usize, usize), bool>| -> Vec<Directory> {
            let names: BTreeSet<usize> = file.keys().map(|(directory, _)| *directory).collect();
            names.into_iter().map(|i| directory(&format!("d{i}"), &format!("inode:{i}:1"))).collect()
        };
        let mut state = State::default();
        let theirs = ("/other".to_owned(), "*".to_owned());
        let empty = Found::from([(theirs.clone(), Default::default())]);
        let first = wanted(&text_of(&before), &used(&before), &mut state);
        let operations = plan(&first, &empty, &BTreeSet::new());
        // The first start may have been killed anywhere.
        let found = done(empty.clone(), &operations[..cut.min(operations.len())]);
        let second = wanted(&text_of(&after), &used(&after), &mut state);
        let ours: BTreeSet<Pair> = ours(&first).union(&ours(&second)).cloned().collect();
        let found = done(found.clone(), &plan(&second, &found, &ours));
        prop_assert!(plan(&second, &found, &ours).is_empty());
        prop_assert!(found.contains_key(&theirs));
        let there: BTreeSet<Pair> = found.keys().filter(|pair| **pair != theirs).cloned().collect();
        prop_assert_eq!(there, self::ours(&second));
        let stopped = done(found.clone(), &plan(&BTreeMap::new(), &found, &ours));
        prop_assert_eq!(stopped, empty);
    }
}

/// `zfs clone` gives a dataset whose directories have the inodes and the times of its origin.
#[test]
fn a_clone_and_its_origin_have_numbers_of_their_own_that_stay() {
    let file = "[[nfs]]\ndirectory = \"a\"\nclients = [\"*\"]\n\n[[nfs]]\ndirectory = \"home\"\nclients = [\"*\"]\n";
    let mut state = State::default();
    let fsid = |all: &BTreeMap<String, DesiredDirectory>, path: &str| all[path].fsid.clone();
    let alone = wanted(file, &[directory("home", "inode:34:7")], &mut state);
    let home = fsid(&alone, "/tank/home");
    let both = [
        directory("a", "inode:34:7"),
        directory("home", "inode:34:7"),
    ];
    let first = wanted(file, &both, &mut state);
    assert_eq!(fsid(&first, "/tank/home"), home);
    assert_ne!(fsid(&first, "/tank/a"), home);
    assert_eq!(wanted(file, &both, &mut state), first);
    // The clone is destroyed.
    let alone = wanted(file, &[directory("home", "inode:34:7")], &mut state);
    assert_eq!(fsid(&alone, "/tank/home"), home);
}
