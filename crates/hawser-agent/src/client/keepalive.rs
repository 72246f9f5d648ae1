//! What goes to the agent beside the requests: that the coordinator is there, and "stop".

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::client::pipes::{Input, send};
use crate::frame::encode;
use crate::protocol::{ALIVE_EVERY, Request};

/// How long the pipe may refuse one of these short messages.
const PATIENCE: Duration = Duration::from_secs(2);

/// Says [`Request::Alive`] until it is dropped.
#[derive(Debug)]
pub(crate) struct Keepalive {
    end: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Keepalive {
    pub(crate) fn start(input: Input) -> Self {
        let (end, ended) = mpsc::channel();
        let thread = thread::spawn(move || {
            while ended.recv_timeout(ALIVE_EVERY) == Err(RecvTimeoutError::Timeout) {
                if say(&input, &Request::Alive).is_err() {
                    // The next request meets the closed pipe and reports it.
                    return;
                }
            }
        });
        Self {
            end: Some(end),
            thread: Some(thread),
        }
    }
}

impl Drop for Keepalive {
    fn drop(&mut self) {
        self.end.take();
        if let Some(thread) = self.thread.take() {
            // It cannot panic, and there would be nobody to tell.
            let _ = thread.join();
        }
    }
}

/// Ends what an agent is busy with, from another thread than the one that waits for it.
#[derive(Clone, Debug)]
pub struct Stopper {
    input: Option<Input>,
}

impl Stopper {
    pub(crate) fn new(input: Option<Input>) -> Self {
        Self { input }
    }

    /// Asks the agent to end its running sender or watch now; its answer comes as usual. An
    /// agent that is gone needs no stopping: then this does nothing.
    pub fn stop(&self) {
        if let Some(input) = &self.input {
            // A failure means that the agent is gone; who waits for it is told so.
            let _ = say(input, &Request::Stop);
        }
    }
}

fn say(input: &Input, message: &Request) -> std::io::Result<()> {
    let frame = encode(message).map_err(std::io::Error::other)?;
    send(input, &frame, Instant::now() + PATIENCE)
}
