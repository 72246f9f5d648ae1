//! What a client can be asked, a type a question.

mod clock;
mod start;
mod stop;
mod words;

use hawser_host::protocol::{Hello, Welcome};
use hawser_host::{Answers, Declined, Entry, Stop};

use crate::client::Client;

pub use clock::ReadClock;
pub use start::StartWriting;
pub use stop::StopWriting;
pub use words::TakeWords;

/// All of them.
pub const QUESTIONS: &[Entry<Client>] = &[
    Entry::of::<Hello>(),
    Entry::of::<StartWriting>(),
    Entry::of::<TakeWords>(),
    Entry::of::<ReadClock>(),
    Entry::of::<StopWriting>(),
];

impl Answers<Client> for Hello {
    fn answer(self, _: &mut Client, _: &Stop) -> Result<Welcome, Declined> {
        Ok(Welcome::here())
    }
}
