//! Plans whose file and cluster do not have the same nodes: one was taken out of the file, one is new.

use crate::golden::Golden;
use crate::plan::{facts, kind, running};
use crate::scheduler::Scheduler;
use hawser_cluster::corosync::Conf;
use hawser_cluster::host::StoredCib;
use hawser_cluster::plan::{Effect, Facts, Plan, plan};
use hawser_cluster::simulate::{Event, Simulator};
use hawser_cluster::xml::Element;
use hawser_model::cluster_file::ClusterFile;

/// The live CIB of three heads, of which head3 was stopped in good order.
fn without_head3(golden: &Golden) -> Element {
    let stopped = [Event::NodeDown("head3".into())];
    let after = Scheduler.simulate(&running(golden).to_text(), &stopped);
    Element::parse(&after.unwrap().cib_after, "the CIB").unwrap()
}

/// The file without head3.
fn two_of_three(golden: &Golden) -> ClusterFile {
    let mut file = golden.file.clone();
    assert_eq!(file.nodes.pop().unwrap().name.as_str(), "head3");
    file.pools.retain(|pool| pool.name.as_str() != "vmpool03");
    file
}

/// What the nodes of this file are like in the cluster of the golden's.
fn facts_of(golden: &Golden, file: &ClusterFile, cib: &Element) -> Facts {
    let mut facts = facts(&golden.file, cib);
    facts
        .nodes
        .retain(|name, _| file.node(name.as_str()).is_some());
    facts
}

fn planned(file: &ClusterFile, facts: &Facts) -> Plan {
    plan(file, facts, &Scheduler).unwrap()
}

/// The corosync.conf that a plan has written.
fn conf(plan: &Plan) -> Conf {
    let text = plan.effects.iter().find_map(|effect| match effect {
        Effect::WriteCorosyncConf { text, .. } | Effect::ReloadCorosync { text, .. } => Some(text),
        _ => None,
    });
    Conf::parse(text.expect("a corosync.conf is written")).unwrap()
}

/// The numbers of the nodes in it.
fn numbers(conf: &Conf) -> Vec<(&str, &str)> {
    let lists = conf.sections("nodelist");
    let nodes = lists.flat_map(|list| list.sections("node"));
    let number = |node| Some((Conf::value(node, "name")?, Conf::value(node, "nodeid")?));
    nodes.filter_map(number).collect()
}

#[test]
fn a_member_that_the_file_lacks_is_stopped_before_it_is_forgotten() {
    let golden = Golden::named("three-heads");
    let file = two_of_three(&golden);
    let member = planned(&file, &facts_of(&golden, &file, &running(&golden)));
    let [problem] = &member.report.problems[..] else {
        panic!("{}", member.report);
    };
    assert!(problem.starts_with("head3 is a member"), "{problem}");
    for order in [
        "`systemctl disable --now pacemaker corosync`",
        "`stonith_admin --confirm head3`",
        "`crm_node --remove head3 --force`",
    ] {
        assert!(problem.contains(order), "{problem}");
    }

    let left = planned(&file, &facts_of(&golden, &file, &without_head3(&golden)));
    assert_eq!(left.report.problems, [""; 0]);
    let kinds: Vec<&str> = left.effects.iter().map(kind).collect();
    assert!(kinds.contains(&"reload"), "{kinds:?}");
    assert_eq!(numbers(&conf(&left)), [("head1", "1"), ("head2", "2")]);
}

/// The CIB keeps what it knew of a node, such as its standby, until somebody has it forget that.
#[test]
fn a_new_node_does_not_get_the_number_of_one_that_is_gone() {
    let golden = Golden::named("three-heads");
    let text = golden.file.text.replace("head3", "head4");
    let text = text
        .replace("10.72.0.3", "10.72.0.4")
        .replace("10.72.1.3", "10.72.1.4");
    let file = hawser_model::cluster_file::parse_complete(&text, "hawser.toml").unwrap();
    let two = two_of_three(&golden);
    let mut facts = facts_of(&golden, &two, &without_head3(&golden));
    let new = facts.nodes["head2"].clone();
    for node in facts.nodes.values_mut() {
        let numbering = golden.numbering();
        node.corosync_conf = Some(hawser_cluster::corosync::generate(&two, &numbering));
    }
    facts.nodes.insert("head4".into(), new);
    let head4 = facts.nodes.get_mut("head4").unwrap();
    (head4.corosync_conf, head4.running) = (None, false);
    let plan = planned(&file, &facts);
    assert_eq!(
        numbers(&conf(&plan)),
        [("head1", "1"), ("head2", "2"), ("head4", "4")]
    );
}

/// As Debian's package has it.
const EXAMPLE: &str = "totem {\n version: 2\n cluster_name: debian\n crypto_cipher: none\n crypto_hash: none\n}\n\
                       quorum {\n provider: corosync_votequorum\n}\n\
                       nodelist {\n node {\n name: node1\n nodeid: 1\n ring0_addr: 127.0.0.1\n }\n}\n";

#[test]
fn a_new_head_with_the_example_of_its_package_stops_nothing_and_numbers_nobody() {
    let golden = Golden::named("three-heads");
    let two = two_of_three(&golden);
    // The new one is the first of the alphabet.
    let text = golden.file.text.replace("\"head3\"", "\"added\"");
    let file = hawser_model::cluster_file::parse_complete(&text, "hawser.toml").unwrap();
    let cib = running(&golden).to_text().replace("\"head3\"", "\"added\"");
    let mut facts = facts(&golden.file, &Element::parse(&cib, "the CIB").unwrap());
    let mut numbering = golden.numbering();
    for (node, number) in [("head1", 2), ("head2", 1)] {
        numbering.nodes.insert(node.into(), number);
    }
    for node in facts.nodes.values_mut() {
        node.corosync_conf = Some(hawser_cluster::corosync::generate(&two, &numbering));
    }
    let mut added = facts.nodes.remove("head3").unwrap();
    (added.corosync_conf, added.running) = (Some(EXAMPLE.to_owned()), false);
    facts.nodes.insert("added".into(), added.clone());

    let stopped = planned(&file, &facts);
    let changes = &stopped.report.changes;
    let of_conf =
        |change: &&hawser_cluster::plan::Change| change.object.starts_with("corosync.conf");
    assert!(!changes.iter().filter(of_conf).any(|it| it.disruptive));
    let said: Vec<&str> = changes
        .iter()
        .filter(of_conf)
        .map(|it| it.text.as_str())
        .collect();
    assert!(
        said.contains(&"from the file, in place of one of cluster debian"),
        "{said:?}"
    );
    let kinds: Vec<&str> = stopped.effects.iter().map(kind).collect();
    assert!(
        kinds.contains(&"reload") && kinds.contains(&"start"),
        "{kinds:?}"
    );
    assert!(!kinds.contains(&"restart"), "{kinds:?}");
    let written = conf(&stopped);
    let mut numbers = numbers(&written);
    numbers.sort_unstable();
    assert_eq!(numbers, [("added", "3"), ("head1", "2"), ("head2", "1")]);
    assert_eq!(stopped.report.problems, [""; 0]);

    // What it serves there is somebody's.
    added.running = true;
    facts.nodes.insert("added".into(), added);
    let problems = planned(&file, &facts).report.problems;
    let text = "added runs the engine of another cluster, debian";
    assert!(
        matches!(&problems[..], [one] if one.starts_with(text)),
        "{problems:?}"
    );
}

#[test]
fn the_cib_of_another_cluster_is_set_aside_before_the_engine_starts() {
    let golden = Golden::named("three-heads");
    let cib = running(&golden).to_text();
    let facts = facts(&golden.file, &Element::parse(&cib, "the CIB").unwrap());
    let own = golden.file.cluster.name.as_str();
    for (cluster, nodes, is_old) in [
        (Some("archive"), &["vault1", "vault2"][..], true),
        // As Debian's Pacemaker makes one with the example of Corosync's package.
        (Some("debian"), &["node1"], true),
        (Some("debian"), &["head3"], true),
        (None, &["head3"], true),
        (Some(own), &["vault1"], true),
        (Some(own), &["head3"], false),
        (Some("before"), &["head1", "head2"], false),
        // One that an apply has written.
        (None, &[], false),
    ] {
        let mut facts = facts.clone();
        let head3 = facts.nodes.get_mut("head3").unwrap();
        head3.running = false;
        head3.stored_cib = Some(StoredCib {
            cluster: cluster.map(str::to_owned),
            nodes: nodes.iter().map(|name| (*name).to_owned()).collect(),
        });
        let plan = planned(&golden.file, &facts);
        let kinds: Vec<&str> = plan.effects.iter().map(kind).collect();
        let place = |wanted: &str| kinds.iter().position(|kind| *kind == wanted);
        assert!(place("start").is_some(), "{kinds:?}");
        assert_eq!(place("old CIB").is_some(), is_old, "{cluster:?} {nodes:?}");
        assert!(place("old CIB").is_none_or(|at| Some(at) < place("start")));
        let told = plan.report.to_string().contains("old CIB on head3");
        assert_eq!(told, is_old, "{}", plan.report);
    }
}
