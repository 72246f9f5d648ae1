//! Writing the ring of readings that a watch keeps on its head.

use hawser_host::{Answers, Ask, Declined, Size, Stop};
use hawser_model::kept_alarms::FoundAlarms;
use hawser_model::readings::Reading;
use serde::{Deserialize, Serialize};

use crate::node::Node;
use crate::readings::{RingError, Writer};

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
