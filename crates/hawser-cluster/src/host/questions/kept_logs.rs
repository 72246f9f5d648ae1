//! What is asked about incidents that watches have kept.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, Size, Stop};
use serde::{Deserialize, Serialize};

use super::{Machine, USUAL};
use crate::host::kept_logs::{self, KeptLogs, KeptName};

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
