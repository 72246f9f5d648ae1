//! Plans that adopt what pcs and crmsh have made: the resources of a pool are kept in their group, under their names and with
//! their parameters, and Pacemaker's own scheduler says that nothing stops.

use std::fs;

use crate::golden::{Golden, folder};
use crate::plan::{facts, golden_plan, running_with};
use crate::scheduler::Scheduler;
use hawser_cluster::plan::{Facts, Plan, merge, plan};
use hawser_cluster::simulate::Simulator;
use hawser_cluster::xml::Element;

/// The cluster of pcs, its pools adopted and running: fs1 in the group vms on head1, fs2 in the group files on head2.
pub fn adopted() -> (Golden, Element) {
    let (golden, facts, _) = there("pcs", |cib| cib);
    let made = plan(&golden.file, &facts, &Scheduler).unwrap();
    let up = Scheduler.simulate(&made.target_cib.to_text(), &[]).unwrap();
    (golden, Element::parse(&up.cib_after, "test").unwrap())
}

/// The file that adopts, and the nodes with the CIB that was read there, after an edit.
fn there(by: &str, edit: impl Fn(String) -> String) -> (Golden, Facts, Element) {
    let names = [("pcs", "adopted-from-pcs"), ("crmsh", "adopted-from-crmsh")];
    let (_, name) = names.iter().find(|(of, _)| *of == by).unwrap();
    let golden = Golden::named(name);
    let cib = fs::read_to_string(folder(&format!("made-by-{by}")).join("live.xml")).unwrap();
    let mut cib = Element::parse(&edit(cib), "the live CIB").unwrap();
    // By a rule about pings the pool runs nowhere, and a recorded CIB pings nobody.
    let constraints = cib
        .first_or_new("configuration")
        .first_or_new("constraints");
    constraints
        .children
        .retain(|it| it.get("id") != Some("l_ping"));
    let live = running_with(&golden, &cib);
    let facts = with_agents(&golden, &live);
    (golden, facts, live)
}

fn with_agents(golden: &Golden, live: &Element) -> Facts {
    let mut facts = facts(&golden.file, live);
    for there in facts.nodes.values_mut() {
        there.agents.insert("ocf:heartbeat:Filesystem".into());
    }
    facts
}

/// Nothing stands in the way, nothing stops, what is foreign is what it was, and afterwards nothing is left to do.
#[track_caller]
fn adopts(by: &str, foreign: &[&str], constraints: &[&str]) -> Plan {
    let (golden, facts, live) = there(by, |cib| cib);
    let made = golden_plan(golden.name, &golden.file, &facts);
    assert_eq!(made.report.problems, [""; 0]);
    assert!(!made.is_disruptive(), "{}", made.report);
    assert_eq!(made.report.consequence, [""; 0]);
    assert_eq!(made.taken, [""; 0]);
    assert_eq!(made.under_way, [""; 0]);
    let at = |cib: &Element, id: &str| -> Option<Element> {
        let all = cib.walk().into_iter();
        let mut all = all.filter(|it| it.name != "lrm_resource" && it.name != "resource_ref");
        all.find(|it| it.get("id") == Some(id)).cloned()
    };
    for id in foreign.iter().chain(constraints) {
        assert!(at(&live, id).is_some(), "{id}");
        assert_eq!(at(&live, id), at(&made.target_cib, id), "{id}");
    }
    let after = with_agents(&golden, &made.target_cib);
    let again = plan(&golden.file, &after, &Scheduler).unwrap();
    assert!(again.is_empty(), "{}", again.report);
    made
}

#[test]
fn a_cluster_of_pcs_is_adopted_and_nothing_stops() {
    let kept = ["colocation-app-files-INFINITY", "order-files-app-mandatory"];
    let made = adopts("pcs", &["tgt1", "lun1", "app"], &kept);
    let said = made.report.to_string();
    assert!(
        said.contains("fs1 is offered by tgt1, lun1, which others made"),
        "{said}"
    );
    // An account's password stands in the group.
    assert!(!format!("{said}{}", made.diff).contains("example-chap-secret"));
}

#[test]
fn a_cluster_of_crmsh_with_templates_and_constraints_is_adopted_and_nothing_stops() {
    adopts(
        "crmsh",
        &["p_tgt1", "p_lun1", "cl_ping", "app"],
        &["c_app", "o_app"],
    );
}

/// What a pool stands on, such as DRBD, no file says: its constraints stay.
#[test]
fn what_a_pool_follows_stays_beneath_it() {
    let drbd = "<rsc_colocation id=\"c_drbd\" rsc=\"files\" with-rsc=\"app2\" score=\"INFINITY\"/>\
                <rsc_order id=\"o_drbd\" first=\"app2\" then=\"files\" kind=\"Mandatory\"/></constraints>";
    let app =
        "<primitive id=\"app2\" class=\"ocf\" type=\"Dummy\" provider=\"pacemaker\"/></resources>";
    let (golden, facts, _) = there("pcs", |cib| {
        cib.replace("</constraints>", drbd)
            .replace("</resources>", app)
    });
    let made = plan(&golden.file, &facts, &Scheduler).unwrap();
    assert!(!made.is_disruptive(), "{}", made.report);
    for kept in ["c_drbd", "o_drbd"] {
        let left = format!("constraint {kept} was not made by Hawser and is left alone");
        assert!(made.report.notes.contains(&left), "{}", made.report);
    }
    let pools = hawser_cluster::simulate::Directory::of(&made.target_cib);
    assert_eq!(pools.pools().collect::<Vec<_>>(), ["fs1", "fs2"]);
}

/// Another parameter stops the resource and what starts after it: Pacemaker says so, and so does the plan.
#[test]
fn a_parameter_that_differs_is_told_with_the_pause_that_it_costs() {
    let (golden, facts, _) = there("pcs", |cib| {
        cib.replace(
            "name=\"cidr_netmask\" value=\"24\"",
            "name=\"cidr_netmask\" value=\"25\"",
        )
    });
    let made = plan(&golden.file, &facts, &Scheduler).unwrap();
    let mut changes = made.report.changes.iter();
    let address = changes.find(|it| it.object == "resource ip1").unwrap();
    assert!(address.disruptive && address.text.contains("cidr_netmask: \"25\" on the cluster"));
    assert!(!made.report.consequence.is_empty());
}

/// The constraint that says where a pool is preferred names its group.
#[test]
fn a_preference_that_moves_an_adopted_pool_is_disruptive() {
    let (golden, facts, _) = there("pcs", |cib| cib);
    let text = fs::read_to_string(folder("adopted-from-pcs").join("hawser.toml")).unwrap();
    let automatic = text.replace("failback = \"manual\"", "failback = \"automatic\"");
    let parse = |text: &str| hawser_model::cluster_file::parse_complete(text, "test").unwrap();
    let made = plan(&parse(&automatic), &facts, &Scheduler).unwrap();
    assert!(!made.is_disruptive(), "{}", made.report);
    let after = with_agents(&golden, &made.target_cib);
    let elsewhere = automatic.replacen("prefer = \"head1\"", "prefer = \"head2\"", 1);
    let moved = plan(&parse(&elsewhere), &after, &Scheduler).unwrap();
    let disruptive = moved.report.changes.iter().filter(|it| it.disruptive);
    let objects: Vec<&str> = disruptive.map(|it| it.object.as_str()).collect();
    assert!(
        !objects.is_empty() && objects.iter().all(|it| it.starts_with("constraint ")),
        "{}",
        moved.report
    );
}

/// A group that became another one is not put right: that would stop what is in it.
#[test]
fn a_group_that_is_not_as_the_file_says_is_refused() {
    let told = |edit: &dyn Fn(String) -> String| {
        let (golden, facts, _) = there("pcs", edit);
        plan(&golden.file, &facts, &Scheduler)
            .unwrap()
            .report
            .problems
    };
    let text = fs::read_to_string(folder("made-by-pcs").join("live.xml")).unwrap();
    let part = |id: &str| {
        let from = text.find(&format!("<primitive id=\"{id}\"")).unwrap();
        let to = from + text[from..].find("</primitive>").unwrap() + "</primitive>".len();
        text[from..to].to_owned()
    };
    let (fs2, ip2) = (part("fs2"), part("ip2"));
    let gone = |cib: &str| cib.replace(&ip2, "");
    let outside = told(&|cib| gone(&cib).replace("</resources>", &format!("{ip2}</resources>")));
    assert!(
        outside.iter().any(|it| it
            .contains("the file keeps ip2 in group files, and on the cluster it is in no group")),
        "{outside:?}"
    );
    let elsewhere =
        told(&|cib| gone(&cib).replace("<group id=\"vms\">", &format!("<group id=\"vms\">{ip2}")));
    assert!(
        elsewhere
            .iter()
            .any(|it| it.contains("on the cluster it is in group vms")),
        "{elsewhere:?}"
    );
    let turned = told(&|cib| gone(&cib).replace(&fs2, &format!("{ip2}{fs2}")));
    assert!(
        turned.iter().any(|it| it.contains("it starts before fs2")),
        "{turned:?}"
    );
    // One that others have beside it, in the same group.
    let second = ip2.replace("\"ip2", "\"ip3");
    let twice = told(&|cib| cib.replace(&ip2, &format!("{ip2}{second}")));
    assert!(
        twice
            .iter()
            .any(|it| it.contains("resource ip3") && it.contains("the address 10.72.2.208")),
        "{twice:?}"
    );
}

/// Without `adopted` the pools would be Hawser's own: nothing is made of that beside what is there.
#[test]
fn a_pool_that_was_adopted_and_no_longer_is_in_the_file_is_refused() {
    let (golden, facts, live) = there("pcs", |cib| cib);
    let made = plan(&golden.file, &facts, &Scheduler).unwrap();
    let mut file = golden.file.clone();
    for pool in &mut file.pools {
        pool.adopted = None;
    }
    let after = with_agents(&golden, &made.target_cib);
    let problems = plan(&file, &after, &Scheduler).unwrap().report.problems;
    assert!(
        problems.iter().any(|it| it.contains("group vms")),
        "{problems:?}"
    );
    assert_ne!(live, made.target_cib);
}

/// The first set-up of a file that keeps a group makes the group, storage first.
#[test]
fn a_group_that_is_not_there_is_made_in_order() {
    let golden = Golden::named("adopted-from-crmsh");
    let made = golden.cib();
    let empty = Element::parse(
        "<cib validate-with=\"pacemaker-3.7\" admin_epoch=\"0\" epoch=\"1\" num_updates=\"0\"><configuration><crm_config/><nodes/>\
         <resources/><constraints/></configuration><status/></cib>",
        "an empty CIB",
    )
    .unwrap();
    let changes = hawser_cluster::plan::diff(&made, &empty).changes;
    let resources = |cib: &Element| {
        let group = cib
            .walk()
            .into_iter()
            .find(|it| it.name == "group")
            .unwrap()
            .clone();
        let members = group
            .all("primitive")
            .map(|it| it.get("id").unwrap().to_owned());
        members.collect::<Vec<_>>()
    };
    assert_eq!(resources(&merge(&empty, &changes)), ["p_fs1", "p_ip1"]);
    assert_eq!(resources(&made), ["p_fs1", "p_ip1"]);
}

/// Volume groups, exports and ZFS pools too, with the file that `import` made of them.
#[test]
fn a_volume_group_and_a_zfs_pool_are_adopted_and_nothing_stops() {
    let case = folder("../../../cases/import/adopt-some");
    let read = |name: &str| fs::read_to_string(case.join(name)).unwrap();
    let (cib, imported) = (read("cib.xml"), read("expected/hawser.toml"));
    let between = |text: &str, from: &str, to: &str| {
        let start = text.find(from).unwrap();
        let end = start + text[start..].find(to).unwrap() + to.len();
        text[start..end].to_owned()
    };
    let groups: String = ["<group id=\"lvm\">", "<group id=\"zfs\">"]
        .map(|group| between(&cib, group, "</group>"))
        .concat();
    // Its last two pools, on the cluster of pcs.
    let pools: Vec<&str> = imported.split("[[pool]]").collect();
    let own = fs::read_to_string(folder("adopted-from-pcs").join("hawser.toml")).unwrap();
    let cluster = own.split("[[pool]]").next().unwrap();
    let last = &pools[pools.len() - 2..];
    let text = format!("{cluster}[[pool]]{}[[pool]]{}", last[0], last[1]);
    let file = hawser_model::cluster_file::parse_complete(&text, "hawser.toml").unwrap();
    let (golden, _, _) = there("pcs", |cib| cib);
    let live = fs::read_to_string(folder("made-by-pcs").join("live.xml")).unwrap();
    let resources = between(&live, "<group id=\"vms\">", "</resources>");
    let constraints = between(&live, "<constraints>", "</constraints>");
    let live = live
        .replace(&resources, &format!("{groups}</resources>"))
        .replace(&constraints, "<constraints/>");
    let golden = Golden { file, ..golden };
    let live = running_with(&golden, &Element::parse(&live, "test").unwrap());
    let made = plan(&golden.file, &facts(&golden.file, &live), &Scheduler).unwrap();
    assert!(!made.is_disruptive(), "{}", made.report);
    assert_eq!(made.report.consequence, [""; 0]);
    let mut problems = made.report.problems.iter();
    // These nodes have no ZFS, and that is all.
    assert!(
        problems.all(|it| it.contains(" has no ")),
        "{}",
        made.report
    );
    let after = facts(&golden.file, &made.target_cib);
    assert!(plan(&golden.file, &after, &Scheduler).unwrap().is_empty());
    let starts: Vec<&str> = made
        .report
        .changes
        .iter()
        .map(|it| it.object.as_str())
        .collect();
    assert!(
        starts.contains(&"resource zfs_g") && starts.contains(&"resource fs-f"),
        "{starts:?}"
    );
}
