//! What Pacemaker's own scheduler says will happen to each golden cluster, in plain words.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::golden::Golden;
use crate::scheduler::Scheduler;
use hawser_cluster::simulate::{Event, Scenario, Simulator, StoryStep, what_if};
use hawser_cluster::xml::Element;
use hawser_model::cluster_file::{Pool, Role};

fn cib_of(golden: &Golden) -> Element {
    golden.cib()
}

fn scenarios(golden: &Golden) -> Vec<(&'static str, Scenario)> {
    let node = |i: usize| golden.file.nodes[i].name.to_string();
    let preferring = |pool: &Pool| Some((pool.prefer.as_ref()?.to_string(), pool.name.to_string()));
    let stuck = golden.file.pools.iter().find_map(preferring);
    let mut all = vec![
        ("first-start", Scenario::FirstStart),
        ("dies", Scenario::Dies(node(0))),
        ("dies-unfenced", Scenario::DiesUnfenced(node(0))),
        ("standby", Scenario::Standby(node(0))),
        ("returns", Scenario::Returns(node(0))),
    ];
    // Where clients reach the pools, and which heads lose it: one of several SANs, all of them, all of everybody.
    let links = golden.file.links_with(Role::San);
    let sans: Vec<String> = links.map(|link| link.name.to_string()).collect();
    let lost = |nodes: &[String], sans: &[String]| Scenario::PortsLost {
        nodes: nodes.to_vec(),
        sans: sans.to_vec(),
    };
    let nodes: Vec<String> = (0..golden.file.nodes.len()).map(node).collect();
    if sans.len() > 1 {
        all.push(("san-unplugged", lost(&nodes[..1], &sans[..1])));
    }
    all.push(("sans-unplugged", lost(&nodes[..1], &sans)));
    all.push(("sans-down", lost(&nodes, &sans)));
    match golden.file.nodes.len() {
        2 => all.push(("links-lost", Scenario::LinksLost(node(0), node(1)))),
        _ => {
            all.push(("cut-off", Scenario::CutOff(node(0))));
            all.push(("all-links-lost", Scenario::AllLinksLost));
            all.push(("one-is-left", Scenario::AllOthersDie(node(0))));
        }
    }
    if let Some((node, pool)) = stuck {
        all.push(("stuck-pool", Scenario::StuckPool { node, pool }));
    }
    all
}

#[test]
fn what_will_happen() {
    for golden in Golden::all() {
        for (name, scenario) in scenarios(&golden) {
            let prediction = what_if(&Scheduler, &cib_of(&golden), &scenario);
            let prediction = prediction.expect("crm_simulate: packaging/setup lab");
            golden.check(&format!("scenarios/{name}.txt"), &prediction.to_string());
        }
    }
}

/// Whatever the golden texts say: who lost all SANs of a pool gives it away, once; nobody else moves anything; nobody
/// is fenced; and when the cables are in again nothing happens.
#[test]
fn a_head_without_san_ports_gives_its_pools_away_and_nobody_else_does() {
    for golden in Golden::all() {
        let cib = golden.cib();
        for (name, scenario) in scenarios(&golden) {
            let Scenario::PortsLost { nodes, sans } = &scenario else {
                continue;
            };
            let prediction = what_if(&Scheduler, &cib, &scenario).unwrap();
            let [lost, back] = &prediction.chapters[..] else {
                panic!("{prediction}");
            };
            let (lost, back) = (lost.story.as_ref().unwrap(), back.story.as_ref().unwrap());
            let fences = |step: &StoryStep| matches!(step, StoryStep::Fence { .. });
            assert!(!lost.steps.iter().any(fences), "{prediction}");
            assert_eq!(back.steps, [], "{} {name}: {prediction}", golden.name);
            for (pool, place) in &lost.pools {
                let was_there = place
                    .before
                    .as_ref()
                    .is_some_and(|node| nodes.contains(node));
                let pool_ = golden
                    .file
                    .pools
                    .iter()
                    .find(|it| *it.name == *pool)
                    .unwrap();
                let mut links = pool_.addresses.keys();
                let reached =
                    links.len() == 0 || links.any(|link| !sans.contains(&link.to_string()));
                let moves = name != "sans-down" && was_there && !reached;
                let moved = place.before != place.after;
                assert_eq!(moves, moved, "{} {name} {pool}: {prediction}", golden.name);
                assert!(place.missing.is_empty(), "{prediction}");
            }
        }
    }
}

/// Pacemaker's controller may sleep a second before it shoots: a delay of one second lets both heads shoot.
#[test]
fn shots_that_are_a_second_apart_switch_both_heads_off() {
    let golden = Golden::named("lab");
    let links_lost = Scenario::LinksLost("head1".into(), "head2".into());
    let told = |delay: &str| {
        let text = cib_of(&golden).to_text();
        let text = text.replace(
            "name=\"pcmk_delay_base\" value=\"2s\"",
            &format!("name=\"pcmk_delay_base\" value=\"{delay}\""),
        );
        let cib = Element::parse(&text, "the CIB").unwrap();
        what_if(&Scheduler, &cib, &links_lost).unwrap().to_string()
    };
    assert!(told("1s").contains("both are off"), "{}", told("1s"));
    assert!(told("2s").contains("head1 fires first"), "{}", told("2s"));
}

/// The one vote that is left of three is no quorum: with it nothing is started and nobody is shot.
#[test]
fn without_quorum_nothing_is_taken_over() {
    for name in ["three-heads", "three-nodes"] {
        let golden = Golden::named(name);
        let nodes = golden.file.nodes.iter().map(|node| node.name.to_string());
        let alone = nodes.map(Scenario::AllOthersDie);
        for scenario in alone.chain([Scenario::AllLinksLost]) {
            let prediction = what_if(&Scheduler, &cib_of(&golden), &scenario).unwrap();
            for story in prediction
                .chapters
                .iter()
                .filter_map(|it| it.story.as_ref())
            {
                let mut steps = story.steps.iter();
                let acts = |step: &StoryStep| {
                    let starts = |step: &StoryStep| match step {
                        StoryStep::Storage { start, .. }
                        | StoryStep::Exports { start, .. }
                        | StoryStep::Addresses { start, .. } => *start,
                        _ => false,
                    };
                    matches!(step, StoryStep::Fence { .. }) || starts(step)
                };
                assert!(!steps.any(acts), "{name}, {scenario:?}: {prediction}");
            }
        }
    }
}

/// `crm_verify`'s warnings and errors about a cluster whose nodes are all up. With the status
/// empty it would only complain that nobody is there.
fn crm_verify_says(golden: &Golden, cib: &str) -> String {
    let nodes = golden
        .file
        .nodes
        .iter()
        .map(|node| Event::NodeUp(node.name.to_string()));
    let mut events = vec![Event::Quorum(true)];
    events.extend(nodes);
    let up = Scheduler.simulate(cib, &events).unwrap().cib_after;
    let mut verify = Command::new("crm_verify")
        .args(["--xml-pipe", "--verbose", "--verbose"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("crm_verify is not installed: packaging/setup lab");
    verify
        .stdin
        .take()
        .unwrap()
        .write_all(up.as_bytes())
        .unwrap();
    let output = verify.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let wrong = said
        .lines()
        .filter(|line| line.contains("warning:") || line.contains("error:"));
    let wrong: Vec<&str> = wrong.collect();
    assert!(output.status.success() || !wrong.is_empty(), "{said}");
    wrong.join("\n")
}

#[test]
fn crm_verify_finds_nothing_wrong() {
    for golden in Golden::all() {
        let said = crm_verify_says(&golden, &cib_of(&golden).to_text());
        let expected = match golden.name {
            // What a cluster without fencing has earned.
            "without-fencing" => "(unpack_config) \twarning: Blind faith: not fencing unseen nodes",
            _ => "",
        };
        assert_eq!(said, expected, "{}", golden.name);
    }
}

#[test]
fn crm_verify_does_find_what_is_wrong() {
    let golden = Golden::named("zfs-appliance");
    let good = cib_of(&golden).to_text();
    let bad = good
        .replace("value=\"300s\"", "value=\"x\"")
        .replace("timeout=\"300s\"", "timeout=\"\"");
    let unfenced = bad.replace(
        "name=\"stonith-enabled\" value=\"true\"",
        "name=\"stonith-enabled\" value=\"false\"",
    );
    assert_ne!(crm_verify_says(&golden, &unfenced), "");
}
