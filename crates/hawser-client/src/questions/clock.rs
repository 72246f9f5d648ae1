//! The clock of the history.

use hawser_host::{Answers, Ask, Declined, Stop};
use serde::{Deserialize, Serialize};

use crate::client::Client;

/// What the history's clock shows, in microseconds since 1970.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReadClock;

impl Ask for ReadClock {
    type Answer = u64;
    const NAME: &'static str = "read clock";
}

impl Answers<Client> for ReadClock {
    fn answer(self, client: &mut Client, _: &Stop) -> Result<u64, Declined> {
        Ok(client.writing()?.now_us())
    }
}
