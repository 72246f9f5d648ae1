//! The beginning of the work.

use hawser_host::{Answers, Ask, Declined, Stop};
use serde::{Deserialize, Serialize};

use crate::client::Client;
use crate::job::Job;

/// Begins to write, once. What becomes of it is told in words ([`TakeWords`](super::TakeWords)).
#[derive(Debug, Serialize, Deserialize)]
pub struct StartWriting(pub Job);

impl Ask for StartWriting {
    type Answer = ();
    const NAME: &'static str = "start writing";
}

impl Answers<Client> for StartWriting {
    fn answer(self, client: &mut Client, _: &Stop) -> Result<(), Declined> {
        client.begin(self.0)
    }
}
