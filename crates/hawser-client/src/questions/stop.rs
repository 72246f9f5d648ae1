//! The end of the writing.

use hawser_host::{Answers, Ask, Declined, Stop};
use serde::{Deserialize, Serialize};

use crate::client::Client;

/// Ends the writing. The client then reads everything back, and says so by its last word.
#[derive(Debug, Serialize, Deserialize)]
pub struct StopWriting;

impl Ask for StopWriting {
    type Answer = ();
    const NAME: &'static str = "stop writing";
}

impl Answers<Client> for StopWriting {
    fn answer(self, client: &mut Client, _: &Stop) -> Result<(), Declined> {
        client.writing()?.stop();
        Ok(())
    }
}
