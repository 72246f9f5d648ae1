//! Hooks of pools, their interfaces, and ports of links: what a plan does when they come, change and go, and what it says of programs that cannot be run.

use hawser_cluster::hooks::AGENT;
use hawser_cluster::live::{Slow, gather};
use hawser_cluster::plan::{Effect, Facts, plan};
use hawser_cluster::xml::Element;
use hawser_host::sim::Wire;
use hawser_model::cluster_file::{ClusterFile, HookMoment, parse_complete};

use crate::apply::Bench;
use crate::golden::Golden;
use crate::plan::{facts, golden_plan, reloadable, running};
use crate::scheduler::Scheduler;
use crate::simulated::{Cluster, heads};

fn golden() -> Golden {
    Golden::named("hooks-and-ports")
}

/// The golden cluster's file with changes in its text.
fn changed(changes: &[(&str, &str)]) -> ClusterFile {
    let mut text = golden().file.text;
    for (old, new) in changes {
        assert!(text.contains(old), "{old}");
        text = text.replace(old, new);
    }
    parse_complete(&text, "hawser.toml").unwrap_or_else(|errors| panic!("{errors}"))
}

/// The file without any hook.
fn without() -> ClusterFile {
    let all = golden().file.text;
    let lines = all.lines().filter(|line| {
        let hook = HookMoment::ALL.iter().any(|it| line.starts_with(it.key()));
        !hook && *line != "[pool.hooks]"
    });
    let text: Vec<&str> = lines.collect();
    parse_complete(&text.join("\n"), "hawser.toml").unwrap()
}

fn of(file: ClusterFile) -> Golden {
    Golden {
        name: "hooks-and-ports",
        file,
    }
}

#[test]
fn hooks_that_are_added_stop_their_pool_once_and_the_plan_says_so() {
    let plain = of(without());
    let facts = facts(&plain.file, &running(&plain));
    let plan = golden_plan("hooks-added", &golden().file, &facts);
    assert!(plan.is_disruptive());
    let said = plan.report.consequence.join("\n");
    assert!(
        said.contains("tank stays on head1 and is interrupted there"),
        "{said}"
    );
}

#[test]
fn hooks_that_are_removed_stop_nothing() {
    let golden = golden();
    let facts = facts(&golden.file, &running(&golden));
    let plan = golden_plan("hooks-removed", &without(), &facts);
    assert!(!plan.is_disruptive(), "{}", plan.report);
}

#[test]
fn another_program_or_limit_of_a_hook_stops_nothing() {
    let golden = golden();
    let mut live = running(&golden);
    for (resource, moments) in [
        ("tank-before-import", ["pre_import", "post_export"]),
        ("tank-after-import", ["post_import", "pre_export"]),
    ] {
        let all = moments
            .iter()
            .flat_map(|moment| ["", "_timeout", "_required"].map(|end| format!("{moment}{end}")));
        let all: Vec<String> = all.collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        reloadable(&mut live, resource, &all);
    }
    let file = changed(&[
        (
            "shelf-lights\", timeout = \"5s\" }",
            "shelf-lamps\", timeout = \"6s\" }",
        ),
        ("\"90s\"", "\"80s\""),
    ]);
    let plan = golden_plan("hooks-changed", &file, &facts(&golden.file, &live));
    assert!(!plan.is_disruptive(), "{}", plan.report);
}

#[test]
fn a_program_that_a_head_cannot_run_stops_the_plan_and_is_named() {
    let golden = golden();
    let mut facts = facts(&golden.file, &running(&golden));
    let unfit = [
        ("/usr/local/sbin/shelf-lights", "is not there"),
        ("/opt/site/after", "is not executable (mode 0644)\u{1b}[2J"),
        ("/opt/another/program", "is not there"),
    ];
    let unfit = unfit.map(|(path, why)| (path.to_owned(), why.to_owned()));
    facts.nodes.get_mut("head2").unwrap().unfit_programs = unfit.into();
    let plan = plan(&golden.file, &facts, &Scheduler).unwrap();
    assert_eq!(
        plan.report.problems,
        [
            "head2: the pre-import hook of pool tank, /usr/local/sbin/shelf-lights, is not there",
            "head2: the post-export hook of pool tank, /usr/local/sbin/shelf-lights, is not there",
            "head2: the post-import hook of pool vg1, /opt/site/after, is not executable (mode 0644)\\u001b[2J",
        ]
    );
}

#[test]
fn an_interface_that_a_head_does_not_have_stops_the_plan_and_is_named() {
    let golden = golden();
    let mut facts = facts(&golden.file, &running(&golden));
    let problems = |facts: &Facts| {
        plan(&golden.file, facts, &Scheduler)
            .unwrap()
            .report
            .problems
    };
    let mut has = |node: &str, names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        facts.nodes.get_mut(node).unwrap().interfaces = Some(names);
    };
    has("head1", &["lo", "san02"]);
    has("head2", &["eno1", "lo\u{202e}"]);
    assert_eq!(
        problems(&facts),
        [
            "head2 has no interface san02, on which pool vg1 has its address 192.168.142.208: it has eno1, lo\\u202e. Correct \
             `nic`, or leave it out, and each head takes the interface that is on the link's network"
        ]
    );
}

#[test]
fn another_port_of_a_link_is_taken_by_no_reload() {
    let golden = golden();
    let facts = facts(&golden.file, &running(&golden));
    let plan = golden_plan(
        "port-changed",
        &changed(&[("port = 5455", "port = 5465")]),
        &facts,
    );
    assert!(plan.is_disruptive());
    assert!(
        matches!(plan.effects.last(), Some(Effect::RestartCluster { .. })),
        "{:?}",
        plan.effects
    );
}

#[test]
fn the_agent_of_hooks_is_installed_where_it_is_missing() {
    let golden = golden();
    let mut facts = facts(&golden.file, &running(&golden));
    facts.nodes.get_mut("head1").unwrap().agents.remove(AGENT);
    let plan = plan(&golden.file, &facts, &Scheduler).unwrap();
    assert!(plan.report.problems.is_empty());
    let nodes = vec!["head1".into()];
    assert_eq!(plan.effects, [Effect::InstallExports { nodes }]);
    let said: Vec<&str> = plan
        .report
        .changes
        .iter()
        .map(|it| it.object.as_str())
        .collect();
    assert_eq!(said, ["hooks agent on head1"]);
}

#[test]
fn a_stop_hook_that_must_succeed_gets_the_head_fenced_and_no_other_does() {
    let golden = golden();
    let cib = golden.cib();
    let reaction = |resource: &str| {
        let all = cib.walk();
        let is = |it: &&&Element| it.get("id") == Some(&*format!("{resource}-stop-0s"));
        all.iter()
            .find(is)
            .unwrap()
            .get("on-fail")
            .map(str::to_owned)
    };
    assert_eq!(reaction("tank-before-import").as_deref(), Some("fence"));
    assert_eq!(reaction("tank-after-import").as_deref(), Some("ignore"));
    assert_eq!(reaction("vg1-after-import").as_deref(), Some("ignore"));
}

#[test]
fn heads_are_asked_about_the_programs_and_interfaces_that_the_file_names() {
    let bench = Bench::new();
    let text = bench.golden.file.text.clone();
    let text = text.replace(
        "san01 = \"10.72.2.208\"",
        "san01 = { address = \"10.72.2.208\", nic = \"bond0\" }",
    ) + "\n[pool.hooks]\npre_import = { program = \"/opt/a\" }\n";
    let file = parse_complete(&text, "hawser.toml").unwrap();
    let cluster = Cluster::bare(&bench.golden);
    let unfit = |path: &str| (path.to_owned(), "is not there".to_owned());
    for machine in cluster.lock().unwrap().machines.values_mut() {
        machine.unfit = [unfit("/opt/a"), unfit("/opt/b")].into();
    }
    let asked = |file: &ClusterFile| {
        let mut heads = heads(&cluster, &Wire::default());
        let facts = gather(file, &mut heads, &bench.secrets(), Slow::LeftAlone).unwrap();
        facts.nodes.get("head1").unwrap().clone()
    };
    let head = asked(&file);
    assert_eq!(head.unfit_programs, [unfit("/opt/a")].into());
    assert!(
        head.interfaces
            .is_some_and(|all| all.contains("san01") && !all.contains("bond0"))
    );
    // Of a file that names none nothing is asked.
    let head = asked(&bench.golden.file);
    assert!(head.unfit_programs.is_empty() && head.interfaces.is_none());
}
