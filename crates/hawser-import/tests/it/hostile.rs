//! Whatever a source says, nothing panics, and a refusal names a line that is there.

use hawser_import::{Kind, Options, Source, import};
use proptest::collection::vec;
use proptest::prelude::*;

/// Words that the parsers know, so that random text gets beyond the first line.
const WORDS: &[&str] = &[
    "node",
    "head1",
    "head2",
    "keepalive",
    "deadtime",
    "1",
    "10ms",
    "mcast",
    "eth0",
    "239.1.1.1",
    "694",
    "ucast",
    "192.0.2.1",
    "stonith_host",
    "external/ipmi",
    "auth",
    "sha1",
    "md5",
    "primitive",
    "stonith:external/ipmi",
    "ocf:heartbeat:ZFS",
    "ocf:heartbeat:Filesystem",
    "IPaddr2",
    "params",
    "hostname=head1",
    "ipaddr=192.0.2.9",
    "userid=u",
    "passwd=p",
    "pool=tank",
    "ip=192.0.2.7",
    "cidr_netmask=24",
    "op",
    "start",
    "timeout=90",
    "location",
    "inf:",
    "-inf:",
    "100:",
    "colocation",
    "order",
    "group",
    "clone",
    "property",
    "stonith-enabled=true",
    "rule",
    "pingd:",
    "defined",
    "rsc_ticket",
    "tag",
    "fencing_topology",
    "head1:",
    "meta",
    "attributes",
    "op_defaults",
    "symmetric-cluster=false",
    "$id-ref=x",
    "bindnetaddr: 192.0.2.0\n",
    "memberaddr: 192.0.2.1\n",
    "interface {\n",
    "member {\n",
    "heuristics {\n",
    "ringnumber: x\n",
    "}\n",
    "IPv6addr::2001:db8::1/64",
    "Filesystem::-Ux::/a/b::ext4",
    "/a\\040b",
    "*(sec=krb5,rw,sec=sys,ro)",
    "(rw)",
    "#uname",
    "eq",
    "\\\n",
    "\"",
    "'",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "=",
    ":",
    "::",
    "/",
    "<target",
    "<backing-store",
    "/dev/vg/lv",
    "</target>",
    "</backing-store>",
    ">",
    "lun",
    "totem {",
    "nodelist {",
    "node {",
    "ring0_addr: 192.0.2.1",
    "name: head1",
    "nodeid: 1",
    "token: 1000",
    "consensus: 1200",
    "token_coefficient: 0",
    "interface {",
    "knet_ping_interval: 1",
    "knet_ping_timeout: 2",
    "logical_units=(",
    "tank/a",
    "views=(",
    "v_lu_prefix=tank",
    "targets=(",
    "LU Name: 600144F00100000000005AC3351E0003",
    "Data File : /dev/zvol/tank/a",
    "tank/a org.illumos.stmf-ha:lun 3 local",
    "/srv/a",
    "*(rw)",
    "192.0.2.0/24(ro,fsid=0)",
    "<cib>",
    "<configuration>",
    "<resources>",
    "</cib>",
    "<primitive id='a' class='ocf' type='ZFS'/>",
    "<rsc_location",
    "\u{1b}[2J",
    "\u{202e}",
    "é",
    "\0",
    "# c",
    ";",
    "$",
    "`",
    "99999999999999999999",
];

fn text() -> impl Strategy<Value = String> {
    let word = proptest::sample::select(WORDS).prop_map(str::to_owned);
    let word = prop_oneof![9 => word, 1 => any::<String>()];
    let gap = prop_oneof![3 => Just(" "), 1 => Just("\n"), 1 => Just("")];
    let words = vec((word, gap), 0..60)
        .prop_map(|all| all.into_iter().map(|(w, g)| w + g).collect::<String>());
    let bytes =
        vec(any::<u8>(), 0..300).prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    prop_oneof![4 => words, 1 => bytes]
}

fn saved(kind: Kind) -> &'static str {
    match kind {
        Kind::Saveconfig => include_str!("../../../../cases/import/zfs-drbd-lio/saveconfig.json"),
        Kind::Cib => include_str!("../../../../cases/import/pcs-nfs/cib.xml"),
        Kind::CorosyncConf => include_str!("../../../../cases/import/crmsh-iscsi/corosync.conf"),
        Kind::Crm => include_str!("../../../../cases/import/crmsh-iscsi/crm.txt"),
        Kind::HaCf => include_str!("../../../../cases/import/haresources/ha.cf"),
        Kind::Haresources => include_str!("../../../../cases/import/haresources/haresources"),
        Kind::Interfaces => include_str!("../../../../cases/import/haresources/nfs1.ip"),
        Kind::Authkeys => "auth 1\n1 sha1 example\n2 md5 example\n",
        Kind::StmfHa => include_str!("../../../../examples/heartbeat/vmpool01/stmf-ha.conf"),
        Kind::ZfsGet => include_str!("../../../../examples/heartbeat/zfs-get.txt"),
        Kind::ListLu => include_str!("../../../../cases/import/list-lu/list-lu.txt"),
        Kind::TargetsConf => include_str!("../../../../cases/import/tgt-conf/targets.conf"),
        Kind::EtcExports => include_str!("../../../../cases/import/nfs-exports/exports"),
        Kind::Unread => "it is a link",
    }
}

fn read(kind: Kind, text: String) {
    let lines = text.lines().count().max(1);
    let node = (kind == Kind::Interfaces).then(|| "head1".to_owned());
    let node = node.or_else(|| (kind > Kind::Crm).then(|| "head2".to_owned()));
    let nodes = "node head1 head2\nbcast eth0\n";
    let beside = Source {
        path: "ha.cf".into(),
        text: nodes.into(),
        kind: Kind::HaCf,
        node: None,
    };
    let source = Source {
        path: "f".into(),
        text,
        kind,
        node,
    };
    let options = Options {
        name: None,
        pool: Some("tank".into()),
        secrets: "/s".into(),
        adopt: true,
    };
    let _ = Kind::of(&source.path, &source.text);
    // What the other head has of that kind.
    let other = Source {
        path: "head1".into(),
        text: saved(kind).into(),
        kind,
        node: Some("head1".into()),
    };
    let all = match kind > Kind::Crm {
        true => vec![beside, other, source],
        false => vec![beside, source],
    };
    match import(&all, &options) {
        Err(e) if e.place.file == "f" => assert!((1..=lines).contains(&e.place.line), "{e}"),
        Err(e) => panic!("{e}"),
        // What is written is TOML, whatever it lacks.
        Ok(imported) => {
            for text in imported.cluster.iter().chain(imported.exports.values()) {
                assert!(text.parse::<toml::Table>().is_ok(), "{text}");
            }
            let page = imported.page.to_string();
            assert!(
                !page.contains('\u{1b}') && !page.contains('\u{202e}'),
                "{page:?}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(text in text()) {
        for (_, kind) in Kind::WORDS {
            read(kind, text.clone());
        }
    }

    #[test]
    fn a_file_that_is_cut_or_bent_is_read_or_refused(
        at in 0.0..1.0_f64,
        cut in 0_usize..40,
        with in text(),
    ) {
        for (_, kind) in Kind::WORDS {
            let whole = saved(kind);
            let near = |share: f64| {
                let mut i = (share * whole.len() as f64) as usize;
                while !whole.is_char_boundary(i) {
                    i -= 1;
                }
                i
            };
            let start = near(at);
            let end = near(((start + cut) as f64 / whole.len() as f64).min(1.0)).max(start);
            read(kind, format!("{}{}{}", &whole[..start], with, &whole[end..]));
            read(kind, whole[..start].to_owned());
        }
    }
}
