//! The history as it grows.

use std::time::Duration;

use hawser_host::protocol::SILENCE_LIMIT;
use hawser_host::{Answers, Ask, Declined, Size, Stop};
use serde::{Deserialize, Serialize};

use crate::client::Client;
use crate::word::Word;

/// So many words fit into an answer: a record is some 150 bytes.
const MOST: usize = 16 << 10;

/// What the client has said since it was last asked; nothing when it has said nothing more. It never waits for the
/// question: what was not asked for is kept in its memory.
#[derive(Debug, Serialize, Deserialize)]
pub struct TakeWords;

impl Ask for TakeWords {
    type Answer = Vec<Word>;
    const NAME: &'static str = "take words";
    const SIZE: Size = Size::Recorded;
    /// A network that stalls for a while is waited for: as long as the client waits itself.
    const PATIENCE: Duration = SILENCE_LIMIT;
}

impl Answers<Client> for TakeWords {
    fn answer(self, client: &mut Client, _: &Stop) -> Result<Vec<Word>, Declined> {
        Ok(client.writing()?.take(MOST))
    }
}
