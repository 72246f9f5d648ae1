//! A watch on each head: the unit that systemd runs, and Pacemaker's alert that wakes it.

use std::sync::{Arc, Mutex};

use crate::apply::Bench;
use crate::golden::Golden;
use crate::plan::{facts, golden_plan, kind, running, running_with};
use crate::scheduler::Scheduler;
use crate::simulated::Cluster;
use hawser_cluster::plan::{Facts, FileFacts, WatchFacts, WatchUnitFile, drift, plan};
use hawser_cluster::units::{ALERT, WATCH_FILE};
use hawser_host::sim::Wire;
use hawser_model::cluster_file::{ClusterFile, parse_complete};

/// The appliance, with a watch or without.
fn appliance(watched: bool) -> Golden {
    let golden = Golden::named("zfs-appliance");
    let text = match watched {
        true => format!("{}\n[watch]\nunit = true\n", golden.file.text),
        false => golden.file.text.clone(),
    };
    let file = parse_complete(&text, "hawser.toml").unwrap_or_else(|errors| panic!("{errors}"));
    Golden { file, ..golden }
}

/// A watch that is as the file wants it.
const RUNS: WatchFacts = WatchFacts {
    program: true,
    unit: WatchUnitFile::Ours,
    file: Some(true),
    enabled: true,
    running: true,
    replaced: false,
};

/// A head whose package is installed, and nothing else.
const BARE: WatchFacts = WatchFacts {
    program: true,
    unit: WatchUnitFile::None,
    file: None,
    enabled: false,
    running: false,
    replaced: false,
};

fn with(facts: &mut Facts, watch: Option<WatchFacts>) {
    for node in facts.nodes.values_mut() {
        node.watch = watch;
    }
}

/// Heads on which all is as the file wants it.
fn watched(golden: &Golden) -> Facts {
    let mut facts = facts(&golden.file, &running(golden));
    with(&mut facts, Some(RUNS));
    for node in facts.nodes.values_mut() {
        let right = FileFacts {
            mode: 0o755,
            same: true,
        };
        node.files.insert(ALERT.into(), right);
    }
    facts
}

fn planned(file: &ClusterFile, facts: &Facts) -> Vec<&'static str> {
    let plan = plan(file, facts, &Scheduler).unwrap();
    assert!(!plan.is_disruptive(), "{}", plan.report);
    plan.effects.iter().map(kind).collect()
}

#[test]
fn a_watch_that_the_file_wants_is_installed_after_all_else() {
    let golden = appliance(true);
    let mut facts = facts(&golden.file, &running(&appliance(false)));
    with(&mut facts, Some(BARE));
    let plan = golden_plan("watch-installed", &golden.file, &facts);
    let kinds: Vec<&str> = plan.effects.iter().map(kind).collect();
    assert_eq!(kinds, ["file", "file", "rest", "watch"]);
    assert!(plan.report.problems.is_empty() && !plan.is_disruptive());
}

#[test]
fn nothing_is_planned_for_heads_that_are_watched() {
    let golden = appliance(true);
    assert_eq!(planned(&golden.file, &watched(&golden)), [""; 0]);
}

#[test]
fn a_watch_that_is_not_as_it_was_installed_is_told() {
    let golden = appliance(true);
    let mut facts = watched(&golden);
    facts.nodes.get_mut("head1").unwrap().watch = Some(WatchFacts {
        unit: WatchUnitFile::Outdated,
        enabled: false,
        running: false,
        ..RUNS
    });
    facts.nodes.get_mut("head2").unwrap().watch = Some(WatchFacts {
        file: Some(false),
        replaced: true,
        ..RUNS
    });
    let plan = golden_plan("watch-drifted", &golden.file, &facts);
    let kinds: Vec<&str> = plan.effects.iter().map(kind).collect();
    assert_eq!(kinds, ["watch"]);
}

#[test]
fn what_was_installed_goes_with_the_field() {
    let bare = appliance(false);
    let facts = watched(&appliance(true));
    let plan = golden_plan("watch-removed", &bare.file, &facts);
    let kinds: Vec<&str> = plan.effects.iter().map(kind).collect();
    assert_eq!(kinds, ["rest", "file goes", "file goes", "watch goes"]);
}

#[test]
fn a_unit_of_the_sites_own_is_never_removed_and_its_text_never_replaced() {
    let theirs = WatchFacts {
        unit: WatchUnitFile::Theirs,
        ..RUNS
    };
    let bare = appliance(false);
    let mut unasked = facts(&bare.file, &running(&bare));
    with(&mut unasked, Some(theirs));
    assert_eq!(planned(&bare.file, &unasked), [""; 0]);
    // One of a package that its administrator has enabled.
    with(
        &mut unasked,
        Some(WatchFacts {
            enabled: true,
            running: true,
            ..BARE
        }),
    );
    assert_eq!(planned(&bare.file, &unasked), [""; 0]);

    let golden = appliance(true);
    let mut asked = watched(&golden);
    with(&mut asked, Some(theirs));
    let plan = plan(&golden.file, &asked, &Scheduler).unwrap();
    assert!(plan.is_empty());
    let own = "/etc/systemd/system/hawser-watch.service on head1 was not made by Hawser: its text is left alone";
    assert!(
        plan.report.notes.iter().any(|note| note == own),
        "{}",
        plan.report
    );
}

#[test]
fn a_head_that_cannot_run_a_watch_is_named_before_anything_is_done() {
    let golden = appliance(true);
    let mut facts = watched(&golden);
    let no_program = WatchFacts {
        program: false,
        ..BARE
    };
    facts.nodes.get_mut("head1").unwrap().watch = Some(no_program);
    let masked = WatchFacts {
        unit: WatchUnitFile::Masked,
        ..BARE
    };
    facts.nodes.get_mut("head2").unwrap().watch = Some(masked);
    let problems = plan(&golden.file, &facts, &Scheduler)
        .unwrap()
        .report
        .problems;
    let [first, second] = &problems[..] else {
        panic!("{problems:?}")
    };
    assert!(first.starts_with("head1 has no /usr/bin/hawser, which hawser-watch.service runs"));
    assert!(second.starts_with("hawser-watch.service is masked on head2"));
}

#[test]
fn heads_without_systemd_have_the_alert_alone() {
    let golden = appliance(true);
    let mut facts = facts(&golden.file, &running(&appliance(false)));
    with(&mut facts, None);
    assert_eq!(planned(&golden.file, &facts), ["file", "file", "rest"]);
}

#[test]
fn an_alert_that_somebody_changed_is_a_difference_and_anothers_is_left_alone() {
    let golden = appliance(true);
    let mut cib = running(&golden);
    let ours = drift(&golden.file, &Default::default(), &cib);
    assert!(
        !ours
            .iter()
            .any(|it| it.key.to_string().starts_with("alert"))
    );
    let text = cib.to_text();
    let other = "<alert id=\"mail\" path=\"/usr/local/bin/mail\"/></alerts>";
    let text = text.replace("timeout\" value=\"5s\"", "timeout\" value=\"30s\"");
    let text = text.replace("</alerts>", other);
    cib = hawser_cluster::xml::Element::parse(&text, "test").unwrap();
    let found = drift(&golden.file, &Default::default(), &cib);
    let found: Vec<String> = found
        .iter()
        .filter(|it| it.key.to_string().starts_with("alert"))
        .map(|it| format!("{}: {}", it.key, it.text))
        .collect();
    assert_eq!(
        found,
        ["alert hawser-watch: meta timeout: \"30s\" on the cluster, the file says \"5s\""]
    );
    assert!(
        running_with(&golden, &cib)
            .to_text()
            .contains("/usr/local/bin/mail")
    );
}

/// The heads of the lab, with systemd.
fn bare(bench: &Bench) -> Arc<Mutex<Cluster>> {
    let cluster = Cluster::bare(&bench.golden);
    for machine in cluster.lock().unwrap().machines.values_mut() {
        machine.watched = Some(false);
    }
    cluster
}

#[test]
fn an_apply_that_is_killed_while_it_installs_a_watch_is_finished_by_the_next_one() {
    let mut bench = Bench::new();
    let without = bench.golden.file.clone();
    let text = format!("{}\n[watch]\nunit = true\n", without.text);
    bench.golden.file = parse_complete(&text, "hawser.toml").unwrap();
    let cluster = bare(&bench);
    let whole = Wire::default();
    bench.apply(&cluster, &whole).unwrap();
    let is_watched = |cluster: &Arc<Mutex<Cluster>>| {
        let cluster = cluster.lock().unwrap();
        let mut machines = cluster.machines.values();
        let alert = cluster.cib.to_text().contains("hawser-watch");
        alert
            && machines.all(|machine| {
                let file = machine.files.get(WATCH_FILE);
                let same = file.is_some_and(|file| file.content.0 == text.as_bytes());
                same && machine.watched == Some(true) && machine.files.contains_key(ALERT)
            })
    };
    assert!(is_watched(&cluster));
    assert!(
        bench
            .apply(&cluster, &Wire::default())
            .unwrap()
            .changes
            .is_empty()
    );

    let asked = whole.asked();
    let installs = asked
        .iter()
        .position(|(_, name)| *name == "install the watch");
    let installs = installs.expect("it was installed");
    for number in installs - 3..=installs + 2 {
        let cluster = bare(&bench);
        let wire = Wire::default();
        wire.cut_before(number);
        let _cut = bench.apply(&cluster, &wire);
        bench.apply(&cluster, &Wire::default()).unwrap();
        assert!(is_watched(&cluster), "killed before question {number}");
    }

    bench.golden.file = without;
    bench.apply(&cluster, &Wire::default()).unwrap();
    assert!(
        bench
            .apply(&cluster, &Wire::default())
            .unwrap()
            .changes
            .is_empty()
    );
    let cluster = cluster.lock().unwrap();
    assert!(!cluster.cib.to_text().contains("<alert"));
    for machine in cluster.machines.values() {
        assert!(machine.watched == Some(false) && !machine.files.contains_key(ALERT));
    }
}
