//! What a drill asks of a head.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, Size, Stop};
use serde::{Deserialize, Serialize};

use super::{Machine, USUAL};
use crate::host::drill::{Look, look};
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
    const PATIENCE: Duration = Duration::from_secs(2);
}

impl Answers<Machine> for LookAround {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<Look, Declined> {
        Ok(look::now(self.engine)?)
    }
}

/// Corosync's runtime map: its timing and its nodes, or its statistics, in the words of `corosync-cmapctl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadCorosyncMap {
    /// The statistics.
    pub statistics: bool,
}

impl Ask for ReadCorosyncMap {
    type Answer = String;
    const NAME: &'static str = "read Corosync's map";
    const SIZE: Size = Size::Large;
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for ReadCorosyncMap {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<String, Declined> {
        let keys: &[&str] = match self.statistics {
            true => &["-m", "stats"],
            false => &["runtime.config.totem", "nodelist.node.", "runtime.members."],
        };
        Ok(run::tool("corosync-cmapctl", keys, None)?)
    }
}
