//! What is asked about the ring of readings that a watch keeps on its head.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, Size, Stop};
use hawser_model::drill::Moment;
use hawser_model::kept_alarms::FoundAlarms;
use hawser_model::readings::{KeptReadings, Reading};
use serde::{Deserialize, Serialize};

use crate::node::Node;
use crate::readings::{self, RingError, Writer};

/// Opens the ring, to write it: for the watch that stays on this head. Answered is what the watch before it kept beside it.
#[derive(Debug, Serialize, Deserialize)]
pub struct OpenReadings {
    /// Bytes that it may have.
    pub limit: u64,
    /// Folders of pools: it must not be below one, which another head may have a minute later.
    pub pools: Vec<String>,
}

impl Ask for OpenReadings {
    type Answer = FoundAlarms;
    const NAME: &'static str = "open the ring of readings";
    /// With all alarms that a watch may have.
    const SIZE: Size = Size::Large;
}

impl Answers<Node> for OpenReadings {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<FoundAlarms, Declined> {
        let opens = node.readings.take_if(|writer| writer.opens());
        let mut writer = opens.map_or_else(|| Writer::start(self.limit, self.pools), Ok)?;
        let outcome = writer.open();
        if let Ok(_) | Err(RingError::Hangs) = outcome {
            node.readings = Some(writer);
        }
        Ok(outcome?)
    }
}

/// Keeps a reading in the ring; it is on the disk when that is answered.
#[derive(Debug, Serialize, Deserialize)]
pub struct KeepReading {
    /// What is new.
    pub reading: Reading,
}

impl Ask for KeepReading {
    type Answer = ();
    const NAME: &'static str = "keep a reading";
}

impl Answers<Node> for KeepReading {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<(), Declined> {
        let ring = node.readings.as_mut().ok_or(RingError::Closed)?;
        Ok(ring.keep(self.reading)?)
    }
}

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
