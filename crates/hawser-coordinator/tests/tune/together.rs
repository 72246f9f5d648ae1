//! Two knobs that both help: which stay, and what is left when it goes wrong anywhere.
//!
//! `backlog-overflow` lost 2000 of 10 000 packets in one processor's queue. Two more processors' worth of queue (RPS) and a longer
//! queue (`netdev_max_backlog`) each make room; how much each does here is a rule of the test, and what is lost without
//! either is the case's.

use std::sync::Arc;

use hawser_coordinator::tune::TuneError;
use hawser_host::sim::Wire;
use hawser_model::trial::{Trial, Tuning};
use hawser_model::units::Packets;

use crate::world::{World, telling, tuned};

const SPREAD: &str = "RPS of ring0 queue 0";
const LONGER: &str = "net.core.netdev_max_backlog";

/// What is left of the loss with neither, the spread, the longer queue, and both.
fn world(left: [f64; 4]) -> Arc<World> {
    World::losing(hawser_cases::read("backlog-overflow"), move |world| {
        let place =
            usize::from(world.has_turned(SPREAD)) + 2 * usize::from(world.has_turned(LONGER));
        left[place]
    })
}

/// Each makes room for half.
const BOTH_NEEDED: [f64; 4] = [1.0, 0.5, 0.5, 0.0];

fn trial<'a>(tuning: &'a Tuning, knob: &str) -> &'a Trial {
    let mut all = tuning.trials.iter();
    all.find(|trial| trial.knob.to_string() == knob).unwrap()
}

fn kept(world: &World) -> Vec<String> {
    let turned = world.turned();
    assert!(turned.iter().all(|(_, kept)| *kept), "{turned:?}");
    turned.into_iter().map(|(knob, _)| knob).collect()
}

/// What was lost in all windows of the trial with the change, and without it.
fn lost(trial: &Trial) -> (Vec<Packets>, Vec<Packets>) {
    let windows = trial
        .pairs
        .iter()
        .map(|pair| (pair.with.lost, pair.without.lost));
    let (mut with, mut without): (Vec<_>, Vec<_>) = windows.unzip();
    with.dedup();
    without.dedup();
    (with, without)
}

#[test]
fn of_two_that_do_the_same_one_is_left_out() {
    let world = world([1.0, 0.25, 0.25, 0.25]);
    let tuning = tuned(&world, &Wire::default()).unwrap();
    assert_eq!(kept(&world), [LONGER]);
    let (spread, longer) = (trial(&tuning, SPREAD), trial(&tuning, LONGER));
    // Both were better, each by itself; the one that is left out first is the one that was tried first.
    let by_itself = (vec![Packets(500)], vec![Packets(2000)]);
    assert_eq!((lost(spread), lost(longer)), (by_itself.clone(), by_itself));
    assert!(!spread.kept && longer.kept);
    let left_out: Vec<_> = spread
        .left_out
        .iter()
        .map(|it| (it.with.lost, it.without.lost))
        .collect();
    assert!(
        left_out.len() >= 8
            && left_out
                .iter()
                .all(|it| *it == (Packets(500), Packets(500)))
    );
    assert!(longer.left_out.is_empty(), "nothing else is left by then");
}

#[test]
fn two_that_cure_together_are_kept_together() {
    let world = world(BOTH_NEEDED);
    let tuning = tuned(&world, &Wire::default()).unwrap();
    assert_eq!(kept(&world), [SPREAD, LONGER]);
    for knob in [SPREAD, LONGER] {
        let trial = trial(&tuning, knob);
        assert_eq!(
            lost(trial),
            (vec![Packets(1000)], vec![Packets(2000)]),
            "{knob}"
        );
        // Without it half is lost again.
        let mut left_out = trial.left_out.iter();
        assert!(
            left_out.all(|it| (it.with.lost, it.without.lost) == (Packets::ZERO, Packets(1000)))
        );
    }
}

#[test]
fn one_that_helps_a_little_goes_when_another_one_cures() {
    let world = world([1.0, 0.5, 0.0, 0.0]);
    let tuning = tuned(&world, &Wire::default()).unwrap();
    assert_eq!(kept(&world), [LONGER]);
    // It was out of the way when the cure was proven.
    assert_eq!(
        lost(trial(&tuning, LONGER)),
        (vec![Packets::ZERO], vec![Packets(2000)])
    );
    assert!(trial(&tuning, SPREAD).left_out.is_empty());
}

#[test]
fn one_that_makes_it_worse_is_put_back() {
    let world = world([1.0, 2.0, 0.0, 2.0]);
    let tuning = tuned(&world, &Wire::default()).unwrap();
    assert_eq!(kept(&world), [LONGER]);
    assert_eq!(
        lost(trial(&tuning, SPREAD)),
        (vec![Packets(4000)], vec![Packets(2000)])
    );
}

#[test]
fn one_that_somebody_else_has_set_meanwhile_is_not_called_rolled_back() {
    let world = world([1.0, 2.0, 0.0, 2.0]);
    *world.foreign.lock().unwrap() = Some((SPREAD.into(), "24=3 25=3".into()));
    let mut case = world.case.clone();
    case.tuning = Some(tuned(&world, &Wire::default()).unwrap());
    let report = hawser_account::trial::tune_report(&case).unwrap();
    let of = |knob| {
        let mut all = report.trials.iter();
        all.find(|trial| trial.knob == knob).unwrap()
    };
    assert_eq!(of(SPREAD).outcome(), "worse, not all rolled back");
    let note = of(SPREAD).note.clone().unwrap();
    let left = format!("somebody else has set it meanwhile: {SPREAD} on head2 at 24=3 25=3");
    assert!(note.ends_with(&left), "{note}");
    assert_eq!(of(LONGER).outcome(), "better, kept");
    assert!(of(LONGER).left_at.is_empty());
}

/// A tune of two that cure together goes wrong at a question. What is turned when every agent is gone, and what is told.
fn ended(plan: impl Fn(&Wire)) -> (Vec<String>, Result<Tuning, TuneError>) {
    let (world, wire) = (world(BOTH_NEEDED), Wire::default());
    plan(&wire);
    let tuning = tuned(&world, &wire);
    world.guards();
    (kept(&world), tuning)
}

/// The questions of a whole one.
fn questions() -> Vec<(usize, &'static str)> {
    let whole = Wire::default();
    tuned(&world(BOTH_NEEDED), &whole).unwrap();
    let asked = whole.asked();
    let each = telling(&whole).into_iter();
    each.map(|number| (number, asked[number].1)).collect()
}

#[test]
fn a_tune_of_two_that_is_declined_anything_keeps_what_it_says() {
    for (number, _) in questions() {
        let (turned, tuning) = ended(|wire| wire.decline(number));
        let told: Vec<String> = match &tuning {
            Ok(tuning) => {
                let kept = tuning.trials.iter().filter(|trial| trial.kept);
                kept.map(|trial| trial.knob.to_string()).collect()
            }
            Err(_) => Vec::new(),
        };
        assert_eq!(turned, told, "{number} was declined: {:?}", tuning.err());
    }
}

#[test]
fn a_tune_of_two_that_is_cut_off_anywhere_leaves_nothing_that_it_does_not_say() {
    let mut halves = 0;
    let mut ends = |number, plan: &dyn Fn(&Wire)| {
        let (turned, tuning) = ended(plan);
        let at = format!("cut off at {number}: {:?}", tuning.as_ref().err());
        let words = tuning.as_ref().err().map(ToString::to_string);
        match tuning {
            Err(TuneError::HalfKept { left, .. }) => {
                let words = words.unwrap_or_default();
                assert!(words.contains("undo head2-"), "{words}");
                let told: Vec<String> = left.iter().map(|(_, it)| it.knob.to_string()).collect();
                assert!(
                    turned.iter().all(|it| told.contains(it)),
                    "{at}: {turned:?}"
                );
                halves += usize::from(turned.len() == 1);
            }
            _ => assert!(turned.is_empty(), "{at}: {turned:?}"),
        }
    };
    for (number, name) in questions() {
        // Before a question all is as after the one before it, but for what is known of that.
        ends(number, &|wire| wire.cut_after(number));
        if name == "keep change" {
            ends(number, &|wire| wire.cut_before(number));
        }
    }
    // After the first is kept, and before the second is.
    assert_eq!(halves, 2);
}
