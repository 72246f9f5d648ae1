//! All heads say the same, and something is wrong.

use super::*;
use crate::adopted::adopted;
use crate::plan::by_hand;
use crate::scheduler::Scheduler;
use crate::simulated::with_constraint;
use hawser_cluster::cib::edit::with_standby;
use hawser_cluster::live::{Sign, judgement};
use hawser_model::cluster_file::parse_complete;
use hawser_model::output::cluster::ServiceState;

fn operation_fails(operation: &str, node: &str) -> Event {
    Event::OpFails {
        resource: "vmpool01".into(),
        operation: operation.into(),
        node: node.into(),
    }
}

fn meta(cib: &Element, resource: &str, name: &str, value: &str) -> String {
    let arguments = ["--resource", resource, "--meta", "--set-parameter", name];
    let value = ["--parameter-value", value];
    by_hand(cib, "crm_resource", &[&arguments[..], &value].concat()).to_text()
}

#[test]
fn a_cluster_that_is_well_is_redundant() {
    let golden = Golden::named("lab");
    let now = golden_status(&golden, "healthy", &healthy(&golden));
    assert!(
        now.redundant && now.quorate && now.degraded.is_empty(),
        "{}",
        said(&now)
    );
}

#[test]
fn of_a_cluster_of_which_no_head_answers_nothing_is_told_but_that() {
    let golden = Golden::named("lab");
    let mut facts = StatusFacts::default();
    for number in [1, 2] {
        let why = "no route to host".to_owned();
        facts.unreached.insert(name(number), why);
    }
    let said = judgement(&golden.file, &facts, &Scheduler).unwrap().said;
    let signs: Vec<Sign> = said.iter().map(|said| said.mark.sign).collect();
    assert_eq!(signs, [Sign::HeadNotReached; 2]);
    // One that answers, and runs no Pacemaker, tells that nothing does.
    facts.unreached.remove(&name(1));
    facts.views.insert(name(1), HeadView::default());
    let said = judgement(&golden.file, &facts, &Scheduler).unwrap().said;
    assert!(said.iter().any(|said| said.mark.sign == Sign::NothingRuns));
}

#[test]
fn each_thing_that_is_wrong_is_named_and_costs_the_redundancy() {
    let golden = Golden::named("lab");
    let well = well(&golden);
    let text = well.to_text();
    let head1_off = after(&well, &[Event::NodeFail("head1".into())]);
    let hit = r#"<pacemaker-result><fence_event action="off" target="head1" status="success"
        completed="2026-01-02 03:04:05Z"/></pacemaker-result>"#;
    let standby = with_standby(&well, "head1", true);
    let unanswered = ("fence-head2".to_owned(), Some("Login failed".to_owned()));
    let prefer = by_hand(
        &well,
        "crm_resource",
        &["--move", "--resource", "vmpool01", "--node", "head2"],
    );
    let ban = by_hand(
        &well,
        "crm_resource",
        &["--ban", "--resource", "vmpool02", "--node", "head1"],
    );
    let by_hand_property = |name: &str, value: &str| {
        by_hand(&well, "crm_attribute", &["--name", name, "--update", value]).to_text()
    };
    let cases: Vec<(&str, StatusFacts, &[&str])> = vec![
        (
            "link-down",
            but(healthy(&golden), 1, |view| {
                let key = "stats.knet.node2.link1.connected".to_owned();
                view.links[0].insert(key, "0".into());
            }),
            &["heartbeat link ring1 between head1 and head2 is down"],
        ),
        (
            "standby",
            on_head2(both(&golden, &after(&standby, &[]))),
            &["head1 is in standby: nothing runs there; `hawser online head1` lets it back"],
        ),
        (
            "maintenance",
            both(
                &golden,
                &replaced(
                    &text,
                    "name=\"maintenance-mode\" value=\"false\"",
                    "name=\"maintenance-mode\" value=\"true\"",
                ),
            ),
            &["maintenance mode", "`hawser apply` end it"],
        ),
        (
            "unmanaged",
            both(
                &golden,
                &meta(&well, "vmpool01-exports", "is-managed", "false"),
            ),
            &[
                "vmpool01-exports is not managed",
                "--delete-parameter is-managed",
            ],
        ),
        (
            "bmc-does-not-answer",
            but(healthy(&golden), 1, |view| {
                view.fence_status = [unanswered].into();
            }),
            &[
                "fence device fence-head2 does not answer (Login failed): head2 could not be switched off",
            ],
        ),
        (
            "pool-stop-fails",
            both(
                &golden,
                &after(&standby, &[operation_fails("stop", "head1")]),
            ),
            &["the last operation of vmpool01 failed"],
        ),
        (
            "pool-start-fails",
            both(
                &golden,
                &after(&standby, &[operation_fails("start", "head2")]),
            ),
            &[
                "vmpool01 has failed 1 times on head2 and leaves it after 3",
                "`crm_resource --cleanup --resource vmpool01 --node head2`",
            ],
        ),
        (
            "pool-nowhere",
            both(
                &golden,
                &after(
                    &Element::parse(&meta(&well, "vmpool01", "target-role", "Stopped"), "")
                        .unwrap(),
                    &[],
                ),
            ),
            &["pool vmpool01 is active nowhere"],
        ),
        (
            "head-dead",
            {
                let facts = with_history(both(&golden, &head1_off), 2, hit);
                let mut facts = on_head2(facts);
                facts.views.remove("head1");
                facts.unreached = [(name(1), "no route to host".to_owned())].into();
                facts
            },
            &["head1 is not a member of the cluster, and was not reached: no route to host"],
        ),
        (
            "order-left-by-a-move",
            both(&golden, &decided(&prefer.to_text())),
            &[
                "vmpool01 is ordered to head2 (cli-prefer-vmpool01), without an end: after a takeover it moves back",
                "`crm_resource --clear --resource vmpool01`",
            ],
        ),
        (
            "ban",
            both(&golden, &decided(&ban.to_text())),
            &[
                "vmpool02 is ordered away from head1",
                "`crm_resource --clear --resource vmpool02`",
            ],
        ),
        (
            "quorum-policy",
            both(
                &golden,
                &decided(&by_hand_property("no-quorum-policy", "ignore")),
            ),
            &["property no-quorum-policy is not what the file says"],
        ),
    ];
    for (name, facts, says) in cases {
        let now = golden_status(&golden, name, &facts);
        for words in says {
            assert!(said(&now).contains(words), "{name}: {}", said(&now));
        }
        assert!(!now.redundant, "{name}");
    }
}

#[test]
fn a_pool_that_runs_nowhere_is_down_and_not_merely_not_redundant() {
    let golden = Golden::named("lab");
    let stopped = meta(&well(&golden), "vmpool01", "target-role", "Stopped");
    let cib = after(&Element::parse(&stopped, "").unwrap(), &[]);
    let now = status(&golden.file, &both(&golden, &cib), &Scheduler).unwrap();
    assert_eq!(now.state, ServiceState::Down);
    assert_eq!(now.reason.as_deref(), Some("vmpool01 runs nowhere"));
}

#[test]
fn a_failure_that_is_counted_is_degraded_and_one_that_is_kept_bars_the_other_head() {
    let golden = Golden::named("lab");
    let with_count = |value: &str| {
        let mut cib = well(&golden);
        let pair = Element::new("nvpair")
            .with("id", "f")
            .with("name", "fail-count-vmpool02-exports#start_0")
            .with("value", value);
        let set = Element::new("instance_attributes")
            .with("id", "i")
            .child(pair);
        let attributes = Element::new("transient_attributes")
            .with("id", "1")
            .child(set);
        let status = cib.first_or_new("status");
        let state = status
            .children
            .iter_mut()
            .find(|state| state.get("uname") == Some("head1"));
        state.unwrap().children.push(attributes);
        status_of(&golden, &cib.to_text())
    };
    // The dead end of a failure on the head that has nothing to do now: named, with what ends it.
    let kept = with_count("INFINITY");
    let text = "vmpool02-exports may not run on head1: its failure there is kept; when the cause is mended, \
                `crm_resource --cleanup --resource vmpool02-exports --node head1`";
    assert!(said(&kept).contains(text), "{}", said(&kept));
    assert_eq!(kept.state, ServiceState::NotRedundant);
    assert_eq!(kept.reason.as_deref(), Some(text));
    let counted = with_count("1");
    assert!(
        counted.redundant
            && said(&counted).contains("failed 1 times on head1 and leaves it after 3")
    );
}

fn status_of(golden: &Golden, cib: &str) -> ClusterStatus {
    status(&golden.file, &both(golden, cib), &Scheduler).unwrap()
}

#[test]
fn an_order_that_has_ended_is_no_reason() {
    let golden = Golden::named("lab");
    let order = |end: &str| {
        let mut cib = well(&golden);
        let parse = |text: String| Element::parse(&text, "test").unwrap();
        let constraint = parse(format!(
            r##"<rsc_location id="cli-prefer-vmpool01" rsc="vmpool01" role="Started">
            <rule id="cli-prefer-rule-vmpool01" score="INFINITY" boolean-op="and">
            <expression id="e" attribute="#uname" operation="eq" value="head1" type="string"/>
            <date_expression id="d" operation="lt" end="{end}"/></rule></rsc_location>"##
        ));
        let configuration = cib.first_or_new("configuration");
        configuration
            .first_or_new("constraints")
            .children
            .push(constraint);
        let facts = but(both(&golden, &cib.to_text()), 2, |view| {
            let noon = 1_767_355_200_000_000; // 2026-01-02 12:00:00Z
            view.clock = Some(hawser_cluster::host::view::Clock {
                asked_us: noon,
                answered_us: noon,
            });
        });
        said(&status(&golden.file, &facts, &Scheduler).unwrap())
    };
    assert_eq!(order("2026-01-02 11:00:00Z"), "");
    assert!(order("2026-01-02 13:00:00Z").contains("vmpool01 is ordered to head1"));
}

#[test]
fn an_order_about_the_group_of_an_adopted_pool_is_told() {
    let (golden, mut cib) = adopted();
    cib.set("dc-uuid", "1");
    let order = r#"<rsc_location id="cli-prefer-vms" rsc="vms" node="head1" score="INFINITY"/>"#;
    let cib = with_constraint(&cib, Element::parse(order, "test").unwrap());
    let now = said(&status_of(&golden, &cib.to_text()));
    assert!(
        now.contains("vms is ordered to head1 (cli-prefer-vms), without an end"),
        "{now}"
    );
}

/// In standby a pool stays until it is stopped; in maintenance nobody stops it.
#[test]
fn a_head_in_standby_or_maintenance_that_has_a_pool_does_not_run_nothing() {
    let golden = Golden::named("lab");
    let standby = with_standby(&well(&golden), "head1", true);
    let update = [
        "--node",
        "head1",
        "--name",
        "maintenance",
        "--update",
        "true",
    ];
    let maintenance = by_hand(&well(&golden), "crm_attribute", &update);
    for cib in [standby, maintenance] {
        let now = status_of(&golden, &cib.to_text());
        let told = now.if_lost["head1"].join("\n");
        for part in [
            "head1 is switched off",
            "vmpool01 moves from head1 to head2",
        ] {
            assert!(told.contains(part), "{told}");
        }
        assert!(!said(&now).contains("nothing runs there"), "{}", said(&now));
        assert!(!said(&now).contains("if head1 died now"), "{}", said(&now));
    }
    let standby = with_standby(&well(&golden), "head1", true);
    let now = said(&status_of(&golden, &standby.to_text()));
    let line = "head1 is in standby, and still has vmpool01; `hawser online head1` lets it back";
    assert!(now.contains(line), "{now}");
}

#[test]
fn two_heads_without_the_vote_of_their_quorum_device_are_not_redundant() {
    let golden = Golden::named("lab");
    let text = include_str!("../../../../../examples/lab/hawser.toml");
    let device = "[quorum]\ndevice = { host = \"arbiter\", tls = \"off\" }\n\n[fencing]";
    let file = parse_complete(&text.replace("[fencing]", device), "hawser.toml").unwrap();
    let said_with = |why: Option<&str>| {
        let mut facts = healthy(&golden);
        for view in facts.views.values_mut() {
            view.quorum_device = Some(Told::Said(why.map(str::to_owned)));
        }
        status(&file, &facts, &Scheduler).unwrap()
    };
    let votes = said_with(None);
    assert!(
        votes.redundant && votes.degraded.is_empty(),
        "{}",
        said(&votes)
    );
    assert!(votes.quorum_device.unwrap().votes);

    let silent = said_with(Some("corosync-qdevice does not run there"));
    assert!(!silent.redundant && silent.quorate);
    assert_eq!(
        silent.degraded[0],
        "the quorum device on arbiter does not vote on head1: corosync-qdevice does not run there"
    );
    assert!(
        silent.if_lost["head1"][0].contains("have no quorum"),
        "{:?}",
        silent.if_lost
    );
    assert!(!silent.quorum_device.unwrap().votes);
}

/// A cluster that `pcs` made: no colocations, a group.
#[test]
fn a_cluster_that_hawser_did_not_build_is_shown_and_not_compared() {
    let golden = Golden::named("lab");
    let file = "[cluster]\nname = \"theirs\"\n\n[[link]]\nname = \"ring0\"\nnetwork = \"10.72.0.0/24\"\n\n\
                [[link]]\nname = \"ring1\"\nnetwork = \"10.72.1.0/24\"\n\n\
                [[node]]\nname = \"head1\"\naddresses = { ring0 = \"10.72.0.1\", ring1 = \"10.72.1.1\" }\n\n\
                [[node]]\nname = \"head2\"\naddresses = { ring0 = \"10.72.0.2\", ring1 = \"10.72.1.2\" }\n";
    let file = hawser_model::cluster_file::parse(file, "theirs.toml").unwrap();
    let now = status(&file, &healthy(&golden), &Scheduler).unwrap();
    assert!(
        !said(&now).contains("is not what the file says"),
        "{}",
        said(&now)
    );
    assert!(
        now.notes[0].contains("is not compared with it"),
        "{:?}",
        now.notes
    );
    let pools: Vec<&str> = now.pools.iter().map(|pool| pool.name.as_str()).collect();
    assert_eq!(pools, ["vmpool01", "vmpool02"]);
    let first = &now.pools[0];
    assert_eq!((first.addresses.len(), first.exports.len()), (2, 1));
    assert!(first.active_on.is_some() && first.addresses.iter().all(|it| it.up));
}
