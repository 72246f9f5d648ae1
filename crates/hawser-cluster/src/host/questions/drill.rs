//! What a drill asks of a head.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, Size, Stop};
use serde::{Deserialize, Serialize};

use super::{Machine, USUAL};
use crate::host::drill::{LogTexts, Look, StampedLine, logs, look, stamp};
use crate::host::run;

/// What is mounted now. Whoever looks all the time has to know soon that nobody answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LookAround {
    /// Also for how long Pacemaker has been running, which costs a reading of all processes.
    pub engine: bool,
}

impl Ask for LookAround {
    type Answer = Look;
    const NAME: &'static str = "look at the mounts";
    const SIZE: Size = Size::Large;

    fn patience(&self) -> Duration {
        Duration::from_secs(2)
    }
}

impl Answers<Machine> for LookAround {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<Look, Declined> {
        Ok(look::now(self.engine)?)
    }
}

/// Corosync's runtime map: its timing, or its statistics, in the words of `corosync-cmapctl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadCorosyncMap {
    /// The statistics.
    pub statistics: bool,
}

impl Ask for ReadCorosyncMap {
    type Answer = String;
    const NAME: &'static str = "read Corosync's map";
    const SIZE: Size = Size::Large;

    fn patience(&self) -> Duration {
        USUAL
    }
}

impl Answers<Machine> for ReadCorosyncMap {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<String, Declined> {
        let keys: &[&str] = match self.statistics {
            true => &["-m", "stats"],
            false => &["runtime.config.totem"],
        };
        Ok(run::tool("corosync-cmapctl", keys, None)?)
    }
}

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

    fn patience(&self) -> Duration {
        USUAL
    }
}

impl Answers<Machine> for ReadLogs {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<LogTexts, Declined> {
        Ok(logs::read(self.from))
    }
}

/// Has Pacemaker write a line into its log now: what its clock shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StampLog;

impl Ask for StampLog {
    type Answer = StampedLine;
    const NAME: &'static str = "have a line logged";

    fn patience(&self) -> Duration {
        USUAL
    }
}

impl Answers<Machine> for StampLog {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<StampedLine, Declined> {
        Ok(stamp::stamp()?)
    }
}
