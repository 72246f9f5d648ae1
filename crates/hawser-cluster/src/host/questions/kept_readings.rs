//! What watches have read around incidents.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, Size, Stop};
use hawser_model::drill::Moment;
use serde::{Deserialize, Serialize};

use super::{Machine, USUAL};
use crate::host::kept_logs::{self, HeadsReadings};

/// What watches have read in some time and is kept with incidents, of this head and of others, newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadKeptReadings {
    /// From when, as the head's logs stamp it: its local time.
    pub from: Moment,
    /// Until when.
    pub to: Moment,
}

impl Ask for ReadKeptReadings {
    type Answer = Vec<HeadsReadings>;
    const NAME: &'static str = "read the readings that are kept with incidents";
    const SIZE: Size = Size::Large;
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for ReadKeptReadings {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<Vec<HeadsReadings>, Declined> {
        Ok(kept_logs::readings(self.from, self.to)?)
    }
}
