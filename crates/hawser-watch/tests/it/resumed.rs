//! A watch that starts again on a simulated head: what stands is not told again, and what has ended meanwhile is told.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use crate::watched::{AllWell, Head, QUESTIONS, file};
use hawser_cluster::host::view;
use hawser_host::sim::{Simulated, Wire};
use hawser_model::finding::{Place, Severity};
use hawser_model::kept_alarms::KeptAlarms;
use hawser_model::output::watch::Alarm;
use hawser_watch::changes::Change;
use hawser_watch::keeping::{Keeping, LIMIT};
use hawser_watch::run::{EVERY, Watch};
use hawser_watch::tell::{Told, Waiting};

/// A head whose watch starts again and again.
struct Again {
    wire: Wire,
    cuts: Vec<(u64, u64)>,
    full: Range<u64>,
    alarms: Arc<Mutex<(KeptAlarms, u64)>>,
    /// Whether readings and alarms are kept at all.
    keeps: bool,
    /// Whether people are sent messages.
    tells: bool,
    said: Vec<String>,
}

/// Second, `+`, `!` or `-`, code, since, times.
type Heard = (u64, char, String, u64, u64);

impl Again {
    fn new(cuts: &[(u64, u64)]) -> Self {
        Self {
            wire: Wire::default(),
            cuts: cuts.to_vec(),
            full: 0..0,
            alarms: Arc::default(),
            keeps: true,
            tells: true,
            said: Vec::new(),
        }
    }

    /// A watch in these seconds, whose messages wait if nobody takes them.
    fn watch(&mut self, seconds: Range<u64>, look: AllWell, delivered: bool) -> Vec<Heard> {
        let clock = self.wire.clock();
        clock.sleep(EVERY * u32::try_from(seconds.start).unwrap() - clock.now());
        let head = Head {
            own: 0,
            clock: clock.clone(),
            cuts: self.cuts.clone(),
            carrier: true,
            full: self.full.clone(),
            damages: 0..0,
            loses: 0..0,
            paths: Vec::new(),
            kept: Arc::default(),
            alarms: Arc::clone(&self.alarms),
            away: 0..0,
        };
        let mut host = Simulated::new("head1".into(), head, QUESTIONS, &self.wire);
        let mut look = look;
        let mut watch = Watch::new(file(), "head1".into()).telling(self.tells);
        if self.keeps {
            watch = watch.keeping(Keeping::new(LIMIT, Vec::new()));
        }
        let mut waiting = Waiting::default();
        let mut heard = Vec::new();
        while clock.now().as_secs() < seconds.end {
            let second = clock.now().as_secs();
            for change in watch.tick(&mut host, &mut look, &clock) {
                let (sign, alarm, waits) = match change {
                    Change::Began(alarm) => ('+', alarm, &mut waiting.began),
                    Change::Worse(alarm) => ('!', alarm, &mut waiting.worse),
                    Change::Ended(alarm) => ('-', alarm, &mut waiting.ended),
                };
                if !delivered {
                    waits.insert(alarm.key(), 1);
                }
                let since = alarm.since.unwrap();
                heard.push((second, sign, alarm.code, since, alarm.times));
            }
            if self.tells {
                watch.told(Told {
                    waiting: waiting.clone(),
                    ..Told::default()
                });
            }
            self.said.extend(watch.said());
            clock.sleep(EVERY);
        }
        heard
    }

    fn quick(&mut self, seconds: Range<u64>) -> Vec<Heard> {
        self.watch(seconds, AllWell::default(), true)
    }
}

fn link_down(second: u64, sign: char, since: u64, times: u64) -> Heard {
    (second, sign, "link-down".into(), since, times)
}

#[test]
fn what_stands_is_not_told_again_and_keeps_its_beginning_and_its_count() {
    let mut head = Again::new(&[(20, 26), (30, 200)]);
    let first = head.quick(0..60);
    assert_eq!(first, [link_down(20, '+', 20, 1)]);
    // Twice the watch starts again while the cable is out; the count is still that of the first one.
    assert_eq!(head.quick(100..120), []);
    assert_eq!(head.quick(150..260), [link_down(206, '-', 20, 2)]);
    assert_eq!(head.quick(300..320), []);
}

#[test]
fn what_ended_while_no_watch_ran_is_told_as_ended_once() {
    let mut head = Again::new(&[(30, 80)]);
    assert_eq!(head.quick(0..60).len(), 1);
    // The first reading shows the port; it ends as if it had ended then.
    assert_eq!(head.quick(100..120), [link_down(107, '-', 30, 1)]);
    assert_eq!(head.quick(150..160), []);
    assert_eq!(head.alarms.lock().unwrap().0, KeptAlarms::default());
}

#[test]
fn an_alarm_whose_source_has_not_been_read_yet_has_not_ended() {
    let away = Alarm {
        code: "head-away".into(),
        severity: Severity::Warning,
        place: Place::on(&"head2".into()),
        parts: Vec::new(),
        since: Some(7),
        times: 1,
        text: "head2 is not a member".into(),
        fix: None,
    };
    let both = KeptAlarms {
        standing: vec![away.clone()],
        told: vec![away],
        left: Vec::new(),
        untold: false,
    };
    let begins = |look: AllWell| {
        let mut head = Again::new(&[]);
        head.alarms.lock().unwrap().0 = both.clone();
        let heard = head.watch(100..200, look, true);
        let kept = head.alarms.lock().unwrap().0.clone();
        (heard, kept)
    };
    let slow = |takes| AllWell {
        takes,
        ..AllWell::default()
    };
    let ended = |second| vec![(second, '-', "head-away".into(), 7, 1)];
    assert_eq!(begins(slow(0)).0, ended(104));
    assert_eq!(begins(slow(20)).0, ended(124));
    // One that fails, and one in which Corosync does not answer, tell of nothing.
    let failing = AllWell {
        fails: true,
        ..AllWell::default()
    };
    let silent = AllWell {
        quorum: Some(view::Told::Silent(15)),
        ..AllWell::default()
    };
    for look in [failing, silent] {
        assert_eq!(begins(look), (Vec::new(), both.clone()));
    }
}

#[test]
fn what_was_not_delivered_is_told_again() {
    let mut head = Again::new(&[(30, 200)]);
    let first = head.watch(0..60, AllWell::default(), false);
    assert_eq!(first, [link_down(30, '+', 30, 1)]);
    assert_eq!(head.quick(100..120), [link_down(100, '+', 30, 1)]);
    // So is an end.
    let end = head.watch(150..260, AllWell::default(), false);
    assert_eq!(end, [link_down(206, '-', 30, 1)]);
    assert_eq!(head.quick(300..320), [link_down(300, '-', 30, 1)]);
    assert_eq!(head.quick(350..360), []);
}

#[test]
fn what_began_while_nobody_was_sent_messages_is_told_to_who_is_sent_them_later() {
    let mut head = Again::new(&[(30, 200)]);
    head.tells = false;
    assert_eq!(head.quick(0..60), [link_down(30, '+', 30, 1)]);
    // Its own output does not say it again.
    assert_eq!(head.quick(80..100), []);
    head.tells = true;
    assert_eq!(head.quick(120..140), [link_down(120, '+', 30, 1)]);
    assert_eq!(head.quick(150..160), []);
}

#[test]
fn what_stands_is_written_when_it_changes_and_not_each_second() {
    let mut head = Again::new(&[(30, 80)]);
    head.quick(0..600);
    // The port and the heartbeat link over it begin and end.
    assert_eq!(head.alarms.lock().unwrap().1, 4);
}

#[test]
fn without_a_ring_a_watch_that_starts_again_tells_again() {
    let mut head = Again::new(&[(30, 200)]);
    head.keeps = false;
    assert_eq!(head.quick(0..60).len(), 1);
    assert_eq!(head.quick(100..120), [link_down(100, '+', 100, 1)]);
    assert_eq!(head.alarms.lock().unwrap().1, 0);
}

#[test]
fn a_disk_that_is_full_is_said_and_has_the_alarms_when_there_is_room() {
    let mut head = Again::new(&[(30, 300)]);
    head.full = 20..50;
    assert_eq!(head.quick(0..120).len(), 1);
    let not_kept = |words: &&String| words.starts_with("alarms are not kept");
    assert_eq!(
        head.said.iter().filter(not_kept).count(),
        1,
        "{:?}",
        head.said
    );
    let again = |words: &String| words == "alarms are kept again";
    assert!(head.said.iter().any(again), "{:?}", head.said);
    assert_eq!(head.quick(150..160), []);
    // Without the ring, as when another watch has it, nothing is known to be told.
    head.full = 165..185;
    assert_eq!(head.quick(170..180), [link_down(170, '+', 170, 1)]);
}
