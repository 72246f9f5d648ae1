//! What goes to the agent beside the questions: that the coordinator is there, and "stop".

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::client::pipes::{Input, send};
use crate::frame::encode;
use crate::host::Stopper;
use crate::protocol::{ALIVE_EVERY, Message};

/// How long the pipe may refuse one of these short messages.
const PATIENCE: Duration = Duration::from_secs(2);

/// Says [`Message::Alive`] until it is dropped.
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
                if say(&input, &Message::Alive).is_err() {
                    // The next question meets the closed pipe and reports it.
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

/// Asks the agent behind this pipe to end early what it is busy with. One that is gone needs no stopping.
pub(crate) fn stopper(input: Option<Input>) -> Stopper {
    Stopper::new(move || {
        if let Some(input) = &input {
            // A failure means that the agent is gone; who waits for it is told so.
            let _ = say(input, &Message::Stop);
        }
    })
}

fn say(input: &Input, message: &Message) -> std::io::Result<()> {
    let frame = encode(message).map_err(std::io::Error::other)?;
    send(input, &frame, Instant::now() + PATIENCE)
}
