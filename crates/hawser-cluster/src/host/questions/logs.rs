//! What is asked about the logs of a head's engine.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, Size, Stop};
use serde::{Deserialize, Serialize};

use super::{Machine, USUAL};
use crate::host::drill::{LogTexts, StampedLine, logs, stamp};

/// What Corosync's and Pacemaker's logs hold from these bytes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadLogs {
    /// Bytes of the two to leave out; absent: all, so that only the lengths are told.
    pub from: Option<[u64; 2]>,
}

impl Ask for ReadLogs {
    type Answer = LogTexts;
    const NAME: &'static str = "read the logs";
    const SIZE: Size = Size::Large;
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for ReadLogs {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<LogTexts, Declined> {
        Ok(logs::read(self.from))
    }
}

/// The ends of Corosync's and Pacemaker's logs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadLogEnds {
    /// Bytes of each, at most.
    pub bytes: u64,
}

impl Ask for ReadLogEnds {
    type Answer = LogTexts;
    const NAME: &'static str = "read the ends of the logs";
    const SIZE: Size = Size::Large;
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for ReadLogEnds {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<LogTexts, Declined> {
        Ok(logs::ends(self.bytes))
    }
}

/// Has Pacemaker write a line into its log now: what its clock shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StampLog;

impl Ask for StampLog {
    type Answer = StampedLine;
    const NAME: &'static str = "have a line logged";
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for StampLog {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<StampedLine, Declined> {
        Ok(stamp::stamp()?)
    }
}
