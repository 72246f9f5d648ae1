//! The only way in which anything is asked of a machine.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hawser_model::names::HostName;
use serde_json::value::RawValue;

use crate::ask::{Ask, Size};
use crate::clock::Clock;
use crate::error::{Failure, HostError};
use crate::frame::{FrameError, excerpt};
use crate::protocol::Reply;

/// Longest text of a host that declines, in characters.
pub(crate) const WORDS: usize = 16 << 10;

/// A host that can be asked.
pub trait Host: Send {
    /// What the cluster calls it.
    fn name(&self) -> &HostName;

    /// Sends a question and waits for the JSON of its [`Reply`].
    ///
    /// # Errors
    /// No answer came, or none in time. The host cannot be asked any more.
    fn exchange(&mut self, question: &Question) -> Result<Vec<u8>, HostError>;

    /// Whether it is known already that nobody will answer: without asking, and so without waiting.
    fn is_lost(&mut self) -> bool;

    /// Whether it has not yet answered somebody who does not wait any more
    /// ([`until_enough`](crate::until_enough)).
    fn is_busy(&mut self) -> bool {
        false
    }

    /// Ends the connection: whatever came next would answer the wrong question.
    fn let_go(&mut self);

    /// A handle with which another thread can end early what this host is busy with.
    fn stopper(&self) -> Stopper;

    /// The clock of whoever asks it.
    fn clock(&self) -> Clock {
        Clock::default()
    }
}

/// A question as it is sent.
#[derive(Debug)]
pub struct Question {
    /// Its name.
    pub name: &'static str,
    /// How long the answer may take.
    pub patience: Duration,
    /// How large the answer may be.
    pub size: Size,
    /// Its JSON.
    pub body: Box<RawValue>,
}

impl dyn Host + '_ {
    /// Asks a question.
    ///
    /// # Errors
    /// The host declined and can still be asked ([`HostError::host_goes_on`]), or it is lost.
    pub fn ask<A: Ask>(&mut self, ask: &A) -> Result<A::Answer, HostError> {
        let question = A::NAME;
        let body = serde_json::value::to_raw_value(ask).map_err(|source| {
            let start = String::new();
            let source = FrameError::NotMessage { source, start };
            Failure::unreadable(question, source).on(self.name())
        })?;
        let reply = self.exchange(&Question {
            name: question,
            patience: ask.patience(),
            size: A::SIZE,
            body,
        })?;
        let failure = match serde_json::from_slice(&reply) {
            Ok(Reply::Answer(answer)) if A::may_say(&answer, self.name()) => return Ok(answer),
            Ok(Reply::Answer(_)) => Failure::Unexpected {
                question,
                answer: excerpt(&reply),
            },
            Ok(Reply::Declined(words)) => {
                let error = words.chars().take(WORDS).collect();
                return Err(Failure::Declined { question, error }.on(self.name()));
            }
            Err(source) => {
                let start = excerpt(&reply);
                Failure::unreadable(question, FrameError::NotMessage { source, start })
            }
        };
        self.let_go();
        Err(failure.on(self.name()))
    }
}

/// Ends early what a host is busy with, from another thread than the one that waits for it.
#[derive(Clone)]
pub struct Stopper(Arc<dyn Fn() + Send + Sync>);

impl Stopper {
    /// Stops by calling this.
    pub fn new(stop: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Arc::new(stop))
    }

    /// Asks the host to end what it measures or watches now; the answer comes as usual. A host that is gone, or not
    /// busy, needs no stopping: then this does nothing.
    pub fn stop(&self) {
        (self.0)();
    }
}

impl fmt::Debug for Stopper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stopper")
    }
}
