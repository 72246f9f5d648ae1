//! Random cluster files → corosync.conf and CIB → import → the same corosync.conf and CIB.
//!
//! The files that are compared are what the engine is told: two cluster files from which the same is made mean the same.

use hawser_cluster::numbering::Numbering;
use hawser_cluster::{cib, corosync};
use hawser_import::{Kind, Options, Source, import};
use hawser_model::cluster_file::{ClusterFile, parse_complete};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// A pool of a cluster with SANs `san1` and `san2`.
fn pool(i: usize) -> impl Strategy<Value = String> {
    let kind = prop_oneof![Just("zfs"), Just("filesystem"), Just("lvm")];
    let prefer = option::of((0_usize..2, 1_u32..300));
    let timeouts = option::of(30_u32..400);
    let exports = prop_oneof![Just("iscsi"), Just("nfs"), Just("none")];
    let nfs = any::<bool>();
    let sans = prop_oneof![Just(vec![1]), Just(vec![1, 2]), Just(vec![2])];
    let more = (any::<bool>(), option::of("[a-z]{1,9}[.@_-]?[a-z0-9]{1,5}"));
    let hook = || option::of((1_u32..90, option::of(any::<bool>())));
    let hooks = (hook(), hook(), hook(), hook());
    (kind, prefer, timeouts, exports, nfs, sans, more, hooks).prop_map(
        move |(kind, prefer, timeouts, exports, nfs, sans, (more, nic), hooks)| {
            let mut text = format!("\n[[pool]]\nname = \"pool{i}\"\nkind = \"{kind}\"\nexports = \"{exports}\"\n");
            text += &match kind {
                "zfs" if more => format!("import_options = \"-d /dev/disk/by-id\"\ndirectory = \"/srv/pool{i}\"\n"),
                "zfs" => String::new(),
                "lvm" => {
                    let device = if more { format!("device = \"/dev/vg{i}/root\"\n") } else { String::new() };
                    format!("volume_group = \"vg{i}\"\ndirectory = \"/srv/p{i}\"\nfstype = \"xfs\"\n{device}")
                }
                _ => {
                    let options = if more { "options = \"noatime\"\n" } else { "" };
                    format!("device = \"/dev/sd{i}\"\ndirectory = \"/srv/p{i}\"\nfstype = \"ext4\"\n{options}")
                }
            };
            // A ZFS pool's mount point is only told to the agent of the exports.
            if kind == "zfs" && exports == "none" {
                text = text.replace(&format!("directory = \"/srv/pool{i}\"\n"), "");
            }
            if let Some((node, score)) = prefer {
                text += &format!("prefer = \"head{}\"\npreference = {score}\n", node + 1);
            }
            if let Some(start) = timeouts {
                text += &format!("timeouts = {{ start = \"{start}s\", stop = \"{}s\" }}\n", start + 7);
            }
            if nfs {
                text += &format!(
                    "nfs = [{{ directory = \"/srv/p{i}/a\", clients = \"192.168.1.0/24\", options = \"rw,no_root_squash\" }}]\n"
                );
            }
            text += "[pool.addresses]\n";
            for san in sans {
                let first = format!("\"192.168.{san}.{}\"", 100 + i);
                let first = match &nic {
                    Some(nic) => format!("{{ address = {first}, nic = \"{nic}\" }}"),
                    None => first,
                };
                let second = format!("\"192.168.{san}.{}\"", 150 + i);
                text += &match more {
                    true => format!("san{san} = [{first}, {second}]\n"),
                    false => format!("san{san} = {first}\n"),
                };
            }
            text += "[pool.hooks]\n";
            let (a, b, c, d) = hooks;
            for (key, hook) in [("pre_import", a), ("post_import", b), ("pre_export", c), ("post_export", d)] {
                if let Some((seconds, required)) = hook {
                    let required = required.map(|it| format!(", required = {it}")).unwrap_or_default();
                    text += &format!("{key} = {{ program = \"/opt/site's own/{key}\", timeout = \"{seconds}s\"{required} }}\n");
                }
            }
            text
        },
    )
}

/// A cluster file.
fn cluster() -> impl Strategy<Value = String> {
    let timing = prop_oneof![
        Just(String::new()),
        (400_u64..9000).prop_map(|token| format!("[timing]\ntoken = \"{token}ms\"\n")),
        (1_u64..20, 30_u64..90).prop_map(|(token, initial)| format!(
            "[timing]\nprofile = \"tuned\"\ntoken = \"{token}s\"\nconsensus = \"{}s\"\ninitial = \"{initial}s\"\n",
            token * 2
        )),
        (100_u64..900, 1000_u64..4000, 5000_u64..30_000).prop_map(|(keepalive, warning, dead)| format!(
            "[timing]\nprofile = \"heartbeat\"\nkeepalive = \"{keepalive}ms\"\nwarning = \"{warning}ms\"\ndead = \"{dead}ms\"\n"
        )),
    ];
    let cluster = (any::<bool>(), any::<bool>(), 0_u8..3, option::of(0_i32..9));
    let quorum = prop_oneof![
        Just(""),
        Just("[quorum]\nwait_for_all = false\n"),
        Just("[quorum.device]\nhost = \"qnetd.example.com\"\nalgorithm = \"lms\"\ntls = \"off\"\n"),
    ];
    let nodes = (
        2_usize..=3,
        any::<bool>(),
        any::<bool>(),
        option::of(0_u8..20),
    );
    let apc = any::<bool>();
    let delay = 1_u32..60;
    let pools =
        vec(any::<()>(), 0..4).prop_flat_map(|all| (0..all.len()).map(pool).collect::<Vec<_>>());
    let on_san = any::<bool>();
    let ports = option::of(5440_u16..);
    (timing, cluster, quorum, nodes, apc, delay, pools, (on_san, ports)).prop_map(
        |(timing, cluster, quorum, nodes, apc, delay, pools, (on_san, port))| {
            let (automatic, maintenance, mode, compression) = cluster;
            let (count, ids, other, cipher) = nodes;
            let mode = ["passive", "active", "rr"][usize::from(mode)];
            let failback = if automatic { "automatic" } else { "manual" };
            let mut text = format!(
                "[cluster]\nname = \"c1\"\nlink_mode = \"{mode}\"\nfailback = \"{failback}\"\nmaintenance = {maintenance}\n\
                 crypto = {{ cipher = \"aes192\", hash = \"sha512\" }}\n"
            );
            if let Some(level) = compression {
                text += &format!("compression = {{ model = \"zstd\", level = {level}, threshold = 200 }}\n");
            }
            text += "[cluster.properties]\nconcurrent-fencing = \"true\"\n";
            text += &format!("{timing}{quorum}");
            let role = if on_san { "[\"san\", \"heartbeat\"]" } else { "\"san\"" };
            text += "[[link]]\nname = \"ring0\"\nnetwork = \"10.0.0.0/24\"\npriority = 7\n";
            if let Some(port) = port {
                text += &format!("port = {port}\n");
            }
            for san in 1..=2 {
                text += &format!("[[link]]\nname = \"san{san}\"\nrole = {role}\nnetwork = \"192.168.{san}.0/24\"\n");
            }
            for n in 1..=count {
                text += &format!("[[node]]\nname = \"head{n}\"\n");
                if ids {
                    text += &format!("id = {}\n", 10 * n);
                }
                text += &format!(
                    "[node.addresses]\nring0 = \"10.0.0.{n}\"\nsan1 = \"192.168.1.{n}\"\nsan2 = \"192.168.2.{n}\"\n"
                );
                text += &format!(
                    "[node.bmc]\naddress = \"10.9.0.{n}\"\nusername = \"u\"\npassword = \"file:/s/head{n}-bmc\"\n"
                );
                if other {
                    text += "agent = \"fence_idrac\"\nlanplus = true\n";
                } else if let Some(cipher) = cipher {
                    text += &format!("cipher = {cipher}\nlanplus = false\npower_wait = \"4s\"\noptions = {{ privlvl = \"operator\" }}\n");
                }
            }
            text += &format!("[fencing]\naction = \"{}\"\ndelay = {{ head1 = \"{delay}s\" }}\n", if apc { "reboot" } else { "off" });
            if apc {
                text += "[[fencing.device]]\nname = \"pdu\"\nagent = \"fence_apc_snmp\"\nports = { head1 = \"1\", head2 = \"2\" }\n\
                         options = { ip = \"10.9.0.9\" }\nsecrets = { community = \"file:/s/pdu-community\" }\n";
            }
            text += "[exports]\nbackend = \"tgt\"\niqn = \"iqn.2026-01.lab\"\n";
            text + &pools.concat()
        },
    )
}

/// What the engine is told.
fn told(file: &ClusterFile) -> (String, String) {
    let numbering = Numbering::of(file, None);
    let conf = corosync::generate(file, &numbering);
    (conf, cib::generate(file, &numbering).to_text())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_cluster_that_hawser_built_is_imported_as_it_was_built(text in cluster()) {
        let file = parse_complete(&text, "hawser.toml");
        let file = file.unwrap_or_else(|errors| panic!("{errors}\n{text}"));
        let (conf, cib) = told(&file);
        let source = |path: &str, text: &str, kind| Source {
            path: path.into(),
            text: text.into(),
            kind,
            node: None,
        };
        let sources = [
            source("corosync.conf", &conf, Kind::CorosyncConf),
            source("cib.xml", &cib, Kind::Cib),
        ];
        let options = Options { name: None, pool: None, secrets: "/s".into(), adopt: true };
        let imported = import(&sources, &options);
        let imported = imported.unwrap_or_else(|e| panic!("{e}\n{text}"));
        prop_assert!(imported.secrets.values().all(|secret| secret.0 != "lrm://"));
        let again = imported.cluster.clone().unwrap_or_default();
        let file = parse_complete(&again, "again");
        let file = file.unwrap_or_else(|errors| panic!("{errors}\n{again}\n--\n{text}"));
        let (conf_again, cib_again) = told(&file);
        prop_assert_eq!(conf, conf_again, "{}\n--\n{}", text, again);
        prop_assert_eq!(cib, cib_again, "{}\n--\n{}\n{}", text, again, imported.page);
    }
}
