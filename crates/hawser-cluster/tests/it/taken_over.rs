//! Plans against clusters that pcs and crmsh have made, with the file that `hawser import` made of each: what stands in the
//! way, what Hawser would do otherwise, and that nothing of it is made.

use std::fs;

use crate::golden::{Golden, folder};
use crate::plan::{facts, golden_plan, running_with};
use crate::scheduler::Scheduler;
use hawser_cluster::plan::{Effect, Facts, Plan, Stage, plan};
use hawser_cluster::xml::Element;

/// The plan for the CIB that was read there, without what is named.
fn planned_without(name: &'static str, recorded: &str, gone: &[&str]) -> Plan {
    let cib = fs::read_to_string(folder(name).join("live.xml")).unwrap();
    let (golden, facts) = there(name, &cib, gone);
    golden_plan(recorded, &golden.file, &facts)
}

/// The file of that cluster, and its nodes with this CIB without what is named.
fn there(name: &'static str, cib: &str, gone: &[&str]) -> (Golden, Facts) {
    let golden = Golden::named(name);
    let mut cib = Element::parse(cib, "the live CIB").unwrap();
    let configuration = cib.first_or_new("configuration");
    for section in ["resources", "constraints"] {
        let section = configuration.first_or_new(section);
        section.children.retain(|it| {
            let mut values = it.attributes.iter().map(|(_, value)| value.as_str());
            !values.any(|value| gone.contains(&value))
        });
    }
    let live = running_with(&golden, &cib);
    let mut facts = facts(&golden.file, &live);
    for there in facts.nodes.values_mut() {
        there.agents.insert("ocf:heartbeat:Filesystem".into());
    }
    (golden, facts)
}

fn planned(name: &'static str) -> Plan {
    planned_without(name, name, &[])
}

#[test]
fn groups_of_pcs_are_told_with_what_comes_in_their_place_and_who_follows_them() {
    let report = planned("made-by-pcs").report;
    let [vms, files] = &report.problems[..] else {
        panic!("{:#?}", report.problems);
    };
    assert!(!vms.contains("by which others follow it"), "{vms}");
    let follow =
        "colocation-app-files-INFINITY, order-files-app-mandatory, by which others follow it";
    assert!(files.contains(follow), "{files}");
    // An account's password stood in the group.
    assert!(!report.to_string().contains("example-chap-secret"));
}

#[test]
fn a_template_of_crmsh_is_seen_for_what_it_makes() {
    let said = planned("made-by-crmsh").report.to_string();
    let place = "In place of p_fs1 (the device /srv/shelf/vmpool01.img) comes g_vms";
    assert!(said.contains(place), "{said}");
}

/// A resource that stands by itself and has the pool's name gets its description and operations, and goes on.
#[test]
fn a_resource_of_the_pools_name_is_taken_as_it_is() {
    let gone = ["g_vms", "p_fs1", "p_ip2"];
    let report = planned_without("made-by-crmsh", "made-by-crmsh-alone", &gone).report;
    assert_eq!(report.problems, [""; 0]);
    let mut changes = report.changes.iter();
    let pool = changes.find(|it| it.object == "resource p_fs2");
    assert!(pool.is_some_and(|it| !it.disruptive), "{report}");
}

/// Made from a template it has the same agent and parameters, and is not stopped to become what it is.
#[test]
fn a_resource_of_the_pools_name_that_is_made_from_a_template_is_taken_as_it_is() {
    let name = "made-by-crmsh";
    let cib = fs::read_to_string(folder(name).join("live.xml")).unwrap();
    let of_its_own =
        "<primitive id=\"p_fs2\" class=\"ocf\" provider=\"heartbeat\" type=\"Filesystem\"";
    assert!(cib.contains(of_its_own), "{cib}");
    let cib = cib.replace(of_its_own, "<primitive id=\"p_fs2\" template=\"fs_t\"");
    let (golden, facts) = there(name, &cib, &["g_vms", "p_fs1", "p_ip2"]);
    let plan = plan(&golden.file, &facts, &Scheduler).unwrap();
    let stops = |effect: &Effect| {
        matches!(
            effect,
            Effect::PatchCib {
                stage: Stage::StopWhatGoes,
                ..
            }
        )
    };
    assert!(!plan.effects.iter().any(stops), "{}", plan.report);
    assert!(!plan.is_disruptive(), "{}", plan.report);
}
