//! Whole drills, from plan to judged report, on the cluster of a recorded one.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hawser_account::outage::explain_drill;
use hawser_drill::DrillError;
use hawser_drill::context::{Cluster, DrillContext};
use hawser_drill::run::{Orders, run};
use hawser_drill::scenario::Scenario;
use hawser_model::drill::{DrillCase, Moment};
use hawser_model::names::HostName;
use hawser_model::output::drill::DrillReport;

use crate::bench::{Bench, WRITES_EVERY_US, World};
use crate::recorded::Recorded;
use crate::writer::Seated;

/// From the client's last write to the moment of the fault.
const CLIENT_PACE: &str = "client pace";

/// How long that is at most, in seconds.
const PACE_S: f64 = 0.026;

/// How often a writer has a write acknowledged where a drill is not held against its recording, in microseconds: the records of
/// writes cost a simulated drill more than all else, and it asks the same questions with fewer of them.
const WRITES_SELDOM_US: u64 = 400_000;

/// Found where the processors were watched as well.
const TOKEN_LONGER_THAN_NEEDED: &str = "token-longer-than-needed";

/// Drills as in a recording.
pub struct Again {
    bench: Bench,
    story: Arc<Recorded>,
    real: bool,
    writes_every_us: u64,
    /// How long a drill takes until its first fault.
    until_fault: u64,
}

impl Again {
    pub fn of(name: &str, real: bool) -> Self {
        Self::as_in(Recorded::named(name), real, WRITES_EVERY_US)
    }

    /// The same with a client that writes seldom.
    pub fn with_a_slow_client(name: &str, real: bool) -> Self {
        Self::as_in(Recorded::named(name), real, WRITES_SELDOM_US)
    }

    /// A scenario that the cluster answers as it did the recorded one, with a client that writes seldom.
    pub fn another(recorded: &str, scenario: &str, real: bool) -> Self {
        let mut story = Recorded::named(recorded);
        scenario.clone_into(&mut story.0.scenario.name);
        Self::as_in(story, real, WRITES_SELDOM_US)
    }

    /// The same with a client that writes seldom, on real heads of this cluster file.
    pub fn on(bench: Bench, name: &str) -> Self {
        Self::on_bench(bench, Recorded::named(name), true, WRITES_SELDOM_US)
    }

    fn as_in(story: Recorded, real: bool, writes_every_us: u64) -> Self {
        Self::on_bench(Bench::new(), story, real, writes_every_us)
    }

    fn on_bench(bench: Bench, story: Recorded, real: bool, writes_every_us: u64) -> Self {
        let mut again = Self {
            bench,
            story: Arc::new(story),
            real,
            writes_every_us,
            until_fault: 60_000_000,
        };
        let world = again.world();
        let begun = world.now();
        let fault = again.drill(&world).unwrap().faults[0].ordered;
        again.until_fault = fault.0 - begun.0;
        again
    }

    /// A world in which the drill orders its fault when it was ordered.
    pub fn world(&self) -> World {
        let begun = self.story.ordered().0 - self.until_fault;
        let mut world = self.bench.recorded(&self.story, Moment(begun));
        world.real = self.real;
        world.writes_every_us = self.writes_every_us;
        world
    }

    pub fn story(&self) -> &Recorded {
        &self.story
    }

    /// How the recorded one is judged.
    pub fn recorded(&self) -> DrillReport {
        explain_drill(&self.story.0)
    }

    pub fn in_context<T>(&self, world: &World, work: impl FnOnce(&mut DrillContext<'_>) -> T) -> T {
        let client = Box::new(Seated(world.clone()));
        self.bench.with(world, client, work)
    }

    /// What a drill that was killed is known by.
    pub fn note(&self) -> PathBuf {
        self.bench.notes.path().join("drill")
    }

    pub fn drill(&self, world: &World) -> Result<DrillCase, DrillError> {
        self.run(world, false)
    }

    /// A drill that may break what the pool has no copy of.
    pub fn drill_without_copy(&self, world: &World) -> Result<DrillCase, DrillError> {
        self.run(world, true)
    }

    fn run(&self, world: &World, no_copy: bool) -> Result<DrillCase, DrillError> {
        let case = &self.story.0;
        // Who asks that is not the drill.
        let before = world.again().status().unwrap();
        self.in_context(world, |context| {
            context.aim(&before).unwrap();
            (context.seed, context.no_copy) = (case.seed, no_copy);
            context.packages = vec!["corosync".to_owned()];
            let orders = Orders {
                scenario: Scenario::named(&case.scenario.name).unwrap(),
                budget: case.scenario.promises.outage_ms.map(Duration::from_millis),
                version: "0",
                say: &|_| {},
            };
            run(context, &orders, &before)
        })
    }
}

/// What is told of a drill, without what depends on how often the client writes and the watch looks.
pub type Told = (
    Vec<(String, HostName)>,
    Vec<HostName>,
    Vec<(String, bool)>,
    Vec<String>,
);

pub fn told(report: &DrillReport) -> Told {
    let phases = report.phases.iter().filter(|it| it.name != CLIENT_PACE);
    let promises = report.promises.iter();
    let findings = report.findings.iter().map(|it| it.finding.code.clone());
    (
        phases
            .map(|it| (it.name.clone(), it.host.clone()))
            .collect(),
        report.fenced.clone(),
        promises.map(|it| (it.promise.clone(), it.held)).collect(),
        // A pause of this machine's processors is no part of a recording's answers.
        findings
            .filter(|it| it != TOKEN_LONGER_THAN_NEEDED)
            .collect(),
    )
}

/// A drill ends as the recorded one did, and is judged as that was.
#[track_caller]
fn as_it_was(name: &str, real: bool) {
    let again = Again::of(name, real);
    let world = again.world();
    let case = again.drill(&world).unwrap();
    let (now, then) = (explain_drill(&case), explain_drill(&again.story.0));
    assert_eq!(told(&now), told(&then), "{name}");
    // The last write before the fault is from somewhere in the pace of the client.
    let near = |a: f64, b: f64| (a - b).abs() < PACE_S;
    assert!(near(now.outage_s, then.outage_s), "{name}: {now:#?}");
    let phases = |report: &DrillReport| -> Vec<f64> {
        let phases = report.phases.iter().filter(|it| it.name != CLIENT_PACE);
        phases.map(|it| it.seconds).collect()
    };
    let mut pairs = phases(&now).into_iter().zip(phases(&then));
    assert!(pairs.all(|(a, b)| near(a, b)), "{name}: {now:#?}");
    assert!(now.unattributed_s.abs() < 1e-6, "{name}: {now:#?}");
    assert!(world.is_whole(), "{name}");
}

#[test]
fn a_drill_that_was_recorded_is_judged_as_it_was() {
    for name in [
        "power-cut",
        "stock-power-cut",
        "hang",
        "switchover",
        "sans-unplugged",
        "target-killed",
        "other-pool-found-first",
        "duel",
    ] {
        as_it_was(name, false);
    }
}

#[test]
fn on_real_heads_the_same_drill_is_judged_alike() {
    for name in [
        "power-cut",
        "stock-power-cut",
        "switchover",
        "target-killed",
    ] {
        as_it_was(name, true);
    }
}

/// A BMC takes seconds to switch on a head that has died when it was switched off.
#[test]
fn a_reset_s_death_is_when_the_power_went() {
    let again = Again::another("power-cut", "reset", false);
    let made = |power_takes| {
        let mut world = again.world();
        world.power_takes = power_takes;
        let case = again.drill(&world).unwrap();
        assert_eq!(case.power[0].at, case.faults[0].made);
        case.faults[0].made.since(case.faults[0].ordered)
    };
    let quick = made(Duration::ZERO);
    assert!(
        (made(Duration::from_secs(4)) - quick).abs() < 1.0,
        "{quick}"
    );
}

#[test]
fn a_drill_looks_breaks_watches_heals_and_looks_again_in_this_order() {
    let again = Again::of("power-cut", false);
    let world = again.world();
    again.drill(&world).unwrap();
    let mut asked: Vec<&str> = world.wire.asked().iter().map(|(_, what)| *what).collect();
    asked.dedup();
    let order = [
        "read the logs",
        "read the CIB",
        "read Corosync's map",
        "read the fencing history",
        "start writing",
        "take words",
        "read clock",
        "take words",
        "power off",
        "shows off",
        // The pool is elsewhere; the client writes steadily there before anything is healed.
        "take words",
        "status",
        "power on",
        "has power",
        "status",
    ];
    assert_eq!(asked[..order.len()], order);
    let end = [
        "status",
        "take words",
        "read clock",
        "stop writing",
        "take words",
        "read the fencing history",
        "read the logs",
    ];
    assert!(asked.ends_with(&end), "{asked:?}");
}

#[test]
fn two_heads_at_a_time_are_seen_and_real_ones_are_healed_at_once() {
    let mut story = Recorded::named("sans-unplugged");
    let end = story.0.client.ended;
    let on_both = story.0.watch.holds.iter_mut();
    let mut first = on_both.filter(|it| it.pool == "vmpool01" && it.host.as_str() == "head1");
    // It never lets the pool go that head2 gets.
    let hold = first.next().unwrap();
    (hold.last, hold.gone) = (end, None);
    let again = Again::as_in(story, false, WRITES_EVERY_US);
    let both = &again.story.0.watch.holds[2];
    assert_eq!(
        (both.pool.as_str(), both.host.as_str()),
        ("vmpool01", "head2")
    );
    let healed_after = |expendable| {
        let mut world = again.world();
        world.expendable = expendable;
        let case = again.drill(&world).unwrap();
        assert_eq!(explain_drill(&case).broken[0], "no-two-heads");
        case.faults[0].heal_ordered.unwrap().since(both.first)
    };
    let (real, lab) = (healed_after(false), healed_after(true));
    assert!((0.0..0.2).contains(&real), "{real}");
    assert!(lab > 2.0, "a lab shows how it goes on: {lab}");
}

#[test]
fn what_a_cluster_cannot_bear_is_refused_before_anything_is_asked_of_its_client() {
    let again = Again::of("power-cut", false);
    let mut world = again.world();
    world.unfit = Some("/dev/sda: it has one path".into());
    let before = world.again().status().unwrap();
    for name in [
        "path-gone",
        "disk-gone",
        "shelf-gone",
        "disk-slow",
        "disk-errors",
        "kill-tgtd",
        "stop-tgtd",
    ] {
        let refused = again.in_context(&world, |context| {
            context.aim(&before).unwrap();
            let orders = Orders {
                scenario: Scenario::named(name).unwrap(),
                budget: None,
                version: "0",
                say: &|said| panic!("{said}"),
            };
            run(context, &orders, &before).unwrap_err()
        });
        let said =
            format!("{name} cannot be made here: /dev/sda: it has one path; nothing was done");
        assert_eq!(refused.to_string(), said);
    }
    let asked = world.wire.asked();
    assert!(
        asked.iter().all(|(_, what)| *what == "fit for a fault"),
        "{asked:?}"
    );
    assert!(world.broken().is_nothing() && !again.note().exists());
}

#[test]
fn a_pool_on_a_single_disk_breaks_what_is_promised_once_that_is_asked_for_and_is_whole_afterwards()
{
    // Its clients wait for longer than a drill waits for them before it heals.
    let mut story = Recorded::named("sans-down");
    "disk-errors".clone_into(&mut story.0.scenario.name);
    let answered = story.ordered().0 + 150_000_000;
    for stall in &mut story.0.client.stalls {
        stall.to = Moment(answered);
    }
    let again = Again::as_in(story, false, WRITES_EVERY_US);
    let mut world = again.world();
    world.no_copy = true;
    let refused = again.drill(&world).unwrap_err().to_string();
    let said = "disk-errors cannot be made here: no other disk has it; nothing was done";
    assert_eq!(refused, said);
    assert!(!world.is_made());

    let mut world = again.world();
    world.no_copy = true;
    let case = again.drill_without_copy(&world).unwrap();
    let report = explain_drill(&case);
    assert!(!report.passed);
    assert!(
        report.broken.iter().any(|it| it == "service-survives"),
        "{report:#?}"
    );
    let hit = &case.faults[0];
    assert_eq!(hit.hosts, ["shelf1".into()]);
    assert_eq!(
        hit.object.as_deref(),
        Some("/srv/shelf/vmpool01.img: every access fails")
    );
    assert!(world.is_whole() && !again.note().exists());
}
