//! What a source of exports lets in and shows is what comes of it, or less, and then the page says so.

use hawser_import::{Imported, Kind, Malformed, Options, Source, import};

fn read(kind: Kind, path: &str, text: &str) -> Result<Imported, Malformed> {
    let options = Options {
        name: None,
        pool: None,
        secrets: "/etc/hawser/secrets".into(),
        adopt: false,
    };
    let source = Source {
        path: path.into(),
        text: text.into(),
        kind,
        node: None,
    };
    import(&[source], &options)
}

fn refused(kind: Kind, text: &str) -> String {
    let error = read(kind, "file", text).expect_err("it is refused");
    format!("{error}; {}", error.allowed)
}

/// The exports.toml of the pool, without its comments.
fn exports(imported: &Imported, pool: &str) -> String {
    let text = imported.exports.get(pool).expect("an exports.toml");
    let plain = text
        .lines()
        .map(|line| line.split("   #").next().unwrap_or(line));
    plain
        .filter(|line| !line.starts_with('#'))
        .collect::<Vec<_>>()
        .join("\n")
}

/// A saveconfig.json with a storage object and what is given of its portal group.
fn saved(attributes: &str, luns: &str, acls: &str) -> String {
    saved_with(
        r#""wwn": "11111111-2222-3333-4444-555555555555""#,
        attributes,
        luns,
        acls,
    )
}

fn saved_with(store: &str, attributes: &str, luns: &str, acls: &str) -> String {
    format!(
        r#"{{"storage_objects": [
{{"name": "a", "plugin": "block", "dev": "/dev/zvol/tank/a", {store}}},
{{"name": "b", "plugin": "block", "dev": "/dev/zvol/tank/b", "wwn": "2"}}],
"targets": [
{{"fabric": "iscsi", "wwn": "iqn.2003-01.org.linux-iscsi.h:sn.1", "tpgs": [{{"tag": 1, "enable": true,
"attributes": {{{attributes}}}, "luns": [{luns}], "portals": [], "node_acls": [{acls}]}}]}}]}}"#
    )
}

const A: &str = r#"{"index": 0, "storage_object": "/backstores/block/a"}"#;
const OPEN: &str = r#""generate_node_acls": 1, "authentication": 0, "demo_mode_write_protect": 0"#;
const CLOSED: &str = r#""generate_node_acls": 0, "authentication": 0"#;

fn acl(more: &str, mapped: &str) -> String {
    format!(r#"{{"node_wwn": "iqn.1998-01.com.vmware:esx1", {more} "mapped_luns": [{mapped}]}}"#)
}

#[test]
fn a_host_that_is_asked_for_an_account_and_has_none_stays_outside() {
    let asks = r#""generate_node_acls": 0, "authentication": 1"#;
    for attributes in [asks, ""] {
        let text = saved(attributes, A, &acl("", r#"{"index": 5, "tpg_lun": 0}"#));
        let imported = read(Kind::Saveconfig, "file", &text).expect("it is read");
        assert!(exports(&imported, "tank").contains("members = []"));
        assert!(!imported.complete(), "a group without members is refused");
        let page = imported.page.to_string();
        let line = "\"iqn.1998-01.com.vmware:esx1\" is asked for an account at \"iqn.2003-01.org.linux-iscsi.h:sn.1\", and has none";
        assert!(page.contains(line), "{page}");
    }
}

#[test]
fn an_acl_that_asks_for_an_account_by_itself_keeps_it() {
    let own = r#""attributes": {"authentication": 1}, "chap_userid": "u", "chap_password": "p","#;
    let other = r#",{"node_wwn": "iqn.1998-01.com.vmware:esx2", "mapped_luns": [{"index": 5, "tpg_lun": 0}]}"#;
    let acls = acl(own, r#"{"index": 5, "tpg_lun": 0}"#) + other;
    let imported = read(Kind::Saveconfig, "file", &saved(CLOSED, A, &acls)).expect("it is read");
    assert!(exports(&imported, "tank").contains("user = \"u\""));
    let page = imported.page.to_string();
    assert!(
        page.contains("\"iqn.1998-01.com.vmware:esx2\" at"),
        "{page}"
    );
    assert!(page.contains("they need that of \"u\""), "{page}");
}

#[test]
fn an_account_of_the_portal_group_is_not_one_of_an_acl() {
    let asks = r#""generate_node_acls": 0, "authentication": 1"#;
    let text = saved(asks, A, &acl("", r#"{"index": 5, "tpg_lun": 0}"#))
        .replace(r#""tag": 1"#, r#""chap_userid": "u", "chap_password": "p""#);
    let imported = read(Kind::Saveconfig, "file", &text).expect("it is read");
    assert!(exports(&imported, "tank").contains("members = []"));
    assert!(imported.secrets.is_empty());
}

#[test]
fn a_host_that_sees_less_than_everybody_closes_the_target_to_others() {
    let protected = r#"{"index": 5, "tpg_lun": 0, "write_protect": true}"#;
    let imported = read(
        Kind::Saveconfig,
        "file",
        &saved(OPEN, A, &acl("", protected)),
    );
    let imported = imported.expect("it is read");
    let text = exports(&imported, "tank");
    for line in ["lun = 5", "read_only = true", "host_group", "vmware:esx1"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let page = imported.page.to_string();
    assert!(page.contains("exports.toml cannot except a host"), "{page}");

    let nothing =
        read(Kind::Saveconfig, "file", &saved(OPEN, A, &acl("", ""))).expect("it is read");
    assert!(exports(&nothing, "tank").contains("members = []"));
    assert!(!nothing.complete());

    let alike = acl("", r#"{"index": 0, "tpg_lun": 0, "write_protect": 0}"#);
    let alike = read(Kind::Saveconfig, "file", &saved(OPEN, A, &alike)).expect("it is read");
    assert!(!exports(&alike, "tank").contains("host_group"));
}

#[test]
fn everybody_may_only_read_unless_the_file_says_otherwise() {
    let open = r#""generate_node_acls": 1, "authentication": 0"#;
    let imported = read(Kind::Saveconfig, "file", &saved(open, A, "")).expect("it is read");
    assert!(exports(&imported, "tank").contains("read_only = true"));
}

#[test]
fn what_lio_would_take_for_something_else_is_refused() {
    let mapped = |index: &str, of: &str, protect: &str| {
        let mapped =
            format!(r#"{{"index": {index}, "tpg_lun": {of}, "write_protect": {protect}}}"#);
        saved(CLOSED, A, &acl("", &mapped))
    };
    let error = refused(Kind::Saveconfig, &mapped("5", "0", "\"on\""));
    assert!(
        error.starts_with("file:5: write_protect of a LUN of"),
        "{error}"
    );
}

#[test]
fn a_disk_that_cannot_be_told_is_refused_or_named() {
    let wwn = r#""wwn": "1""#;
    let mapped = acl("", r#"{"index": 5, "tpg_lun": 0}"#);
    let with = |store: &str, luns: &str| {
        refused(Kind::Saveconfig, &saved_with(store, CLOSED, luns, &mapped))
    };
    let lun =
        |index: &str| format!(r#"{{"index": {index}, "storage_object": "/backstores/block/a"}}"#);
    let error = with(r#""wwn": 17"#, A);
    assert!(
        error.starts_with("file:2: wwn of storage object \"a\": 17"),
        "{error}"
    );
    let error = with(r#""wwn": "1", "attributes": {"block_size": "4k"}"#, A);
    assert!(
        error.contains("block_size of storage object \"a\": the text \"4k\""),
        "{error}"
    );
    for index in ["\"0\"", "20000", "-1"] {
        let error = with(wwn, &lun(index));
        assert!(
            error.contains("index of LUN \"/backstores/block/a\""),
            "{error}"
        );
        assert!(error.ends_with("a number from 0 to 16383"), "{error}");
    }
    let twice = format!(r#"{A}, {{"index": 0, "storage_object": "/backstores/block/b"}}"#);
    let error = with(wwn, &twice);
    assert!(
        error.contains("is \"/backstores/block/a\" and \"/backstores/block/b\""),
        "{error}"
    );

    let store = r#""attributes": {"block_size": "4096"}"#;
    let imported = read(
        Kind::Saveconfig,
        "file",
        &saved_with(store, CLOSED, A, &mapped),
    )
    .expect("it is read");
    assert!(exports(&imported, "tank").contains("block_size = 4096"));
    let page = imported.page.to_string();
    assert!(page.contains("storage object \"a\" has no wwn"), "{page}");
}

/// A targets.conf with one target.
fn conf(lines: &str) -> String {
    format!("<target iqn.2001-04.com.example:a>\n{lines}\n</target>\n")
}

#[test]
fn lines_of_targets_conf_are_read_as_tgt_admin_reads_them() {
    let lines = "backing-store \"/dev/vg/my vol\"\ninitiator-name=iqn.x:1\nincominguser \\\n joe pa\\#ss # note";
    let imported = read(Kind::TargetsConf, "file", &conf(lines)).expect("it is read");
    let text = exports(&imported, "vg");
    assert!(
        text.contains("volume = \"my vol\"") && text.contains("iqn.x:1"),
        "{text}"
    );
    let secrets: Vec<&str> = imported.secrets.values().map(|secret| &*secret.0).collect();
    assert_eq!(secrets, ["pa#ss"]);
}

#[test]
fn what_tgt_admin_reads_otherwise_than_it_looks_is_refused() {
    for (line, found) in [
        ("backing-store /dev/vg/a /dev/vg/b", "one path"),
        (
            "backing-store /dev/vg/a\nbacking-store /dev/vg/a",
            "each path once",
        ),
        ("incominguser \"joe b\" \"two words\"", "a quotation mark"),
        ("incominguser joe two words", "one blank"),
        ("incominguser joe  password", "one blank"),
        ("incominguser joe pa$ss", "one blank"),
        ("incominguser joe pa\\ss", "a backslash"),
        ("initiator-name iqn.x:1 iqn.x:2", "one name"),
        ("/* initiator-name iqn.x:1", "a comment between"),
        ("lun 0", "1 to 16383"),
        ("write-cache maybe", "on or off"),
        ("readonly maybe", "1 or 0"),
        (
            "<backing-store /dev/vg/a>\nblock-size abc\n</backing-store>",
            "block-size \"abc\"",
        ),
        (
            "backing-store /dev/vg/a\nbacking-store /dev/vg/b\nlun 5",
            "LUN 5 of",
        ),
    ] {
        let error = refused(Kind::TargetsConf, &conf(line));
        assert!(
            error.starts_with("file:") && error.contains(found),
            "{line}: {error}"
        );
        assert!(!error.contains("words"), "no secret is shown: {error}");
    }
}

#[test]
fn readonly_is_kept_narrow_and_told() {
    let lines = "backing-store /dev/vg/a\nreadonly true\nincominguser joe pa#ss";
    let imported = read(Kind::TargetsConf, "file", &conf(lines)).expect("it is read");
    assert!(exports(&imported, "vg").contains("read_only = true"));
    let page = imported.page.to_string();
    assert!(page.contains("tgtd takes a word for 0"), "{page}");
    assert!(page.contains("the password ends before #"), "{page}");
}

#[test]
fn two_blocks_of_one_target_are_one() {
    let text =
        conf("backing-store /dev/vg/b\ninitiator-name iqn.x:1") + &conf("backing-store /dev/vg/a");
    let imported = read(Kind::TargetsConf, "file", &text).expect("it is read");
    let text = exports(&imported, "vg");
    assert_eq!(text.matches("[[target]]").count(), 1);
    assert!(
        text.contains("volume = \"a\"\nlun = 1") && text.contains("volume = \"b\"\nlun = 2"),
        "{text}"
    );
    assert!(!imported.page.to_string().contains("not shown on it"));
}

#[test]
fn stmf_ha_conf_names_volumes_and_nothing_else() {
    for name in [
        "tank/a@snap",
        "tank/../b",
        "tank/a//b",
        "tank/./b",
        "tank/a#b",
    ] {
        let error = refused(
            Kind::StmfHa,
            &format!("\nlogical_units=( tank/c '{name}' )\n"),
        );
        assert!(
            error.starts_with(&format!("file:2: \"{name}\", which is no name")),
            "{error}"
        );
    }
    let view = "logical_units=( tank/c )\nviews=( v )\nv_lu_prefix=tank/..\n";
    assert!(refused(Kind::StmfHa, view).contains("\"tank/..\", which is no name"));
}

#[test]
fn a_lun_number_that_a_target_would_have_twice_is_still_needed() {
    let lun = |name: &str| format!("{name}\torg.illumos.stmf-ha:lun\t3\tlocal\n");
    let text = lun("tank/a") + &lun("tank/a@snap") + &lun("tank/b");
    let imported = read(Kind::ZfsGet, "file", &text).expect("it is read");
    assert!(!imported.complete());
    let page = imported.page.to_string();
    assert!(
        page.contains("file:3  LUN 3 on target \"tank\" of pool tank is \"a\" and \"b\""),
        "{page}"
    );
    assert!(
        !page.contains("same disk") && !page.contains("snap"),
        "{page}"
    );

    let two = format!(r#"{A}, {{"index": 1, "storage_object": "/backstores/block/b"}}"#);
    let other = r#",{"node_wwn": "iqn.1998-01.com.vmware:esx2", "mapped_luns": [{"index": 5, "tpg_lun": 1}]}"#;
    let acls = acl(
        "",
        r#"{"index": 5, "tpg_lun": 0}, {"index": 6, "tpg_lun": 1}"#,
    ) + other;
    let imported = read(Kind::Saveconfig, "file", &saved(CLOSED, &two, &acls)).expect("it is read");
    let page = imported.page.to_string();
    assert!(
        page.contains("LUN 5 on target \"tank\" of pool tank is \"a\" and \"b\""),
        "{page}"
    );
    assert!(
        page.contains("\"b\" has LUN 6 and LUN 5 on target"),
        "{page}"
    );
}

#[test]
fn a_target_of_two_files_is_one() {
    let text = |path: &str, line: &str| Source {
        path: path.into(),
        text: conf(&format!(
            "<backing-store /dev/vg/{path}>\nlun {line}\n</backing-store>"
        )),
        kind: Kind::TargetsConf,
        node: Some("head1".into()),
    };
    let options = Options {
        name: None,
        pool: None,
        secrets: "/etc/hawser/secrets".into(),
        adopt: false,
    };
    let imported = import(&[text("a", "1"), text("b", "2")], &options).expect("it is read");
    assert_eq!(exports(&imported, "vg").matches("[[target]]").count(), 1);
    let page = imported.page.to_string();
    assert!(!page.contains("not shown on it"), "{page}");
}

#[test]
fn clients_that_two_files_of_a_head_name_are_all_let_in() {
    let text = |path: &str, client: &str| Source {
        path: path.into(),
        text: conf(&format!("backing-store /dev/vg/{path}\n{client}")),
        kind: Kind::TargetsConf,
        node: Some("head1".into()),
    };
    let options = Options {
        name: None,
        pool: None,
        secrets: "/etc/hawser/secrets".into(),
        adopt: false,
    };
    let esx = |n: u8| format!("iqn.1998-01.com.vmware:esx{n}");
    let named = |n: u8| format!("initiator-name {}\n", esx(n));
    for (first, second, clients) in [
        (named(1), named(2), vec![esx(1), esx(2)]),
        (named(1), String::new(), vec![esx(1)]),
        (String::new(), named(2), vec![esx(2)]),
    ] {
        let sources = [text("a", &first), text("b", &second)];
        let imported = import(&sources, &options).expect("it is read");
        let written = exports(&imported, "vg");
        for client in [esx(1), esx(2)] {
            assert_eq!(
                written.contains(&client),
                clients.contains(&client),
                "{written}"
            );
        }
        let page = imported.page.to_string();
        assert!(!page.contains("other clients"), "{page}");
    }
}

#[test]
fn a_resource_whose_lun_no_client_can_address_is_told() {
    let text = "primitive t iSCSITarget params iqn=iqn.2001-04.com.example:a\n\
        primitive u iSCSILogicalUnit params target_iqn=iqn.2001-04.com.example:a lun=20000 path=/dev/zvol/tank/a\n";
    let imported = read(Kind::Crm, "file", text).expect("it is read");
    let page = imported.page.to_string();
    assert!(
        page.contains("lun=\"20000\" of \"u\": it is no number from 0 to 16383"),
        "{page}"
    );
    assert!(
        imported
            .exports
            .values()
            .all(|text| !text.contains("20000"))
    );
}

#[test]
fn only_hosts_that_each_head_lets_in_are_let_in() {
    let to = |host: &str| {
        format!(
            r#"{{"node_wwn": "iqn.1998-01.com.vmware:{host}", "mapped_luns": [{{"index": 0, "tpg_lun": 0, "write_protect": false}}]}}"#
        )
    };
    let head = |name: &str, hosts: &[&str]| {
        let hosts: Vec<String> = hosts.iter().map(|host| to(host)).collect();
        Source {
            path: format!("{name}.json"),
            text: saved(CLOSED, A, &hosts.join(",")),
            kind: Kind::Saveconfig,
            node: Some(name.into()),
        }
    };
    for (first, second) in [
        (&["esx1", "esx2"][..], &["esx1"][..]),
        (&["esx1"], &["esx1", "esx2"]),
    ] {
        let options = Options {
            name: None,
            pool: None,
            secrets: "/etc/hawser/secrets".into(),
            adopt: false,
        };
        let sources = [head("head1", first), head("head2", second)];
        let imported = import(&sources, &options).expect("it is read");
        let text = exports(&imported, "tank");
        assert!(text.contains("esx1") && !text.contains("esx2"), "{text}");
        let page = imported.page.to_string();
        assert!(page.contains("other clients"), "{page}");
    }
}
