//! Readings on their way to the disk of a simulated head, which is full at times.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use crate::watched::{AllWell, Head, QUESTIONS, file};
use hawser_host::Clock;
use hawser_host::sim::{Simulated, Wire};
use hawser_model::readings::{AllNoted, Noted, Reading, Subject};
use hawser_watch::changes::Change;
use hawser_watch::keeping::{Keeping, KeptCounts, LIMIT};
use hawser_watch::metrics;
use hawser_watch::run::{EVERY, Look, Viewed, Watch};

/// What became of a watch's readings.
struct Kept {
    watch: Watch,
    /// Second, words.
    said: Vec<(u64, String)>,
    /// When alarms began.
    began: Vec<u64>,
    kept: Vec<Reading>,
}

/// A watch of so many seconds on a head whose disk is full at times.
fn kept(seconds: u64, full: Range<u64>) -> Kept {
    kept_by(seconds, full, |_| AllWell::default())
}

/// A cluster that is looked at slowly, once.
struct Slow(Clock);

impl Look for Slow {
    fn begin(&mut self, _devices: bool) -> bool {
        true
    }

    fn ended(&mut self) -> Option<Viewed> {
        if self.0.now() == EVERY * 20 {
            self.0.sleep(EVERY * 3);
        }
        None
    }
}

fn kept_by<L: Look>(seconds: u64, full: Range<u64>, look: impl Fn(&Clock) -> L) -> Kept {
    let wire = Wire::default();
    let clock = wire.clock();
    let kept = Arc::<Mutex<Vec<Reading>>>::default();
    let head = Head {
        own: 0,
        clock: clock.clone(),
        cuts: vec![(30, 40), (60, 70)],
        carrier: true,
        full,
        damages: 0..0,
        loses: 0..0,
        paths: Vec::new(),
        kept: kept.clone(),
        alarms: Arc::default(),
        away: 0..0,
    };
    let mut host = Simulated::new("head1".into(), head, QUESTIONS, &wire);
    let mut watch = Watch::new(file(), "head1".into()).keeping(Keeping::new(LIMIT, Vec::new()));
    let (mut said, mut began) = (Vec::new(), Vec::new());
    for _ in 0..seconds {
        let second = clock.now().as_secs();
        for change in watch.tick(&mut host, &mut look(&clock), &clock) {
            began.extend(matches!(change, Change::Began(_)).then_some(second));
        }
        said.extend(watch.said().into_iter().map(|words| (second, words)));
        clock.sleep(EVERY);
    }
    let kept = kept.lock().unwrap().clone();
    Kept {
        watch,
        said,
        began,
        kept,
    }
}

#[test]
fn a_tick_that_takes_long_is_no_step_of_the_clock() {
    let kept = kept_by(40, 0..0, |clock| Slow(clock.clone()));
    assert_eq!(kept.said, []);
}

#[test]
fn a_full_disk_is_said_once_and_the_watch_goes_on() {
    let Kept {
        watch,
        said,
        began,
        kept,
    } = kept(120, 50..80);
    assert_eq!(began, [30, 60]);
    let [(50, full), (61, alarms), (80, again)] = said.as_slice() else {
        panic!("{said:?}");
    };
    assert!(full.contains("readings are not kept: "), "{full}");
    assert!(full.contains("No space left on device"), "{full}");
    assert!(alarms.contains("alarms are not kept"), "{alarms}");
    assert_eq!(again, "readings are kept again; 30 were not");
    let (shown, health) = watch.shown();
    let counts = KeptCounts {
        kept: 90,
        lost: 30,
        steps: 0,
    };
    assert_eq!(health.kept, Some(counts));
    let text = metrics::text(&shown, health);
    assert!(
        text.contains("hawser_watch_readings_lost_total 30\n"),
        "{text}"
    );
    // One a second; the first cut and its end are among them, at their seconds.
    let mut known = AllNoted::new();
    let mut carrier = Vec::new();
    for reading in kept.iter().filter(|reading| reading.at.0 < 50_000_000) {
        reading.apply(&mut known);
        let Some(Noted::Port(port)) = known.get(&Subject::Port("eth1".into())) else {
            panic!("{reading:?}");
        };
        carrier.push(port.carrier);
    }
    let expected: Vec<bool> = (0..50).map(|second| !(30..40).contains(&second)).collect();
    assert_eq!(carrier, expected);
    let quiet = kept.iter().filter(|reading| reading.is_quiet()).count();
    assert!(quiet > 50, "{quiet}");
}

#[test]
fn a_ring_that_is_opened_late_begins_with_all_that_is_known() {
    let Kept { said, kept, .. } = kept(70, 0..30);
    let words: Vec<&str> = said.iter().map(|(_, words)| words.as_str()).collect();
    assert_eq!(words.len(), 2, "{said:?}");
    assert_eq!(said[1], (60, "readings are kept again; 60 were not".into()));
    let ports = |noted: &&Noted| matches!(noted, Noted::Port(_));
    assert!(kept[0].whole);
    assert_eq!(kept[0].now.iter().filter(ports).count(), 2);
    assert_eq!(kept.len(), 10);
}
