//! Starts that were ended in the middle, tgtd that was started anew, and copies of versions before.

use std::fs;

use super::{Health, IQN, Saved, ServiceError, World, numbers};

const FIRST: &str = "[[target]]\nname = \"tank\"\n[[target]]\nname = \"two\"\n";
const SECOND: &str = "[defaults]\nwrite_cache = false\n[[host_group]]\nname = \"h\"\nmembers = [\"iqn.h\"]\n\
                      [[view]]\nname = \"v\"\nhost_group = \"h\"\n[[target]]\nname = \"tank\"\n";

#[test]
fn a_start_that_was_ended_anywhere_is_stopped_and_mended_whole() {
    for (earlier, text) in [(None, FIRST), (Some(FIRST), SECOND), (Some(SECOND), FIRST)] {
        let mut n = 1;
        loop {
            let world = |stop: bool| {
                let mut world = World::with(&["a", "b"]);
                let disk = world.folder.path().join("foreign.dat");
                fs::write(&disk, "x").unwrap();
                world.tgtd().foreign(7, "iqn.2020-01.foreign:disk", &disk);
                let foreign = world.tgtd().shown();
                if let Some(earlier) = earlier {
                    world.start(earlier).unwrap();
                    world.log_in(&[b"iqn.h"]);
                }
                world.tgtd().left = Some(n);
                let ended = world.start(text).is_err();
                world.tgtd().left = None;
                if ended && world.health().unwrap() == Health::Running {
                    panic!(
                        "{n} of {earlier:?} {text}: an ended start passes for one that ended well"
                    );
                }
                match stop {
                    true => {
                        world.stop().unwrap();
                        assert_eq!(world.tgtd().shown(), foreign, "{n} of {text}");
                        assert_eq!(
                            (world.saved(), world.health().unwrap()),
                            (None, Health::Stopped)
                        );
                    }
                    false => {
                        world
                            .start(text)
                            .unwrap_or_else(|error| panic!("{n} of {text}: {error}"));
                        assert_eq!(world.health().unwrap(), Health::Running);
                        assert_eq!(world.start(text).unwrap(), Vec::<String>::new());
                    }
                }
                ended
            };
            let ended = world(true);
            assert_eq!(world(false), ended);
            if !ended {
                break;
            }
            n += 1;
        }
        assert!(n > 5, "{n} operations");
    }
}

#[test]
fn nothing_of_an_earlier_tgtd_is_looked_for_in_a_later_one() {
    let mut world = World::with(&["a"]);
    world.start("").unwrap();
    let mut saved = world.saved().unwrap();
    saved.made.as_mut().unwrap().instance.since += 1;
    saved.write(world.run()).unwrap();
    // The later one has, by chance, something of the same number.
    let disk = world.folder.path().join("foreign.dat");
    fs::write(&disk, "x").unwrap();
    let tid = numbers(IQN).next().unwrap();
    world.tgtd().targets.clear();
    world.tgtd().foreign(tid, "iqn.2020-01.foreign:disk", &disk);
    let before = world.tgtd().shown();
    assert_eq!(world.health().unwrap(), Health::Stopped);
    world.stop().unwrap();
    assert_eq!(world.tgtd().shown(), before);
}

/// As the version before wrote it.
fn aged(world: &World) -> Saved {
    let mut saved = world.saved().unwrap();
    (saved.made, saved.volumes) = (None, Default::default());
    saved.write(world.run()).unwrap();
    saved
}

#[test]
fn a_copy_without_numbers_is_believed_as_far_as_it_can_be_proven() {
    let mut world = World::with(&["a", "b"]);
    world.start("").unwrap();
    aged(&world);
    assert_eq!(world.health().unwrap(), Health::Running);
    assert_eq!(world.start("").unwrap(), Vec::<String>::new());
    aged(&world);
    world.stop().unwrap();
    assert!(world.tgtd().targets.is_empty());

    // Its target has another number than its name gives, and somebody else has that one.
    let disk = world.folder.path().join("foreign.dat");
    fs::write(&disk, "x").unwrap();
    let tid = numbers(IQN).next().unwrap();
    world.tgtd().foreign(tid, "iqn.2020-01.foreign:disk", &disk);
    world.start("").unwrap();
    aged(&world);
    let before = world.tgtd().shown();
    let refused = world.stop().unwrap_err();
    assert!(
        matches!(refused, ServiceError::Unproven { .. }),
        "{refused}"
    );
    assert!(world.start("").is_err() && world.health().is_err());
    assert_eq!(
        (world.tgtd().shown(), world.saved().is_some()),
        (before, true)
    );
}
