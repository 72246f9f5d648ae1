//! The saved drafts of `cases/init`: each folder has `heads.json`, what heads showed, maybe `wishes.json`, and in `expected/`
//! the file and what is said of it. `UPDATE_CASES=1 cargo test -p hawser-import --test it draft::` writes that again, for a person
//! to read the difference.

use std::fs;
use std::path::{Path, PathBuf};

use hawser_import::draft::{Draft, Head, Port, Said, Wishes, draft};
use hawser_model::cluster_file::parse_complete;
use hawser_model::surroundings::{BmcFacts, Content, Disk, Neighbour, Surroundings, VolumeGroup};
use hawser_model::units::Mtu;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases/init")
}

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> T {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn every_saved_draft_comes_to_what_is_expected() {
    let entries = fs::read_dir(folder()).expect("cases");
    let mut cases: Vec<PathBuf> = entries.map(|it| it.expect("an entry").path()).collect();
    cases.sort();
    let mut wrong = Vec::new();
    for case in cases {
        let heads: Vec<Head> = read(&case.join("heads.json"));
        let wishes = case.join("wishes.json");
        let wishes = match wishes.exists() {
            true => read(&wishes),
            false => Wishes::default(),
        };
        let found = match draft(&heads, &wishes) {
            Ok(drafted) => {
                holds(&drafted);
                [
                    ("hawser.toml", drafted.text),
                    ("init.txt", drafted.remarks.to_string()),
                ]
            }
            Err(e) => [
                ("hawser.toml", String::new()),
                ("init.txt", format!("{e}: {}\n", e.help)),
            ],
        };
        for (name, text) in found {
            let path = case.join("expected").join(name);
            if std::env::var_os("UPDATE_CASES").is_some() {
                fs::create_dir_all(case.join("expected")).expect("a folder");
                fs::write(&path, &text).expect("a file");
            }
            if fs::read_to_string(&path).unwrap_or_default() != text {
                wrong.push(format!("{} is now:\n{text}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What holds of every draft: it is TOML, no character of it is hidden, and it is accepted or the remarks say what it lacks.
fn holds(drafted: &Draft) {
    let text = &drafted.text;
    toml::from_str::<toml::Table>(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let hidden = |text: &str| hawser_model::visible::lines(text) != text;
    assert!(!hidden(text), "{text:?}");
    assert!(!hidden(&drafted.remarks.to_string()));
    let accepted = parse_complete(text, "hawser.toml");
    let errors = accepted.as_ref().err().map_or(0, |e| e.errors.len());
    let of = drafted.remarks.all.iter();
    let said = of.filter(|remark| remark.said == Said::Missing).count();
    assert_eq!(errors, said, "{accepted:?}\n{text}");
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => prop::sample::select(vec![
            "eth0", "eth1", "san01", "bond0.7", "lo", "sw1", "head1", "head2", "", "a b", "\"", "x\ny", "\u{202e}", "]\n[fencing]",
            "# c", "é", "\u{7f}", "'''", "..", "-o",
        ])
        .prop_map(str::to_owned),
        1 => any::<String>(),
    ]
}

fn address() -> impl Strategy<Value = (std::net::IpAddr, u8)> {
    let v4 = (any::<[u8; 2]>(), 0..=40u8)
        .prop_map(|([a, b], prefix)| ([10, 0, a % 3, b].into(), prefix));
    let v6 = (any::<u8>(), 0..=130u8)
        .prop_map(|(a, prefix)| ([0xfd00, 0, 0, 0, 0, 0, 0, u16::from(a)].into(), prefix));
    let any = (any::<std::net::IpAddr>(), any::<u8>());
    prop_oneof![4 => v4, 1 => v6, 1 => any]
}

fn disk() -> impl Strategy<Value = Disk> {
    let kind = prop::sample::select(vec!["zfs_member", "LVM2_member", "xfs", "x"]);
    let content = (word(), kind, word(), word());
    let content = content.prop_map(|(on, kind, uuid, label)| Content {
        on,
        kind: kind.to_owned(),
        uuid,
        label,
    });
    // Few, so that heads share some.
    let number = 0..4u8;
    let rest = (
        vec(word(), 0..2),
        vec(content, 0..3),
        prop::option::of(word()),
    );
    (number, word(), rest).prop_map(|(number, name, (links, contents, mount))| Disk {
        name,
        size: 1,
        wwn: format!("0x5000c500a1b2c30{number}"),
        links,
        mounts: mount.filter(|it| it.len() > 3).into_iter().collect(),
        contents,
        ..Disk::default()
    })
}

fn head() -> impl Strategy<Value = Head> {
    let port = (
        vec(address(), 0..3),
        any::<bool>(),
        0..10_000u32,
        word(),
        vec(word(), 0..2),
    );
    let port = port.prop_map(|(addresses, carrier, mtu, driver, lower)| Port {
        addresses,
        carrier,
        mtu: Some(Mtu(mtu)),
        driver: Some(driver),
        lower,
        ..Port::default()
    });
    let neighbour = (word(), word(), word()).prop_map(|(interface, system, port)| Neighbour {
        interface,
        system,
        port,
    });
    let bmc = (word(), vec(word(), 0..3)).prop_map(|(address, users)| BmcFacts {
        address,
        ciphers: vec![3],
        users,
    });
    let group = (word(), word(), vec(word(), 0..2));
    let group = group.prop_map(|(name, uuid, on)| VolumeGroup { name, uuid, on });
    let disks = (vec(disk(), 0..4), vec(group, 0..2));
    let around = (vec(neighbour, 0..3), bmc, vec(word(), 0..2), word(), disks);
    let around = around.prop_map(
        |(neighbours, bmc, routes, boot, (disks, groups))| Surroundings {
            boot: Some(boot),
            disks: Some(disks),
            groups: Some(groups),
            default_routes: routes.iter().map(|it| it.as_str().into()).collect(),
            neighbours: Some(neighbours),
            bmc: Some(bmc),
            ..Surroundings::default()
        },
    );
    let rest = (
        word(),
        prop::option::of(word()),
        prop::option::of(word()),
        prop::option::of(word()),
        vec(word(), 0..2),
    );
    let ports = btree_map(word(), port, 0..5);
    (ports, around, rest).prop_map(
        |(ports, around, (name, ssh, virtualization, corosync_conf, zpools))| Head {
            name,
            ssh,
            ports,
            virtualization,
            corosync_conf,
            zpools,
            around,
            ..Head::default()
        },
    )
}

fn hostnames() -> impl Strategy<Value = Vec<String>> {
    prop_oneof![
        4 => Just(vec!["head1".to_owned(), "head2".to_owned(), "head3.example.com".to_owned()]),
        1 => vec(word(), 3),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_heads_show_the_file_is_accepted_or_it_is_said_what_it_lacks(
        mut heads in vec(head(), 1..4),
        hostnames in hostnames(),
        name in prop::option::of(word()),
        sans in vec(word(), 0..2),
        user in prop::option::of(word()),
        bmc in prop::option::of(word()),
    ) {
        for (head, hostname) in heads.iter_mut().zip(hostnames) {
            head.hostname = hostname;
        }
        let bmcs = bmc.map(|address| ("head1".to_owned(), address)).into_iter().collect();
        let wishes = Wishes { name, sans, bmcs, bmc_user: user };
        if let Ok(drafted) = draft(&heads, &wishes) {
            holds(&drafted);
        }
    }
}
