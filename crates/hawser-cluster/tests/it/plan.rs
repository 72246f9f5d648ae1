//! Plans against clusters that are not there yet, that are as they should be, and that somebody has
//! changed by hand with Pacemaker's own tools.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::golden::{Golden, compare, folder, ports};
use crate::scheduler::Scheduler;
use hawser_cluster::cib::secrets::Content;
use hawser_cluster::cib::{self, fencing::node_files};
use hawser_cluster::corosync;
use hawser_cluster::host::{DeviceAction, WatchAction};
use hawser_cluster::plan::{
    DeviceFacts, Effect, Facts, FileFacts, KeyFacts, NodeFacts, Plan, Stage, diff, merge, plan,
};
use hawser_cluster::simulate::{Event, Simulator};
use hawser_cluster::units;
use hawser_cluster::xml::Element;
use hawser_model::cluster_file::{ClusterFile, parse_complete};

/// The appliance's file with some of its text replaced.
fn file_with(replacements: &[(&str, &str)]) -> ClusterFile {
    let path = "../../examples/zfs-appliance/hawser.toml";
    let mut text = std::fs::read_to_string(path).unwrap();
    for (from, to) in replacements {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    parse_complete(&text, path).unwrap_or_else(|errors| panic!("{errors}"))
}

/// A CIB in which all nodes are up and everything runs, as Pacemaker would have it.
pub fn running(golden: &Golden) -> Element {
    running_with(golden, &golden.cib())
}

/// The same of a cluster with that CIB.
pub fn running_with(golden: &Golden, cib: &Element) -> Element {
    let nodes = golden
        .file
        .nodes
        .iter()
        .map(|node| Event::NodeUp(node.name.to_string()));
    let mut events = vec![Event::Quorum(true)];
    events.extend(nodes);
    let up = Scheduler
        .simulate(&cib.to_text(), &events)
        .unwrap()
        .cib_after;
    // What Pacemaker and its tools write into every CIB.
    let own = [
        "have-watchdog",
        "dc-version",
        "cluster-infrastructure",
        "cluster-name",
    ];
    let own: String = own
        .iter()
        .map(|n| format!("<nvpair id=\"cib-bootstrap-options-{n}\" name=\"{n}\" value=\"x\"/>"))
        .collect();
    let up = up.replacen(
        "</cluster_property_set>",
        &format!("{own}</cluster_property_set>"),
        1,
    );
    Element::parse(&up, "the running CIB").unwrap()
}

/// Nodes on which everything is as the file wants it, with that CIB.
pub fn facts(file: &ClusterFile, cib: &Element) -> Facts {
    let numbering = hawser_cluster::numbering::Numbering::of(file, None);
    let files = node_files(file).into_iter().map(|wanted| {
        let facts = FileFacts {
            mode: wanted.mode,
            same: true,
        };
        (wanted.path, facts)
    });
    let node = NodeFacts {
        corosync_conf: Some(corosync::generate(file, &numbering)),
        authkey: Some(KeyFacts {
            sha256: "00".into(),
            mode: 0o400,
        }),
        files: files.collect(),
        running: true,
        device: DeviceFacts {
            running: file.quorum.device.is_some(),
            certificate: true,
            ..DeviceFacts::default()
        },
        ..ready()
    };
    let with_ports = |(name, ports)| {
        (
            name,
            NodeFacts {
                ports,
                ..node.clone()
            },
        )
    };
    Facts {
        nodes: ports(file).into_iter().map(with_ports).collect(),
        cib: Some(cib.to_text()),
        ..Facts::default()
    }
}

/// A node with everything installed and nothing set up.
fn ready() -> NodeFacts {
    let set = |names: &[&str]| {
        names
            .iter()
            .map(|n| (*n).to_owned())
            .collect::<BTreeSet<_>>()
    };
    NodeFacts {
        agents: set(&[
            "ocf:heartbeat:ZFS",
            "ocf:heartbeat:IPaddr2",
            "ocf:hawser:exports",
            "ocf:hawser:hooks",
            "ocf:heartbeat:Filesystem",
            "ocf:heartbeat:LVM-activate",
            "ocf:pacemaker:ifspeed",
            "stonith:fence_ipmilan",
        ]),
        programs: set(&[
            "corosync",
            "pacemakerd",
            "ipmitool",
            "tgtd",
            "fuser",
            "lvm",
            "zpool",
        ]),
        features: set(&["cibsecrets"]),
        ..NodeFacts::default()
    }
}

/// The CIB after one of Pacemaker's own tools has changed it.
pub fn by_hand(cib: &Element, tool: &str, arguments: &[&str]) -> Element {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cib.xml");
    std::fs::write(&path, cib.to_text()).unwrap();
    let output = Command::new(tool)
        .args(arguments)
        .env("CIB_file", &path)
        .output();
    let output = output.expect("pacemaker-cli-utils is not installed: packaging/setup lab");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{tool} {arguments:?}: {said}");
    Element::parse(&std::fs::read_to_string(&path).unwrap(), "the changed CIB").unwrap()
}

pub fn golden_plan(name: &str, file: &ClusterFile, facts: &Facts) -> Plan {
    let plan = plan(file, facts, &Scheduler).unwrap();
    let path = folder("plans").join(format!("{name}.txt"));
    compare(Path::new(&path), &plan.report.to_string());
    let path = folder("plans").join(format!("{name}.diff"));
    if !plan.diff.is_empty() {
        compare(&path, &plan.diff);
    }
    plan
}

#[test]
fn bare_nodes_get_files_key_configuration_and_engine_in_this_order() {
    let golden = Golden::named("zfs-appliance");
    let mut facts = Facts::default();
    for (node, ports) in ports(&golden.file) {
        facts.nodes.insert(node, NodeFacts { ports, ..ready() });
    }
    let plan = golden_plan("bare-nodes", &golden.file, &facts);
    assert!(!plan.is_disruptive());
    let kinds: Vec<&str> = plan.effects.iter().map(kind).collect();
    let mut in_order = kinds.clone();
    in_order.dedup();
    assert_eq!(in_order, ["file", "new key", "conf", "start"], "{kinds:?}");
}

pub fn kind(effect: &Effect) -> &'static str {
    match effect {
        Effect::WriteFile { .. } => "file",
        Effect::RemoveFile { .. } => "file goes",
        Effect::NewAuthkey { .. } => "new key",
        Effect::CopyAuthkey { .. } => "copy key",
        Effect::AuthkeyMode { .. } => "key mode",
        Effect::WriteCorosyncConf { .. } => "conf",
        Effect::SetAsideCib { .. } => "old CIB",
        Effect::InstallExports { .. } => "exports agent",
        Effect::ReloadCorosync { .. } => "reload",
        Effect::RestartCluster { .. } => "restart",
        Effect::Start { .. } => "start",
        Effect::Device { action, .. } => match action {
            DeviceAction::Start => "device starts",
            DeviceAction::Stop => "device ends",
            DeviceAction::Withdraw => "device goes",
        },
        Effect::Watch { action, .. } => match action {
            WatchAction::Install => "watch",
            WatchAction::Withdraw => "watch goes",
        },
        Effect::PatchCib {
            stage: Stage::Fencing,
            ..
        } => "fencing",
        Effect::PatchCib {
            stage: Stage::StopWhatGoes,
            ..
        } => "stop what goes",
        Effect::PatchCib {
            stage: Stage::Rest, ..
        } => "rest",
        Effect::WaitSettled => "wait",
    }
}

#[test]
fn our_own_agent_is_installed_and_renewed_and_somebody_elses_left_alone() {
    let golden = Golden::named("zfs-appliance");
    let mut facts = facts(&golden.file, &running(&golden));
    let head1 = facts.nodes.get_mut("head1").unwrap();
    head1.agents.remove("ocf:hawser:exports");
    facts.nodes.get_mut("head2").unwrap().exports_outdated = true;
    let plan = golden_plan("exports-agent", &golden.file, &facts);
    assert!(plan.report.problems.is_empty() && !plan.is_disruptive());
    assert_eq!(
        plan.effects,
        [Effect::InstallExports {
            nodes: vec!["head1".into(), "head2".into()]
        }]
    );
}

#[test]
fn nothing_is_planned_for_a_cluster_that_is_as_it_should_be() {
    for golden in Golden::all() {
        let facts = facts(&golden.file, &running(&golden));
        let plan = plan(&golden.file, &facts, &Scheduler).unwrap();
        assert!(plan.is_empty(), "{}: {}", golden.name, plan.report);
        assert!(plan.effects.is_empty(), "{}", golden.name);
    }
}

#[test]
fn an_engine_that_just_started_gets_fencing_before_anything_stands_on_it() {
    let golden = Golden::named("zfs-appliance");
    let empty = r#"<cib validate-with="pacemaker-3.7" epoch="1" num_updates="0" admin_epoch="0" have-quorum="1">
        <configuration><crm_config><cluster_property_set id="cib-bootstrap-options">
            <nvpair id="cib-bootstrap-options-dc-version" name="dc-version" value="2.1.5"/>
        </cluster_property_set></crm_config>
        <nodes><node id="1" uname="head1"/><node id="2" uname="head2"/></nodes><resources/><constraints/>
        </configuration><status>
        <node_state id="1" uname="head1" in_ccm="true" crmd="online" join="member" expected="member"/>
        <node_state id="2" uname="head2" in_ccm="true" crmd="online" join="member" expected="member"/>
        </status></cib>"#;
    let empty = Element::parse(empty, "test").unwrap();
    let facts = facts(&golden.file, &empty);
    let plan = golden_plan("engine-just-started", &golden.file, &facts);
    let [
        Effect::PatchCib { changes: first, .. },
        Effect::PatchCib { changes: rest, .. },
    ] = &plan.effects[..]
    else {
        panic!("{:?}", plan.effects)
    };
    let first = merge(&empty, first);
    let text = first.to_text();
    assert!(text.contains("fence-head1") && text.contains("fence-head2"));
    assert!(text.contains("name=\"stonith-enabled\" value=\"true\""));
    assert!(!text.contains("vmpool01"));
    let last = merge(&first, rest).to_text();
    assert!(last.contains("vmpool01-exports") && last.contains("dc-version"));
}

#[test]
fn what_somebody_changed_by_hand_is_named() {
    let golden = Golden::named("zfs-appliance");
    let running = running(&golden);
    let property = [
        "--type",
        "crm_config",
        "--name",
        "no-quorum-policy",
        "--update",
        "ignore",
    ];
    let unfenced = [
        "--type",
        "crm_config",
        "--name",
        "stonith-enabled",
        "--update",
        "false",
    ];
    let extra = [
        "--type",
        "crm_config",
        "--name",
        "cluster-recheck-interval",
        "--update",
        "5min",
    ];
    let stopped = [
        "--resource",
        "vmpool01-san02",
        "--meta",
        "--set-parameter",
        "target-role",
        "--parameter-value",
        "Stopped",
    ];
    let password = [
        "--resource",
        "fence-head1",
        "--set-parameter",
        "password",
        "--parameter-value",
        "hunter2",
    ];
    let cases: [(&str, &str, &[&str]); 7] = [
        ("property-changed", "crm_attribute", &property),
        ("fencing-switched-off", "crm_attribute", &unfenced),
        ("property-added", "crm_attribute", &extra),
        ("address-disabled", "crm_resource", &stopped),
        ("password-in-the-cib", "crm_resource", &password),
        (
            "pool-banned",
            "crm_resource",
            &["--ban", "--resource", "vmpool01", "--node", "head2"],
        ),
        (
            "constraint-deleted",
            "cibadmin",
            &[
                "--delete",
                "--xml-text",
                "<rsc_order id=\"hawser-order-vmpool01-then-vmpool01-exports\"/>",
            ],
        ),
    ];
    for (name, tool, arguments) in cases {
        let changed = by_hand(&running, tool, arguments);
        let plan = golden_plan(name, &golden.file, &facts(&golden.file, &changed));
        assert_eq!(plan.report.changes.len(), 1, "{name}");
        assert!(!plan.report.to_string().contains("hunter2"));
        // The plan puts it right: nothing is left afterwards.
        let after = facts(&golden.file, &plan.target_cib);
        assert!(
            hawser_cluster::plan::plan(&golden.file, &after, &Scheduler)
                .unwrap()
                .is_empty()
        );
    }
}

#[test]
fn what_others_made_is_left_alone_and_named() {
    let golden = Golden::named("zfs-appliance");
    let dummy = "<primitive id=\"somebodys\" class=\"ocf\" provider=\"pacemaker\" type=\"Dummy\"/>";
    let changed = by_hand(
        &running(&golden),
        "cibadmin",
        &["--create", "--scope", "resources", "--xml-text", dummy],
    );
    // It runs with a pool, and after it: where the pool runs is not bent by that.
    let with =
        "<rsc_colocation id=\"with\" rsc=\"somebodys\" with-rsc=\"vmpool01\" score=\"INFINITY\"/>";
    let after = "<rsc_order id=\"after\" first=\"vmpool01\" then=\"somebodys\"/>";
    let changed = [with, after].iter().fold(changed, |live, constraint| {
        let scope = [
            "--create",
            "--scope",
            "constraints",
            "--xml-text",
            constraint,
        ];
        by_hand(&live, "cibadmin", &scope)
    });
    let plan = golden_plan(
        "foreign-resource",
        &golden.file,
        &facts(&golden.file, &changed),
    );
    assert!(plan.is_empty());
    assert!(plan.report.to_string().contains("somebodys"));
}

/// A level that somebody made, of the devices that the file puts into one.
#[test]
fn a_level_that_the_file_means_is_kept_and_one_that_is_missing_is_made_before_all_else() {
    let golden = Golden::named("two-supplies");
    let with = running(&golden);
    let text = with.to_text();
    assert!(text.contains("devices=\"pdu-a,pdu-b\""), "{text}");
    let by_hand = text.replace("hawser-head1-level-1", "both-supplies");
    let of = |cib: &Element| plan(&golden.file, &facts(&golden.file, cib), &Scheduler).unwrap();
    let kept = of(&Element::parse(&by_hand, "the CIB").unwrap());
    assert!(kept.is_empty(), "{}", kept.report);

    let mut without = with.clone();
    let configuration = without.first_or_new("configuration");
    configuration
        .children
        .retain(|section| section.name != "fencing-topology");
    let made = of(&without);
    let kinds: Vec<&str> = made.effects.iter().map(kind).collect();
    assert_eq!(kinds, ["fencing"]);
    assert!(
        made.target_cib
            .to_text()
            .contains("devices=\"pdu-a,pdu-b\"")
    );
}

#[test]
fn a_change_that_clients_notice_says_so_and_what_it_costs() {
    let golden = Golden::named("zfs-appliance");
    let mut live = running(&golden);
    // The times that Pacemaker would have measured.
    for op in walk_mut(&mut live).iter_mut() {
        let took = match op.get("operation_key") {
            Some("vmpool01_start_0") => "1400",
            Some("vmpool01-exports_start_0") => "300",
            Some("vmpool01-san01_start_0") => "60",
            Some("vmpool01-san02_start_0") => "80",
            _ => continue,
        };
        op.set("exec-time", took);
    }
    let by_vdev = [(
        "\"-d /dev/disk/by-id\"\nprefer = \"head1\"",
        "\"-d /dev/disk/by-vdev\"\nprefer = \"head1\"",
    )];
    let before = facts(&golden.file, &live);

    let plan = golden_plan("import-options-changed", &file_with(&by_vdev), &before);
    assert!(plan.is_disruptive());
    let disruptive: Vec<&str> = plan
        .report
        .changes
        .iter()
        .filter(|change| change.disruptive)
        .map(|change| change.object.as_str())
        .collect();
    assert_eq!(disruptive, ["resource vmpool01"]);

    let moved = [
        ("prefer = \"head1\"", "prefer = \"head2\""),
        (
            "name = \"vmstorage\"",
            "name = \"vmstorage\"\nfailback = \"automatic\"",
        ),
    ];
    let plan = golden_plan("pool-prefers-the-other-head", &file_with(&moved), &before);
    assert!(plan.is_disruptive());

    // The agent says that portals can change under a running target, and Pacemaker remembers it.
    reloadable(&mut live, "vmpool01-exports", &["portals"]);
    let before = facts(&golden.file, &live);
    let one_more = [(
        "san02 = \"192.168.142.207\"",
        "san02 = [\"192.168.142.207\", \"192.168.142.217\"]",
    )];
    let plan = golden_plan("address-added", &file_with(&one_more), &before);
    assert!(!plan.is_disruptive(), "{}", plan.report);
}

/// `pcs stonith level add 1 "regexp%head.*" fence-head1`
#[test]
fn a_fencing_level_of_a_pattern_is_removed_once() {
    let golden = Golden::named("lab");
    let mut live = running(&golden);
    let level = Element::new("fencing-level")
        .with("id", "fl-1")
        .with("target-pattern", "head.*")
        .with("index", "1")
        .with("devices", "fence-head1");
    let configuration = live.first_or_new("configuration");
    let topology = configuration.first_or_new("fencing-topology");
    topology.children.push(level);
    let changes = diff(&golden.cib(), &live).changes;
    assert_eq!(changes.len(), 1, "{changes:?}");
    let after = merge(&live, &changes);
    assert_eq!(diff(&golden.cib(), &after).changes, []);
}

/// With automatic failback its pools go back to a head that is started, and to one that the cluster does not know yet.
#[test]
fn a_head_that_is_started_and_fetches_its_pools_is_told_as_disruptive() {
    let golden = Golden::named("lab");
    let text = include_str!("../../../../examples/lab/hawser.toml");
    for (failback, disrupts) in [("manual", false), ("automatic", true)] {
        let said = format!("[cluster]\nfailback = \"{failback}\"\n");
        let file = parse_complete(&text.replacen("[cluster]\n", &said, 1), "hawser.toml").unwrap();
        let golden = Golden {
            file,
            ..Golden::named(golden.name)
        };
        let down = [Event::NodeDown("head1".into())];
        let alone = Scheduler
            .simulate(&running(&golden).to_text(), &down)
            .unwrap();
        let known = Element::parse(&alone.cib_after, "test").unwrap();
        let mut unknown = known.clone();
        let is_it = |it: &Element| it.get("uname") == Some("head1");
        let nodes = unknown.first_or_new("configuration").first_or_new("nodes");
        nodes.children.retain(|node| !is_it(node));
        unknown
            .first_or_new("status")
            .children
            .retain(|state| !is_it(state));
        for alone in [known, unknown] {
            let mut facts = facts(&golden.file, &alone);
            facts.nodes.get_mut("head1").unwrap().running = false;
            let plan = plan(&golden.file, &facts, &Scheduler).unwrap();
            let mut changes = plan.report.changes.iter();
            let engine = changes.find(|it| it.object == "engine on head1");
            assert_eq!(engine.unwrap().disruptive, disrupts, "{}", plan.report);
            let told = plan.report.consequence.join("\n");
            let moves = told.contains("vmpool01 moves from head2 to head1");
            assert_eq!(moves, disrupts, "{told}");
        }
    }
}

/// Marks parameters as ones that `reload-agent` can change: the history of the start then carries the
/// digest of all the others (Pacemaker's `op-restart-digest`).
pub fn reloadable(cib: &mut Element, resource: &str, parameters: &[&str]) {
    let all = cib.walk();
    let is = |e: &&&Element| e.name == "primitive" && e.get("id") == Some(resource);
    let primitive = all.iter().find(is).unwrap();
    let pairs = &primitive.first("instance_attributes").unwrap().children;
    let mut others: Vec<(&str, &str)> = pairs
        .iter()
        .filter_map(|pair| Some((pair.get("name")?, pair.get("value")?)))
        .filter(|(name, _)| !parameters.contains(name))
        .collect();
    others.sort_unstable();
    let names: String = others.iter().map(|(name, _)| format!(" {name} ")).collect();
    let values: Vec<String> = others.iter().map(|(n, v)| format!("{n}=\"{v}\"")).collect();
    let digest = md5(&format!(" <parameters {}/>\n", values.join(" ")));
    for op in walk_mut(cib) {
        if op.get("operation_key") == Some(&format!("{resource}_start_0")) {
            op.set("op-force-restart", names.clone());
            op.set("op-restart-digest", digest.clone());
        }
    }
}

fn md5(text: &str) -> String {
    use std::io::Write;
    let mut sum = Command::new("md5sum")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    sum.stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let output = sum.wait_with_output().unwrap();
    String::from_utf8_lossy(&output.stdout[..32]).into_owned()
}

fn walk_mut(element: &mut Element) -> Vec<&mut Element> {
    if element.children.is_empty() {
        return vec![element];
    }
    element.children.iter_mut().flat_map(walk_mut).collect()
}

#[test]
fn a_pool_that_the_file_no_longer_has_is_removed_and_the_other_is_not_touched() {
    let golden = Golden::named("zfs-appliance");
    let live = facts(&golden.file, &running(&golden));
    let text = std::fs::read_to_string("../../examples/zfs-appliance/hawser.toml").unwrap();
    let end = text.rfind("[[pool]]").unwrap();
    let file = parse_complete(&text[..end], "test").unwrap();
    let plan = golden_plan("pool-removed", &file, &live);
    assert!(plan.is_disruptive());
    assert_eq!(
        plan.taken,
        ["vmpool02 is served now and would be served nowhere"]
    );
    assert!(
        plan.report
            .changes
            .iter()
            .all(|change| !change.object.contains("vmpool01"))
    );
    let kinds: Vec<&str> = plan.effects.iter().map(kind).collect();
    assert_eq!(kinds, ["stop what goes", "wait", "rest"]);
}

#[test]
fn corosync_takes_some_changes_while_it_runs_and_others_not() {
    let golden = Golden::named("zfs-appliance");
    let live = facts(&golden.file, &running(&golden));
    let slower = [("dead = \"10s\"", "dead = \"15s\"")];
    let plan = golden_plan("token-changed", &file_with(&slower), &live);
    assert!(!plan.is_disruptive());
    let kinds: Vec<&str> = plan.effects.iter().map(kind).collect();
    assert_eq!(kinds, ["conf", "reload"]);

    let renamed = [("name = \"vmstorage\"", "name = \"other\"")];
    let plan = golden_plan("cluster-renamed", &file_with(&renamed), &live);
    assert!(plan.is_disruptive());
    assert_eq!(plan.effects.iter().map(kind).next_back(), Some("restart"));
}

#[test]
fn a_quorum_device_is_started_after_its_settings_and_ends_before_they_change() {
    let golden = Golden::named("zfs-appliance");
    let live = running(&golden);
    let with = |device: &str| file_with(&[("[fencing]\n", &format!("{device}\n[fencing]\n"))]);
    let off = with("[quorum]\ndevice = { host = \"arbiter\", tls = \"off\" }\n");
    let kinds = |plan: &Plan| plan.effects.iter().map(kind).collect::<Vec<_>>();
    let on_nodes = |file: &ClusterFile, running, certificate| {
        let mut facts = facts(file, &live);
        for node in facts.nodes.values_mut() {
            node.programs.insert("corosync-qdevice".into());
            node.device = DeviceFacts {
                running,
                starts_at_boot: Some(running),
                certificate,
            };
        }
        facts
    };
    let planned = |file: &ClusterFile, facts: &Facts| plan(file, facts, &Scheduler).unwrap();

    // Added to a running cluster, and nothing left to do once it runs.
    let added = planned(&off, &on_nodes(&golden.file, false, false));
    assert_eq!(kinds(&added), ["conf", "reload", "device starts"]);
    assert!(added.report.problems.is_empty() && !added.is_disruptive());
    assert!(planned(&off, &on_nodes(&off, true, false)).is_empty());
    // A run that was killed between the settings and the start.
    let killed = planned(&off, &on_nodes(&off, false, false));
    assert_eq!(kinds(&killed), ["device starts"]);

    // Other settings, and none any more.
    let lms =
        with("[quorum]\ndevice = { host = \"arbiter\", tls = \"off\", algorithm = \"lms\" }\n");
    let changed = planned(&lms, &on_nodes(&off, true, false));
    let order = ["device ends", "conf", "reload", "device starts"];
    assert_eq!(kinds(&changed), order);
    let removed = planned(&golden.file, &on_nodes(&off, true, false));
    assert_eq!(kinds(&removed), ["device goes", "conf", "reload"]);

    // With TLS, which is the default, each node needs the certificate; and all need the program.
    let tls = with("[quorum]\ndevice = { host = \"arbiter\" }\n");
    let problems = planned(&tls, &on_nodes(&tls, true, false)).report.problems;
    let wanted = "head1 has no certificate for the quorum device: `corosync-qdevice-net-certutil -Q -n vmstorage \
                  arbiter head1 head2`";
    assert!(problems[0].starts_with(wanted), "{problems:?}");
    assert!(planned(&tls, &on_nodes(&tls, true, true)).is_empty());
    let bare = planned(&off, &facts(&golden.file, &live));
    let problems = bare.report.problems;
    assert_eq!(
        problems[0],
        "head1 has no corosync-qdevice: install the package corosync-qdevice"
    );
}

#[test]
fn another_address_of_a_ring_is_a_restart_and_says_so() {
    let golden = Golden::named("lab");
    let live = facts(&golden.file, &running(&golden));
    let text = include_str!("../../../../examples/lab/hawser.toml");
    let text = text.replace("ring0 = \"10.72.0.2\"", "ring0 = \"10.72.0.22\"");
    let file = parse_complete(&text, "test").unwrap();
    let plan = plan(&file, &live, &Scheduler).unwrap();
    assert!(plan.is_disruptive());
    assert_eq!(plan.effects.iter().map(kind).next_back(), Some("restart"));
    let said = plan.report.to_string();
    let words =
        "node head2.ring0_addr: 10.72.0.2 → 10.72.0.22; a running Corosync refuses another address";
    assert!(said.contains(words), "{said}");
    assert!(!said.contains("the running Corosync takes it"), "{said}");
}

#[test]
fn a_node_with_another_name_is_recognised_and_refused() {
    let golden = Golden::named("lab");
    let mut live = facts(&golden.file, &running(&golden));
    // Whoever is called headb is not reached.
    live.nodes.remove("head2");
    let text = include_str!("../../../../examples/lab/hawser.toml");
    let file = parse_complete(&text.replace("head2", "headb"), "test").unwrap();
    let plan = plan(&file, &live, &Scheduler).unwrap();
    let problems = plan.report.problems.join("\n");
    assert!(
        problems.contains("headb has an address that the running cluster knows as head2"),
        "{problems}"
    );
    let said = plan.report.to_string();
    assert!(said.contains("none of which is made before that"), "{said}");
    assert!(!said.contains("visible to clients"), "{said}");
}

#[test]
fn a_pools_new_address_names_the_old_one_and_who_loses_it() {
    let golden = Golden::named("zfs-appliance");
    let live = facts(&golden.file, &running(&golden));
    let other = [("san01 = \"192.168.141.207\"", "san01 = \"192.168.141.217\"")];
    let plan = golden_plan("address-changed", &file_with(&other), &live);
    assert!(plan.is_disruptive());
    let said = plan.report.consequence.join("\n");
    for part in [
        "head1 gives up vmpool01's addresses 192.168.141.207 and",
        "head1 takes vmpool01's addresses 192.168.141.217 and",
        "clients that use vmpool01 at 192.168.141.207 lose it for good and find it at 192.168.141.217",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn to_switch_fencing_off_is_marked_and_must_be_allowed() {
    let golden = Golden::named("without-fencing");
    let fenced = [
        "--type",
        "crm_config",
        "--name",
        "stonith-enabled",
        "--update",
        "true",
    ];
    let live = by_hand(&running(&golden), "crm_attribute", &fenced);
    let live = facts(&golden.file, &live);
    let plan = plan(&golden.file, &live, &Scheduler).unwrap();
    let change = plan.report.changes.iter();
    let mut change = change.filter(|change| change.object == "property stonith-enabled");
    let change = change.next().expect("the property changes");
    assert!(
        change.text.contains("THE MOST DANGEROUS CHANGE OF ALL"),
        "{}",
        change.text
    );
    assert!(change.disruptive);
}

#[test]
fn what_pacemaker_is_doing_is_said_before_anything_is_predicted() {
    let golden = Golden::named("lab");
    let busy = hawser_cluster::cib::edit::with_standby(&running(&golden), "head1", true);
    let live = facts(&golden.file, &busy);
    let plan = plan(&golden.file, &live, &Scheduler).unwrap();
    assert!(plan.is_empty());
    assert!(!plan.under_way.is_empty());
    let note = &plan.report.notes[0];
    assert!(note.contains("Pacemaker is busy: head1 gives up"), "{note}");
    assert!(note.contains("head2 mounts vmpool01"), "{note}");
}

#[test]
fn what_is_missing_on_the_nodes_is_a_problem_and_not_installed() {
    let golden = Golden::named("zfs-appliance");
    let mut facts = facts(&golden.file, &running(&golden));
    let head1 = facts.nodes.get_mut("head1").unwrap();
    head1.agents.remove("ocf:heartbeat:ZFS");
    head1.programs.remove("ipmitool");
    head1.authkey.as_mut().unwrap().sha256 = "11".into();
    let head2 = facts.nodes.get_mut("head2").unwrap();
    head2.programs.remove("tgtd");
    head2.no_lio = Some("this kernel (6.1.0-56-cloud) has no iSCSI target".into());
    let said = "Failed: Unable to obtain correct plug status or plug is not available";
    facts
        .fence_status
        .insert("fence-head2".into(), Some(said.into()));
    facts.fence_status.insert("fence-head1".into(), None);
    let plan = golden_plan("problems", &golden.file, &facts);
    assert_eq!(plan.report.problems.len(), 5);
}

#[test]
fn pools_that_are_offered_by_nfs_alone_need_neither_a_naming_authority_nor_a_target() {
    let golden = Golden::named("lab");
    let text = include_str!("../../../../examples/lab/hawser.toml");
    let text = text.replace("iqn = \"iqn.2026-01.lab.hawser\"\n", "");
    let file = |exports: &str| {
        let pools = text.replace(
            "fstype = \"ext4\"\n",
            &format!("fstype = \"ext4\"\n{exports}"),
        );
        parse_complete(&pools, "hawser.toml")
    };
    let refused = file("").unwrap_err().to_string();
    assert!(refused.contains("no target can be named"), "{refused}");
    let file = file("exports = \"nfs\"\n").unwrap();
    let cib = cib::generate(&file, &golden.numbering()).to_text();
    assert!(
        cib.contains("vmpool01-exports") && !cib.contains("\"iqn\""),
        "{cib}"
    );
    let mut facts = facts(&file, &running(&golden));
    for node in facts.nodes.values_mut() {
        node.agents.insert("ocf:heartbeat:Filesystem".into());
        node.programs.remove("tgtd");
    }
    let problems = hawser_cluster::plan::problems(&file, &facts);
    assert_eq!(problems, []);
}

#[test]
fn where_pools_are_offered_by_tgtd_a_node_needs_it_and_not_lio() {
    let golden = Golden::named("three-nodes");
    let mut facts = facts(&golden.file, &running(&golden));
    let node = facts.nodes.values_mut().next().unwrap();
    node.no_lio = Some("it has none".into());
    let of_the_target = |facts: &Facts| {
        let plan = plan(&golden.file, facts, &Scheduler).unwrap();
        let said = plan.report.problems.iter().map(ToString::to_string);
        said.filter(|p| p.contains("LIO") || p.contains("tgtd"))
            .count()
    };
    assert_eq!(of_the_target(&facts), 0);
    let node = facts.nodes.values_mut().next().unwrap();
    node.programs.remove("tgtd");
    assert_eq!(of_the_target(&facts), 1);
}

#[test]
fn systemd_is_told_that_the_target_outlives_pacemaker_and_a_lab_needs_no_telling() {
    let golden = Golden::named("three-nodes");
    let mut facts = facts(&golden.file, &running(&golden));
    let planned = |facts: &Facts| {
        let plan = plan(&golden.file, facts, &Scheduler).unwrap();
        let of_systemd = plan.report.changes.iter();
        let of_systemd = of_systemd.filter(|change| change.object.starts_with("systemd on "));
        let changes: Vec<String> = of_systemd.map(|c| c.object.clone()).collect();
        let effects: Vec<&str> = plan.effects.iter().map(kind).collect();
        (changes, effects)
    };
    assert_eq!(planned(&facts), (vec![], vec![]));
    let (name, node) = facts.nodes.iter_mut().next().unwrap();
    let object = format!("systemd on {name}");
    node.systemd = true;
    assert_eq!(planned(&facts), (vec![object], vec!["file"]));
    let there = FileFacts {
        mode: 0o644,
        same: true,
    };
    let node = facts.nodes.values_mut().next().unwrap();
    node.files.insert(units::DROP_IN.into(), there);
    assert_eq!(planned(&facts), (vec![], vec![]));
}

#[test]
fn what_systemd_was_told_goes_with_the_last_pool_that_is_offered() {
    let none = ("kind = \"zfs\"", "kind = \"zfs\"\nexports = \"none\"");
    let file = file_with(&[none]);
    let cib = cib::generate(
        &file,
        &hawser_cluster::numbering::Numbering::of(&file, None),
    );
    let mut facts = facts(&file, &cib);
    let removed = |facts: &Facts| {
        let plan = plan(&file, facts, &Scheduler).unwrap();
        let files = plan.effects.iter().filter_map(|effect| match effect {
            Effect::RemoveFile { node, path } => Some(format!("{node}: {path}")),
            _ => None,
        });
        files.collect::<Vec<_>>()
    };
    assert_eq!(removed(&facts), [""; 0]);
    let there = FileFacts {
        mode: 0o644,
        same: true,
    };
    let head1 = facts.nodes.get_mut("head1").unwrap();
    head1.files.insert(units::DROP_IN.into(), there);
    assert_eq!(removed(&facts), [format!("head1: {}", units::DROP_IN)]);
}

#[test]
fn what_offers_the_pools_ends_after_pacemaker() {
    let order = |replacements: &[(&str, &str)]| {
        units::drop_in(&file_with(replacements)).map(|it| match it.content {
            Content::Text(text) => text.lines().skip(2).map(str::to_owned).collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        })
    };
    let lines = |all: &[&str]| Some(all.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>());
    // The kernel's target is no service, and whether the NFS server starts at boot is the operator's.
    assert_eq!(order(&[]), lines(&["After=nfs-server.service"]));
    assert_eq!(
        order(&[("backend = \"lio\"", "backend = \"tgt\"")]),
        lines(&[
            "Wants=tgt.service tgtd.service",
            "After=tgt.service tgtd.service nfs-server.service"
        ])
    );
    let none = ("kind = \"zfs\"", "kind = \"zfs\"\nexports = \"none\"");
    assert_eq!(order(&[none]), None);
    let listed = "exports = \"none\"\nnfs = [{ directory = \"/vm\", clients = \"10.0.0.0/8\" }]";
    let listed = ("exports = \"none\"", listed);
    assert_eq!(order(&[none, listed]), lines(&["After=nfs-server.service"]));
}

#[test]
fn an_engine_that_does_not_start_at_boot_is_told_to() {
    let golden = Golden::named("three-nodes");
    let mut facts = facts(&golden.file, &running(&golden));
    let node = facts.nodes.values_mut().next().unwrap();
    node.starts_at_boot = Some(true);
    assert!(plan(&golden.file, &facts, &Scheduler).unwrap().is_empty());
    let node = facts.nodes.values_mut().next().unwrap();
    node.starts_at_boot = Some(false);
    let plan = plan(&golden.file, &facts, &Scheduler).unwrap();
    assert!(plan.report.changes[0].text.contains("start at boot"));
    assert!(!plan.is_disruptive());
    assert_eq!(plan.effects.iter().map(kind).collect::<Vec<_>>(), ["start"]);
}

#[test]
fn a_program_that_an_agent_cannot_do_without_is_asked_for_by_its_package() {
    let golden = Golden::named("zfs-appliance");
    let mut facts = facts(&golden.file, &running(&golden));
    facts
        .nodes
        .get_mut("head2")
        .unwrap()
        .programs
        .remove("zpool");
    // What no pool of the file needs is not asked for.
    facts
        .nodes
        .get_mut("head2")
        .unwrap()
        .programs
        .remove("fuser");
    let plan = plan(&golden.file, &facts, &Scheduler).unwrap();
    let said: Vec<String> = plan
        .report
        .problems
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        said,
        ["head2 has no zpool: install the package zfsutils-linux"]
    );
}

/// From any golden cluster to any other: what the plan makes of the CIB is what the other's file
/// asks for, whatever was there before.
#[test]
fn a_merged_cib_is_what_was_asked_for() {
    let all = Golden::all();
    for from in &all {
        let live = running(from);
        for to in &all {
            let desired = to.cib();
            let merged = merge(&live, &diff(&desired, &live).changes);
            let left = diff(&desired, &merged);
            assert_eq!(left.changes, [], "{} to {}", from.name, to.name);
            // Nothing of it was somebody else's.
            assert_eq!(left.left_alone, [], "{} to {}", from.name, to.name);
        }
    }
}

/// What a cluster of the version before gets: the watch over its SAN ports and another interval, and no client notices.
#[test]
fn a_cluster_made_before_gets_the_watch_over_its_ports_without_a_pause() {
    let golden = Golden::named("lab");
    let before = cib::generate(&golden.file, &golden.numbering()).to_text();
    let before = before
        .replace("exports-monitor-2s", "exports-monitor-20s")
        .replace(
            "interval=\"2s\" timeout=\"6s\"",
            "interval=\"20s\" timeout=\"60s\"",
        );
    let before = Element::parse(&before, "the CIB of before").unwrap();
    let mut facts = facts(&golden.file, &running_with(&golden, &before));
    for node in facts.nodes.values_mut() {
        node.agents.insert("ocf:heartbeat:Filesystem".into());
    }
    let plan = golden_plan("ports-watched", &golden.file, &facts);
    assert!(!plan.is_disruptive());
    assert_eq!(plan.report.problems, [""; 0]);
    // It is what a new cluster has.
    assert_eq!(diff(&golden.cib(), &plan.target_cib).changes, []);
}

/// systemd-networkd takes the address off a port that has lost its carrier: its watch stays, by the live CIB.
#[test]
fn a_port_that_has_lost_its_address_is_watched_as_before() {
    let golden = Golden::named("lab");
    let mut facts = facts(&golden.file, &running(&golden));
    let changes = |facts: &Facts| plan(&golden.file, facts, &Scheduler).unwrap().report;
    facts.nodes.get_mut("head1").unwrap().ports.clear();
    let there = changes(&facts);
    assert_eq!(there.changes, []);
    assert!(!there.notes.iter().any(|note| note.contains("not watched")));
    // What nobody knows is not watched, and that is said.
    let bare = cib::generate(&golden.file, &golden.numbering());
    facts.cib = Some(running_with(&golden, &bare).to_text());
    let notes = changes(&facts).notes;
    let said =
        |note: &&String| note.contains("the port of head1 to san0") && note.contains("not watched");
    assert_eq!(notes.iter().filter(said).count(), 2, "{notes:?}");
}

/// The agent says 0 of such an interface all the time: a head with one would have no pool whose other head has none.
#[test]
fn an_interface_of_which_the_agent_knows_nothing_is_not_watched() {
    let golden = Golden::named("lab");
    let mut facts = facts(&golden.file, &running(&golden));
    let head1 = facts.nodes.get_mut("head1").unwrap();
    for port in head1
        .ports
        .values_mut()
        .filter(|port| port.interface == "san01")
    {
        port.interface = "br0".into();
        port.blind = Some("it is a bridge".into());
    }
    let (ports, unwatched) =
        hawser_cluster::plan::watched(&golden.file, |node| facts.ports_of(node), &golden.cib());
    let names: Vec<String> = unwatched.iter().map(ToString::to_string).collect();
    assert_eq!(names.len(), 1);
    assert!(
        names[0].contains("head1 to san01") && names[0].ends_with("br0: it is a bridge"),
        "{names:?}"
    );
    assert_eq!(ports.0.len(), 3);
}

/// Interfaces are told by the head's own address, else by the link's network; each head has its own name for it.
#[test]
fn each_heads_own_interface_is_watched() {
    let golden = Golden::named("lab");
    let mut facts = facts(&golden.file, &running(&golden));
    let other = hawser_cluster::plan::PortFacts {
        interface: "eno2".into(),
        blind: None,
    };
    let ports = &mut facts.nodes.get_mut("head2").unwrap().ports;
    ports.clear();
    ports.insert("10.72.3.99".parse().unwrap(), other);
    let nothing = Element::new("cib");
    let (ports, _) =
        hawser_cluster::plan::watched(&golden.file, |node| facts.ports_of(node), &nothing);
    let of = |node: &str, link: &str| ports.0.get(&(node.into(), link.into())).map(String::as_str);
    assert_eq!(of("head1", "san02"), Some("san02"));
    assert_eq!(of("head2", "san02"), Some("eno2"));
    assert_eq!(of("head2", "san01"), None);
}

#[test]
fn how_long_it_takes_when_a_head_dies_is_told() {
    let said = |name: &'static str| {
        let golden = Golden::named(name);
        let all = hawser_cluster::plan::forecast(&golden.file, &running(&golden));
        all.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    // token 1 s and consensus 1.2 s; a second each for the decision and the shot; head1's is held back two seconds more.
    // crm_simulate's agents take no time.
    assert_eq!(
        said("lab"),
        [
            "when head1 dies it is declared lost after at most 2.2 s of silence, fenced by 6.2 s, and clients are expected back by 6.2 s",
            "when head2 dies it is declared lost after at most 2.2 s of silence, fenced by 4.2 s, and clients are expected back by 4.2 s",
        ]
    );
    // Heartbeat's ten seconds, and two more that fence_ipmilan waits.
    let appliance = said("zfs-appliance").concat();
    for part in [
        "lost after at most 10.0 s",
        "fenced by 24.0 s",
        "fenced by 14.0 s",
    ] {
        assert!(appliance.contains(part), "{appliance}");
    }
    let unfenced = said("without-fencing").concat();
    assert!(
        unfenced.contains("nobody sees to it that it is off"),
        "{unfenced}"
    );
}
