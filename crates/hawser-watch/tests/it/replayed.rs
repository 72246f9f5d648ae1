//! 24 simulated hours on a head that answers as one of a real clean cluster under load did, again and again.
//!
//! `recorded/head1.jsonl` is from a lab of namespaces. It is made again by running this test's own program in the lab's head1:
//! `RECORD=OUT RECORD_FILE=hawser.toml RECORD_SECONDS=300 PROGRAM --ignored record`, while a client writes to a pool.

use std::env;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::recorded::{Recording, Replayed, Tape};
use crate::watched::file;
use hawser_agent::questions::ReadPulse;
use hawser_host::frame::FrameError;
use hawser_host::server::Work;
use hawser_host::{Ask, Clock, Host, Own, Stop};
use hawser_model::cluster_file::parse_complete;
use hawser_model::names::HostName;
use hawser_watch::changes::Change;
use hawser_watch::run::{EVERY, Look, Looker, OwnView, Viewed, Watch};
use hawser_watch::threads::Threads;
use serde_json::Value;
use serde_json::value::RawValue;

const HEAD: &str = "head1";

/// So many seconds are read second by second.
const SECONDLY: u64 = 1000;

/// Looks at the cluster at once.
struct AtOnce {
    view: OwnView,
    ended: Option<Viewed>,
}

impl Look for AtOnce {
    fn begin(&mut self, devices: bool) -> bool {
        self.ended = Some(self.view.look(devices));
        true
    }

    fn ended(&mut self) -> Option<Viewed> {
        self.ended.take()
    }
}

/// What a watch of so many seconds tells: second, `+`, `!` or `-`, code.
fn told(seconds: u64, plant: fn(Duration, &str, &mut Value)) -> Vec<(u64, char, String)> {
    let clock = Clock::simulated();
    let lines = include_str!("recorded/head1.jsonl");
    let (time, head) = (clock.clone(), HostName::from(HEAD));
    let host = move || Replayed::new(head.clone(), &time, lines, plant);
    let mut watched = host();
    let mut look = AtOnce {
        view: view(move || Box::new(host())),
        ended: None,
    };
    let mut watch = Watch::new(file(), HEAD.into());
    let mut told = Vec::new();
    while clock.now().as_secs() < seconds {
        let second = clock.now().as_secs();
        for change in watch.tick(&mut watched, &mut look, &clock) {
            told.push(match change {
                Change::Began(alarm) => (second, '+', alarm.code),
                Change::Worse(alarm) => (second, '!', alarm.code),
                Change::Ended(alarm) => (second, '-', alarm.code),
            });
        }
        assert_eq!(watch.problem(), None);
        // A reading costs a millisecond here: after some rounds of the recording, one each 10 s makes the day.
        clock.sleep(EVERY * if second < SECONDLY { 1 } else { 10 });
    }
    let (shown, health) = watch.shown();
    assert_eq!(health.failures, 0, "all that is asked was recorded");
    let status = shown.status.expect("the cluster was looked at");
    assert!(status.redundant, "{status:?}");
    told
}

fn view(mine: impl Fn() -> Box<dyn Host> + Send + 'static) -> OwnView {
    OwnView::new(file(), HEAD.into(), Box::new(mine))
}

/// A head that says nothing.
struct Mute;

impl Work for Mute {
    fn work(&mut self, _: &str, _: &RawValue, _: &Stop) -> Option<Result<Vec<u8>, FrameError>> {
        None
    }
}

/// On a head that had no processor for 45 s a watch saw nothing of the cluster from then on, and held all for well.
#[test]
fn a_head_whose_scheduler_was_silent_for_too_long_is_looked_at_again() {
    let clock = Clock::simulated();
    let lines = include_str!("recorded/head1.jsonl");
    let host = move || -> Box<dyn Host> {
        Box::new(Replayed::new(HEAD.into(), &clock, lines, |_, _, _| ()))
    };
    let mut view = view(host).judging(Duration::ZERO);
    for _ in 0..3 {
        let (facts, _) = view.look(true).expect("it was judged by this machine");
        assert!(facts.views.contains_key(HEAD), "{:?}", facts.unreached);
    }
}

#[test]
fn a_head_that_does_not_say_how_it_stands_has_not_been_looked_at() {
    let mute = || -> Box<dyn Host> { Box::new(Own::new(HEAD.into(), Mute)) };
    let why = view(mute).look(true).unwrap_err();
    assert!(why.contains(HEAD), "{why}");
}

#[test]
fn a_real_clean_cluster_has_no_alarm_in_a_day() {
    assert_eq!(told(24 * 3600, |_, _, _| ()), []);
}

#[test]
fn a_port_without_carrier_that_is_planted_in_it_is_one() {
    let cut = |now: Duration, question: &str, answer: &mut Value| {
        let seconds = now.as_secs();
        if question == ReadPulse::NAME && (700..740).contains(&seconds) {
            let port = answer.pointer_mut("/answer/interfaces/ring1");
            port.expect("the port was recorded")["carrier"] = false.into();
        }
    };
    let heard = told(1000, cut);
    let codes = [(700, '+', "link-down"), (746, '-', "link-down")];
    let codes = codes.map(|(second, sign, code)| (second, sign, code.to_owned()));
    assert_eq!(heard, codes);
}

#[test]
#[ignore = "records a lab"]
fn record() {
    let [Ok(out), Ok(path), Ok(seconds)] =
        ["RECORD", "RECORD_FILE", "RECORD_SECONDS"].map(env::var)
    else {
        panic!("RECORD, RECORD_FILE and RECORD_SECONDS say what is recorded");
    };
    let text = std::fs::read_to_string(&path).unwrap();
    let file = parse_complete(&text, "hawser.toml").unwrap();
    let (tape, begun) = (Arc::<Mutex<Tape>>::default(), Instant::now());
    let taken = Arc::clone(&tape);
    let host = move || Recording {
        host: hawser_agent::own(HEAD.into()),
        begun,
        tape: Arc::clone(&taken),
    };
    let mut own = host();
    let view = OwnView::new(
        file.clone(),
        HEAD.into(),
        Box::new(move || Box::new(host())),
    );
    let mut look = Looker::start(&mut Threads::default(), view).unwrap();
    let mut watch = Watch::new(file, HEAD.into());
    let clock = Clock::default();
    let until = Duration::from_secs(seconds.parse().unwrap());
    while begun.elapsed() < until {
        let second = begun.elapsed();
        for change in watch.tick(&mut own, &mut look, &clock) {
            println!("{second:?}: {change:?}");
        }
        thread::sleep(EVERY.saturating_sub(begun.elapsed() - second));
    }
    let lines = tape.lock().unwrap();
    let lines = lines.lines.iter();
    let lines: Vec<String> = lines.map(|it| serde_json::to_string(it).unwrap()).collect();
    std::fs::write(out, lines.join("\n") + "\n").unwrap();
}
