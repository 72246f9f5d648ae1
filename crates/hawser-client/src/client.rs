//! The client of one coordinator: what it does, and what it has to say.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use hawser_host::frame::FrameError;
use hawser_host::server::Work;
use hawser_host::{Declined, Stop, answer_from};
use serde_json::value::RawValue;

use crate::history::Log;
use crate::job::{Job, OpenUnit};
use crate::questions::QUESTIONS;
use crate::word::Word;

/// A client. What it does ends with it: a history that nobody can ask for is not written on.
pub struct Client {
    open: OpenUnit,
    writing: Option<Writing>,
}

/// A job that was begun.
pub(crate) struct Writing {
    log: Arc<Log>,
    words: Receiver<Word>,
    stop: Arc<AtomicBool>,
}

impl Client {
    /// One that opens units in this way.
    pub fn new(open: OpenUnit) -> Self {
        let writing = None;
        Self { open, writing }
    }

    /// Begins a job.
    pub(crate) fn begin(&mut self, job: Job) -> Result<(), Declined> {
        if self.writing.is_some() {
            return Err("this client has begun to write already".into());
        }
        let (say, words) = channel();
        let log = Arc::new(Log::report(say));
        let stop = Arc::new(AtomicBool::new(false));
        let (open, to, told) = (self.open, Arc::clone(&log), Arc::clone(&stop));
        thread::spawn(move || {
            let ended = job.work(open, &to, &told, || to.say(Word::Writing));
            to.say(match ended {
                Ok(_) => Word::Ended,
                Err(why) => Word::Failed(why),
            });
        });
        self.writing = Some(Writing { log, words, stop });
        Ok(())
    }

    /// The job that was begun.
    pub(crate) fn writing(&self) -> Result<&Writing, Declined> {
        let writing = self.writing.as_ref();
        writing.ok_or_else(|| "this client has not begun to write".into())
    }
}

impl Writing {
    /// What its history's clock shows, in microseconds since 1970.
    pub(crate) fn now_us(&self) -> u64 {
        self.log.now_us()
    }

    /// What was said since it was last asked for, at most so much of it.
    pub(crate) fn take(&self, at_most: usize) -> Vec<Word> {
        self.words.try_iter().take(at_most).collect()
    }

    /// Ends the writing; the reading back follows.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Work for Client {
    fn work(
        &mut self,
        question: &str,
        body: &RawValue,
        stop: &Stop,
    ) -> Option<Result<Vec<u8>, FrameError>> {
        answer_from(QUESTIONS, question, body, self, stop)
    }
}
