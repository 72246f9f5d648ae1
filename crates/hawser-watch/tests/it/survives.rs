//! What befalls a running watch on a simulated head: a step of the clock, a restart of Corosync. It goes on, says so, and
//! loses nothing of before. A full disk: `keeping.rs`; a ring that is cut: the tests of `hawser-agent`'s ring.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use crate::watched::{AllWell, Head, QUESTIONS, file};
use hawser_host::sim::{Simulated, Wire};
use hawser_model::readings::{AllNoted, Noted, Reading, Subject};
use hawser_watch::changes::Change;
use hawser_watch::keeping::{Keeping, LIMIT};
use hawser_watch::run::{EVERY, Watch};

struct Ran {
    /// Second, `+`, `!` or `-`, code, since.
    told: Vec<(u64, char, String, u64)>,
    said: Vec<(u64, String)>,
    kept: Vec<Reading>,
    steps: u64,
}

/// A watch of 300 s whose second port is without carrier from 90 to 130.
fn ran(away: Range<u64>, steps: &[(u64, i64)]) -> Ran {
    let wire = Wire::default();
    let clock = wire.clock();
    // Not at 1970, so that the clock can be stepped back.
    clock.step(DAY_US);
    let kept = Arc::<Mutex<Vec<Reading>>>::default();
    let head = Head {
        own: 0,
        clock: clock.clone(),
        cuts: vec![(90, 130)],
        carrier: true,
        full: 0..0,
        damages: 0..0,
        loses: 0..0,
        paths: Vec::new(),
        away,
        kept: Arc::clone(&kept),
        alarms: Arc::default(),
    };
    let mut host = Simulated::new("head1".into(), head, QUESTIONS, &wire);
    let mut watch = Watch::new(file(), "head1".into()).keeping(Keeping::new(LIMIT, Vec::new()));
    let mut look = AllWell::default();
    let (mut told, mut said) = (Vec::new(), Vec::new());
    for second in 0..300 {
        for (at, by_us) in steps {
            if *at == second {
                clock.step(*by_us);
            }
        }
        for change in watch.tick(&mut host, &mut look, &clock) {
            let (sign, alarm) = match change {
                Change::Began(alarm) => ('+', alarm),
                Change::Worse(alarm) => ('!', alarm),
                Change::Ended(alarm) => ('-', alarm),
            };
            told.push((second, sign, alarm.code, alarm.since.unwrap()));
        }
        said.extend(watch.said().into_iter().map(|words| (second, words)));
        clock.sleep(EVERY);
    }
    let steps = watch.shown().1.kept.unwrap().steps;
    let kept = kept.lock().unwrap().clone();
    Ran {
        told,
        said,
        kept,
        steps,
    }
}

const DAY_US: i64 = 86_400_000_000;
const HOUR_US: i64 = 3_600_000_000;
const DAY_S: u64 = 86_400;

fn told() -> Vec<(u64, char, String, u64)> {
    let link_down = |second, sign| (second, sign, "link-down".to_owned(), DAY_S + 90);
    vec![link_down(90, '+'), link_down(136, '-')]
}

/// What stood after the readings of the first so many seconds.
fn known(kept: &[Reading], seconds: usize) -> AllNoted {
    let mut known = AllNoted::new();
    kept[..seconds].iter().for_each(|it| it.apply(&mut known));
    known
}

#[test]
fn a_clock_that_is_stepped_by_an_hour_moves_no_alarm_and_loses_no_reading() {
    for by_us in [HOUR_US, -HOUR_US] {
        // While the alarm stands.
        let ran = ran(0..0, &[(100, by_us)]);
        assert_eq!(ran.told, told());
        let [(100, words)] = ran.said.as_slice() else {
            panic!("{:?}", ran.said);
        };
        let by = by_us / 1_000_000;
        assert!(
            words.contains(&format!("stepped by {by:+}.000 s")),
            "{words}"
        );
        assert_eq!((ran.steps, ran.kept.len()), (1, 300));
        let stepped = ran.kept.iter().filter_map(|reading| reading.stepped_us);
        assert_eq!(stepped.collect::<Vec<_>>(), [by_us]);
        let at = |second: usize| ran.kept[second].at.0 as i64 - DAY_US;
        assert_eq!((at(99), at(100)), (99_000_000, 100_000_000 + by_us));
    }
}

#[test]
fn a_corosync_that_starts_again_is_in_the_ring_and_its_new_counts_are_no_loss() {
    let ran = ran(150..160, &[]);
    // The alarm of before is there, and nothing is said of pings that a new Corosync has not sent.
    assert_eq!((ran.told, ran.said), (told(), Vec::new()));
    let corosync = |seconds| known(&ran.kept, seconds)[&Subject::Corosync].clone();
    assert_eq!(corosync(150), Noted::Corosync(true));
    assert_eq!(corosync(155), Noted::Corosync(false));
    assert_eq!(corosync(161), Noted::Corosync(true));
    let link = Subject::Link("ring0".into(), "head2".into());
    assert!(!known(&ran.kept, 155).contains_key(&link));
    assert!(known(&ran.kept, 170).contains_key(&link));
}
