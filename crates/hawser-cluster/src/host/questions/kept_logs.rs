//! What is asked about incidents that a watch has kept.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, Size, Stop};
use hawser_model::drill::Moment;
use serde::{Deserialize, Serialize};

use super::{Machine, USUAL};
use crate::host::aside::aside;
use crate::host::kept_logs::{self, HeadsReadings, KeptLogs, KeptName};

/// Keeps what there is of an incident on this head; what was kept under the same name of the same head is replaced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeepLogs {
    /// The incident.
    pub logs: KeptLogs,
    /// Folders of pools: it must not be below one, which another head may have a minute later.
    pub pools: Vec<String>,
}

impl Ask for KeepLogs {
    type Answer = ();
    const NAME: &'static str = "keep an incident";
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for KeepLogs {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<(), Declined> {
        static LASTS: AtomicBool = AtomicBool::new(false);
        aside(&LASTS, LIMIT, move || {
            kept_logs::keep(self.logs, &self.pools)
        })
        .ok_or("the disk has not taken an incident yet: it hangs")?
        .map_err(Into::into)
    }
}

/// How long the disk may take for an incident before the watch goes on without it.
const LIMIT: Duration = Duration::from_secs(5);

/// The incidents that are kept, of this head and of others, newest first, without what was read around them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadKeptLogs;

impl Ask for ReadKeptLogs {
    type Answer = Vec<KeptLogs>;
    const NAME: &'static str = "read the incidents that are kept";
    const SIZE: Size = Size::Large;
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for ReadKeptLogs {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<Vec<KeptLogs>, Declined> {
        Ok(kept_logs::kept()?)
    }
}

/// What is kept of this head itself, newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListKeptLogs;

impl Ask for ListKeptLogs {
    type Answer = Vec<KeptName>;
    const NAME: &'static str = "list the incidents that are kept";
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for ListKeptLogs {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<Vec<KeptName>, Declined> {
        Ok(kept_logs::list()?)
    }
}

/// What is kept of this head itself of one incident.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadKeptLog {
    /// The incident.
    pub id: String,
}

impl Ask for ReadKeptLog {
    /// Absent: nothing is kept of it.
    type Answer = Option<KeptLogs>;
    const NAME: &'static str = "read an incident that is kept";
    const SIZE: Size = Size::Large;
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for ReadKeptLog {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<Option<KeptLogs>, Declined> {
        Ok(kept_logs::one(&self.id)?)
    }
}

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
