//! What a client can be asked, a type a question.

mod clock;
mod start;
mod stop;
mod words;

use hawser_host::protocol::{Hello, Welcome};
use hawser_host::{Answers, Declined, Stop};

use crate::client::Client;

pub use clock::ReadClock;
pub use start::StartWriting;
pub use stop::StopWriting;
pub use words::TakeWords;

hawser_host::questions! {
    Client:
    Hello,
    StartWriting,
    TakeWords,
    ReadClock,
    StopWriting,
}

impl Answers<Client> for Hello {
    fn answer(self, _: &mut Client, _: &Stop) -> Result<Welcome, Declined> {
        Ok(Welcome::here())
    }
}
