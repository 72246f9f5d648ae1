//! A drill that goes wrong at every single question to heads, site, administration and client: what it has broken is
//! taken back, or it says what is not, and the next one takes it back.

use hawser_drill::DrillError;
use hawser_drill::in_progress::take_back;

use hawser_model::names::HostName;

use crate::bench::{CLUSTER, SITE, World};
use crate::whole::Again;

/// Power, links, a service, an administrator, several faults at once; and whether on real heads.
const RECORDED: [(&str, bool); 6] = [
    ("power-cut", false),
    ("sans-unplugged", false),
    ("target-killed", false),
    ("switchover", false),
    ("wrong-password", false),
    ("power-cut", true),
];

/// Disks, clocks and networks, on a cluster that answers as one did whose SANs were down: clients wait until it is healed.
const OTHERS: [(&str, bool); 9] = [
    ("clock-step", false),
    ("clock-back", true),
    ("path-gone", false),
    ("disk-gone", false),
    ("shelf-gone", false),
    ("disk-slow", false),
    ("disk-errors", false),
    ("disk-gone", true),
    ("sans-down", true),
];

fn all() -> impl Iterator<Item = (&'static str, bool, Again)> {
    let recorded = RECORDED.map(|(name, real)| (name, real, Again::with_a_slow_client(name, real)));
    let others = OTHERS.map(|(name, real)| (name, real, Again::another("sans-down", name, real)));
    let upgrade = (
        "upgrade",
        true,
        Again::another("switchover", "upgrade", true),
    );
    recorded.into_iter().chain(others).chain([upgrade])
}

/// What goes wrong at a question.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wrong {
    /// It is declined.
    Declined,
    /// It is to a host, which does it, and its answer is lost with the connection.
    AnswerLost,
    /// It is to the site, which is out of reach, and in reach again at the next question.
    OutOfReach,
    /// Whoever drills is cut off there, for good.
    CutOff,
    /// Somebody presses Ctrl-C then.
    Interrupted,
}

/// Which there are.
fn questions(again: &Again) -> Vec<(usize, HostName, &'static str)> {
    let world = again.world();
    again.drill(&world).unwrap();
    let (rounds, asked) = (world.wire.rounds().into_iter(), world.wire.asked());
    rounds
        .map(|number| (number, asked[number].0.clone(), asked[number].1))
        .collect()
}

/// The next drill, or `--heal`.
fn heal(again: &Again, world: &World) -> Result<(), String> {
    let world = world.again();
    again.in_context(&world, |context| {
        if let Some(taken) = take_back(context).map_err(|e| e.to_string())? {
            taken.end();
        }
        Ok(())
    })
}

fn goes_wrong(wrong: Wrong) {
    for (name, real, again) in all() {
        // Real heads have no site of their own; whoever is cut off from them tries for minutes.
        if real && matches!(wrong, Wrong::OutOfReach | Wrong::CutOff) {
            continue;
        }
        let note = again.note();
        for (number, host, question) in questions(&again) {
            let counts = match wrong {
                Wrong::OutOfReach => host.as_str() == SITE,
                Wrong::AnswerLost => ![SITE, CLUSTER].contains(&host.as_str()),
                _ => true,
            };
            if !counts {
                continue;
            }
            let mut world = again.world();
            match wrong {
                Wrong::Declined => world.wire.decline(number),
                Wrong::AnswerLost => world.wire.lose_answer(number),
                Wrong::OutOfReach => {
                    world.wire.decline(number);
                    world.later = true;
                }
                Wrong::CutOff => world.wire.cut_before(number),
                Wrong::Interrupted => world.interrupted_after = Some(number),
            }
            let ended = again.drill(&world);
            let at = format!(
                "{name} ({real}), {wrong:?} at {number}, {host}: {question}: {:?}",
                ended.as_ref().err()
            );
            let left = !world.broken().is_nothing();
            let told = matches!(ended, Err(DrillError::Unhealed { .. }));
            let words = ended.as_ref().err().map(ToString::to_string);
            let planted = words.unwrap_or_default().matches("planted").count();
            assert!(planted <= 1, "{at}: it says one thing twice");
            assert!(
                told || !left,
                "{at}: something is broken, and nobody is told"
            );
            assert!(note.exists() || !left, "{at}: the next one must know of it");
            if ended.is_ok() || matches!(ended, Err(DrillError::Early { .. })) {
                assert!(world.is_whole(), "{at}: it is said to be whole");
            }
            match wrong {
                Wrong::Interrupted => assert!(!left, "{at}: that keeps nothing from being healed"),
                // Nobody breaks a thing twice.
                Wrong::OutOfReach if !matches!(question, "break" | "power off") => {
                    assert!(ended.is_ok(), "{at}: it is asked again");
                }
                _ => {}
            }
            heal(&again, &world).unwrap_or_else(|e| panic!("{at}: {e}"));
            assert!(world.broken().is_nothing(), "{at}: is not healed");
            assert!(!note.exists(), "{at}");
        }
    }
}

#[test]
fn a_drill_takes_back_what_it_broke_whichever_question_is_declined() {
    goes_wrong(Wrong::Declined);
}

#[test]
fn a_drill_takes_back_what_was_done_although_its_answer_was_lost() {
    goes_wrong(Wrong::AnswerLost);
}

#[test]
fn a_drill_tries_again_what_is_out_of_reach_for_a_moment() {
    goes_wrong(Wrong::OutOfReach);
}

#[test]
fn a_drill_that_is_cut_off_anywhere_leaves_a_note_by_which_the_next_one_heals() {
    goes_wrong(Wrong::CutOff);
}

#[test]
fn a_drill_that_is_interrupted_anywhere_is_healed() {
    goes_wrong(Wrong::Interrupted);
}
