//! The answering end: which questions a node answers, each by the code that its type names.

use std::error::Error;

use serde_json::value::RawValue;

use crate::ask::Ask;
use crate::frame::{FrameError, encode};
use crate::host::WORDS;
use crate::protocol::Reply;
use crate::stop::Stop;

/// Why a node does not do what it was asked: the call and the object, in words.
pub type Declined = Box<dyn Error>;

/// A question that `N` can answer.
pub trait Answers<N>: Ask {
    /// Answers it. `stop` is raised when the coordinator asks for an early end, or is gone.
    ///
    /// # Errors
    /// What could not be done. The node goes on.
    fn answer(self, node: &mut N, stop: &Stop) -> Result<Self::Answer, Declined>;
}

/// One question of those that `N` answers.
pub struct Entry<N> {
    name: &'static str,
    answer: fn(&RawValue, &mut N, &Stop) -> Result<Vec<u8>, FrameError>,
}

impl<N> Entry<N> {
    /// This question.
    pub const fn of<A: Answers<N>>() -> Self {
        Self {
            name: A::NAME,
            answer: answer::<A, N>,
        }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }
}

fn answer<A: Answers<N>, N>(
    body: &RawValue,
    node: &mut N,
    stop: &Stop,
) -> Result<Vec<u8>, FrameError> {
    let answered = match serde_json::from_str::<A>(body.get()) {
        Ok(ask) => ask.answer(node, stop).map_err(|e| e.to_string()),
        Err(e) => Err(format!("not understood: {e}")),
    };
    encode(&match answered {
        Ok(answer) => Reply::Answer(answer),
        Err(words) => Reply::Declined(words.chars().take(WORDS).collect()),
    })
}

/// What is done with the type of each question of a table: a test that must know them all.
pub trait OfEach {
    /// Does it with this one.
    fn question<A: Ask>(&mut self);
}

/// The table of the questions that a node answers, and [`OfEach`] of them.
#[macro_export]
macro_rules! questions {
    ($node:ty: $($question:ty),+ $(,)?) => {
        /// All of them.
        pub const QUESTIONS: &[$crate::Entry<$node>] = &[$($crate::Entry::of::<$question>()),+];

        /// Visits the type of each.
        pub fn each_question(with: &mut impl $crate::OfEach) {
            $(with.question::<$question>();)+
        }
    };
}

/// Answers a question if it is one of the table: the frame of the [`Reply`]. `None`: it is not.
pub fn answer_from<N>(
    table: &[Entry<N>],
    name: &str,
    body: &RawValue,
    node: &mut N,
    stop: &Stop,
) -> Option<Result<Vec<u8>, FrameError>> {
    let entry = table.iter().find(|entry| entry.name == name)?;
    Some((entry.answer)(body, node, stop))
}
