//! Files and pools with one thing wrong, and what is said.

use hawser_cluster::exports::{State, StateError, parse};

use super::{resolved, volume};

#[track_caller]
fn file(text: &str) -> String {
    let errors = parse(text, "exports.toml").expect_err("a mistake");
    assert_eq!(errors.errors.len(), 1, "{errors}");
    errors.to_string()
}

#[test]
fn mistakes_of_a_file_are_told_with_their_line_and_what_is_allowed() {
    let cases = [
        (
            "[[portal_group]]\nname = \"a\"\nportals = [\"192.0.2.1:99999\"]",
            "3:12",
            "is no portal",
        ),
        (
            "[[portal_group]]\nname = \"a\"\nportals = []",
            "2:8",
            "has no members",
        ),
        (
            "[[target]]\nname = \"a\"\nportal_group = \"b\"",
            "3:16",
            "b",
        ),
        (
            "[[target]]\nname = \"a\"\n[[target]]\nname = \"a\"",
            "4:8",
            "two targets are named \"a\"",
        ),
        (
            "[[target]]\nname = \"a\"\niqn = \"iqn.2026-01.Lab\"",
            "3:7",
            "no iSCSI name",
        ),
        ("[[target]]\nname = \"a\"\ntype = \"fc\"", "3:8", "iscsi"),
        ("[defaults]\nblock_size = 1024", "2:14", "write 512 or 4096"),
        (
            "[[unit]]\nvolume = \"a\"\nserial = \"12\"",
            "3:10",
            "32 hexadecimal digits",
        ),
        (
            "[[unit]]\nvolume = \"a\"\nnaa = \"50014ee2b1234567\"",
            "3:7",
            "begin with 6",
        ),
        (
            "[[unit]]\nvolume = \"a\"\nserial = \"00112233445566778899aabbccddeeff\"\n\
             naa = \"600144f0c73abf0f0000526c0a1d0001\"",
            "4:7",
            "both serial and naa",
        ),
        ("[[unit]]\nvolume = \"a\"\nlun = 20000", "3:7", "16383"),
        (
            "[[view]]\nname = \"a\"\nlun = 3",
            "3:7",
            "one number to several units",
        ),
        (
            "[[target]]\nname = \"a\"\nchap = { user = \"u\", secret = \"hunter2hunter2\" }",
            "3:31",
            "a secret is not written",
        ),
        (
            "[[target]]\nname = \"a\"\nchap = { user = \"u\", secret = \"env:SECRET\" }",
            "3:31",
            "Pacemaker starts the exports",
        ),
        (
            "[[target]]\nname = \"a\"\nchap = { user = \"u,v\", secret = \"file:/s\" }",
            "3:17",
            "not a valid account name",
        ),
        (
            "[[target]]\nname = \"a\"\nchap = { user = \"u\", secret = \"file:/s\", mutual_user = \"t\" }",
            "3:56",
            "mutual_secret",
        ),
        (
            "[[nfs]]\ndirectory = \"/tank/x\"\nclients = [\"*\"]",
            "2:13",
            "from the pool's root on",
        ),
        (
            "[[nfs]]\ndirectory = \"a/../..\"\nclients = [\"*\"]",
            "2:13",
            "not a directory inside the pool",
        ),
        ("[[nfs]]\ndirectory = \"x\"", "1:1", "clients"),
        (
            "[[nfs]]\ndirectory = \"x\"\nclients = []",
            "2:13",
            "has no clients",
        ),
        (
            "[[nfs]]\ndirectory = \"x\"\nclients = [\"client1\"]",
            "3:12",
            "must not wait for a name server",
        ),
        (
            "[[nfs]]\ndirectory = \"x\"\nclients = [\"192.0.2.1/24\"]",
            "3:12",
            "neither an address nor a network",
        ),
        (
            "[[nfs]]\ndirectory = \"x\"\nclients = [\"*\"]\noptions = \"rw,no_rootsquash\"",
            "4:11",
            "\"no_rootsquash\" is no option",
        ),
        (
            "[[nfs]]\ndirectory = \"x\"\nclients = [\"*\"]\noptions = \"rw,fsid=0\"",
            "4:11",
            "given once and kept",
        ),
        (
            "[[nfs]]\ndirectory = \"x\"\nclients = [\"::/0\"]\n[[nfs]]\ndirectory = \"x\"\nclients = [\"0::/0\"]",
            "6:12",
            "offered to ::/0 twice",
        ),
        (
            "[[view]]\nname = \"v\"\nunits = [\"a\"]\nlun = 3\nlun_offset = 100",
            "4:7",
            "both lun and lun_offset",
        ),
        (
            "[[view]]\nname = \"v\"\nlun_offset = 16383",
            "3:14",
            "16382",
        ),
    ];
    for (text, place, words) in cases {
        let said = file(text);
        assert!(
            said.starts_with(&format!("exports.toml:{place}: ")),
            "{text}\n{said}"
        );
        assert!(said.contains(words), "{text}\n{said}");
        assert!(!said.contains("hunter2"), "{said}");
    }
}

#[test]
fn what_cannot_be_offered_is_refused_as_a_whole() {
    let volumes = [volume("a", "1"), volume("b", "2"), volume("vm/c", "3")];
    let two = "[[target]]\nname = \"x\"\n[[target]]\nname = \"y\"\n";
    let hosts = "[[host_group]]\nname = \"h\"\nmembers = [\"iqn.a\"]\n";
    let cases = [
        ("[[unit]]\nvolume = \"vm/d\"".to_owned(), "no volume \"vm/d\" in pool tank (did you mean \"vm/c\"?)"),
        ("[[view]]\nname = \"v\"\nprefix = \"v\"".into(), "no volume is below \"v\""),
        ("[[unit]]\nvolume = \"a\"\nlun = 4\n[[unit]]\nvolume = \"b\"\nlun = 4".into(), "\"b\" is to have LUN 4"),
        ("[[unit]]\nvolume = \"a\"\nlun = 0".into(), "tgtd keeps LUN 0"),
        (
            "[defaults]\nxcopy = false\n".into(),
            "volume \"a\": xcopy = false, and tgtd has no setting for it",
        ),
        (
            "[[view]]\nname = \"v\"\nunits = [\"a\"]\nlun = 1\n[[view]]\nname = \"w\"\nunits = [\"a\"]\nlun = 2".into(),
            "both LUN 1 and LUN 2",
        ),
        (
            format!("{hosts}[[view]]\nname = \"v\"\nunits = [\"a\"]\nhost_group = \"h\"\n[[view]]\nname = \"w\"\nunits = [\"b\"]"),
            "some units to everybody",
        ),
        (
            format!("{hosts}[[host_group]]\nname = \"g\"\nmembers = [\"iqn.b\"]\n[[view]]\nname = \"v\"\nunits = [\"a\"]\nhost_group = \"h\"\n[[view]]\nname = \"w\"\nunits = [\"b\"]\nhost_group = \"g\""),
            "which tgtd cannot",
        ),
        (
            format!("[[portal_group]]\nname = \"p\"\nportals = [\"192.0.2.9\"]\n[[portal_group]]\nname = \"q\"\nportals = [\"192.0.2.8\"]\n{two}portal_group = \"q\""),
            "different portals",
        ),
        ("[[target]]\nname = \"x_y\"\n[[target]]\nname = \"x-y\"".into(), "both iqn.2026-01.lab:tank:x-y"),
        ("[[target_group]]\nname = \"g\"\nmembers = [\"pool\"]\n[[view]]\nname = \"v\"\ntarget_group = \"g\"".into(), "no target \"pool\""),
        (
            "[[target]]\nname = \"x\"\nchap = { user = \"u\", secret = \"file:/1\" }\n[[target]]\nname = \"y\"\nchap = { user = \"u\", secret = \"file:/2\" }".into(),
            "\"u\" has two secrets",
        ),
    ];
    for (text, words) in cases {
        let errors = resolved(&text, &volumes, &State::default()).expect_err(&text);
        let said: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert!(said.join("; ").contains(words), "{text}\n{said:?}");
    }
    let mut tiny = volume("tiny", "4");
    tiny.bytes = 100;
    let mut comma = volume("x", "5");
    comma.path = "/tank/a,b.img".into();
    let errors = resolved("", &[tiny, comma], &State::default()).unwrap_err();
    assert_eq!(errors.len(), 2, "{errors:?}");
}

#[test]
fn a_state_file_that_is_damaged_is_not_guessed_at() {
    let damaged = |text: &str| State::parse(text, "/tank/exports-state.toml").unwrap_err();
    assert!(matches!(
        damaged("[volume.x]\nname = 1"),
        StateError::Unreadable { .. }
    ));
    let two = |one: &str, other: &str| {
        format!(
            "[volume.x]\nname = \"a\"\nserial = \"{one}\"\n[volume.y]\nname = \"b\"\nserial = \"{other}\"\n"
        )
    };
    let serial = "7896e3f7c8970474b15de48cf7923e3d";
    // It names a folder of the kernel's.
    for strange in [
        "1",
        "../../../../../../tmp/aaaaaaaaaaaa",
        "7896e3f7c8970474b15de48cf7923e3\u{e9}",
    ] {
        let said = damaged(&two(serial, strange)).to_string();
        assert!(said.contains("of b is not 32 hexadecimal digits"), "{said}");
    }
    let twice = &two(serial, serial);
    let said = damaged(twice).to_string();
    assert!(
        said.contains("\"a\" and \"b\" have the same serial number"),
        "{said}"
    );
}
