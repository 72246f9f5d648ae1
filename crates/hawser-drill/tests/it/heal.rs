//! What a drill that was killed has left is taken back: every scenario, against heads and a site that are simulated.

use std::fs;
use std::path::PathBuf;

use hawser_drill::context::DrillContext;
use hawser_drill::in_progress::take_back;
use hawser_drill::scenario::{Scenario, all};

use hawser_host::Clock;

use crate::bench::{Bench, World};

fn note_of(bench: &Bench) -> PathBuf {
    bench.notes.path().join("drill")
}

/// An upgrade leaves every head as it is to be; what of its middle is taken back is among the questions that go wrong.
fn breaking() -> impl Iterator<Item = &'static Scenario> {
    all().filter(|scenario| scenario.name != "upgrade")
}

/// No client is asked in these tests.
fn in_context<T>(bench: &Bench, world: &World, work: impl FnOnce(&mut DrillContext<'_>) -> T) -> T {
    bench.with(world, Box::new(world.clone()), work)
}

/// A drill on vmpool01, which head1 has, is killed when all its faults are made.
fn killed(bench: &Bench, scenario: &Scenario, seed: u64) -> World {
    let world = bench.world(&Clock::simulated());
    in_context(bench, &world, |context| {
        (context.active, context.seed) = ("head1".into(), seed);
        for fault in scenario.plan(context).faults {
            fault
                .make(context)
                .unwrap_or_else(|e| panic!("{}: {e}", scenario.name));
        }
    });
    world.broken().mendings = 0;
    let note = format!("{}\nhead1\nvmpool01\n{seed}\n", scenario.name);
    fs::write(note_of(bench), note).unwrap();
    world
}

/// Takes back what is left; the cluster is then whole.
fn heal(bench: &Bench, world: &World) -> Result<(), String> {
    in_context(bench, world, |context| {
        let taken = take_back(context).map_err(|e| e.to_string())?;
        taken.expect("a drill was killed").end();
        Ok(())
    })
}

#[test]
fn what_every_scenario_breaks_is_taken_back_after_a_kill() {
    let bench = Bench::new();
    for scenario in breaking() {
        for seed in 0..6 {
            let world = killed(&bench, scenario, seed);
            let broken = !world.broken().is_nothing();
            assert!(broken, "{} breaks nothing", scenario.name);
            let healed = heal(&bench, &world);
            healed.unwrap_or_else(|e| panic!("{}: {e}", scenario.name));
            assert!(
                world.broken().is_nothing(),
                "{} is not healed",
                scenario.name
            );
            assert!(!note_of(&bench).exists(), "{}", scenario.name);
        }
    }
}

#[test]
fn a_healing_that_fails_anywhere_is_told_and_finished_by_the_next_one() {
    let bench = Bench::new();
    for scenario in breaking() {
        let whole = killed(&bench, scenario, 1);
        heal(&bench, &whole).unwrap();
        let mendings = whole.broken().mendings;
        for number in 0..mendings {
            let world = killed(&bench, scenario, 1);
            world.broken().fails_at = Some(number);
            let name = scenario.name;
            let why = heal(&bench, &world).expect_err(name);
            assert!(why.contains("planted"), "{name}: {why}");
            assert!(world.broken().count() <= 1, "{name}: all others are healed");
            assert!(
                note_of(&bench).exists(),
                "{name}: the next one must know of it"
            );
            heal(&bench, &world).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(world.broken().is_nothing(), "{name} is not healed");
        }
    }
}

#[test]
fn a_head_that_cannot_be_switched_on_keeps_no_other_from_it() {
    let bench = Bench::new();
    let world = killed(&bench, Scenario::named("power-cut").unwrap(), 1);
    world.cuts_power(&"head2".into());
    // Its fault is healed first; then every head is switched on.
    world.broken().fails_at = Some(1);
    heal(&bench, &world).unwrap_err();
    assert!(world.broken().off.is_empty());
}
