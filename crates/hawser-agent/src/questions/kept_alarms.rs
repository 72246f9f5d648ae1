//! What is asked about the alarms that a watch keeps beside its ring.

use hawser_host::{Answers, Ask, Declined, Stop};
use hawser_model::kept_alarms::KeptAlarms;
use serde::{Deserialize, Serialize};

use crate::node::Node;
use crate::readings::RingError;

/// Keeps the alarms of the watch that has opened the ring; they are on the disk when that is answered.
#[derive(Debug, Serialize, Deserialize)]
pub struct KeepAlarms {
    /// They.
    pub alarms: KeptAlarms,
}

impl Ask for KeepAlarms {
    type Answer = ();
    const NAME: &'static str = "keep the alarms";
}

impl Answers<Node> for KeepAlarms {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<(), Declined> {
        let ring = node.readings.as_mut().ok_or(RingError::Closed)?;
        Ok(ring.keep_alarms(self.alarms)?)
    }
}
