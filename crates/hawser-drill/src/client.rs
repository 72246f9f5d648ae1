//! The verifying client at work, wherever it has its seat: what it says, heard by a thread of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use hawser_client::history::Record;
use hawser_client::report::{SILENCE_S, Told, Word};
use hawser_host::program::{Heard, Program, Teller};
use hawser_model::drill::{Clock, Moment};

use crate::clocks::{self, ROUND_TRIPS};
use crate::error::DrillError;
use crate::follow::Follower;
use crate::seat;
use crate::stage::Stage;

/// How many write at the same time: one begins on each of two SANs.
const WRITERS: usize = 2;

/// The pool must let the client begin within so long.
const BEGINS: Duration = Duration::from_secs(60);

/// A target that refuses logins for so long refuses them for good.
const REFUSES: Duration = Duration::from_secs(3);

/// To read everything back.
const READS_BACK: Duration = Duration::from_secs(120);

/// So often the client is told that somebody is there.
const ALIVE: Duration = Duration::from_secs(SILENCE_S / 6);

/// Its thread looks so often whether it is still wanted.
const HEARS: Duration = Duration::from_millis(200);

/// An answer of its clock is waited for so long.
const ANSWERS: Duration = Duration::from_secs(5);

/// A client that writes.
pub struct Client {
    words: Receiver<Said>,
    teller: Teller,
    /// Set: the thread lets the program go.
    unwanted: Arc<AtomicBool>,
    hearing: Option<JoinHandle<()>>,
    history: Vec<Record>,
    complaints: Vec<String>,
    follower: Follower,
    questions: u64,
    /// How its clock stood to ours when it began; absent: it is ours.
    clock: Option<Clock>,
}

/// What a client leaves.
pub struct Left {
    /// Its history.
    pub history: Vec<Record>,
    /// What it complained of.
    pub complaints: Vec<String>,
    /// How its clock stood to ours.
    pub clock: Clock,
}

/// What is heard of the program, and when.
enum Said {
    Word(Word, Moment),
    /// It has ended: how.
    End(String),
}

impl Client {
    /// Starts it and waits until every writer has been acknowledged something.
    ///
    /// # Errors
    /// It is not there, or the pool does not let it write.
    pub fn start(stage: &Stage<'_>) -> Result<Self, DrillError> {
        let program = seat::start(stage)?;
        let teller = program.teller();
        for word in seat::words(stage, WRITERS) {
            // One that has ended says why.
            let _heard_below = teller.say(&word);
        }
        let (put, words) = channel();
        let unwanted = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&unwanted);
        let mut client = Self {
            words,
            teller,
            unwanted,
            hearing: Some(std::thread::spawn(move || hear(program, &put, &stop))),
            history: Vec::new(),
            complaints: Vec::new(),
            follower: Follower::default(),
            questions: 0,
            clock: None,
        };
        client.wait_writing(stage)?;
        if stage.seat.is_remote() {
            client.clock = Some(client.compare(stage)?);
        }
        Ok(client)
    }

    fn wait_writing(&mut self, stage: &Stage<'_>) -> Result<(), DrillError> {
        let mut refused = None;
        let mut why = String::new();
        let began = stage.wait(BEGINS, || {
            while let Some((word, _)) = self.next(stage)? {
                match word {
                    Word::Writing => return Ok(true),
                    Word::LoginRefused { portal, why: said } if seat::is_final(&said) => {
                        let since = *refused.get_or_insert_with(|| stage.clock.now());
                        why = seat::refused(stage, &portal, &said);
                        if stage.clock.since(since) > REFUSES {
                            return Err(DrillError::CouldNot(why.clone()));
                        }
                    }
                    Word::LoginRefused { portal, why: said } => why = format!("{portal}: {said}"),
                    Word::Said(words) => why = words,
                    _ => {}
                }
            }
            Ok(false)
        })?;
        match began {
            true => Ok(()),
            false => Err(DrillError::CouldNot(format!(
                "the client on {} was not acknowledged anything within {} s: {}",
                stage.client,
                BEGINS.as_secs(),
                match why.is_empty() {
                    true => "it says nothing; can it reach the pool's addresses?",
                    false => &why,
                }
            ))),
        }
    }

    /// Waits until each writer has been acknowledged something in every half second of `length`,
    /// which begins not before `from`. False: it did not come to that within `patience`.
    ///
    /// # Errors
    /// Ctrl-C; the client has ended.
    pub fn wait_steady(
        &mut self,
        stage: &Stage<'_>,
        from: Moment,
        length: Duration,
        patience: Duration,
    ) -> Result<bool, DrillError> {
        let length_us = u64::try_from(length.as_micros()).unwrap_or(u64::MAX);
        stage.wait(patience, || {
            while self.next(stage)?.is_some() {}
            let now = stage.now().0;
            let begin = now.saturating_sub(length_us);
            if begin < from.0 {
                return Ok(false);
            }
            // On the client's own clock.
            let behind = self.clock.map_or(0, |clock| clock.offset_us);
            let theirs = |at: u64| at.saturating_add_signed(-behind);
            Ok(self.follower.steady(WRITERS, theirs(begin), theirs(now)))
        })
    }

    /// The next word; records and complaints are kept. `None`: nothing more now.
    fn next(&mut self, stage: &Stage<'_>) -> Result<Option<(Word, Moment)>, DrillError> {
        let (word, at) = match self.words.try_recv() {
            Ok(Said::Word(word, at)) => (word, at),
            Ok(Said::End(how)) => return Err(self.gone(stage, &how)),
            Err(TryRecvError::Empty) => return Ok(None),
            Err(TryRecvError::Disconnected) => return Err(self.gone(stage, "")),
        };
        match &word {
            Word::Record(record) => {
                self.follower.learn(record);
                self.history.push(*record);
            }
            Word::Said(words) => self.complaints.push(words.clone()),
            Word::LoginRefused { portal, why } => self.complaints.push(format!("{portal}: {why}")),
            Word::Failed(why) => return Err(self.gone(stage, why)),
            Word::Writing | Word::Clock { .. } | Word::Ended { .. } => {}
        }
        Ok(Some((word, at)))
    }

    fn gone(&self, stage: &Stage<'_>, how: &str) -> DrillError {
        let last = self.complaints.last().map(String::as_str);
        let words = [Some(how).filter(|how| !how.is_empty()), last];
        let words: Vec<&str> = words.into_iter().flatten().collect();
        DrillError::CouldNot(format!(
            "the client on {} ended by itself: {}",
            stage.client,
            words.join("; ")
        ))
    }

    /// Compares the history's clock with ours: by the shortest of some round trips.
    fn compare(&mut self, stage: &Stage<'_>) -> Result<Clock, DrillError> {
        let mut clocks_seen = Vec::new();
        for _ in 0..ROUND_TRIPS {
            self.questions += 1;
            let mine = self.questions;
            let asked = stage.now();
            let _heard_below = self.teller.say(&Told::Clock(mine).to_string());
            let mut answer = None;
            stage.wait(ANSWERS, || {
                while let Some((word, told)) = self.next(stage)? {
                    if let Word::Clock { question, at_us } = word {
                        if question == mine {
                            answer = Some(clocks::of_trip(asked.0, at_us, told.0));
                        }
                    }
                }
                Ok(answer.is_some())
            })?;
            clocks_seen.extend(answer);
        }
        clocks::best(clocks_seen).ok_or_else(|| {
            DrillError::CouldNot(format!(
                "the client on {} does not tell its clock",
                stage.client
            ))
        })
    }

    /// Tells it to stop, waits until it has read everything back (or could not), and answers what it leaves.
    ///
    /// # Errors
    /// Ctrl-C; it does not end.
    pub fn stop(mut self, stage: &Stage<'_>) -> Result<Left, DrillError> {
        let clock = match self.clock {
            None => Clock::default(),
            Some(first) => clocks::over(first, self.compare(stage)?),
        };
        let _heard_below = self.teller.say(&Told::Stop.to_string());
        // Whether all could be read back is in the history; the judge sees it there.
        let ended = stage.wait(READS_BACK, || {
            while let Some((word, _)) = self.next(stage)? {
                if matches!(word, Word::Ended { .. }) {
                    return Ok(true);
                }
            }
            Ok(false)
        })?;
        match ended {
            true => Ok(Left {
                history: std::mem::take(&mut self.history),
                complaints: std::mem::take(&mut self.complaints),
                clock,
            }),
            false => Err(DrillError::CouldNot(format!(
                "the client did not end within {} s",
                READS_BACK.as_secs()
            ))),
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.unwanted.store(true, Ordering::Relaxed);
        if let Some(hearing) = self.hearing.take() {
            let _it_cannot_panic = hearing.join();
        }
    }
}

/// Hears the program, and tells it that somebody is there, until it ends or nobody wants it any more. It ends with
/// its standard input.
fn hear(mut program: Program, put: &Sender<Said>, unwanted: &AtomicBool) {
    let teller = program.teller();
    let clock = hawser_host::Clock::default();
    let mut told = clock.now();
    while !unwanted.load(Ordering::Relaxed) {
        if clock.since(told) >= ALIVE {
            told = clock.now();
            // Its end is heard below.
            let _heard = teller.say(&Told::Alive.to_string());
        }
        let said = match program.hear(HEARS) {
            Ok(Heard::Nothing) => continue,
            Ok(Heard::End(how)) => vec![Said::End(how.trim().to_owned())],
            Err(e) => vec![Said::End(e.to_string())],
            Ok(Heard::Lines(lines)) => {
                let at = clock.time_of_day();
                let word = |line: String| Word::parse(&line).unwrap_or(Word::Said(line));
                let words = lines.into_iter().map(|line| Said::Word(word(line), at));
                words.collect()
            }
        };
        let last = matches!(said.last(), Some(Said::End(_)));
        if said.into_iter().any(|said| put.send(said).is_err()) || last {
            return;
        }
    }
}
