//! The verifying client at work, wherever it runs: what it is asked, and what it says.

use std::time::Duration;

use hawser_client::history::Record;
use hawser_client::questions::{ReadClock, StartWriting, StopWriting, TakeWords};
use hawser_client::word::Word;
use hawser_host::Host;
use hawser_model::drill::{Clock, Moment};

use crate::client_config;
use crate::clocks;
use crate::context::DrillContext;
use crate::error::DrillError;
use crate::follow::Follower;

/// The pool must let the client begin within so long.
const BEGINS: Duration = Duration::from_secs(60);

/// A target that refuses logins for so long refuses them for good.
const REFUSES: Duration = Duration::from_secs(3);

/// To read everything back.
const READS_BACK: Duration = Duration::from_secs(120);

/// A client that writes. It ends when this is dropped.
pub struct Client {
    host: Box<dyn Host>,
    history: Vec<Record>,
    complaints: Complaints,
    follower: Follower,
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

/// What a client complained of. Who tries again many times a second says the same many times a second.
#[derive(Default)]
struct Complaints {
    /// Each once, in the order in which it was first said, and how often.
    all: Vec<(String, u64)>,
    /// Which was said last.
    last: usize,
    /// More than are kept.
    more: u64,
}

impl Complaints {
    /// So many different ones are kept.
    const KEPT: usize = 100;

    fn hear(&mut self, words: &str) {
        match self.all.iter().position(|(known, _)| known == words) {
            Some(known) => {
                self.all[known].1 += 1;
                self.last = known;
            }
            None if self.all.len() < Self::KEPT => {
                self.last = self.all.len();
                self.all.push((words.to_owned(), 1));
            }
            None => self.more += 1,
        }
    }

    fn last(&self) -> Option<&str> {
        self.all.get(self.last).map(|(words, _)| words.as_str())
    }

    fn told(self) -> Vec<String> {
        let more = (self.more > 0).then(|| format!("and {} more complaints", self.more));
        let all = self.all.into_iter().map(|(words, times)| match times {
            1 => words,
            _ => format!("{words} ({times} times)"),
        });
        all.chain(more).collect()
    }
}

impl Client {
    /// Starts it and waits until every writer has been acknowledged something.
    ///
    /// # Errors
    /// It is not there, or the pool does not let it write.
    pub fn start(context: &DrillContext<'_>) -> Result<Self, DrillError> {
        let mut client = Self {
            host: client_config::connect(context)?,
            history: Vec::new(),
            complaints: Complaints::default(),
            follower: Follower::default(),
            clock: None,
        };
        client
            .host
            .ask(&StartWriting(client_config::job(context)))?;
        client.wait_writing(context)?;
        if context.client_config.remote {
            client.clock = Some(client.compare()?);
        }
        Ok(client)
    }

    fn wait_writing(&mut self, context: &DrillContext<'_>) -> Result<(), DrillError> {
        let mut refused = None;
        let mut why = String::new();
        let began = context.wait(context.patience(BEGINS), || {
            for word in self.hear()? {
                match word {
                    Word::Writing => return Ok(true),
                    Word::LoginRefused { portal, why: said } if client_config::is_final(&said) => {
                        let since = *refused.get_or_insert_with(|| context.clock.now());
                        why = client_config::refused(context, &portal, &said);
                        if context.clock.since(since) > REFUSES {
                            return Err(DrillError::CouldNot(why.clone()));
                        }
                    }
                    Word::LoginRefused { portal, why: said } => {
                        why = match client_config::login_status(&said) {
                            Some(_) => client_config::refused(context, &portal, &said),
                            None => format!("{portal}: {said}"),
                        }
                    }
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
                context.client,
                context.patience(BEGINS).as_secs(),
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
        context: &DrillContext<'_>,
        from: Moment,
        length: Duration,
        patience: Duration,
    ) -> Result<bool, DrillError> {
        let length_us = u64::try_from(length.as_micros()).unwrap_or(u64::MAX);
        context.wait(patience, || {
            self.hear()?;
            let now = context.now().0;
            let begin = now.saturating_sub(length_us);
            if begin < from.0 {
                return Ok(false);
            }
            // On the client's own clock.
            let behind = self.clock.map_or(0, |clock| clock.offset_us);
            let theirs = |at: u64| at.saturating_add_signed(-behind);
            let writers = usize::from(context.client_config.load.writers)
                + usize::from(context.client_config.create);
            Ok(self.follower.steady(writers, theirs(begin), theirs(now)))
        })
    }

    /// Asks what it has said. Records and complaints are kept; all but the records is answered.
    fn hear(&mut self) -> Result<Vec<Word>, DrillError> {
        let words = self.host.ask(&TakeWords);
        let words = words.map_err(|e| self.gone(&e.failure.to_string()))?;
        let mut told = Vec::new();
        for word in words {
            match &word {
                Word::Record(record) => {
                    self.follower.learn(record);
                    self.history.push(*record);
                    continue;
                }
                Word::Said(words) => self.complaints.hear(words),
                Word::LoginRefused { portal, why } => {
                    self.complaints.hear(&format!("{portal}: {why}"));
                }
                Word::Failed(why) => return Err(self.gone(why)),
                Word::Writing | Word::Ended => {}
            }
            told.push(word);
        }
        Ok(told)
    }

    fn gone(&self, how: &str) -> DrillError {
        let last = self.complaints.last();
        let words: Vec<&str> = [Some(how), last].into_iter().flatten().collect();
        DrillError::CouldNot(format!(
            "the client on {} ended by itself: {}",
            self.host.name(),
            words.join("; ")
        ))
    }

    /// Compares the history's clock with ours.
    fn compare(&mut self) -> Result<Clock, DrillError> {
        let clock = self.host.clock();
        Ok(clocks::compare(&clock, || self.host.ask(&ReadClock))?)
    }

    /// Tells it to stop, waits until it has read everything back (or could not), and answers what it leaves.
    ///
    /// # Errors
    /// Ctrl-C; it does not end.
    pub fn stop(mut self, context: &DrillContext<'_>) -> Result<Left, DrillError> {
        let clock = match self.clock {
            None => Clock::default(),
            Some(first) => clocks::over(first, self.compare()?),
        };
        self.host.ask(&StopWriting)?;
        // Whether all could be read back is in the history; the judge sees it there.
        let ended = context.wait(context.patience(READS_BACK), || {
            Ok(self.hear()?.contains(&Word::Ended))
        })?;
        match ended {
            true => Ok(Left {
                history: self.history,
                complaints: self.complaints.told(),
                clock,
            }),
            false => Err(DrillError::CouldNot(format!(
                "the client did not end within {} s",
                context.patience(READS_BACK).as_secs()
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_again_and_again_is_kept_once() {
        let mut complaints = Complaints::default();
        for _ in 0..28_000 {
            complaints.hear("writer 0: permission denied");
        }
        complaints.hear("writer 1: stale");
        assert_eq!(complaints.last(), Some("writer 1: stale"));
        for number in 0..200 {
            complaints.hear(&format!("error {number}"));
        }
        let told = complaints.told();
        assert_eq!(told[0], "writer 0: permission denied (28000 times)");
        assert_eq!(told[1], "writer 1: stale");
        assert_eq!(told.len(), 101);
        assert_eq!(told[100], "and 102 more complaints");
    }
}
