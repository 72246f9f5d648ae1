//! A tgtd that cannot be reached, or does not answer.

use std::fs;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use super::{Deadline, Health, Saved, World, broken};
use crate::exports::host::Lock;

#[test]
fn a_stop_that_cannot_reach_tgtd_sees_what_it_has_open() {
    let mut world = World::with(&["a"]);
    world.start("").unwrap();
    let socket = world.folder.path().join("socket");
    fs::rename(&socket, socket.with_extension("lost")).unwrap();
    let refused = world.stop().unwrap_err().to_string();
    let path = world.path("a.img").display().to_string();
    assert!(
        refused.contains(&path) && refused.contains("tgtd (process "),
        "{refused}"
    );
    assert!(
        world.saved().is_some(),
        "what is still served is not forgotten"
    );
    assert!(broken(world.health()).contains(&path));
    // It stops answering in the middle.
    fs::rename(socket.with_extension("lost"), &socket).unwrap();
    world.tgtd().left = Some(1);
    let refused = world.stop().unwrap_err().to_string();
    assert!(refused.contains(&path), "{refused}");
    // It is dead indeed: nobody has anything open.
    world.tgtd().targets.clear();
    fs::remove_file(&socket).unwrap();
    assert_eq!(world.health().unwrap(), Health::Stopped);
    world.stop().unwrap();
    assert_eq!(world.saved(), None);
}

#[test]
fn who_waits_for_a_disk_keeps_nobody_from_stopping() {
    let mut world = World::with(&["a"]);
    world.start("").unwrap();
    let folder = world.run().to_owned();
    world.here.read = Box::new(move |_, _| {
        let (locked, waits) = mpsc::channel();
        let folder = folder.clone();
        thread::spawn(move || {
            let lock = Lock::wait(&folder, "another");
            let _nobody_waits = locked.send(lock.is_ok());
        });
        let soon = Duration::from_secs(20);
        assert_eq!(waits.recv_timeout(soon), Ok(true), "the lock is held");
        Ok(())
    });
    assert_eq!(world.health().unwrap(), Health::Running);
}

#[test]
fn a_disk_that_goes_with_what_was_stopped_meanwhile_is_no_failure() {
    let mut world = World::with(&["a"]);
    world.start("").unwrap();
    let folder = world.run().to_owned();
    world.here.read = Box::new(move |_, _| {
        Saved::remove(&folder, "tank").unwrap();
        Err(std::io::ErrorKind::NotFound.into())
    });
    assert_eq!(world.health().unwrap(), Health::Stopped);
}

#[test]
fn a_tgtd_that_hangs_is_ended_and_nothing_is_concluded_from_its_silence() {
    let mut world = World::with(&["a"]);
    world.start("").unwrap();
    let made = world.saved().unwrap().made.unwrap().instance;
    world.tgtd().hangs_after = Some(0);
    let over = Deadline::after(Duration::ZERO);
    world.here.daemon = world.here.daemon.until(over);
    // It cannot be ended: it waits for a disk, say.
    let refused = world.stop().unwrap_err().to_string();
    let path = world.path("a.img").display().to_string();
    assert!(
        refused.contains("does not answer") && refused.contains(&path),
        "{refused}"
    );
    let tgtd = Arc::clone(&world.tgtd);
    world.here.end = Box::new(move |instance| {
        assert_eq!(instance, made);
        tgtd.lock().unwrap().targets.clear();
        Ok(())
    });
    world.stop().unwrap();
    assert_eq!(world.saved(), None);

    // One that hangs and has nothing of this pool is left to those whose it has.
    world.here.end = Box::new(|_| panic!("it holds nothing of this pool"));
    world.stop().unwrap();
}

#[test]
fn a_tgtd_that_hangs_while_a_stop_looks_at_it_is_not_waited_for() {
    let mut world = World::with(&["a"]);
    for answers in [0, 1, 4] {
        world.start("").unwrap();
        world.tgtd().hangs_after = Some(answers);
        let tgtd = Arc::clone(&world.tgtd);
        world.here.end = Box::new(move |_| {
            let mut tgtd = tgtd.lock().unwrap();
            tgtd.targets.clear();
            tgtd.hangs_after = None;
            Ok(())
        });
        let begun = Instant::now();
        world.stop().unwrap();
        assert_eq!(world.saved(), None);
        // Two seconds, on any machine that is not five times too slow; each answer once had thirty.
        assert!(
            begun.elapsed() < Duration::from_secs(15),
            "after {answers} answers"
        );
    }
}

#[test]
fn a_tgtd_that_hangs_when_a_stop_deletes_is_waited_for_only_while_it_works() {
    let mut world = World::with(&["a"]);
    world.start("").unwrap();
    world.tgtd().hangs_at_a_change = true;
    let tgtd = Arc::clone(&world.tgtd);
    world.here.end = Box::new(move |_| {
        tgtd.lock().unwrap().targets.clear();
        Ok(())
    });
    world.here.daemon = world.here.daemon.working(|_| false);
    let begun = Instant::now();
    world.stop().unwrap();
    assert_eq!(world.saved(), None);
    // Two seconds; it once had thirty.
    assert!(begun.elapsed() < Duration::from_secs(15));
}
