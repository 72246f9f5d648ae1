//! What a drill asks of a head, and the faults that a head makes on itself.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, Size, Stop};
use serde::{Deserialize, Serialize};

use super::{Machine, USUAL};
use crate::host::drill::{HostFault, LogTexts, Look, StampedLine, dead_man, logs, look, stamp};
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

/// The head breaks something of its own, and mends it after so many seconds if nobody has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MakeFault {
    /// Which.
    pub fault: HostFault,
    /// At most so long.
    pub seconds: u32,
}

impl Ask for MakeFault {
    type Answer = ();
    const NAME: &'static str = "make a fault";

    fn patience(&self) -> Duration {
        USUAL
    }
}

impl Answers<Machine> for MakeFault {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<(), Declined> {
        dead_man::stand(&self.fault, self.seconds)?;
        if let Err(e) = self.fault.make() {
            // Part of it may be there.
            dead_man::dismiss(&self.fault)?;
            return Err(e.into());
        }
        Ok(())
    }
}

/// What shows that a fault is there now; nothing when it is not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShowFault(pub HostFault);

impl Ask for ShowFault {
    type Answer = Option<String>;
    const NAME: &'static str = "look for a fault";

    fn patience(&self) -> Duration {
        USUAL
    }
}

impl Answers<Machine> for ShowFault {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<Option<String>, Declined> {
        Ok(self.0.shown()?)
    }
}

/// Mends a fault, also when it is not there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MendFault(pub HostFault);

impl Ask for MendFault {
    type Answer = ();
    const NAME: &'static str = "mend a fault";

    fn patience(&self) -> Duration {
        Duration::from_secs(100)
    }
}

impl Answers<Machine> for MendFault {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<(), Declined> {
        Ok(dead_man::dismiss(&self.0)?)
    }
}
