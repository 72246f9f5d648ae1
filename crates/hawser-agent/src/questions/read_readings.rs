//! Reading the ring of readings that a watch keeps on its head.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, Size, Stop};
use hawser_model::drill::Moment;
use hawser_model::readings::KeptReadings;
use serde::{Deserialize, Serialize};

use crate::node::Node;
use crate::readings;

/// The readings of some time.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReadReadings {
    /// From when, as the head's logs stamp it: its local time.
    pub from: Moment,
    /// Until when.
    pub to: Moment,
}

impl Ask for ReadReadings {
    type Answer = KeptReadings;
    const NAME: &'static str = "read the ring of readings";
    const SIZE: Size = Size::Large;
    /// A ring of hundreds of megabytes is read from a slow disk.
    const PATIENCE: Duration = Duration::from_secs(45);
}

impl Answers<Node> for ReadReadings {
    fn answer(self, _: &mut Node, _: &Stop) -> Result<KeptReadings, Declined> {
        Ok(readings::read_local(self.from, self.to)?)
    }
}
