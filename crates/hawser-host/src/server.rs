//! The node's side: reads requests, works on them one after the other, and ends when the
//! coordinator is gone.
//!
//! Three threads: one blocks on stdin, one works, and the caller's supervises both, so that a
//! coordinator which vanishes is noticed also in the middle of a long request. What an agent
//! opens (sockets, kernel programs, memberships) belongs to its process, so ending it undoes
//! everything.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use nix::unistd::dup2_stdout;
use serde_json::value::RawValue;

use crate::frame::{self, Decoder, FrameError};
use crate::marker::preamble;
use crate::protocol::{Message, Reply, SILENCE_LIMIT};
use crate::stop::Stop;

/// How long a running request may take to end after the coordinator is gone, before the agent
/// ends without it.
pub const GRACE: Duration = Duration::from_secs(1);

/// Requests that may wait: a coordinator sends the next one after the answer to the last.
const WAITING: usize = 4;

/// Who answers questions.
pub trait Work {
    /// Answers one: the frame of its [`Reply`]. `stop` is raised when the coordinator asks for an early end or is gone.
    /// `None`: it answers no such question.
    fn work(
        &mut self,
        question: &str,
        body: &RawValue,
        stop: &Stop,
    ) -> Option<Result<Vec<u8>, FrameError>>;
}

/// Why an agent ended that was not asked to.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// A file descriptor could not be copied.
    #[error("{call}: {source}")]
    Descriptor {
        /// The call.
        call: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The coordinator is gone without a word, though the pipe stands.
    #[error("no word from the coordinator for {0:?}: ending")]
    Silence(Duration),
    /// What came is not the protocol.
    #[error("request: {0}")]
    Request(FrameError),
    /// The answer could not be written: the coordinator is gone.
    #[error("answer: {0}")]
    Answer(FrameError),
    /// Requests came without waiting for answers.
    #[error("{WAITING} requests wait already: the coordinator does not read the answers")]
    Impatient,
    /// The work failed in a way that leaves nothing to go on with.
    #[error("the agent panicked, see above")]
    Panicked,
}

/// How long to wait for what.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Without a word from the coordinator.
    pub silence: Duration,
    /// For the running request to end, when the agent has to.
    pub grace: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            silence: SILENCE_LIMIT,
            grace: GRACE,
        }
    }
}

/// A question to be answered.
struct Task {
    question: String,
    body: Box<RawValue>,
    stop: Stop,
}

/// What the supervisor hears of.
enum Event {
    Heard(Message),
    /// The coordinator's end of the pipe is closed, or no use.
    Closed(Result<(), FrameError>),
    /// The worker ended.
    Worked(Result<(), ServeError>),
}

/// Serves the coordinator on stdin and stdout until it is gone.
///
/// From then on the process's own stdout is its stderr, so that nothing that prints can get
/// between two frames. The process is expected to end when this returns.
///
/// # Errors
/// As [`serve`]; a descriptor could not be copied.
pub fn serve_stdio<W: Work>(worker: impl FnOnce() -> W + Send + 'static) -> Result<(), ServeError> {
    let failed = |call| move |source| ServeError::Descriptor { call, source };
    let output = io::stdout()
        .as_fd()
        .try_clone_to_owned()
        .map_err(failed("dup stdout"))?;
    dup2_stdout(io::stderr()).map_err(|e| failed("dup2 stderr, stdout")(e.into()))?;
    serve(io::stdin(), File::from(output), worker, Patience::default())
}

/// Serves one coordinator until it is gone.
///
/// `worker` is made on the thread that works, since what it holds may be bound to that thread.
/// After an end in the middle of a request the working thread may still run: the caller is
/// expected to end the process.
///
/// # Errors
/// Why it ended; the end of `reader` between two requests is none.
pub fn serve<R, W, H>(
    reader: R,
    mut writer: W,
    worker: impl FnOnce() -> H + Send + 'static,
    patience: Patience,
) -> Result<(), ServeError>
where
    R: Read + Send + 'static,
    W: Write + Send + 'static,
    H: Work,
{
    writer
        .write_all(preamble().as_bytes())
        .and_then(|()| writer.flush())
        .map_err(|source| {
            ServeError::Answer(FrameError::Io {
                call: "write",
                source,
            })
        })?;
    let (events, heard) = mpsc::channel();
    let (tasks, todo) = mpsc::sync_channel(WAITING);
    let listening = events.clone();
    thread::spawn(move || listen(reader, &listening));
    thread::spawn(move || {
        // A worker that panicked must not leave the supervisor waiting.
        let done = catch_unwind(AssertUnwindSafe(|| work(&mut worker(), &todo, &mut writer)));
        // The supervisor may have gone on without us.
        let _ = events.send(Event::Worked(done.unwrap_or(Err(ServeError::Panicked))));
    });
    let mut running = Stop::default();
    let ended = loop {
        match heard.recv_timeout(patience.silence) {
            Ok(Event::Heard(Message::Alive)) => {}
            Ok(Event::Heard(Message::Stop)) => running.raise(),
            Ok(Event::Heard(Message::Ask { question, body })) => {
                running = Stop::default();
                let task = Task {
                    question,
                    body,
                    stop: running.clone(),
                };
                if tasks.try_send(task).is_err() {
                    break Err(ServeError::Impatient);
                }
            }
            Ok(Event::Closed(how)) => break how.map_err(ServeError::Request),
            Ok(Event::Worked(how)) => return how,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                break Err(ServeError::Silence(patience.silence));
            }
        }
    };
    running.raise();
    drop(tasks);
    await_worker(&heard, patience.grace);
    ended
}

/// Reads requests until the stream ends.
fn listen(mut reader: impl Read, events: &Sender<Event>) {
    let mut decoder = Decoder::default();
    loop {
        let event = match frame::read(&mut reader, &mut decoder) {
            Ok(Some(request)) => Event::Heard(request),
            Ok(None) => Event::Closed(Ok(())),
            Err(error) => Event::Closed(Err(error)),
        };
        let last = matches!(event, Event::Closed(_));
        if events.send(event).is_err() || last {
            return;
        }
    }
}

/// Works on requests until there are no more.
fn work(
    worker: &mut impl Work,
    todo: &Receiver<Task>,
    writer: &mut impl Write,
) -> Result<(), ServeError> {
    while let Ok(Task {
        question,
        body,
        stop,
    }) = todo.recv()
    {
        let answer = worker.work(&question, &body, &stop).unwrap_or_else(|| {
            let words = format!("no agent answers {question:?}");
            frame::encode(&Reply::<()>::Declined(words))
        });
        let sent = answer.and_then(|frame| frame::send(writer, &frame));
        sent.map_err(ServeError::Answer)?;
    }
    Ok(())
}

/// Gives a running request time to end, so that what it holds is let go in good order.
fn await_worker(heard: &Receiver<Event>, grace: Duration) {
    let deadline = Instant::now() + grace;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match heard.recv_timeout(left) {
            Ok(Event::Worked(_)) | Err(_) => return,
            Ok(_) => {}
        }
    }
}
